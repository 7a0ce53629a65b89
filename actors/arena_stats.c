#include "actors/arena_stats.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Spread spread(double sum, double squares, double n) {
    if (n < 1) return (Spread){0, 0};
    double mean = sum / n, variance = n > 1 ? (squares - sum * mean) / (n - 1) : 0;
    return (Spread){mean, 1.96 * sqrt(fmax(variance, 0) / n)};
}

/* ---- counts ---- */

static bool won_by(const ArenaRow *r, int seat) { return (seat == r->landlord) == r->landlord_won; }

static bool decided(const ArenaRow *r) { return !r->void_deal && r->landlord < N_SEATS; }

static void count_row(const ArenaRow *r, ArenaStats *out) {
    out->games++;
    out->void_deals += r->void_deal;
    out->landlord_won += decided(r) && r->landlord_won;
    for (int s = 0; s < N_SEATS; s++) {
        AgentStats *a = &out->agent[r->agent[s]];
        a->seats++;
        a->faults += r->faults >> s & 1;
        if (!decided(r)) continue;
        if (s == r->landlord) a->as_landlord++;
        else a->as_peasant++;
    }
}

/* ---- sums that the bootstrap weighs ---- */

typedef struct {
    double score[ARENA_MAX_AGENTS], seats[ARENA_MAX_AGENTS];
    double won[2][ARENA_MAX_AGENTS], games[2][ARENA_MAX_AGENTS]; /* [0] as landlord, [1] peasants */
    EloPairing *pairing;
    int n_pairings;
    int *pairing_of; /* [agents^3] -> pairing, -1: none */
} Sums;

static int cell_of(const ArenaRow *r, int n_agents) {
    int a = r->agent[(r->landlord + 1) % N_SEATS], b = r->agent[(r->landlord + 2) % N_SEATS];
    int low = a < b ? a : b, high = a < b ? b : a;
    return (r->agent[r->landlord] * n_agents + low) * n_agents + high;
}

static Status sums_init(Sums *s, const ArenaRow *rows, int64_t n, int n_agents) {
    int cells = n_agents * n_agents * n_agents;
    memset(s, 0, sizeof *s);
    s->pairing_of = malloc((size_t)cells * sizeof *s->pairing_of);
    s->pairing = calloc((size_t)cells, sizeof *s->pairing);
    if (!s->pairing_of || !s->pairing) return ST_NOMEM;
    for (int i = 0; i < cells; i++) s->pairing_of[i] = -1;
    for (int64_t i = 0; i < n; i++) {
        if (!decided(&rows[i])) continue;
        int cell = cell_of(&rows[i], n_agents);
        if (s->pairing_of[cell] >= 0) continue;
        s->pairing_of[cell] = s->n_pairings;
        s->pairing[s->n_pairings++] = (EloPairing){
            .landlord = (uint8_t)(cell / n_agents / n_agents),
            .peasant = {(uint8_t)(cell / n_agents % n_agents), (uint8_t)(cell % n_agents)}};
    }
    return ST_OK;
}

static void sums_deinit(Sums *s) {
    free(s->pairing);
    free(s->pairing_of);
}

static void sums_clear(Sums *s) {
    memset(s->score, 0, sizeof s->score);
    memset(s->seats, 0, sizeof s->seats);
    memset(s->won, 0, sizeof s->won);
    memset(s->games, 0, sizeof s->games);
    for (int i = 0; i < s->n_pairings; i++) s->pairing[i].games = s->pairing[i].won = 0;
}

static void sums_add(Sums *s, const ArenaRow *r, int n_agents, double weight) {
    for (int seat = 0; seat < N_SEATS; seat++) {
        int a = r->agent[seat], role = seat != r->landlord;
        s->score[a] += weight * (double)r->score[seat];
        s->seats[a] += weight;
        if (!decided(r)) continue;
        s->won[role][a] += weight * won_by(r, seat);
        s->games[role][a] += weight;
    }
    if (!decided(r)) return;
    EloPairing *p = &s->pairing[s->pairing_of[cell_of(r, n_agents)]];
    p->games += weight;
    p->won += weight * r->landlord_won;
}

