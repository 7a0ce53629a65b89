#include "server/rating.h"
#include <math.h>

static const double pi = 3.14159265358979323846;
static const double scale = 173.7178; /* between Glicko and Glicko-2 units */
static const double tau = 0.5;        /* how fast volatility may change */
static const double most_deviation = 350, least_deviation = 30, day_ms = 86400000.0;

Rating rating_new(void) { return (Rating){1500, most_deviation, 0.06, 0}; }

static double g_of(double phi) { return 1 / sqrt(1 + 3 * phi * phi / (pi * pi)); }

static double expected(double mu, double mu_j, double phi_j) {
    return 1 / (1 + exp(-g_of(phi_j) * (mu - mu_j)));
}

/* Step 5 of the paper: the root of f by the Illinois algorithm. */
typedef struct {
    double delta2, phi2, v, a;
} Volatility;

static double f_of(const Volatility *s, double x) {
    double e = exp(x), d = s->phi2 + s->v + e;
    return e * (s->delta2 - d) / (2 * d * d) - (x - s->a) / (tau * tau);
}

static double new_volatility(double sigma, double phi, double delta, double v) {
    Volatility s = {delta * delta, phi * phi, v, log(sigma * sigma)};
    double A = s.a, B;
    if (s.delta2 > s.phi2 + v) B = log(s.delta2 - s.phi2 - v);
    else
        for (B = s.a - tau; f_of(&s, B) < 0;) B -= tau;
    double fa = f_of(&s, A), fb = f_of(&s, B);
    for (int i = 0; i < 100 && fabs(B - A) > 1e-6; i++) {
        double C = A + (A - B) * fa / (fb - fa), fc = f_of(&s, C);
        if (fc * fb <= 0) A = B, fa = fb;
        else fa /= 2;
        B = C;
        fb = fc;
    }
    return exp(A / 2);
}

Rating rating_update(const Rating *r, int n, const Rating *opponents, const double *scores) {
    double mu = (r->rating - 1500) / scale, phi = r->deviation / scale, inv_v = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        double mu_j = (opponents[i].rating - 1500) / scale, phi_j = opponents[i].deviation / scale;
        double e = expected(mu, mu_j, phi_j), g = g_of(phi_j);
        inv_v += g * g * e * (1 - e);
        sum += g * (scores[i] - e);
    }
    double v = 1 / inv_v;
    Rating out = *r;
    out.volatility = new_volatility(r->volatility, phi, v * sum, v);
    double phi_star2 = phi * phi + out.volatility * out.volatility;
    double phi2 = 1 / (1 / phi_star2 + inv_v);
    out.rating = 1500 + scale * (mu + phi2 * sum);
    out.deviation = fmin(most_deviation, fmax(least_deviation, scale * sqrt(phi2)));
    return out;
}

Rating rating_age(const Rating *r, int64_t now_ms) {
    Rating out = *r;
    if (r->at_ms == 0 || now_ms <= r->at_ms) return out;
    double days = (double)(now_ms - r->at_ms) / day_ms, phi = r->deviation / scale;
    out.deviation =
        fmin(most_deviation, scale * sqrt(phi * phi + days * r->volatility * r->volatility));
    return out;
}

void rating_game(Rating r[3], int landlord, bool landlord_won, int64_t now_ms) {
    Rating before[3], farmers;
    for (int s = 0; s < 3; s++) before[s] = rating_age(&r[s], now_ms);
    const Rating *a = &before[(landlord + 1) % 3], *b = &before[(landlord + 2) % 3];
    farmers = *a;
    farmers.rating = (a->rating + b->rating) / 2;
    farmers.deviation = sqrt(a->deviation * a->deviation + b->deviation * b->deviation) / 2;
    for (int s = 0; s < 3; s++) {
        double score = (s == landlord) == landlord_won;
        r[s] = rating_update(&before[s], 1, s == landlord ? &farmers : &before[landlord], &score);
        r[s].at_ms = now_ms;
    }
}
