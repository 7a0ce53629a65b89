/* AsySG on logistic regression: con, a parameter server whose workers' gradients are stale, on a
 * virtual clock: linear speed-up and no loss while workers are few against sqrt(updates), then
 * worse and worse; the staleness bound, damping and aggregation; incon, threads on shared memory.
 */
#include <pthread.h>

#include "tests/learner/gauss.h"
#include "tests/learner/trial.h"

#include "engine/base/log.h"
#include "learner/algo/shared.h"

enum { D = 20, SAMPLES = 1000, BATCH = 8, UPDATES = 4000 };

static struct {
    Real a[SAMPLES][D];
    int y[SAMPLES];
    double best; // the least loss, by plain gradient descent
    int staleness, aggregate;
    bool damp, pipeline;
    int steps;      // of each worker
    double gap_sum; // rank 0's models in the last quarter of its steps
    int gaps;
} problem;

static double loss(const Real *x) {
    double sum = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double z = 0;
        for (int k = 0; k < D; k++) z += (double)(problem.a[i][k] * x[k]);
        z *= problem.y[i];
        sum += z > 0 ? log1p(exp(-z)) : -z + log1p(exp(z));
    }
    double norm = 0;
    for (int k = 0; k < D; k++) norm += (double)(x[k] * x[k]);
    return sum / SAMPLES + 5e-3 * norm;
}

static void add_sample(int i, const Real *x, Real scale, Real *g) {
    double z = 0;
    for (int k = 0; k < D; k++) z += (double)(problem.a[i][k] * x[k]);
    Real weight = scale * (Real)(-problem.y[i] / (1 + exp(problem.y[i] * z)));
    for (int k = 0; k < D; k++) g[k] += weight * problem.a[i][k];
}

static void gradient(const void *ctx, int rank, int step, const Real *x, Real *g) {
    Rng r;
    if (ctx && rank == 0 && step >= problem.steps * 3 / 4 &&
        step % (1 + problem.steps / 200) == 0) {
        problem.gap_sum += loss(x) - problem.best;
        problem.gaps++;
    }
    rng_init(&r, 31 + (uint64_t)step, (uint64_t)rank);
    for (int k = 0; k < D; k++) g[k] = (Real)1e-2 * x[k];
    for (int b = 0; b < BATCH; b++) add_sample((int)rng_below(&r, SAMPLES), x, (Real)1 / BATCH, g);
}

static void make(void) {
    Rng r;
    double w[D];
    rng_init(&r, 1, 0);
    for (int k = 0; k < D; k++) w[k] = gauss(&r);
    for (int i = 0; i < SAMPLES; i++) {
        double z = .5 * gauss(&r);
        for (int k = 0; k < D; k++) {
            problem.a[i][k] = (Real)gauss(&r);
            z += w[k] * (double)problem.a[i][k];
        }
        problem.y[i] = z > 0 ? 1 : -1;
    }
    Real x[D] = {0}, g[D];
    for (int t = 0; t < 3000; t++) {
        for (int k = 0; k < D; k++) g[k] = (Real)1e-2 * x[k];
        for (int i = 0; i < SAMPLES; i++) add_sample(i, x, (Real)1 / SAMPLES, g);
        for (int k = 0; k < D; k++) x[k] -= (Real).5 * g[k];
    }
    problem.best = loss(x);
    problem.staleness = -1;
    problem.aggregate = 1;
    problem.damp = problem.pipeline = false;
}

static void tune(AlgoConfig *c, const void *ctx) {
    (void)ctx;
    c->staleness = problem.staleness;
    c->aggregate = problem.aggregate;
    c->damp = problem.damp;
    c->pipeline = problem.pipeline;
}

typedef struct {
    double gap, seconds;
    AlgoStats stats;
} Result;

/* UPDATES gradients by n workers, each a unit of time and a little of the network's. */
static Result run(int n, double lr) {
    Trial t = {.algo = "server",
               .ranks = n,
               .n = D,
               .steps = UPDATES / n,
               .lr = lr,
               .gradient = gradient,
               .problem = &problem,
               .tune = tune,
               .net = {.latency_s = .005},
               .threaded = true,
               .compute_s = 1,
               .flush = true};
    problem.steps = UPDATES / n;
    problem.gap_sum = problem.gaps = 0;
    trial_run(&t);
    Result r = {problem.gap_sum / problem.gaps, t.seconds, t.stats[0]};
    uint64_t most = ALGO_STALENESS - 1;
    while (most > 0 && r.stats.staleness[most] == 0) most--;
    print_message("%3d workers: gap %.4f, %.0f s, %llu updates, staleness up to %llu%s\n", n, r.gap,
                  r.seconds, (unsigned long long)r.stats.exchanges, (unsigned long long)most,
                  most == ALGO_STALENESS - 1 ? " or more" : "");
    trial_free(&t);
    return r;
}

static void speed_and_loss(void **state) {
    (void)state;
    make();
    const double lr = .2;
    Result one = run(1, lr);
    for (int n = 8; n <= 32; n *= 2) {
        Result r = run(n, lr);
        if (n <= 16) assert_true(r.gap <= 1.25 * one.gap);
        assert_true(one.seconds / r.seconds >= .95 * n);
    }
    Result root = run(64, lr), many = run(250, lr);
    assert_true(root.gap < many.gap);
    assert_true(many.gap >= 10 * one.gap);
}

