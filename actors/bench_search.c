#include "actors/bench_search.h"
#include "actors/rollout.h"
#include "actors/solver.h"
#include "actors/worlds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDINGS = 256, TABLE_BITS = 18, NODE_LIMIT = 50000, ROLLOUTS = 128, MIDDLE_CARDS = 36 };

typedef struct {
    Ending ending[ENDINGS];
    int n, at;
    Solver *solver;
    int unsolved, tries;
} SolverBed;

/* Plays a deal by the rule policy down to at most `cards` cards; false: it ended before. */
static bool play_down(const Policy *rule, PolicyScratch *s, uint64_t deal, int cards, Game *g) {
    static Hand legal[MOVEGEN_MAX];
    Deal d;
    deal_random(17, deal, &d);
    game_init(g, RULES_DOUZERO, &d, 0);
    while (g->phase == PHASE_PLAY && g->left[0] + g->left[1] + g->left[2] > cards) {
        Decision t = {.game = g, .legal = legal, .n_legal = game_legal(g, legal)};
        policy_choose(rule, s, 1, &t);
        game_apply(g, legal[t.choice]);
    }
    return g->phase == PHASE_PLAY;
}

static double solve_one(SolverBed *bed) {
    uint64_t before = solver_nodes(bed->solver);
    Solved v = solver_run(bed->solver, &bed->ending[bed->at++ % bed->n], NODE_LIMIT);
    bed->tries++;
    bed->unsolved += v == SOLVED_UNKNOWN;
    return (double)(solver_nodes(bed->solver) - before);
}

/* A new table before the endings come again: to find one of them solved is no work. */
static Status renew(SolverBed *bed) {
    if (bed->at % bed->n) return ST_OK;
    solver_free(bed->solver);
    bed->solver = NULL;
    return solver_new(ruleset_get(RULES_DOUZERO), TABLE_BITS, &bed->solver);
}

static double solve_endings(void *ctx) {
    SolverBed *bed = ctx;
    for (int i = 0; i < 16; i++) {
        if (renew(bed) != ST_OK) return 0;
        solve_one(bed);
    }
    return 16;
}

static double solve_nodes(void *ctx) {
    SolverBed *bed = ctx;
    double nodes = 0;
    for (int i = 0; i < 16; i++) {
        if (renew(bed) != ST_OK) return 0;
        nodes += solve_one(bed);
    }
    return nodes;
}

static void bench_solver(Bench *b, const Policy *rule, PolicyScratch *s) {
    static const int cards[] = {12, 16, 20, 24, 28};
    static SolverBed bed;
    for (size_t k = 0; k < sizeof cards / sizeof *cards; k++) {
        char name[64];
        memset(&bed, 0, sizeof bed);
        for (uint64_t deal = 0; bed.n < ENDINGS; deal++) {
            Game g;
            if (play_down(rule, s, deal, cards[k], &g)) ending_from_game(&g, &bed.ending[bed.n++]);
        }
        if (renew(&bed) != ST_OK) return;
        snprintf(name, sizeof name, "solver, endings of %d cards", cards[k]);
        bench_time(b, name, "endings/s", solve_endings, &bed, 0, 0);
        snprintf(name, sizeof name, "solver, %d cards, solved in %d positions", cards[k],
                 NODE_LIMIT);
        bench_value(b, name, "of endings", 1 - (double)bed.unsolved / bed.tries, 0, 0);
        if (cards[k] == 20) {
            bed.at = 0;
            bench_time(b, "solver", "positions/s", solve_nodes, &bed, 0, 0);
        }
        solver_free(bed.solver);
        bed.solver = NULL;
    }
}

typedef struct {
    const Policy *net;
    PolicyScratch *scratch;
    Rollout *rollout;
    Game begin[ROLLOUTS];
} RolloutBed;

static double roll_out(void *ctx) {
    RolloutBed *bed = ctx;
    memcpy(rollout_games(bed->rollout), bed->begin, sizeof bed->begin);
    rollout_run(bed->rollout, bed->net, bed->scratch, ROLLOUTS);
    return ROLLOUTS;
}

/* Nets to roll out with: of a file, or random ones. */
static Status open_nets(const char *path, Precision p, PackedNet *nets[N_ROLES], Policy **out) {
    Weights w;
    if (path) TRY(weights_load(path, &w));
    else TRY(weights_new(&w));
    Status st = ST_OK;
    for (Role r = 0; r < N_ROLES && st == ST_OK; r++) {
        if (!path) net_init(r, 1, w.params[r]);
        st = w.params[r] ? packednet_new(r, p, kernels_get(), &nets[r]) : ST_MISMATCH;
        if (st == ST_OK) packednet_set(nets[r], w.params[r]);
    }
    weights_free(&w);
    if (st == ST_OK) st = policy_from_nets(out);
    if (st == ST_OK) policy_set_nets(*out, (const PackedNet *const *)nets);
    return st;
}

static Status bench_rollouts(Bench *b, const char *path, const Policy *rule, PolicyScratch *s) {
    static RolloutBed bed;
    const KernelTable *k = kernels_get();
    Status st = k ? rollout_new(ROLLOUTS, &bed.rollout) : ST_UNSUPPORTED;
    for (Precision p = 0; p < N_PRECISIONS && st == ST_OK; p++) {
        PackedNet *nets[N_ROLES] = {0};
        Policy *net = NULL;
        char name[64];
        if (!precision_usable(k, p)) continue;
        st = open_nets(path, p, nets, &net);
        int n = 0;
        for (uint64_t deal = 0; st == ST_OK && n < ROLLOUTS; deal++)
            n += play_down(rule, s, deal, MIDDLE_CARDS, &bed.begin[n]);
        bed.net = net;
        bed.scratch = s;
        snprintf(name, sizeof name, "playouts from %d cards, %s", MIDDLE_CARDS, precision_name(p));
        if (st == ST_OK) bench_time(b, name, "games/s", roll_out, &bed, 0, 0);
        policy_free(net);
        for (int r = 0; r < N_ROLES; r++) packednet_free(nets[r]);
    }
    rollout_free(bed.rollout);
    bed.rollout = NULL;
    return st;
}

Status bench_search(Bench *b, const char *weights) {
    Policy *rule;
    PolicyScratch *s = NULL;
    TRY(policy_open("rule", RULES_DOUZERO, PRECISION_FP32, true, &rule));
    Status st = policyscratch_new(&s);
    if (st == ST_OK) {
        bench_solver(b, rule, s);
        st = bench_rollouts(b, weights, rule, s);
    }
    policyscratch_free(s);
    policy_free(rule);
    return st;
}
