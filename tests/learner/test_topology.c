/* Mixing matrices: every topology at every size fits what algorithms need, eigenvalues against
 * closed forms, and each refusal with the words that say why. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/topology/topology.h"
#include <cmocka.h>

static Topology parsed(const char *text, int n) {
    Topology t;
    assert_int_equal(topology_parse(text, n, &t), ST_OK);
    return t;
}

static void all_mix(void **state) {
    (void)state;
    static const char *const names[] = {"complete",  "ring",     "exponential", "bipartite",
                                        "lazy-ring", "matching", "hypercube",   "lazy-complete"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (int n = 1; n <= 24; n++) {
            if (strcmp(names[k], "matching") == 0 && n % 2) continue;
            if (strcmp(names[k], "hypercube") == 0 && n & (n - 1)) continue;
            Topology t = parsed(names[k], n);
            assert_int_equal(topology_check(&t, "test", TOPOLOGY_MEAN, -2), ST_OK);
            if (n > 1) assert_true(t.lambda_2 < 1 - 1e-9 && t.lambda_n >= -1 - 1e-9);
            if (t.lazy) assert_true(t.lambda_n > -1e-9);
        }
}

/* x <- W x for a period of steps brings ranks to the mean: at once for complete and hypercube. */
static void mixing_reaches_the_mean(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int steps;
    } cases[] = {{"complete", 1},     {"hypercube", 3},  {"ring", 120},
                 {"exponential", 40}, {"matching", 120}, {"bipartite", 120}};
    enum { N = 8 };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        Topology t = parsed(cases[k].name, N);
        double x[N], y[N];
        for (int i = 0; i < N; i++) x[i] = i * i;
        for (int s = 0; s < cases[k].steps; s++) {
            for (int i = 0; i < N; i++) {
                TopologyRow row;
                topology_row(&t, i, (uint64_t)s, &row);
                y[i] = row.self * x[i];
                for (int j = 0; j < row.n; j++) y[i] += row.weight[j] * x[row.peer[j]];
            }
            memcpy(x, y, sizeof x);
        }
        for (int i = 0; i < N; i++) assert_true(fabs(x[i] - 17.5) < 1e-6);
    }
}

/* Ring: 1 - 2a (1 - cos 2 pi k / n). */
static void ring_eigenvalues(void **state) {
    (void)state;
    for (int n = 3; n <= 40; n++)
        for (int s = 1; s <= 5; s++) {
            char name[32];
            snprintf(name, sizeof name, "ring:%.17g", s * .1);
            Topology t = parsed(name, n);
            assert_int_equal(topology_check(&t, "test", TOPOLOGY_SYMMETRIC, -2), ST_OK);
            double least = 2, second = -2;
            for (int k = 0; k < n; k++) {
                double v = 1 - 2 * (s * .1) * (1 - cos(6.283185307179586 * k / n));
                least = fmin(least, v);
                if (k > 0) second = fmax(second, v);
            }
            assert_true(fabs(t.lambda_n - least) < 1e-10 && fabs(t.lambda_2 - second) < 1e-10);
        }
}

/* Q diag Q' of random rotations keeps its eigenvalues. */
static void random_symmetric_eigenvalues(void **state) {
    (void)state;
    enum { N = 17 };
    Rng r;
    rng_init(&r, 1, 0);
    double a[N * N] = {0}, values[N];
    for (int i = 0; i < N; i++) a[i * N + i] = i - 8;
    for (int k = 0; k < 400; k++) {
        int p = (int)rng_below(&r, N), q = (int)rng_below(&r, N);
        if (p == q) continue;
        double angle = (double)rng_float(&r) * 6.28, c = cos(angle), s = sin(angle);
        for (int j = 0; j < N; j++) {
            double x = a[j * N + p], y = a[j * N + q];
            a[j * N + p] = c * x - s * y, a[j * N + q] = s * x + c * y;
        }
        for (int j = 0; j < N; j++) {
            double x = a[p * N + j], y = a[q * N + j];
            a[p * N + j] = c * x - s * y, a[q * N + j] = s * x + c * y;
        }
    }
    symmetric_eigenvalues(N, a, values);
    for (int i = 0; i < N; i++) assert_true(fabs(values[i] - (i - 8)) < 1e-10);
}

