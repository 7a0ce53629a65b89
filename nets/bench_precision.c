/* bench_precision.c - see bench_precision.h. */
#include "nets/bench_precision.h"

#include "nets/scorer.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { GAMES = 60, SEED = 9 };

typedef struct {
    const KernelTable *k;
    Scorer *scorer;
    PackedNet *net[N_ROLES][N_PRECISIONS];
    Hand legal[MOVEGEN_MAX];
    float exact[MOVEGEN_MAX], q[MOVEGEN_MAX];
    /* Over decisions (choices) or actions (values). */
    double choices, best_sum, best_sum2;
    struct {
        double same, regret, values, error2;
    } loss[N_PRECISIONS];
} Play;

static int best(const float *q, int n) {
    int top = 0;
    for (int i = 1; i < n; i++)
        if (q[i] > q[top]) top = i;
    return top;
}

static void measure(Play *p, const Obs *obs, int n, int choice) {
    double q = (double)p->exact[choice];
    p->choices++;
    p->best_sum += q;
    p->best_sum2 += q * q;
    for (int i = 1; i < N_PRECISIONS; i++) {
        const PackedNet *net = p->net[obs->role][i];
        if (!net) continue;
        scorer_run(p->scorer, net, 1, obs, &n, p->legal, p->q);
        int other = best(p->q, n);
        p->loss[i].same += other == choice;
        p->loss[i].regret += q - (double)p->exact[other];
        p->loss[i].values += n;
        for (int a = 0; a < n; a++) {
            double e = (double)p->q[a] - (double)p->exact[a];
            p->loss[i].error2 += e * e;
        }
    }
}

static void play_game(Play *p, uint64_t index) {
    Rng rng;
    Deal deal;
    Game g;
    rng_init(&rng, SEED, index);
    deal_random(SEED, index, &deal);
    game_init(&g, RULES_DOUZERO, &deal, 0);
    while (g.phase == PHASE_PLAY) {
        int n = game_legal(&g, p->legal), choice = 0;
        Obs obs;
        obs_from_game(&g, &obs);
        if (n > 1 && p->net[obs.role][PRECISION_FP32]) {
            scorer_run(p->scorer, p->net[obs.role][PRECISION_FP32], 1, &obs, &n, p->legal,
                       p->exact);
            choice = best(p->exact, n);
            measure(p, &obs, n, choice);
        }
        if (n > 1 && rng_float(&rng) < 0.01f) choice = (int)rng_below(&rng, (uint32_t)n);
        game_apply(&g, p->legal[choice]);
    }
}

static void report(Bench *b, const Play *p) {
    double mean = p->best_sum / p->choices;
    double spread = sqrt(p->best_sum2 / p->choices - mean * mean);
    bench_value(b, "spread of Q over decisions", "Q", spread, 0, 0);
    for (int i = 1; i < N_PRECISIONS; i++) {
        if (p->loss[i].values <= 0) continue;
        char name[64];
        snprintf(name, sizeof name, "%s error of Q", precision_name(i));
        bench_value(b, name, "% of spread",
                    100 * sqrt(p->loss[i].error2 / p->loss[i].values) / spread, 0, 0);
        snprintf(name, sizeof name, "%s argmax agreement", precision_name(i));
        bench_value(b, name, "%", 100 * p->loss[i].same / p->choices, 0, 0);
        snprintf(name, sizeof name, "%s regret", precision_name(i));
        bench_value(b, name, "% of spread", 100 * p->loss[i].regret / p->choices / spread, 0, 0);
    }
}

static Status prepare(Play *p, const Weights *w) {
    bool any = false;
    TRY(scorer_new(p->k, &p->scorer));
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; w->params[r] && i < N_PRECISIONS; i++) {
            if (!precision_usable(p->k, i)) continue;
            TRY(packednet_new(r, i, p->k, &p->net[r][i]));
            packednet_set(p->net[r][i], w->params[r]);
            any = true;
        }
    return any ? ST_OK : ST_MISMATCH;
}

Status bench_precision(Bench *b, const KernelTable *k, const Weights *w) {
    Play *p = calloc(1, sizeof *p);
    if (!p) return ST_NOMEM;
    p->k = k;
    Status st = prepare(p, w);
    for (uint64_t i = 0; st == ST_OK && i < GAMES; i++) play_game(p, i);
    if (st == ST_OK) report(b, p);
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; i < N_PRECISIONS; i++) packednet_free(p->net[r][i]);
    scorer_free(p->scorer);
    free(p);
    return st;
}
