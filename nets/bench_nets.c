/* bench_nets.c - see bench_nets.h.
 *
 * Shares of the peak count the multiply-adds that cannot be saved: the square layers for each
 * action, dense1's LSTM part and the recurrent products for each decision. The peak is the one of
 * the table's own instructions, measured in the same run.                                    */
#include "nets/bench_nets.h"

#include "nets/bench_precision.h"
#include "nets/scorer.h"
#include "nets/trainer.h"
#include "nets/weights.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DECISIONS = 256, BATCH = 800, MOST_ACTIONS = 30, SEED = 1 };

static const double SQUARE = 2.0 * NET_HIDDEN * NET_HIDDEN, NARROW = 2.0 * NET_HIDDEN * NET_LSTM;

typedef struct {
    const KernelTable *k;
    double peak[N_PRECISIONS]; /* operations a second; 0: no such instructions */
} Machine;

/* ---- peaks ---- */

typedef struct {
    const KernelTable *k;
    int kind;
} PeakJob;

static double run_peak(void *ctx) {
    PeakJob *job = ctx;
    return job->k->peak(job->kind, 200000);
}

static void bench_peaks(Bench *b, Machine *m) {
    const KernelTable *k;
    for (int i = 0; (k = kernels_at(i)); i++)
        for (int p = 0; kernels_usable(k) && p < N_PRECISIONS; p++) {
            PeakJob job = {k, p};
            if (k->peak(p, 1) <= 0) continue;
            char name[64];
            snprintf(name, sizeof name, "peak %s %s", k->name, precision_name(p));
            double peak = bench_time(b, name, "FLOP/s", run_peak, &job, 0, 0);
            if (k == m->k) m->peak[p] = peak;
        }
}

/* ---- products ---- */

typedef struct {
    const KernelTable *k;
    Precision p;
    int rows;
    void *a, *w;
    float *out, *scale;
} Product;

static double run_product(void *ctx) {
    Product *g = ctx;
    GemmEnd end = {.bias = g->scale, .relu = true, .out_rows = (size_t)g->rows};
    if (g->p == PRECISION_BF16) end.out16 = (uint16_t *)g->out;
    else end.out = g->out;
    size_t rows = (size_t)g->rows;
    if (g->p == PRECISION_FP32) g->k->gemm(g->rows, NET_HIDDEN, NET_HIDDEN, g->a, rows, g->w, &end);
    else if (g->p == PRECISION_BF16)
        g->k->gemm_bf16(g->rows, NET_HIDDEN, NET_HIDDEN, g->a, rows, g->w, &end);
    else g->k->gemm_i8(g->rows, NET_HIDDEN, NET_HIDDEN, g->a, rows, g->scale, g->w, g->scale, &end);
    return g->rows * SQUARE;
}

static double run_wgrad(void *ctx) {
    Product *g = ctx;
    size_t rows = (size_t)g->rows;
    if (g->p == PRECISION_FP32)
        g->k->wgrad(g->rows, NET_HIDDEN, NET_HIDDEN, g->a, rows, g->a, rows, g->out, NET_HIDDEN,
                    false);
    else
        g->k->wgrad_bf16(g->rows / 2, NET_HIDDEN, NET_HIDDEN, g->a, rows / 2, g->a, rows / 2,
                         g->out, NET_HIDDEN, false);
    return g->rows * SQUARE;
}

