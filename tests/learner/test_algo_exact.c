/* With no compression and everybody averaging with everybody, every synchronous algorithm is plain
 * SGD on the whole batch: the same bits, on integers and powers of two that no order of adding can
 * round. And the same bits with and without an engine thread, whatever becomes ready when.  */
#include "tests/learner/rules.h"
#include "tests/learner/team.h"

#include <math.h>

#include "engine/base/log.h"
#include "engine/base/rng.h"

enum { N = 1537, STEPS = 6 };

/* Rank r's gradient at x: integers, whose sum over n ranks is n times an integer. With lr 1/4 and
 * few steps all models are multiples of 2^-16 below 2^7: exact in float. */
static void gradient(int rank, int ranks, int step, bool feels, const Real *x, Real *g) {
    for (size_t i = 0; i < N; i++) {
        Rng r;
        rng_init(&r, (uint64_t)step, i);
        Real common = (Real)((int)rng_below(&r, 9) - 4);
        Real own = (Real)(rank - (ranks - 1 - rank)) * (Real)(1 + i % 3); // sums to 0
        // a dependence on x that stays an integer: the sign of an integer part
        g[i] = common + own + (!feels ? 0 : x[i] > 1 ? 4 : x[i] < -1 ? -4 : 0);
    }
}

static void single(int ranks, bool feels, Real *x) {
    Real g[N], sum[N];
    memset(x, 0, N * sizeof *x);
    for (int t = 0; t < STEPS; t++) {
        memset(sum, 0, sizeof sum);
        for (int r = 0; r < ranks; r++) {
            gradient(r, ranks, t, feels, x, g);
            for (int i = 0; i < N; i++) sum[i] += g[i];
        }
        for (int i = 0; i < N; i++) x[i] -= (Real).25 * (sum[i] / (Real)ranks);
    }
}

typedef struct {
    const char *algo;
    size_t bucket;
    bool threaded, server, shuffle, flush;
    bool adapt, blind; // dpsgd: step first; the gradient does not depend on x
} Setting;

static void train(Rank *r) {
    const Setting *s = r->ctx;
    Real *x = calloc(N, sizeof *x), *g = calloc(N, sizeof *g), *expected = calloc(N, sizeof *x);
    Engine *e;
    Algo *a;
    AlgoConfig c;
    team_ok(r, engine_new(r->comm, s->threaded, NULL, &e));
    team_ok(r, algo_defaults(s->algo, &c));
    c.n = N, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd(), c.bucket = s->bucket;
    c.up = c.down = codec_none();
    c.by_server = s->server;
    c.adapt_first = s->adapt;
    team_ok(r, topology_parse("complete", r->size, &c.topology));
    Status st = algo_new(&c, &a);
    team_ok(r, st);
    Rng order;
    rng_init(&order, 99, (uint64_t)r->rank);
    for (int t = 0; t < STEPS && st == ST_OK; t++) {
        team_ok(r, algo_before_forward(a, .25));
        Real at[N];
        memcpy(at, x, sizeof at);
        gradient(r->rank, r->size, t, !s->blind, at, g);
        for (size_t k = 0; s->shuffle && k < 16; k++) { // slices in an order of this rank's own
            size_t slice = (k * 7 + rng_below(&order, 3) * 2 + (size_t)r->rank * 5) % 16;
            algo_bucket_ready(a, slice * (N / 16), N / 16);
        }
        team_ok(r, algo_after_backward(a));
        if (s->flush && t == 2) team_ok(r, algo_flush(a));
    }
    // the model of the mean: decentralised ranks differ after their own last step
    if (st == ST_OK) team_ok(r, algo_flush(a));
    single(r->size, !s->blind, expected);
    size_t wrong = 0;
    for (int i = 0; i < N; i++) wrong += x[i] != expected[i];
    team_check(r, wrong == 0);
    if (wrong)
        snprintf(r->wrong, sizeof r->wrong, "%s on %d ranks: %zu numbers of %d differ", s->algo,
                 r->size, wrong, N);
    if (st == ST_OK) algo_free(a);
    engine_free(e);
    free(x);
    free(g);
    free(expected);
}

