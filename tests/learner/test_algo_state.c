/* What a checkpoint keeps: a run that is saved and goes on elsewhere makes the same steps, bit for
 * bit; a flushed state fits any number of ranks and loses nothing; what does not fit is refused. */
#include "tests/learner/gauss.h"
#include "tests/learner/rules.h"
#include "tests/learner/team.h"

#include "engine/base/log.h"

enum { N = 2000, BEFORE = 13, AFTER = 9 };

typedef struct {
    const char *algo, *topology;
    bool flush;
    uint8_t *state[TEAM_MAX];
    size_t bytes[TEAM_MAX];
    Real x[TEAM_MAX][N], end[TEAM_MAX][N];
    int ranks_before;
} Run;

static void gradient(int rank, int step, const Real *x, Real *g) {
    Rng r;
    rng_init(&r, (uint64_t)step, (uint64_t)rank);
    for (int i = 0; i < N; i++) g[i] = (Real)(gauss(&r) + .2 * ((double)x[i] - rank));
}

static void start(Rank *r, Run *run, Real *x, Real *g, Engine **e, Algo **a) {
    AlgoConfig c;
    team_ok(r, engine_new(r->comm, false, NULL, e));
    team_ok(r, algo_defaults(run->algo, &c));
    c.n = N, c.x = x, c.g = g, c.engine = *e, c.rule = rule_sgd(), c.bucket = 700, c.seed = 4;
    c.momentum.warmup = 5;
    c.momentum.refresh_every = 6;
    c.momentum.refresh_steps = 3;
    team_ok(r, topology_parse(run->topology, r->size, &c.topology));
    team_ok(r, algo_new(&c, a));
}

static void steps(Rank *r, Algo *a, int from, int n, const Real *x, Real *g) {
    for (int t = from; t < from + n; t++) {
        team_ok(r, algo_before_forward(a, t < 10 ? .05 : .03));
        gradient(r->rank, t, x, g);
        team_ok(r, algo_after_backward(a));
    }
}

static void save_and_go_on(Rank *r) {
    Run *run = r->ctx;
    Real x[N] = {0}, g[N];
    Engine *e;
    Algo *a;
    start(r, run, x, g, &e, &a);
    steps(r, a, 0, BEFORE, x, g);
    if (run->flush) team_ok(r, algo_flush(a));
    team_ok(r, algo_save(a, &run->state[r->rank], &run->bytes[r->rank]));
    memcpy(run->x[r->rank], x, sizeof x);
    steps(r, a, BEFORE, AFTER, x, g);
    memcpy(run->end[r->rank], x, sizeof x);
    algo_free(a);
    engine_free(e);
}

static void load_and_go_on(Rank *r) {
    Run *run = r->ctx;
    Real x[N] = {0}, g[N];
    Engine *e;
    Algo *a;
    start(r, run, x, g, &e, &a);
    memcpy(x, run->x[r->rank], sizeof x);
    team_ok(r, algo_load(a, run->state[r->rank], run->bytes[r->rank]));
    team_check(r, algo_steps(a) == BEFORE);
    steps(r, a, BEFORE, AFTER, x, g);
    if (memcmp(x, run->end[r->rank], sizeof x) != 0)
        snprintf(r->wrong, sizeof r->wrong, "%s%s: other numbers after the restart", run->algo,
                 run->flush ? ", flushed" : "");
    algo_free(a);
    engine_free(e);
}

static const char *const algos[][2] = {{"allreduce", "complete"}, {"bytegrad", "complete"},
                                       {"squeeze", "complete"},   {"onebit", "complete"},
                                       {"qadam", "complete"},     {"dpsgd", "matching"},
                                       {"dcd", "ring"},           {"d2", "ring:0.25"}};
enum { N_ALGOS = sizeof algos / sizeof algos[0] };
static const SimNet net = {.latency_s = 1e-4};

static void forget(Run *run) {
    for (int i = 0; i < TEAM_MAX; i++) free(run->state[i]);
}

static void all_ctx(void *const value, void **ctx) {
    for (int i = 0; i < TEAM_MAX; i++) ctx[i] = value;
}