static bool bench_products(Bench *b, const Machine *m) {
    static const int rows[] = {1, 8, 64, 192, 512, 3200};
    enum { MOST = 3200 };
    size_t size = (size_t)MOST * NET_HIDDEN;
    Product g = {.k = m->k,
                 .a = calloc(size, 4),
                 .w = calloc(NET_HIDDEN * NET_HIDDEN, 4),
                 .out = calloc(size, sizeof(float)),
                 .scale = calloc(MOST, sizeof(float))};
    bool ok = g.a && g.w && g.out && g.scale;
    for (int p = 0; ok && p < N_PRECISIONS; p++)
        for (size_t i = 0; precision_usable(m->k, p) && i < sizeof rows / sizeof *rows; i++) {
            char name[64];
            g.p = (Precision)p;
            g.rows = rows[i];
            snprintf(name, sizeof name, "product %s %d x 512 x 512", precision_name(p), rows[i]);
            bench_time(b, name, "FLOP/s", run_product, &g, 0, m->peak[p]);
            if (p == PRECISION_INT8 || rows[i] < 512) continue;
            snprintf(name, sizeof name, "weight gradient %s of %d rows", precision_name(p),
                     rows[i]);
            bench_time(b, name, "FLOP/s", run_wgrad, &g, 0, m->peak[p]);
        }
    free(g.a);
    free(g.w);
    free(g.out);
    free(g.scale);
    return ok;
}

/* ---- positions of random games ---- */

typedef struct {
    Obs obs[BATCH];
    int n_actions[BATCH];
    Hand actions[BATCH * MOST_ACTIONS];
    Sample samples[BATCH];
    float q[BATCH * MOST_ACTIONS];
} Positions;

/* Decisions of the landlord with a choice; short lists are repeated until n_actions are there. */
static void find_positions(Positions *p, int n_actions) {
    static Hand legal[MOVEGEN_MAX];
    int n = 0;
    for (uint64_t game = 0; n < BATCH; game++) {
        Rng rng;
        Deal deal;
        Game g;
        rng_init(&rng, SEED, game);
        deal_random(SEED, game, &deal);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        while (g.phase == PHASE_PLAY && n < BATCH) {
            int count = game_legal(&g, legal);
            if (count > 1 && game_role(&g, g.turn) == ROLE_LANDLORD) {
                obs_from_game(&g, &p->obs[n]);
                for (int a = 0; a < n_actions; a++)
                    p->actions[n * n_actions + a] = legal[a % count];
                p->samples[n] = (Sample){p->obs[n], legal[0], (float)(n % 2), 1};
                p->n_actions[n++] = n_actions;
            }
            game_apply(&g, legal[rng_below(&rng, (uint32_t)count)]);
        }
    }
}

/* ---- scorer ---- */

typedef struct {
    Scorer *scorer;
    PackedNet *net;
    Positions *positions;
    int n;
} Scoring;

static double run_scorer(void *ctx) {
    Scoring *s = ctx;
    Positions *p = s->positions;
    scorer_run(s->scorer, s->net, s->n, p->obs, p->n_actions, p->actions, p->q);
    return s->n;
}

/* Decisions a second if every product ran at its peak. */
static double scoring_roof(const Machine *m, Precision p, int n_actions) {
    Precision small =
        p != PRECISION_FP32 && m->peak[PRECISION_BF16] > 0 ? PRECISION_BF16 : PRECISION_FP32;
    double seconds = n_actions * (NET_DENSE - 2) * SQUARE / m->peak[p];
    return 1 / (seconds + OBS_STEPS * NARROW / m->peak[small]); /* 4 recurrent steps and dense1 */
}

static Status bench_scorer_on(Bench *b, const Machine *m, Precision p, const float *params,
                              Positions *positions, const double *ref, double *rates) {
    static const int actions[] = {8, 15, 30};
    Scoring s = {.positions = positions, .n = ref ? DECISIONS : 8};
    TRY(packednet_new(ROLE_LANDLORD, p, m->k, &s.net));
    Status st = scorer_new(m->k, &s.scorer);
    for (int i = 0; st == ST_OK && i < 3; i++) {
        char name[64];
        snprintf(name, sizeof name, "scored decisions %s %s, %d actions", m->k->name,
                 precision_name(p), actions[i]);
        if (i == 0) packednet_set(s.net, params);
        find_positions(positions, actions[i]);
        double rate = bench_time(b, name, "decisions/s", run_scorer, &s, ref ? ref[i] : 0,
                                 ref ? scoring_roof(m, p, actions[i]) : 0);
        if (rates) rates[i] = rate;
    }
    scorer_free(s.scorer);
    packednet_free(s.net);
    return st;
}