static void run(int ranks, const Setting *s) {
    void *ctx[TEAM_MAX];
    for (int i = 0; i < ranks; i++) ctx[i] = (void *)s;
    SimNet net = {.bytes_per_s = 1e9, .latency_s = 1e-5};
    team_run(ranks, &net, train, ctx);
}

static void gradients(void **state) {
    (void)state;
    static const char *const algos[] = {"allreduce", "bytegrad", "squeeze"};
    static const int ranks[] = {1, 2, 3, 5, 8};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 5; i++)
            for (int v = 0; v < 4; v++) {
                Setting s = {.algo = algos[k],
                             .bucket = v % 2 ? 200 : 0,
                             .threaded = v >= 2,
                             .server = k == 2 && v == 3,
                             .shuffle = v == 3,
                             .flush = v == 2};
                run(ranks[i], &s);
            }
}

/* W = 1/n is a mean that loses nothing only for n a power of two. Where ranks step after averaging
 * (dpsgd, dcd) their models differ by their last step, so that only the mean is plain SGD's, and
 * only if the gradient is the same wherever it is taken.                                         */
static void models(void **state) {
    (void)state;
    static const Setting settings[] = {{.algo = "dpsgd", .adapt = true},
                                       {.algo = "dpsgd", .blind = true},
                                       {.algo = "d2"},
                                       {.algo = "dcd", .blind = true}};
    for (int k = 0; k < 4; k++)
        for (int n = 1; n <= 8; n *= 2)
            for (int v = 0; v < 2; v++) {
                Setting s = settings[k];
                s.threaded = v == 1;
                run(n, &s);
            }
}

/* The mean of D^2 has no force on it but the gradients': what roundings do to it stays, and as they
 * act on its speed they would add up. Pulls that differ between ranks and sum to 0 must not move
 * it. */
enum { LONG = 4000, FEW = 64 };
static void pulled_apart(Rank *r) {
    Real x[FEW], g[FEW], all[TEAM_MAX * FEW];
    Engine *e;
    Algo *a;
    AlgoConfig c;
    for (int i = 0; i < FEW; i++) x[i] = (Real)(1 + i * .37);
    team_ok(r, engine_new(r->comm, false, NULL, &e));
    team_ok(r, algo_defaults("d2", &c));
    c.n = FEW, c.x = x, c.g = g, c.engine = e, c.rule = rule_sgd();
    team_ok(r, topology_parse("ring:0.3", r->size, &c.topology));
    team_ok(r, algo_new(&c, &a));
    for (int t = 0; t < LONG; t++) {
        team_ok(r, algo_before_forward(a, .01));
        for (int i = 0; i < FEW; i++)
            g[i] = (Real)((2 * r->rank - r->size + 1) * ((i + t) % 7 - 3));
        team_ok(r, algo_after_backward(a));
    }
    team_ok(r, comm_allgather(r->comm, x, sizeof x, all));
    double worst = 0;
    for (int i = 0; i < FEW; i++) {
        double mean = 0;
        for (int k = 0; k < r->size; k++) mean += (double)all[k * FEW + i] / r->size;
        worst = fmax(worst, fabs(mean / (1 + i * .37) - 1));
    }
    if (r->rank == 0)
        print_message("D^2, %d ranks: the mean has moved by %.2g of it\n", r->size, worst);
    team_check(r, worst < 2e-4); // roundings of x - u alone, as in SGD on one machine
    algo_free(a);
    engine_free(e);
}

static void the_mean_of_d2_stays(void **state) {
    (void)state;
    team_run(4, NULL, pulled_apart, NULL);
    team_run(7, NULL, pulled_apart, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients),
        cmocka_unit_test(models),
        cmocka_unit_test(the_mean_of_d2_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
