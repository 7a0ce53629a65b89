#include "actors/elo.h"
#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_DIM = 2 * ELO_MAX_AGENTS + 1, ROUNDS = 60 };
static const double pull = 0.02;               /* precision of the prior, in logits */
static const double unit = 173.71779276130073; /* 400 / ln 10 */

typedef struct {
    int n; /* 2 agents + 1: L, P, c */
    double x[MAX_DIM], g[MAX_DIM], h[MAX_DIM][MAX_DIM];
} Fit;

/* The four parameters that a pairing's logit adds up, and their signs. */
static void terms(const EloPairing *p, int n_agents, int at[4], double sign[4]) {
    at[0] = p->landlord;
    at[1] = n_agents + p->peasant[0];
    at[2] = n_agents + p->peasant[1];
    at[3] = 2 * n_agents;
    sign[0] = sign[3] = 1;
    sign[1] = sign[2] = -0.5;
}

/* Gradient and Hessian of minus the log likelihood. */
static void differentiate(Fit *f, int n_agents, const EloPairing *p, int n) {
    memset(f->h, 0, sizeof f->h);
    for (int i = 0; i < f->n; i++) {
        f->g[i] = pull * f->x[i];
        f->h[i][i] = pull;
    }
    for (int k = 0; k < n; k++) {
        int at[4];
        double sign[4], z = 0;
        terms(&p[k], n_agents, at, sign);
        for (int i = 0; i < 4; i++) z += sign[i] * f->x[at[i]];
        double q = 1 / (1 + exp(-z)), slope = p[k].games * q - p[k].won;
        double bend = p[k].games * q * (1 - q);
        for (int i = 0; i < 4; i++) {
            f->g[at[i]] += sign[i] * slope;
            for (int j = 0; j < 4; j++) f->h[at[i]][at[j]] += sign[i] * sign[j] * bend;
        }
    }
}

/* Solves h d = g by Cholesky; d comes in g's place. h is positive definite thanks to the pull. */
static void solve(Fit *f) {
    int n = f->n;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double s = f->h[i][j];
            for (int k = 0; k < j; k++) s -= f->h[i][k] * f->h[j][k];
            f->h[i][j] = i == j ? sqrt(s) : s / f->h[j][j];
        }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) f->g[i] -= f->h[i][k] * f->g[k];
        f->g[i] /= f->h[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) f->g[i] -= f->h[k][i] * f->g[k];
        f->g[i] /= f->h[i][i];
    }
}

/* Newton steps, none longer than 1 in any parameter. */
static void minimise(Fit *f, int n_agents, const EloPairing *p, int n) {
    for (int round = 0; round < ROUNDS; round++) {
        double longest = 0;
        differentiate(f, n_agents, p, n);
        solve(f);
        for (int i = 0; i < f->n; i++) longest = fmax(longest, fabs(f->g[i]));
        double step = longest > 1 ? 1 / longest : 1;
        for (int i = 0; i < f->n; i++) f->x[i] -= step * f->g[i];
        if (longest < 1e-9) return;
    }
}

static double mean(const double *x, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i];
    return sum / n;
}

void elo_fit(int n_agents, const EloPairing *pairings, int n, EloRatings *out) {
    assert(n_agents > 0 && n_agents <= ELO_MAX_AGENTS);
    static _Thread_local Fit f;
    memset(&f, 0, sizeof f);
    f.n = 2 * n_agents + 1;
    minimise(&f, n_agents, pairings, n);
    double l = mean(f.x, n_agents), p = mean(f.x + n_agents, n_agents);
    for (int i = 0; i < n_agents; i++) {
        out->landlord[i] = unit * (f.x[i] - l);
        out->peasant[i] = unit * (f.x[n_agents + i] - p);
        out->rating[i] = (out->landlord[i] + out->peasant[i]) / 2;
    }
    out->seat = unit * (f.x[2 * n_agents] + l - p);
}
