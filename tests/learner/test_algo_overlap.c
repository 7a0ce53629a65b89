/* Buckets exchanged while backward goes on: how long a step takes on a virtual clock, the same bits
 * with and without it, three nets over one engine, and which algorithm wins on which network. */
#include "tests/learner/rules.h"
#include "tests/learner/team.h"

#include "engine/base/log.h"
#include "engine/base/rng.h"

enum { N = 600000, PIECES = 6, STEPS = 5 };

typedef struct {
    const char *algo;
    bool threaded, shuffle;
    double compute_s;
    size_t bucket;
    Real *x[TEAM_MAX];
    double step_s;
    Timeline *timeline;
} Run;

static void pieces(Rank *r) {
    Run *run = r->ctx;
    Real *x = calloc(N, sizeof *x), *g = calloc(N, sizeof *g);
    Engine *e;
    Algo *a;
    AlgoConfig c;
    team_ok(r, engine_new(r->comm, run->threaded, r->rank == 0 ? run->timeline : NULL, &e));
    team_ok(r, algo_defaults(run->algo, &c));
    c.n = N, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd(), c.bucket = run->bucket;
    team_ok(r, topology_parse(r->size % 2 ? "ring" : "matching", r->size, &c.topology));
    team_ok(r, algo_new(&c, &a));
    int64_t start = world_now_ns(r->world);
    for (int t = 0; t < STEPS; t++) {
        team_ok(r, algo_before_forward(a, .1));
        int64_t from = world_now_ns(r->world);
        for (int p = PIECES - 1; p >= 0; p--) { // backward: the last piece first
            world_sleep_ns(r->world, (int64_t)(run->compute_s / PIECES * 1e9));
            // rank 1's own order, unlike the others'
            int piece = run->shuffle && r->rank == 1 ? (p * 5 + t) % PIECES : p;
            size_t at = (size_t)piece * (N / PIECES);
            for (size_t i = at; i < at + N / PIECES; i++) {
                uint32_t hash = (uint32_t)(i * 2654435761u + (unsigned)(r->rank * 97 + t * 13));
                g[i] = (Real)(hash >> 8) / 16777216 - (Real).5;
            }
            algo_bucket_ready(a, at, N / PIECES);
        }
        timeline_add(engine_timeline(e), LANE_COMPUTE, "backward", t, from, world_now_ns(r->world));
        team_ok(r, algo_after_backward(a));
        if (t == 0) start = world_now_ns(r->world); // the first step finds the order
    }
    if (r->rank == 0) run->step_s = (double)(world_now_ns(r->world) - start) / 1e9 / (STEPS - 1);
    if (run->x[0]) memcpy(run->x[r->rank], x, N * sizeof *x);
    algo_free(a);
    engine_free(e);
    free(x);
    free(g);
}

static double run_pieces(int ranks, const SimNet *net, Run *run) {
    void *ctx[TEAM_MAX];
    for (int i = 0; i < ranks; i++) ctx[i] = run;
    team_run(ranks, net, pieces, ctx);
    return run->step_s;
}

static void exchange_hides_behind_backward(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 60e6, .latency_s = 1e-4};
    Run run = {.algo = "allreduce", .threaded = true, .compute_s = .06, .bucket = N / PIECES};
    double with = run_pieces(4, &net, &run);
    run.threaded = false;
    double without = run_pieces(4, &net, &run);
    double wire = 1.5 * N * sizeof(Real) / 60e6, one = wire / PIECES + 6e-4;
    double comm = wire + PIECES * 6e-4;
    print_message(
        "compute 60 ms, exchange %.1f ms: overlapped %.1f ms, one after the other %.1f ms\n",
        comm * 1e3, with * 1e3, without * 1e3);
    assert_true(fabs(without - (.06 + comm)) < .002);
    assert_true(with <= fmax(.06, comm) + one * 1.05);
}

static void same_bits_with_and_without(void **state) {
    (void)state;
    static const char *const algos[] = {"allreduce", "bytegrad", "squeeze", "onebit"};
    SimNet net = {.latency_s = 1e-4};
    for (int k = 0; k < 4; k++) {
        Run run = {.algo = algos[k], .bucket = 70000};
        Real *first[3];
        for (int i = 0; i < 3; i++) {
            first[i] = malloc(N * sizeof(Real));
            run.x[i] = malloc(N * sizeof(Real));
        }
        run_pieces(3, &net, &run);
        for (int i = 0; i < 3; i++) memcpy(first[i], run.x[i], N * sizeof(Real));
        for (int v = 0; v < 2; v++) {
            run.threaded = true;
            run.shuffle = v == 1; // a rank whose buckets come in another order must not deadlock
            run_pieces(3, &net, &run);
            for (int i = 0; i < 3; i++) assert_memory_equal(run.x[i], first[0], N * sizeof(Real));
        }
        for (int i = 0; i < 3; i++) {
            free(first[i]);
            free(run.x[i]);
        }
    }
}

/* Three nets, one engine: while one computes, the one before is exchanged, even in one bucket. */
static double nets_s[2];

