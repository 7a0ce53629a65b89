/* Ranks whose data differ, on a ring: D-PSGD keeps a distance from the optimum that only a smaller
 * step shrinks, D^2 has none. Also what D^2 must refuse, and why; and that its form survives a
 * change of the learning rate, where the textbook's does not. */
#include "tests/learner/gauss.h"
#include "tests/learner/trial.h"

#include "engine/base/log.h"

enum { D = 20, RANKS = 8 };

/* f_i(x) = 1/2 sum h_ik (x_k - b_ik)^2: every rank its own curvature and minimum. */
typedef struct {
    double h[RANKS][D], b[RANKS][D], best[D], spread;
    double sigma;
    bool adapt_first;
    const char *codec;
} Problem;

static Problem problem;

static void make(double spread) {
    Rng r;
    rng_init(&r, 2, 0);
    problem = (Problem){.spread = 0};
    for (int k = 0; k < D; k++) {
        double up = 0, down = 0;
        for (int i = 0; i < RANKS; i++) {
            problem.h[i][k] = .5 + 1.5 * (double)rng_float(&r);
            problem.b[i][k] = spread * gauss(&r);
            up += problem.h[i][k] * problem.b[i][k];
            down += problem.h[i][k];
        }
        problem.best[k] = up / down;
        for (int i = 0; i < RANKS; i++) { // zeta^2: how far the ranks' gradients are apart
            double g = problem.h[i][k] * (problem.best[k] - problem.b[i][k]);
            problem.spread += g * g / RANKS;
        }
    }
}

static void gradient(const void *ctx, int rank, int step, const Real *x, Real *g) {
    const Problem *p = ctx;
    Rng r;
    rng_init(&r, 5 + (uint64_t)step, (uint64_t)rank);
    for (int k = 0; k < D; k++) {
        g[k] = p->h[rank][k] * (x[k] - p->b[rank][k]);
        if (p->sigma > 0) g[k] += p->sigma * gauss(&r);
    }
}

static double distance(const Real *x) {
    double sum = 0;
    for (int k = 0; k < D; k++) sum += (x[k] - problem.best[k]) * (x[k] - problem.best[k]);
    return sum;
}

static void tune(AlgoConfig *c, const void *ctx) {
    c->adapt_first = ((const Problem *)ctx)->adapt_first;
    if (((const Problem *)ctx)->codec)
        assert_int_equal(codec_parse(((const Problem *)ctx)->codec, &c->up), ST_OK);
}

static Trial trial(const char *algo, const char *topology, double lr, int steps) {
    Trial t = {.algo = algo,
               .topology = topology,
               .ranks = RANKS,
               .n = D,
               .steps = steps,
               .lr = lr,
               .gradient = gradient,
               .problem = &problem,
               .tune = tune};
    return t;
}

static double floor_of(const char *algo, double lr, double *consensus) {
    Trial t = trial(algo, "ring:0.25", lr, 3000);
    trial_run(&t);
    assert_int_equal(t.status, ST_OK);
    double d = distance(t.mean);
    if (consensus) *consensus = t.consensus;
    print_message("%-6s lr %.3f: |mean - x*|^2 %.3g, consensus %.3g\n", algo, lr, d, t.consensus);
    trial_free(&t);
    return d;
}

static void floors(void **state) {
    (void)state;
    double apart, together;
    make(3);
    print_message("zeta^2 = %.0f\n", problem.spread);
    double coarse = floor_of("dpsgd", .1, &apart), fine = floor_of("dpsgd", .05, NULL);
    assert_true(coarse > 1e-2);
    assert_true(fine > 1e-3 && fine < coarse / 2);
    assert_true(apart > .1);
    assert_true(floor_of("d2", .1, &together) < 1e-24);
    assert_true(together < 1e-24);
    problem.adapt_first = true;
    double adapted = floor_of("dpsgd", .1, NULL);
    assert_true(adapted < coarse && adapted > 1e-3);
    problem.adapt_first = false;
}

/* With noise, D^2's distance is noise alone, D-PSGD's is noise and floor. */
static void floors_with_noise(void **state) {
    (void)state;
    make(3);
    problem.sigma = .3;
    double dpsgd = floor_of("dpsgd", .1, NULL), d2 = floor_of("d2", .1, NULL);
    assert_true(d2 < dpsgd / 2);
    problem.sigma = 0;
}

