/* DoubleSqueeze on an ill-conditioned quadratic whose minimum differs from rank to rank: with error
 * feedback one bit a number reaches what exact gradients reach; without, it does not get anywhere.
 */
#include "tests/learner/gauss.h"
#include "tests/learner/trial.h"

enum { D = 1000, RANKS = 8, STEPS = 3000 };

typedef struct {
    double h[D], b[RANKS][D], best[D], sigma;
    const char *codec;
    bool feedback, server;
} Problem;

static Problem problem;

static void make(double sigma, const char *codec, bool feedback, bool server) {
    Rng r;
    rng_init(&r, 1, 0);
    for (int k = 0; k < D; k++) {
        problem.h[k] = pow(100, -(double)k / (D - 1)); // condition number 100
        problem.best[k] = 0;
        double common = gauss(&r);
        for (int i = 0; i < RANKS; i++) {
            problem.b[i][k] = common + 3 * gauss(&r);
            problem.best[k] += problem.b[i][k] / RANKS;
        }
    }
    problem.sigma = sigma;
    problem.codec = codec;
    problem.feedback = feedback;
    problem.server = server;
}

static void gradient(const void *ctx, int rank, int step, const Real *x, Real *g) {
    const Problem *p = ctx;
    Rng r;
    rng_init(&r, 77 + (uint64_t)step, (uint64_t)rank);
    for (int k = 0; k < D; k++) {
        g[k] = p->h[k] * (x[k] - p->b[rank][k]);
        if (p->sigma > 0) g[k] += p->sigma * gauss(&r);
    }
}

static double gap(const Real *x) {
    double sum = 0;
    for (int k = 0; k < D; k++)
        sum += .5 * problem.h[k] * (x[k] - problem.best[k]) * (x[k] - problem.best[k]);
    return sum;
}

static void tune(AlgoConfig *c, const void *ctx) {
    const Problem *p = ctx;
    assert_int_equal(codec_parse(p->codec, &c->up), ST_OK);
    c->down = c->up;
    c->feedback_up = c->feedback_down = p->feedback;
    c->by_server = p->server;
}

static double measure(double sigma, const char *codec, bool feedback, bool server, double *bytes) {
    make(sigma, codec, feedback, server);
    Trial t = {.algo = "squeeze",
               .ranks = RANKS,
               .n = D,
               .steps = STEPS,
               .lr = .05,
               .gradient = gradient,
               .problem = &problem,
               .tune = tune};
    trial_run(&t);
    double g = gap(t.mean);
    if (bytes) *bytes = (double)t.traffic[1].tx_bytes / STEPS;
    print_message("sigma %.0f %-10s %-11s %s gap %.4g\n", sigma, codec,
                  feedback ? "feedback" : "no feedback", server ? "server" : "      ", g);
    trial_free(&t);
    return g;
}

static void claims(void **state) {
    (void)state;
    static const Real zero[D];
    double bytes, exact = measure(0, "none", false, false, NULL), start = gap(zero);
    print_message("f(0) - f* = %.1f\n", start);
    assert_true(exact < 1e-3 * start);
    assert_true(measure(0, "u8", true, false, NULL) < 1.1 * exact + 1e-3);
    assert_true(measure(0, "sign", true, false, NULL) < .01 * start);
    assert_true(measure(0, "sign", false, false, NULL) > .2 * start);

    double noisy = measure(1, "none", false, false, NULL);
    assert_true(measure(1, "sign", true, false, &bytes) <= 1.3 * noisy);
    // 2 (n-1)/n P/8 and, per message, a scale (8 bytes in this build) and a header of 16
    double payload = 2.0 * (RANKS - 1) / RANKS * D / 8;
    assert_true(bytes >= payload && bytes <= payload + 14 * (8 + 16) + 14);
    assert_true(measure(1, "sign", true, true, NULL) <= 1.4 * noisy);
    assert_true(measure(1, "topk:0.1", true, false, NULL) <= 1.5 * noisy);
    assert_true(measure(1, "sign", false, false, NULL) >= 10 * noisy);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