static void one_peer_pairs_are_mutual(void **state) {
    (void)state;
    static const char *const names[] = {"matching", "hypercube"};
    for (int k = 0; k < 2; k++)
        for (int n = 2; n <= 16; n *= 2) {
            Topology t = parsed(names[k], n);
            for (uint64_t s = 0; s < 40; s++)
                for (int i = 0; i < n; i++) {
                    TopologyRow mine, other;
                    topology_row(&t, i, s, &mine);
                    assert_int_equal(mine.n, 1);
                    topology_row(&t, mine.peer[0], s, &other);
                    assert_int_equal(other.peer[0], i);
                }
        }
}

// The last line of the log must contain these words.
static void refused(Topology *t, unsigned needs, double above, const char *words) {
    char path[] = "/tmp/dizhu-topology-XXXXXX", line[512] = "";
    close(mkstemp(path));
    log_level(LOG_ERROR);
    assert_int_equal(log_file(path), 0);
    assert_int_equal(topology_check(t, "D2", needs, above), ST_INVALID);
    assert_int_equal(log_file(NULL), 0);
    FILE *f = fopen(path, "r");
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    unlink(path);
    if (!strstr(line, words)) fail_msg("\"%s\" is not in: %s", words, line);
}

static void refusals_say_why(void **state) {
    (void)state;
    const double asymmetric[] = {.5, .5, .25, .75}, short_row[] = {.5, .4, .4, .5},
                 apart[] = {1, 0, 0, 1}, negative[] = {1.5, -.5, -.5, 1.5};
    Topology m = {.kind = TOPOLOGY_MATRIX, .n = 2, .matrix = asymmetric};
    refused(&m, TOPOLOGY_MEAN, -2, "not symmetric: W[0][1] = 0.5, W[1][0] = 0.25");
    m.matrix = short_row;
    refused(&m, TOPOLOGY_MEAN, -2, "not doubly stochastic: row 0 sums to 0.9");
    m.matrix = negative;
    refused(&m, TOPOLOGY_MEAN, -2, "negative weight: W[0][1] = -0.5");
    m.matrix = apart;
    refused(&m, TOPOLOGY_MEAN, -2, "not connected");
    Topology third = parsed("ring:0.33333333333333333", 8);
    refused(&third, TOPOLOGY_MEAN | TOPOLOGY_STATIC, -1.0 / 3,
            "smallest eigenvalue -0.333333 is not above -0.333333");
    Topology wide = parsed("ring:0.4", 8);
    refused(&wide, TOPOLOGY_MEAN, -1.0 / 3, "smallest eigenvalue -0.600000");
    Topology matching = parsed("matching", 8);
    refused(&matching, TOPOLOGY_STATIC, -2, "not static");
    Topology odd = parsed("ring", 5);
    refused(&odd, TOPOLOGY_TWO_SIDED, -2, "not bipartite: ranks 0 and 4");
    Topology lazy = parsed("lazy-ring:0.4", 8), quarter = parsed("ring:0.25", 8);
    unsigned needs = TOPOLOGY_MEAN | TOPOLOGY_STATIC;
    assert_int_equal(topology_check(&lazy, "D2", needs, -1.0 / 3), ST_OK);
    assert_int_equal(topology_check(&quarter, "D2", needs, -1.0 / 3), ST_OK);
}

static void two_sides(void **state) {
    (void)state;
    for (int n = 1; n <= 33; n++) {
        Topology t = parsed("bipartite", n);
        assert_int_equal(topology_check(&t, "AD-PSGD", TOPOLOGY_MEAN | TOPOLOGY_TWO_SIDED, -2),
                         ST_OK);
    }
}

static void bad_names(void **state) {
    (void)state;
    Topology t;
    log_level(LOG_ERROR - 1);
    static const char *const bad[] = {"", "star", "ring:0", "ring:0.6", "ring:x", "complete:0.5"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(topology_parse(bad[i], 4, &t), ST_INVALID);
    assert_int_equal(topology_parse("matching", 5, &t), ST_INVALID);
    assert_int_equal(topology_parse("hypercube", 6, &t), ST_INVALID);
    assert_int_equal(topology_parse("ring", 257, &t), ST_INVALID);
    log_level(LOG_INFO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_mix),
        cmocka_unit_test(mixing_reaches_the_mean),
        cmocka_unit_test(ring_eigenvalues),
        cmocka_unit_test(random_symmetric_eigenvalues),
        cmocka_unit_test(one_peer_pairs_are_mutual),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(two_sides),
        cmocka_unit_test(bad_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