/* What bounds the harm of too many workers: refusing what is too old, or counting it less. */
static void bounds(void **state) {
    (void)state;
    make();
    Result free_for_all = run(250, .2);
    problem.staleness = 16;
    Result bounded = run(250, .2);
    assert_true(bounded.stats.skipped > 0);
    assert_true(bounded.stats.exchanges + bounded.stats.skipped == 250 * (UPDATES / 250));
    assert_true(bounded.gap < free_for_all.gap / 3);
    problem.staleness = -1;
    problem.damp = true;
    Result damped = run(250, .2);
    assert_true(damped.gap < free_for_all.gap / 3);
    problem.damp = false;
    problem.aggregate = 4; // a quarter of the updates, each a quarter as noisy
    Result groups = run(8, .2);
    assert_int_equal(groups.stats.exchanges, UPDATES / 4);
    problem.aggregate = 1;
}

/* Pipelined, a worker whose push takes as long as its gradient loses nothing but one update's age.
 */
static void pipelined(void **state) {
    (void)state;
    make();
    Trial t = {.algo = "server",
               .ranks = 5,
               .n = D,
               .steps = 200,
               .lr = .1,
               .gradient = gradient,
               .problem = &problem,
               .tune = tune,
               .net = {.latency_s = .45},
               .threaded = true,
               .compute_s = 1};
    trial_run(&t);
    double waits = t.seconds;
    trial_free(&t);
    problem.pipeline = true;
    trial_run(&t);
    print_message("200 steps with a round trip of .9 s: %.0f s, pipelined %.0f s; gap %.4f\n",
                  waits, t.seconds, loss(t.x[0]) - problem.best);
    assert_true(waits > 200 * 1.85 && t.seconds < 200 * 1.05);
    assert_true(loss(t.x[0]) - problem.best < .1);
    trial_free(&t);
}

/* ---- incon ---- */

typedef struct {
    Shared *shared;
    int thread, threads, steps;
    uint64_t oldest;
} Hog;

static void *hog(void *arg) {
    Hog *h = arg;
    Real x[D], g[D];
    for (int t = 0; t < h->steps; t++) {
        uint64_t read = shared_read(h->shared, x);
        gradient(NULL, h->thread, t, x, g);
        uint64_t age = shared_sgd(h->shared, g, .2, h->thread, h->threads) - read;
        if (age > h->oldest) h->oldest = age;
    }
    return NULL;
}

static void shared_memory(void **state) {
    (void)state;
    make();
    double gaps[2];
    for (int k = 0; k < 2; k++) {
        int threads = k ? 4 : 1;
        Real x[D] = {0};
        Shared *s;
        pthread_t thread[4];
        Hog h[4];
        assert_int_equal(shared_new(D, x, &s), ST_OK);
        for (int i = 0; i < threads; i++) {
            h[i] = (Hog){s, i, threads, UPDATES / threads, 0};
            pthread_create(&thread[i], NULL, hog, &h[i]);
        }
        for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
        shared_read(s, x);
        gaps[k] = loss(x) - problem.best;
        print_message("%d threads: gap %.4f\n", threads, gaps[k]);
        shared_free(s);
    }
    // with the noise of a batch of 8 the two differ by chance; both are near the optimum
    assert_true(gaps[0] < .03 && gaps[1] < .05);
}

static void *add_ones(void *arg) {
    Hog *h = arg;
    Real ones[1000];
    for (int i = 0; i < 1000; i++) ones[i] = 1;
    for (int t = 0; t < h->steps; t++) shared_sgd(h->shared, ones, -1, h->thread, h->threads);
    return NULL;
}

/* Not one of 4 x 1,000 x 1,000 additions is lost. */
static void no_update_is_lost(void **state) {
    (void)state;
    static Real x[1000];
    Shared *s;
    pthread_t thread[4];
    Hog h[4];
    memset(x, 0, sizeof x);
    assert_int_equal(shared_new(1000, x, &s), ST_OK);
    for (int i = 0; i < 4; i++) {
        h[i] = (Hog){s, 0, 4, 1000, 0}; // all start at the same place: they meet
        pthread_create(&thread[i], NULL, add_ones, &h[i]);
    }
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    assert_int_equal(shared_read(s, x), 4000);
    for (int i = 0; i < 1000; i++) assert_true(x[i] == 4000);
    shared_free(s);
}

/* RMSprop on shared squares, one thread: PyTorch's arithmetic; and squares survive a checkpoint. */
static void shared_squares_are_kept(void **state) {
    (void)state;
    Real x[3] = {1, 2, 3}, g[3] = {.5, -1, 0}, v[3], w[3];
    Shared *s;
    assert_int_equal(shared_new(3, x, &s), ST_OK);
    shared_rmsprop(s, g, .1, .9, 1e-5, 0, 1);
    shared_read(s, x);
    shared_squares(s, v);
    for (int i = 0; i < 3; i++) {
        double square = .1 * (double)(g[i] * g[i]), start = i + 1;
        assert_true(fabs((double)v[i] - square) < 1e-7);
        double expected = start - .1 * (double)g[i] / (sqrt(square) + 1e-5);
        assert_true(fabs((double)x[i] - expected) < 1e-6);
    }
    shared_squares_load(s, g);
    shared_squares(s, w);
    assert_memory_equal(w, g, sizeof w);
    shared_free(s);
}

int main(void) {
    log_level(LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speed_and_loss),    cmocka_unit_test(bounds),
        cmocka_unit_test(pipelined),         cmocka_unit_test(shared_memory),
        cmocka_unit_test(no_update_is_lost), cmocka_unit_test(shared_squares_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