/* One value of everything that has an interval. */
typedef struct {
    double score, won[2], elo, elo_landlord, elo_peasants;
} Values;

static double ratio(double a, double b) { return b > 0 ? a / b : 0; }

static void evaluate(const Sums *s, int n_agents, Values *v, double *seat) {
    EloRatings e;
    elo_fit(n_agents, s->pairing, s->n_pairings, &e);
    for (int i = 0; i < n_agents; i++)
        v[i] = (Values){
            .score = ratio(s->score[i], s->seats[i]),
            .won = {ratio(s->won[0][i], s->games[0][i]), ratio(s->won[1][i], s->games[1][i])},
            .elo = e.rating[i],
            .elo_landlord = e.landlord[i],
            .elo_peasants = e.peasant[i]};
    *seat = e.seat;
}

enum { N_VALUES = sizeof(Values) / sizeof(double) };

/* Spread over resamples about the value from all games. */
typedef struct {
    double sum[N_VALUES], squares[N_VALUES];
} Moments;

static double deviation(const Moments *m, int k, int n) {
    double mean = m->sum[k] / n;
    return n > 1 ? 1.96 * sqrt(fmax((m->squares[k] - m->sum[k] * mean) / (n - 1), 0)) : 0;
}

static void add_moments(Moments *m, const Values *v) {
    double x[N_VALUES];
    memcpy(x, v, sizeof x);
    for (int k = 0; k < N_VALUES; k++) {
        m->sum[k] += x[k];
        m->squares[k] += x[k] * x[k];
    }
}

static void put_spreads(const Values *v, const Moments *m, int n, AgentStats *a) {
    Spread s[N_VALUES];
    double x[N_VALUES];
    memcpy(x, v, sizeof x);
    for (int k = 0; k < N_VALUES; k++) s[k] = (Spread){x[k], deviation(m, k, n)};
    a->score = s[0];
    a->landlord = s[1];
    a->peasants = s[2];
    a->elo = s[3];
    a->elo_landlord = s[4];
    a->elo_peasants = s[5];
}

static void resample(Sums *s, const ArenaRow *rows, int64_t n, int n_agents, int64_t deals,
                     uint32_t *weight, Rng *rng) {
    memset(weight, 0, (size_t)deals * sizeof *weight);
    for (int64_t i = 0; i < deals; i++) weight[rng_below(rng, (uint32_t)deals)]++;
    sums_clear(s);
    int64_t deal = -1, place = -1;
    for (int64_t i = 0; i < n; i++) {
        if (rows[i].deal != deal) place++;
        deal = rows[i].deal;
        if (weight[place]) sums_add(s, &rows[i], n_agents, weight[place]);
    }
}

static Status agents(const ArenaRow *rows, int64_t n, int resamples, ArenaStats *out) {
    int n_agents = out->n_agents;
    Values v[ARENA_MAX_AGENTS], all[ARENA_MAX_AGENTS];
    Moments *m = calloc(ARENA_MAX_AGENTS, sizeof *m);
    uint32_t *weight = calloc((size_t)out->deals + 1, sizeof *weight);
    double seat, one_seat, seat_sum = 0, seat_squares = 0;
    Sums s = {0};
    Status st = m && weight ? sums_init(&s, rows, n, n_agents) : ST_NOMEM;
    if (st == ST_OK) {
        Rng rng;
        rng_init(&rng, 1, 0);
        for (int64_t i = 0; i < n; i++) sums_add(&s, &rows[i], n_agents, 1);
        evaluate(&s, n_agents, all, &seat);
        for (int b = 0; b < resamples && out->deals > 1; b++) {
            resample(&s, rows, n, n_agents, out->deals, weight, &rng);
            evaluate(&s, n_agents, v, &one_seat);
            for (int i = 0; i < n_agents; i++) add_moments(&m[i], &v[i]);
            seat_sum += one_seat;
            seat_squares += one_seat * one_seat;
        }
        for (int i = 0; i < n_agents; i++) put_spreads(&all[i], &m[i], resamples, &out->agent[i]);
        Spread over = spread(seat_sum, seat_squares, resamples);
        out->elo_seat = (Spread){seat, over.ci95 * sqrt((double)resamples)};
    }
    sums_deinit(&s);
    free(m);
    free(weight);
    return st;
}

