#include "actors/bench_actors.h"
#include "actors/selfplay.h"
#include "engine/base/log.h"
#include <stdio.h>
#include <stdlib.h>

enum { GAMES_AT_ONCE = 384, SIGNATURE_GAMES = 200 };
static const double epsilon = 0.01;

typedef struct {
    Weights weights;
    PackedNet *nets[N_ROLES];
    Policy *policy;
    Selfplay *play;
} Bed;

static void ignore_record(void *ctx, const uint8_t *record, size_t n) {
    (void)ctx, (void)record, (void)n;
}

static Status fill_weights(Weights *w, const char *path) {
    if (path) return weights_load(path, w);
    TRY(weights_new(w));
    for (Role r = 0; r < N_ROLES; r++) net_init(r, 1, w->params[r]);
    return ST_OK;
}

static Status make_nets(Bed *bed, Precision p, const KernelTable *k) {
    for (Role r = 0; r < N_ROLES; r++) {
        if (!bed->weights.params[r]) return ST_MISMATCH;
        TRY(packednet_new(r, p, k, &bed->nets[r]));
        packednet_set(bed->nets[r], bed->weights.params[r]);
    }
    TRY(policy_from_nets(&bed->policy));
    const PackedNet *const nets[N_ROLES] = {bed->nets[0], bed->nets[1], bed->nets[2]};
    policy_set_nets(bed->policy, nets);
    return ST_OK;
}

static Status make_play(Bed *bed, const Policy *policy) {
    const Policy *const policies[N_ROLES] = {policy, policy, policy};
    SelfplayConfig c = {.rules = (RulesetId)bed->weights.info.ruleset,
                        .seed = 1,
                        .stride = 1,
                        .n_games = GAMES_AT_ONCE,
                        .epsilon = epsilon,
                        .emit = ignore_record};
    return selfplay_new(&c, policies, &bed->play);
}

static void bed_free(Bed *bed) {
    selfplay_free(bed->play);
    policy_free(bed->policy);
    for (int r = 0; r < N_ROLES; r++) packednet_free(bed->nets[r]);
    *bed = (Bed){.weights = bed->weights};
}

/* One tick; returns the decisions made in it, forced ones too. */
static double tick_decisions(void *ctx) {
    Bed *bed = ctx;
    uint64_t before = selfplay_stats(bed->play)->decisions;
    selfplay_tick(bed->play);
    return (double)(selfplay_stats(bed->play)->decisions - before);
}

static double tick_games(void *ctx) {
    Bed *bed = ctx;
    uint64_t before = selfplay_stats(bed->play)->games;
    for (int i = 0; i < 10; i++) selfplay_tick(bed->play);
    return (double)(selfplay_stats(bed->play)->games - before);
}

static void shares(Bench *b, const Bed *bed, const char *who, double decisions_per_s) {
    const PoolStats *s = selfplay_stats(bed->play);
    double decisions = (double)s->decisions;
    uint64_t n_moves, bytes = selfplay_bytes(bed->play, &n_moves);
    const struct {
        const char *name, *unit;
        double value;
    } rows[] = {{"scored", "decisions/s", decisions_per_s * (double)s->scored / decisions},
                {"games", "games/s", decisions_per_s * (double)s->games / (double)n_moves},
                {"forced share", "of decisions", (double)s->forced / decisions},
                {"plays to choose from", "per scored", (double)s->actions / (double)s->scored},
                {"record", "bytes/decision", (double)bytes / (double)n_moves}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s, %s", who, rows[i].name);
        bench_value(b, name, rows[i].unit, rows[i].value, 0, 0);
    }
}

/* Plays until the games that began together have drifted apart: before, all lead at once. */
static void mix(Selfplay *play) {
    while (selfplay_stats(play)->games < GAMES_AT_ONCE) selfplay_tick(play);
}

static Status bench_precision(Bench *b, Bed *bed, Precision p, const KernelTable *k, double *fp32) {
    Status st = make_nets(bed, p, k);
    if (st == ST_OK) st = make_play(bed, bed->policy);
    if (st == ST_OK) {
        char name[64];
        mix(bed->play);
        snprintf(name, sizeof name, "self-play, %s, one core", precision_name(p));
        double rate = bench_time(b, name, "decisions/s", tick_decisions, bed, *fp32, 0);
        if (p == PRECISION_FP32) *fp32 = rate;
        shares(b, bed, precision_name(p), rate);
    }
    bed_free(bed);
    return st;
}

/* The loop without a net: what rules, records and the rule policy cost. */
static Status bench_policy(Bench *b, Bed *bed, const char *policy) {
    TRY(policy_open(policy, (RulesetId)bed->weights.info.ruleset, PRECISION_FP32, false,
                    &bed->policy));
    Status st = make_play(bed, bed->policy);
    if (st == ST_OK) {
        char name[64];
        snprintf(name, sizeof name, "self-play of %s, one core", policy);
        bench_time(b, name, "games/s", tick_games, bed, 0, 0);
    }
    bed_free(bed);
    return st;
}

Status bench_actors(Bench *b, const char *path) {
    const KernelTable *k = kernels_get();
    if (!k) return ST_UNSUPPORTED;
    Bed bed = {0};
    TRY(fill_weights(&bed.weights, path));
    double fp32 = 0;
    Status st = ST_OK;
    for (Precision p = 0; p < N_PRECISIONS && st == ST_OK; p++)
        if (precision_usable(k, p)) st = bench_precision(b, &bed, p, k, &fp32);
    if (st == ST_OK) st = bench_policy(b, &bed, "random");
    if (st == ST_OK) st = bench_policy(b, &bed, "rule");
    weights_free(&bed.weights);
    return st;
}

/* FNV-1a. */
static void hash_record(void *ctx, const uint8_t *record, size_t n) {
    unsigned long long *h = ctx;
    for (size_t i = 0; i < n; i++) *h = (*h ^ record[i]) * 0x100000001b3ull;
}

Status bench_signature(unsigned long long *out) {
    unsigned long long h = 0xcbf29ce484222325ull;
    for (int rules = 0; rules < N_RULESETS; rules++) {
        Policy *p;
        Selfplay *play;
        TRY(policy_open("rule", (RulesetId)rules, PRECISION_FP32, false, &p));
        const Policy *const policies[N_ROLES] = {p, p, p};
        SelfplayConfig c = {.rules = (RulesetId)rules,
                            .seed = 1,
                            .stride = 1,
                            .n_games = 1, /* so that records come in order */
                            .epsilon = 0.1,
                            .emit = hash_record,
                            .ctx = &h};
        Status st = selfplay_new(&c, policies, &play);
        if (st == ST_OK) {
            selfplay_allow(play, SIGNATURE_GAMES);
            while (selfplay_tick(play)) {}
            selfplay_free(play);
        }
        policy_free(p);
        TRY(st);
    }
    *out = h;
    return ST_OK;
}
