/* `auto` on virtual networks: it measures latency and bandwidth as they are, and takes exact sums
 * where nothing is gained, fewer bytes where they are.                                      */
#include "tests/learner/team.h"

#include "engine/base/log.h"
#include "learner/algo/probe.h"

enum { N = 300000 };
static Probe probes[8];
static ProbeConfig config;

static void probe_rank(Rank *r) {
    Engine *e;
    team_ok(r, engine_new(r->comm, true, NULL, &e));
    team_ok(r, probe_run(e, &config, &probes[r->rank]));
    engine_free(e);
}

static const Probe *probe_on(double bytes_per_s, double latency_s, double compute_s) {
    SimNet net = {.bytes_per_s = bytes_per_s, .latency_s = latency_s};
    config = (ProbeConfig){.n = N, .compute_s = compute_s};
    team_run(4, &net, probe_rank, NULL);
    const Probe *p = &probes[0];
    for (int i = 1; i < 4; i++) { // all ranks choose alike
        assert_int_equal(probes[i].best, p->best);
        assert_true(probes[i].result[p->best].step_s == p->result[p->best].step_s);
    }
    assert_true(fabs(p->latency_s - latency_s) < .02 * latency_s + 1e-6);
    assert_true(fabs(p->bytes_per_s - bytes_per_s) < .02 * bytes_per_s);
    const ProbeResult *best = &p->result[p->best];
    print_message("%6.1f MB/s, %5.2f ms, compute %3.0f ms: %s, buckets of %zu, %.1f ms\n",
                  bytes_per_s / 1e6, latency_s * 1e3, compute_s * 1e3, best->algo, best->bucket,
                  best->step_s * 1e3);
    for (int i = 0; i < p->n; i++) assert_true(best->step_s <= 1.1 * p->result[i].step_s);
    return p;
}

static const char *choice(const Probe *p) { return p->result[p->best].algo; }

static void the_network_decides(void **state) {
    (void)state;
    assert_string_equal(choice(probe_on(5e9, 1e-5, .05)), "allreduce");   // one machine
    assert_string_equal(choice(probe_on(125e6, 1e-4, .05)), "allreduce"); // hidden behind backward
    assert_string_equal(choice(probe_on(20e6, 1e-4, .05)), "bytegrad");
    assert_string_equal(choice(probe_on(1.25e6, 1e-3, .05)), "onebit");
}

/* The choice of buckets beats the default of one bucket where the exchange can hide. */
static void buckets_are_tuned(void **state) {
    (void)state;
    const Probe *p = probe_on(30e6, 1e-4, .06);
    double whole = 0;
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->result[i].algo, choice(p)) == 0 && p->result[i].bucket == 0)
            whole = p->result[i].step_s;
    assert_true(p->result[p->best].bucket > 0);
    assert_true(p->result[p->best].step_s < .8 * whole);
}

static const char *const only[] = {"dpsgd", NULL};
static void given_candidates(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 1e8, .latency_s = 1e-4};
    config = (ProbeConfig){.n = N, .compute_s = .01, .algos = only};
    team_run(2, &net, probe_rank, NULL);
    assert_int_equal(probes[0].n, 1);
    assert_string_equal(choice(&probes[0]), "dpsgd");
}

int main(void) {
    log_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_network_decides),
        cmocka_unit_test(buckets_are_tuned),
        cmocka_unit_test(given_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