/* One D^2 step for all ranks at once. textbook: gamma_t (g_t - g_{t-1}) instead of psi. */
static void serial_d2(const char *name, bool textbook, double lr, int change, double lr_2,
                      int steps, double *mean_distance, double *largest) {
    static double x[RANKS][D], before[RANKS][D], psi_before[RANKS][D], g_before[RANKS][D],
        message[RANKS][D];
    Topology t;
    assert_int_equal(topology_parse(name, RANKS, &t), ST_OK);
    memset(x, 0, sizeof x);
    memset(before, 0, sizeof before);
    memset(psi_before, 0, sizeof psi_before);
    *largest = 0;
    for (int s = 0; s < steps; s++) {
        double rate = s < change ? lr : lr_2;
        for (int i = 0; i < RANKS; i++) {
            Real g[D];
            gradient(&problem, i, s, x[i], g);
            for (int k = 0; k < D; k++) {
                double psi = x[i][k] - rate * g[k];
                message[i][k] = textbook && s > 0
                                    ? 2 * x[i][k] - before[i][k] - rate * (g[k] - g_before[i][k])
                                : textbook ? psi
                                           : x[i][k] + psi - psi_before[i][k];
                psi_before[i][k] = psi;
                g_before[i][k] = g[k];
                before[i][k] = x[i][k];
            }
        }
        for (int i = 0; i < RANKS; i++) {
            TopologyRow row;
            topology_row(&t, i, (uint64_t)s, &row);
            for (int k = 0; k < D; k++) {
                x[i][k] = row.self * message[i][k];
                for (int j = 0; j < row.n; j++) x[i][k] += row.weight[j] * message[row.peer[j]][k];
                *largest = fmax(*largest, fabs(x[i][k]));
            }
        }
        if (*largest > 1e9) break;
    }
    Real mean[D] = {0};
    for (int i = 0; i < RANKS; i++)
        for (int k = 0; k < D; k++) mean[k] += x[i][k] / RANKS;
    *mean_distance = distance(mean);
}

static void survives_a_change_of_rate(void **state) {
    (void)state;
    double textbook, ours, largest;
    make(3);
    serial_d2("ring:0.25", true, .1, 5, .05, 4000, &textbook, &largest);
    serial_d2("ring:0.25", false, .1, 5, .05, 4000, &ours, &largest);
    Trial t = trial("d2", "ring:0.25", .1, 4000);
    t.lr_2 = .05, t.lr_change = 5;
    trial_run(&t);
    print_message("lr .1 -> .05 after 5 steps: textbook %.3g, ours %.3g, over messages %.3g\n",
                  textbook, ours, distance(t.mean));
    assert_true(textbook > 1e-2);
    assert_true(ours < 1e-20 && distance(t.mean) < 1e-20);
    trial_free(&t);
}

static void refusals(void **state) {
    (void)state;
    static const char *const bad[] = {"ring:0.3333333333333333", "ring:0.4", "matching",
                                      "hypercube"};
    make(3);
    log_level(LOG_ERROR - 1);
    for (int i = 0; i < 4; i++) {
        Trial t = trial("d2", bad[i], .1, 10);
        trial_run(&t);
        assert_int_equal(t.status, ST_INVALID);
        trial_free(&t);
    }
    log_level(LOG_INFO);
    // what would have happened: overflow, where D-PSGD on the same graph is well
    double ours, largest;
    serial_d2("ring:0.4", false, .1, 0, .1, 300, &ours, &largest);
    assert_true(largest > 1e9);
    serial_d2("matching", false, .1, 0, .1, 300, &ours, &largest);
    assert_true(largest > 1e9);
    Trial t = trial("dpsgd", "ring:0.4", .1, 500);
    trial_run(&t);
    assert_int_equal(t.status, ST_OK);
    assert_true(distance(t.mean) < 10);
    trial_free(&t);
    // and what mends it
    static const char *const good[] = {"lazy-ring:0.4", "ring:0.25", "lazy-exponential",
                                       "complete"};
    for (int i = 0; i < 4; i++) {
        Trial u = trial("d2", good[i], .1, 3000);
        trial_run(&u);
        assert_int_equal(u.status, ST_OK);
        assert_true(distance(u.mean) < 1e-10);
        trial_free(&u);
    }
}

/* The other decentralised ones reach what D-PSGD reaches: 8-bit differences, and one peer a step.
 */
static void low_precision_and_one_peer(void **state) {
    (void)state;
    make(3);
    Trial plain = trial("dpsgd", "ring", .05, 3000), dcd = trial("dcd", "ring", .05, 3000),
          one = trial("dpsgd", "matching", .05, 3000);
    trial_run(&plain);
    trial_run(&dcd);
    trial_run(&one);
    print_message("dpsgd ring %.3g, dcd u8 %.3g, one peer %.3g\n", distance(plain.mean),
                  distance(dcd.mean), distance(one.mean));
    assert_true(distance(dcd.mean) < 1.5 * distance(plain.mean) + 1e-3);
    assert_true(distance(one.mean) < 5 * distance(plain.mean) + 1e-3);
    problem.codec = "fp16"; // models in half precision: a quarter of this build's 8 bytes
    Trial half = trial("dpsgd", "ring", .05, 3000);
    trial_run(&half);
    problem.codec = NULL;
    print_message("dpsgd ring in fp16 %.3g\n", distance(half.mean));
    assert_true(fabs(distance(half.mean) - distance(plain.mean)) < .02 * distance(plain.mean));
    assert_true(half.traffic[0].tx_bytes * 4 <= plain.traffic[0].tx_bytes + 1000);
    trial_free(&half);
    double full = (double)plain.traffic[0].tx_bytes, less = (double)dcd.traffic[0].tx_bytes;
    assert_true(less < full * (D + 16) / (D * 8.0) * 1.01); // a byte a number, two scales
    assert_true((double)one.traffic[0].tx_bytes < full * .51);
    trial_free(&plain);
    trial_free(&dcd);
    trial_free(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floors),
        cmocka_unit_test(floors_with_noise),
        cmocka_unit_test(survives_a_change_of_rate),
        cmocka_unit_test(refusals),
        cmocka_unit_test(low_precision_and_one_peer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