static Status bench_scorer(Bench *b, const Machine *m, const float *params, Positions *positions) {
    Machine ref = {.k = kernels_find("ref")};
    double rates[3];
    TRY(bench_scorer_on(b, &ref, PRECISION_FP32, params, positions, NULL, rates));
    for (int p = 0; p < N_PRECISIONS; p++)
        if (precision_usable(m->k, p))
            TRY(bench_scorer_on(b, m, p, params, positions, rates, NULL));
    return ST_OK;
}

/* ---- trainer ---- */

typedef struct {
    Trainer *trainer;
    const Positions *positions;
    const float *params;
    float *grad;
    int n;
} Training;

static double run_trainer(void *ctx) {
    Training *t = ctx;
    trainer_set(t->trainer, t->params);
    trainer_step(t->trainer, t->n, t->positions->samples, t->n, t->grad, NULL, NULL);
    return t->n;
}

/* Forward, and twice as much back: the square layers, dense1's LSTM part, 4 recurrent steps. */
static double training_roof(const Machine *m, Precision p) {
    return m->peak[p] / (3 * ((NET_DENSE - 2) * SQUARE + OBS_STEPS * NARROW));
}

static Status bench_trainer(Bench *b, const Machine *m, const float *params,
                            const Positions *positions) {
    float *grad = malloc(net_layout(ROLE_LANDLORD)->n_params * sizeof *grad);
    if (!grad) return ST_NOMEM;
    Machine ref = {.k = kernels_find("ref")};
    double ref_rate = 0;
    Status st = ST_OK;
    for (int p = -1; st == ST_OK && p <= PRECISION_BF16; p++) {
        const Machine *on = p < 0 ? &ref : m;
        Precision precision = p < 0 ? PRECISION_FP32 : (Precision)p;
        if (!precision_usable(on->k, precision)) continue;
        Training t = {
            .positions = positions, .params = params, .grad = grad, .n = p < 0 ? 4 : BATCH};
        st = trainer_new(ROLE_LANDLORD, precision, on->k, t.n, &t.trainer);
        if (st != ST_OK) break;
        char name[64];
        snprintf(name, sizeof name, "training %s %s, batch %d", on->k->name,
                 precision_name(precision), t.n);
        double rate = bench_time(b, name, "samples/s", run_trainer, &t, ref_rate,
                                 p < 0 ? 0 : training_roof(m, precision));
        if (p < 0) ref_rate = rate;
        trainer_free(t.trainer);
    }
    free(grad);
    return st;
}

/* ---- all ---- */

static Status bench_all(Bench *b, const Machine *m, const Weights *w, const float *params,
                        Positions *positions) {
    if (!bench_products(b, m)) return ST_NOMEM;
    TRY(bench_scorer(b, m, params, positions));
    TRY(bench_trainer(b, m, params, positions));
    return w ? bench_precision(b, m->k, w) : ST_OK;
}

Status bench_nets(Bench *b, const char *weights_path) {
    Machine m = {.k = kernels_get()};
    if (!m.k) return ST_UNSUPPORTED;
    Weights w = {0};
    if (weights_path) TRY(weights_load(weights_path, &w));
    move_init();
    Status st = ST_NOMEM;
    float *params = malloc(net_layout(ROLE_LANDLORD)->n_params * sizeof *params);
    Positions *positions = malloc(sizeof *positions);
    if (params && positions) {
        net_init(ROLE_LANDLORD, SEED, params);
        bench_peaks(b, &m);
        st = bench_all(b, &m, weights_path ? &w : NULL, params, positions);
    }
    free(params);
    free(positions);
    weights_free(&w);
    return st;
}