static void three_nets(Rank *r) {
    enum { NETS = 3, M = 100000 };
    bool threaded = *(const bool *)r->ctx;
    Real *x = calloc(NETS * M, sizeof *x), *g = calloc(NETS * M, sizeof *g);
    Engine *e;
    Algo *a[NETS];
    team_ok(r, engine_new(r->comm, threaded, NULL, &e));
    for (int k = 0; k < NETS; k++) {
        AlgoConfig c;
        team_ok(r, algo_defaults("allreduce", &c));
        c.n = M, c.x = x + k * M, c.g = g + k * M, c.engine = e, c.rule = rule_sgd(), c.group = k;
        team_ok(r, algo_new(&c, &a[k]));
    }
    int64_t start = world_now_ns(r->world);
    for (int t = 0; t < 10; t++)
        for (int k = 0; k < NETS; k++) {
            // the update of net k waits only now, two nets' computing after its gradient was ready
            if (t > 0) team_ok(r, algo_after_backward(a[k]));
            team_ok(r, algo_before_forward(a[k], .1));
            world_sleep_ns(r->world, 20000000);
            for (int i = 0; i < M; i++) g[k * M + i] = (Real)(r->rank + k);
            algo_bucket_ready(a[k], 0, M);
        }
    for (int k = 0; k < NETS; k++) team_ok(r, algo_after_backward(a[k]));
    if (r->rank == 0) nets_s[threaded] = (double)(world_now_ns(r->world) - start) / 1e9;
    for (int k = 0; k < NETS; k++) {
        Real expected = 0;
        for (int t = 0; t < 10; t++)
            expected -=
                (Real).1 * ((Real)(r->size * (r->size - 1) / 2 + r->size * k) / (Real)r->size);
        team_check(r, x[k * M] == expected && x[k * M + M - 1] == expected);
        algo_free(a[k]);
    }
    engine_free(e);
    free(x);
    free(g);
}

static void one_net_exchanges_while_another_computes(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 60e6, .latency_s = 1e-4}; // an exchange of 10 ms
    for (int k = 0; k < 2; k++) {
        bool threaded = k;
        void *ctx[TEAM_MAX];
        for (int i = 0; i < 4; i++) ctx[i] = &threaded;
        team_run(4, &net, three_nets, ctx);
    }
    print_message("30 updates of 20 ms: %.0f ms overlapped, %.0f ms not\n", nets_s[1] * 1e3,
                  nets_s[0] * 1e3);
    assert_true(nets_s[1] < .6 + .012 && nets_s[0] > .6 + 30 * .0099);
}

/* Step times in ms at 8 ranks without overlap. Wide and near: exact sums are as good as any.
 * Narrow: fewer bytes win. Far: fewer messages one after the other win. */
static void the_winner_depends_on_the_network(void **state) {
    (void)state;
    static const char *const algos[] = {"allreduce", "bytegrad", "dpsgd"};
    static const struct {
        const char *name;
        SimNet net;
    } nets[] = {{"10 Gbit/s, 10 us", {.bytes_per_s = 1.25e9, .latency_s = 1e-5}},
                {"1 Gbit/s, 25 ms", {.bytes_per_s = 125e6, .latency_s = .025}},
                {"50 Mbit/s, 1 ms", {.bytes_per_s = 6.25e6, .latency_s = .001}}};
    double ms[3][3];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            Run run = {.algo = algos[k], .compute_s = .02};
            ms[i][k] = run_pieces(8, &nets[i].net, &run) * 1e3;
        }
    for (int i = 0; i < 3; i++)
        print_message("%-17s allreduce %6.1f  bytegrad %6.1f  one-peer %6.1f ms\n", nets[i].name,
                      ms[i][0], ms[i][1], ms[i][2]);
    assert_true(ms[0][0] < 1.2 * ms[0][1]);                  // nothing is gained by 8 bits
    assert_true(ms[1][2] < ms[1][1] && ms[1][1] < ms[1][0]); // latency: one-peer
    assert_true(ms[1][2] < ms[1][0] / 3);
    assert_true(ms[2][1] < ms[2][2] && ms[2][2] < ms[2][0]); // bytes: 8 bits
}

static void a_timeline_tells(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 60e6, .latency_s = 1e-4};
    Run run = {.algo = "allreduce", .threaded = true, .compute_s = .06, .bucket = N / PIECES};
    assert_int_equal(timeline_new(0, 1000, &run.timeline), ST_OK);
    run_pieces(2, &net, &run);
    // agree, order, STEPS x 6 exchanges, STEPS x backward
    assert_int_equal(timeline_count(run.timeline), 2 + STEPS * (PIECES + 1));
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    int n = 0;
    assert_int_equal(timeline_write(run.timeline, f, &n), ST_OK);
    fclose(f);
    assert_int_equal(n, 2 + 2 + STEPS * (PIECES + 1));
    assert_non_null(strstr(text, "\"name\":\"allreduce 5\""));
    assert_non_null(strstr(text, "\"name\":\"backward 4\",\"pid\":0,\"tid\":0"));
    free(text);
    timeline_free(run.timeline);
}

int main(void) {
    log_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exchange_hides_behind_backward),
        cmocka_unit_test(same_bits_with_and_without),
        cmocka_unit_test(one_net_exchanges_while_another_computes),
        cmocka_unit_test(the_winner_depends_on_the_network),
        cmocka_unit_test(a_timeline_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