static void same_steps_after_a_restart(void **state) {
    (void)state;
    static Run run;
    void *ctx[TEAM_MAX];
    all_ctx(&run, ctx);
    for (int k = 0; k < N_ALGOS; k++)
        for (int flush = 0; flush < 2; flush++) {
            memset(&run, 0, sizeof run);
            run.algo = algos[k][0], run.topology = algos[k][1], run.flush = flush;
            team_run(4, &net, save_and_go_on, ctx);
            team_run(4, &net, load_and_go_on, ctx);
            if (flush) // one file does for all
                for (int i = 1; i < 4; i++) {
                    assert_int_equal(run.bytes[i], run.bytes[0]);
                    assert_memory_equal(run.state[i] + 40, run.state[0] + 40, run.bytes[0] - 40);
                    assert_memory_equal(run.x[i], run.x[0], sizeof run.x[0]);
                }
            forget(&run);
        }
}

/* From 4 ranks to 2 or 6, with rank 0's file for all: residuals were gathered, so that the sum of
 * all that was ever sent stays whole.                                                           */
static void load_with_other_ranks(Rank *r) {
    Run *run = r->ctx;
    Real x[N], g[N];
    Engine *e;
    Algo *a;
    start(r, run, x, g, &e, &a);
    memcpy(x, run->x[0], sizeof x);
    team_ok(r, algo_load(a, run->state[0], run->bytes[0]));
    steps(r, a, BEFORE, AFTER, x, g);
    team_check(r, real_finite(x, N));
    memcpy(run->end[r->rank], x, sizeof x);
    algo_free(a);
    engine_free(e);
}

static void other_numbers_of_ranks(void **state) {
    (void)state;
    static Run run;
    void *ctx[TEAM_MAX];
    all_ctx(&run, ctx);
    for (int k = 0; k < N_ALGOS; k++) {
        memset(&run, 0, sizeof run);
        run.algo = algos[k][0], run.topology = algos[k][1], run.flush = true;
        team_run(4, &net, save_and_go_on, ctx);
        for (int n = 2; n <= 6; n += 4) team_run(n, &net, load_with_other_ranks, ctx);
        forget(&run);
    }
}

static void refuse(Rank *r) {
    Run *run = r->ctx;
    Real x[N] = {0}, g[N];
    Engine *e;
    Algo *a;
    start(r, run, x, g, &e, &a);
    const uint8_t *p = run->state[0];
    size_t bytes = run->bytes[0];
    Status expected = r->size == run->ranks_before && r->rank == 0 ? ST_OK : ST_MISMATCH;
    team_check(r, algo_load(a, p, bytes) == expected);
    team_check(r, algo_load(a, p, 30) == ST_TRUNCATED);
    team_check(r, algo_load(a, p, bytes - 1) != ST_OK);
    uint8_t *bad = malloc(bytes + 1);
    memcpy(bad, p, bytes);
    team_check(r, algo_load(a, bad, bytes + 1) != ST_OK);
    bad[0] ^= 1;
    team_check(r, algo_load(a, bad, bytes) == ST_CORRUPT);
    bad[0] ^= 1, bad[10] ^= 1; // another algorithm's name
    team_check(r, algo_load(a, bad, bytes) == ST_MISMATCH);
    free(bad);
    algo_free(a);
    engine_free(e);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    static Run run;
    void *ctx[TEAM_MAX];
    all_ctx(&run, ctx);
    log_level(LOG_ERROR - 1);
    run.algo = "squeeze", run.topology = "complete";
    team_run(4, &net, save_and_go_on, ctx);
    run.ranks_before = 4;
    team_run(4, &net, refuse, ctx);
    team_run(3, &net, refuse, ctx);
    forget(&run);
    log_level(LOG_INFO);
}

/* Ranks that do not agree on the settings stop at once, all of them. */
static void disagree(Rank *r) {
    Real x[4] = {0}, g[4];
    Engine *e;
    Algo *a = NULL;
    AlgoConfig c;
    team_ok(r, engine_new(r->comm, false, NULL, &e));
    team_ok(r, algo_defaults("squeeze", &c));
    c.n = 4, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd();
    if (r->rank == 2) team_ok(r, codec_parse("topk:0.5", &c.up));
    team_check(r, algo_new(&c, &a) == ST_MISMATCH);
    engine_free(e);
}

static void settings_must_agree(void **state) {
    (void)state;
    log_level(LOG_ERROR - 1);
    team_run(4, &net, disagree, NULL);
    log_level(LOG_INFO);
}

int main(void) {
    log_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_steps_after_a_restart),
        cmocka_unit_test(other_numbers_of_ranks),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(settings_must_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