/* ---- the cross table ---- */

typedef struct {
    double won, score;
    int games;
} PairSum;

static void add_to_pairs(const ArenaRow *r, int n_agents, PairSum *sum) {
    double won[ARENA_MAX_AGENTS] = {0}, score[ARENA_MAX_AGENTS] = {0};
    int seats[ARENA_MAX_AGENTS] = {0};
    for (int s = 0; s < N_SEATS; s++) {
        won[r->agent[s]] += won_by(r, s);
        score[r->agent[s]] += (double)r->score[s];
        seats[r->agent[s]]++;
    }
    for (int s = 0; s < N_SEATS; s++)
        for (int t = 0; t < N_SEATS; t++) {
            int a = r->agent[s], b = r->agent[t];
            if (a == b) continue;
            double share = 1.0 / seats[a] / seats[b]; /* each pair of agents once */
            PairSum *p = &sum[a * n_agents + b];
            p->won += share * won[a] / seats[a];
            p->score += share * score[a] / seats[a];
        }
    for (int a = 0; a < n_agents; a++)
        for (int b = 0; b < n_agents; b++)
            if (a != b && seats[a] && seats[b]) sum[a * n_agents + b].games++;
}

typedef struct {
    double won, won2, score, score2;
} PairMoments;

/* A deal is over: its means join the sums over deals. */
static void close_deal(PairSum *sum, PairMoments *m, int n_agents, ArenaStats *out) {
    for (int i = 0; i < n_agents * n_agents; i++) {
        if (sum[i].games == 0) continue;
        PairStats *p = &out->pair[i / n_agents][i % n_agents];
        double won = sum[i].won / sum[i].games, score = sum[i].score / sum[i].games;
        p->games += sum[i].games;
        p->deals++;
        m[i].won += won;
        m[i].won2 += won * won;
        m[i].score += score;
        m[i].score2 += score * score;
        sum[i] = (PairSum){0};
    }
}

static Status pairs(const ArenaRow *rows, int64_t n, ArenaStats *out) {
    int n_agents = out->n_agents;
    size_t cells = (size_t)(n_agents * n_agents);
    PairSum *sum = calloc(cells, sizeof *sum);
    PairMoments *m = calloc(cells, sizeof *m);
    for (int64_t i = 0; sum && m && i < n; i++) {
        if (decided(&rows[i])) add_to_pairs(&rows[i], n_agents, sum);
        if (i + 1 == n || rows[i + 1].deal != rows[i].deal) close_deal(sum, m, n_agents, out);
    }
    for (size_t i = 0; sum && m && i < cells; i++) {
        PairStats *p = &out->pair[i / (size_t)n_agents][i % (size_t)n_agents];
        p->won = spread(m[i].won, m[i].won2, (double)p->deals);
        p->score = spread(m[i].score, m[i].score2, (double)p->deals);
    }
    Status st = sum && m ? ST_OK : ST_NOMEM;
    free(sum);
    free(m);
    return st;
}

Status arena_stats(const ArenaRow *rows, int64_t n, int n_agents, int resamples, ArenaStats *out) {
    memset(out, 0, sizeof *out);
    out->n_agents = n_agents;
    for (int64_t i = 0; i < n; i++) {
        count_row(&rows[i], out);
        out->deals += i == 0 || rows[i].deal != rows[i - 1].deal;
    }
    out->landlord_won = ratio(out->landlord_won, (double)(out->games - out->void_deals));
    TRY(agents(rows, n, resamples, out));
    return pairs(rows, n, out);
}
