/* AD-PSGD and asynchronous model averaging: a slow rank slows nobody, the mean is conserved through
 * ten thousand swaps with random delays, and a rank that dies in a swap takes nobody with it. */
#include "tests/learner/gauss.h"
#include "tests/learner/trial.h"

#include "engine/base/log.h"

enum { D = 30, RANKS = 8 };

typedef struct {
    double h[RANKS][D], b[RANKS][D], best[D];
    double sigma, period;
} Problem;
static Problem problem;

static void make(double sigma, double period) {
    Rng r;
    rng_init(&r, 2, 0);
    problem.sigma = sigma;
    problem.period = period;
    for (int k = 0; k < D; k++) {
        double up = 0, down = 0;
        for (int i = 0; i < RANKS; i++) {
            problem.h[i][k] = .5 + .5 * (double)rng_float(&r);
            problem.b[i][k] = 1 + .1 * gauss(&r); // ranks' data are alike but not the same
            up += problem.h[i][k] * problem.b[i][k];
            down += problem.h[i][k];
        }
        problem.best[k] = up / down;
    }
}

static void gradient(const void *ctx, int rank, int step, const Real *x, Real *g) {
    const Problem *p = ctx;
    Rng r;
    rng_init(&r, 5 + (uint64_t)step, (uint64_t)rank);
    for (int k = 0; k < D; k++)
        g[k] = (Real)(p->h[rank][k] * ((double)x[k] - p->b[rank][k]) + p->sigma * gauss(&r));
}

static double gap(const Real *x) {
    double sum = 0;
    for (int k = 0; k < D; k++)
        for (int i = 0; i < RANKS; i++)
            sum += .5 / RANKS * problem.h[i][k] * ((double)x[k] - problem.best[k]) *
                   ((double)x[k] - problem.best[k]);
    return sum;
}

static void tune(AlgoConfig *c, const void *ctx) { c->period_s = ((const Problem *)ctx)->period; }

/* 600 units of time; a step takes one, a message .1. */
static int run_slow(const char *algo, const char *topology, double factor, double *final_gap) {
    double slow[RANKS] = {1, 1, 1, factor, 1, 1, 1, 1};
    Trial t = {.algo = algo,
               .topology = topology,
               .ranks = RANKS,
               .n = D,
               .steps = 100000,
               .lr = .1,
               .gradient = gradient,
               .problem = &problem,
               .tune = tune,
               .net = {.latency_s = .1},
               .threaded = true,
               .compute_s = 1,
               .slow = slow,
               .run_s = 600,
               .flush = strcmp(algo, "dpsgd") != 0 && strcmp(algo, "allreduce") != 0};
    if (!t.flush) { // synchronous: the slow rank's clock tells how many steps all make
        t.run_s = 0;
        t.steps = (int)(600 / (factor + (strcmp(algo, "dpsgd") == 0 ? .02 : .12)));
    }
    trial_run(&t);
    int gradients = 0;
    for (int i = 0; i < RANKS; i++) gradients += t.done[i];
    *final_gap = gap(t.mean);
    print_message("%-9s slow x%-3.0f: %4d gradients, gap %.4f, %llu exchanges at rank 0, %.0f s\n",
                  algo, factor, gradients, *final_gap, (unsigned long long)t.stats[0].exchanges,
                  t.seconds);
    assert_true(t.seconds < 600 + 12 * factor);
    trial_free(&t);
    return gradients;
}

static void slow_ranks(void **state) {
    (void)state;
    double even, slow, very, sync, sync_slow;
    make(.3, .5);
    log_level(LOG_ERROR - 1);
    int n1 = run_slow("adpsgd", "bipartite", 1, &even);
    int n10 = run_slow("adpsgd", "bipartite", 10, &slow);
    int n100 = run_slow("adpsgd", "bipartite", 100, &very);
    assert_true(n1 >= 8 * 590);
    assert_true(n10 >= .85 * n1 && n100 >= .85 * n1);
    assert_true(slow < 1.5 * even && very < 1.8 * even);
    int s1 = run_slow("allreduce", NULL, 1, &sync),
        s10 = run_slow("allreduce", NULL, 10, &sync_slow);
    assert_true(s10 * 7 <= s1);
    int d1 = run_slow("dpsgd", "ring", 1, &sync), d10 = run_slow("dpsgd", "ring", 10, &sync_slow);
    assert_true(d10 * 7 <= d1);
    problem.period = 2;
    int a1 = run_slow("average", NULL, 1, &even), a10 = run_slow("average", NULL, 10, &slow);
    assert_true(a1 >= 8 * 590 && a10 >= .85 * a1 && slow < 1.5 * even);
    log_level(LOG_INFO);
}

/* Without gradients only swaps move the models: their mean may not move, their spread must vanish.
 */
static double jitter_s;

static void swap_only(Rank *r) {
    Real x[D], g[D], first[D], mean[D];
    Engine *e;
    Algo *a;
    AlgoConfig c;
    comm_jitter(r->comm, jitter_s, 11);
    team_ok(r, engine_new(r->comm, true, NULL, &e));
    team_ok(r, algo_defaults("adpsgd", &c));
    memset(x, 0, sizeof x);
    c.n = D, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd(), c.period_s = .002;
    team_ok(r, topology_parse("bipartite", r->size, &c.topology));
    team_ok(r, algo_new(&c, &a));
    Rng random;
    rng_init(&random, 4, (uint64_t)r->rank);
    for (int k = 0; k < D; k++) g[k] = first[k] = (Real)gauss(&random);
    team_ok(r, algo_before_forward(a, -1));
    team_ok(r, algo_after_backward(a)); // x_i += g_i
    memset(g, 0, sizeof g);
    for (int t = 0; t < 700; t++) { // wait beside, as if computing
        world_sleep_ns(r->world, 100000000);
        team_ok(r, algo_before_forward(a, 1));
        team_ok(r, algo_after_backward(a));
    }
    AlgoStats s;
    algo_stats(a, &s);
    Real swaps = (Real)s.exchanges / 2;
    double apart = 0, moved = 0;
    Real mine[D];
    memcpy(mine, x, sizeof mine);
    team_ok(r, algo_flush(a));
    memcpy(mean, first, sizeof mean);
    algo_free(a);
    engine_free(e);
    team_ok(r, comm_allreduce(r->comm, &swaps, 1));
    team_check(r, swaps >= 10000);
    if (r->rank == 0) print_message("%.0f swaps on %d ranks\n", (double)swaps, r->size);
    team_ok(r, comm_allreduce(r->comm, mean, D));
    for (int k = 0; k < D; k++) {
        moved = fmax(moved, fabs((double)(x[k] - mean[k] / (Real)r->size)));
        apart = fmax(apart, fabs((double)(x[k] - mine[k])));
    }
    team_check(r, moved < 1e-5);
    team_check(r, apart < 1e-3);
}

static void ten_thousand_swaps(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 1e6, .latency_s = 1e-4};
    jitter_s = .01;
    team_run(8, &net, swap_only, NULL);
    team_run(5, &net, swap_only, NULL); // an odd number: the graph is cut to stay bipartite
}

/* A rank dies at a random moment, without a word. The others finish, and their models are sound. */
static int victim;
static double death_s;

static void until_death(Rank *r) {
    Real *x = calloc(D, sizeof *x), *g = calloc(D, sizeof *g); // the dead rank's stay allocated
    Engine *e;
    Algo *a;
    AlgoConfig c;
    const char *name = r->ctx;
    comm_timeout(r->comm, 3);
    comm_elastic(r->comm, algo_elastic(name));
    team_ok(r, engine_new(r->comm, true, NULL, &e));
    team_ok(r, algo_defaults(name, &c));
    c.n = D, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd(), c.period_s = .3;
    team_ok(r, topology_parse("bipartite", r->size, &c.topology));
    team_ok(r, algo_new(&c, &a));
    int steps = 0;
    Status st = ST_OK;
    while (world_now_ns(r->world) < 60000000000) {
        if (r->rank == victim && (double)world_now_ns(r->world) > death_s * 1e9) break;
        if ((st = algo_before_forward(a, .1)) != ST_OK) break;
        gradient(&problem, r->rank, steps++, x, g);
        world_sleep_ns(r->world, 500000000);
        if ((st = algo_after_backward(a)) != ST_OK) break;
    }
    if (r->rank == victim) {
        comm_kill(r->comm); // and its threads stay where they are until the end
        world_sleep_ns(r->world, 200000000000);
    } else {
        team_check(r, st == ST_OK);
        team_check(r, steps >= 100);
        team_check(r, gap(x) < .2);
    }
    algo_free(a);
    engine_free(e);
    free(x);
    free(g);
}

static void survive(const char *name) {
    void *ctx[TEAM_MAX];
    for (int i = 0; i < RANKS; i++) ctx[i] = (void *)name;
    make(.1, .3);
    SimNet net = {.latency_s = .05};
    Rng r;
    rng_init(&r, 21, 0);
    log_level(LOG_ERROR - 1);
    for (int k = 0; k < 10; k++) {
        victim = k % RANKS;
        death_s = 5 + 10 * (double)rng_float(&r);
        team_run(RANKS, &net, until_death, ctx);
    }
    log_level(LOG_INFO);
}

static void adpsgd_survives(void **state) {
    (void)state;
    survive("adpsgd");
}

static void average_survives(void **state) {
    (void)state;
    survive("average");
}

/* On threads, for the race detector: everything at once, for a moment. */
static void real_threads(Rank *r) {
    Real x[D], g[D];
    Engine *e;
    Algo *a;
    AlgoConfig c;
    memset(x, 0, sizeof x);
    team_ok(r, engine_new(r->comm, true, NULL, &e));
    team_ok(r, algo_defaults(r->ctx, &c));
    c.n = D, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd(), c.period_s = .001;
    team_ok(r, topology_parse("bipartite", r->size, &c.topology));
    team_ok(r, algo_new(&c, &a));
    for (int t = 0; t < 300; t++) {
        team_ok(r, algo_before_forward(a, .1));
        gradient(&problem, r->rank, t, x, g);
        team_ok(r, algo_after_backward(a));
        if (t == 100 || t == 200) team_ok(r, algo_flush(a));
        if (t % 50 == 0) world_sleep_ns(r->world, 3000000);
    }
    team_ok(r, algo_flush(a));
    if (r->rank == 0) print_message("%s on 4 threads: gap %.3f\n", (char *)r->ctx, gap(x));
    team_check(r, gap(x) < .3); // 4 of the 8 minima; at the start it is 11
    algo_free(a);
    engine_free(e);
}

static void on_threads(void **state) {
    (void)state;
    static const char *const algos[] = {"adpsgd", "average", "server"};
    make(.1, .001);
    for (int k = 0; k < 3; k++) {
        void *ctx[TEAM_MAX];
        for (int i = 0; i < 4; i++) ctx[i] = (void *)algos[k];
        team_run(4, NULL, real_threads, ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_ranks),      cmocka_unit_test(ten_thousand_swaps),
        cmocka_unit_test(adpsgd_survives), cmocka_unit_test(average_survives),
        cmocka_unit_test(on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
