/* Codecs: stated length and error bound on awkward blocks, the figures of the sign scales, hostile
 * codes, and error feedback's arithmetic.                                                   */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/codec/feedback.h"
#include "tests/learner/gauss.h"
#include <cmocka.h>

static const char *const names[] = {"none",     "fp16",   "bf16",    "u8",       "sign",
                                    "sign-l2",  "qsgd:2", "qsgd:4",  "qsgd:8",   "topk:0.01",
                                    "topk:0.5", "topk:1", "randk:1", "randk:0.1"};
enum { N_NAMES = sizeof names / sizeof names[0] };
static const size_t sizes[] = {0, 1, 7, 8, 9, 31, 33, 1023, 2047, 2048, 2049, 5000};
enum { N_SIZES = sizeof sizes / sizeof sizes[0], N_KINDS = 8 };

static Codec parsed(const char *name) {
    Codec c;
    assert_int_equal(codec_parse(name, &c), ST_OK);
    return c;
}

/* Kinds of blocks: dense, sparse, constant, tiny, with a large mean, all zero, one outlier, huge.
 */
static void fill(int kind, Rng *r, Real *x, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double g = gauss(r);
        switch (kind) {
        case 0: x[i] = (Real)g; break;
        case 1: x[i] = rng_below(r, 20) ? 0 : (Real)g; break;
        case 2: x[i] = (Real)-1.75; break;
        case 3: x[i] = (Real)(g * 1e-9); break;
        case 4: x[i] = (Real)(1000 + g); break;
        case 5: x[i] = 0; break;
        case 6: x[i] = (Real)(i == n / 2 ? 1e4 : g * 1e-3); break;
        default: x[i] = (Real)(g * 1e30);
        }
    }
}

static double distance2(const Real *x, const Real *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum;
}

/* Mean of |x - C(x)|^2 over seeds, with guard bytes behind the code and the length checked. */
static double mean_error(const Codec *c, const Real *x, size_t n, int seeds) {
    size_t bound = codec_bound(c, n);
    uint8_t *code = malloc(bound + 16), *again = malloc(bound + 16);
    Real *y = malloc((n + 1) * sizeof *y);
    double sum = 0;
    for (int s = 0; s < seeds; s++) {
        memset(code, 0xa5, bound + 16);
        memset(again, 0x5a, bound + 16);
        size_t bytes = codec_encode(c, x, n, (uint64_t)s, code);
        assert_true(bytes <= bound);
        for (size_t i = bytes; i < bound + 16; i++) assert_int_equal(code[i], 0xa5);
        assert_int_equal(codec_encode(c, x, n, (uint64_t)s, again), bytes);
        assert_memory_equal(code, again, bytes);
        assert_int_equal(codec_decode(c, code, bytes, n, (uint64_t)s, y), ST_OK);
        sum += distance2(x, y, n);
    }
    free(code);
    free(again);
    free(y);
    return sum / seeds;
}

static void within_their_bounds(void **state) {
    (void)state;
    for (int i = 0; i < N_NAMES; i++) {
        Codec c = parsed(names[i]);
        bool random = strncmp(names[i], "qsgd", 4) == 0 || strncmp(names[i], "randk", 5) == 0;
        for (int s = 0; s < N_SIZES; s++)
            for (int kind = 0; kind < N_KINDS; kind++) {
                Real x[5000];
                Rng r;
                rng_init(&r, 3, (uint64_t)(s * N_KINDS + kind));
                fill(kind, &r, x, sizes[s]);
                double bound = c.ops->error(&c, x, sizes[s]);
                // a mean of 40 draws, one outlier included, may lie above its expectation
                double measured = mean_error(&c, x, sizes[s], random ? 40 : 1);
                double slack = random ? 1 + (kind == 6 ? 1.0 : 0.5) : 1;
                if (measured > bound * slack)
                    fail_msg("%s, %zu numbers of kind %d: error %g, bound %g", names[i], sizes[s],
                             kind, measured, bound);
            }
    }
}

static void lengths(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t bytes; // of 5000 numbers in three blocks: 2048, 2048, 904
    } expected[] = {
        {"none", 5000 * sizeof(Real)},       {"fp16", 10000},
        {"u8", 5000 + 3 * 2 * sizeof(Real)}, {"sign", 625 + 3 * sizeof(Real)},
        {"qsgd:4", 2500 + 3 * sizeof(Real)}, {"topk:0.01", 50 * sizeof(Real) + (50 * 13 + 7) / 8},
        {"randk:0.1", 500 * sizeof(Real)}};
    Real x[5000] = {1};
    uint8_t code[5000 * sizeof(Real)];
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        Codec c = parsed(expected[i].name);
        assert_int_equal(codec_encode(&c, x, 5000, 1, code), expected[i].bytes);
    }
}

static void bad_names_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"",       "zip",     "sign:3",    "qsgd:3", "topk:0",
                                      "topk:2", "randk:x", "topk:0.1x", "u8:"};
    log_level(LOG_ERROR - 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        Codec c;
        assert_int_equal(codec_parse(bad[i], &c), ST_INVALID);
    }
    log_level(LOG_INFO);
}

/* Expectation over seeds is x, to 5 standard errors: qsgd always, randk at k/n of x. */
static void unbiased(void **state) {
    (void)state;
    enum { N = 64, DRAWS = 4000 };
    Real x[N];
    Rng r;
    rng_init(&r, 9, 0);
    fill(0, &r, x, N);
    static const struct {
        const char *name;
        double kept;
    } cases[] = {{"qsgd:2", 1}, {"qsgd:4", 1}, {"qsgd:8", 1}, {"randk:0.25", 0.25}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        Codec c = parsed(cases[k].name);
        double sum[N] = {0}, squares[N] = {0};
        for (int d = 0; d < DRAWS; d++) {
            uint8_t code[N * sizeof(Real)];
            Real y[N];
            size_t bytes = codec_encode(&c, x, N, (uint64_t)d, code);
            assert_int_equal(codec_decode(&c, code, bytes, N, (uint64_t)d, y), ST_OK);
            for (int i = 0; i < N; i++) sum[i] += (double)y[i], squares[i] += (double)(y[i] * y[i]);
        }
        for (int i = 0; i < N; i++) {
            double mean = sum[i] / DRAWS, variance = squares[i] / DRAWS - mean * mean;
            double error = 5 * sqrt(fmax(variance, 0) / DRAWS) + 1e-6;
            assert_true(fabs(mean - cases[k].kept * (double)x[i]) <= error);
        }
    }
}

/* Relative squared error of Gaussian blocks at a density of non-zeros: L1 is always a contraction,
 * L2 on sparse blocks is worse than sending nothing.                                        */
static void sign_scales(void **state) {
    (void)state;
    static const struct {
        double density, l1, l2;
    } expected[] = {{1, .36, .40}, {.5, .68, .87}, {.2, .87, 1.29}, {.05, .97, 1.65}};
    enum { N = 1 << 16 };
    Real *x = malloc(N * sizeof *x);
    for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        Rng r;
        rng_init(&r, 4, k);
        double norm = 0;
        for (int i = 0; i < N; i++) {
            double g = gauss(&r);
            x[i] = (double)rng_float(&r) < expected[k].density ? (Real)g : 0;
            norm += (double)x[i] * (double)x[i];
        }
        Codec l1 = parsed("sign"), l2 = parsed("sign-l2");
        double e1 = mean_error(&l1, x, N, 1) / norm, e2 = mean_error(&l2, x, N, 1) / norm;
        print_message("density %.2f: L1 %.2f, L2 %.2f of |x|^2\n", expected[k].density, e1, e2);
        assert_true(fabs(e1 - expected[k].l1) < .02);
        assert_true(fabs(e2 - expected[k].l2) < .04);
        assert_true(e1 < 1);
    }
    free(x);
}

/* The relative error of 8 bits does not depend on the size of the numbers. */
static void u8_keeps_tiny_gradients(void **state) {
    (void)state;
    enum { N = 4096 };
    static Real x[N], y[N];
    Codec c = parsed("u8");
    double first = 0;
    for (double size = 1; size > 1e-30; size *= 1e-5) {
        Rng r;
        rng_init(&r, 2, 0);
        double norm = 0;
        for (int i = 0; i < N; i++) {
            x[i] = (Real)(gauss(&r) * size);
            norm += (double)x[i] * (double)x[i];
        }
        double relative = sqrt(mean_error(&c, x, N, 1) / norm);
        if (size == 1) first = relative;
        assert_true(fabs(relative / first - 1) < 1e-2);
        assert_true(relative < .011);
    }
    // a mean 1e4 times the range costs nothing but float's own rounding
    Rng r;
    rng_init(&r, 2, 1);
    for (int i = 0; i < N; i++) x[i] = 1000 + (Real)rng_float(&r) / 10;
    uint8_t code[2 * N];
    size_t bytes = codec_encode(&c, x, N, 0, code);
    assert_int_equal(codec_decode(&c, code, bytes, N, 0, y), ST_OK);
    for (int i = 0; i < N; i++)
        assert_true(fabs((double)(x[i] - y[i])) <= .1 / 510 + 1000 * 0x1p-23);
}

static int by_magnitude(const void *a, const void *b) {
    Real x = real_abs(*(const Real *)a), y = real_abs(*(const Real *)b);
    return (x < y) - (x > y);
}

/* What topk drops is what a sort puts last, ties and zeros included. */
static void topk_is_exact(void **state) {
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        Rng r;
        rng_init(&r, 8, (uint64_t)trial);
        size_t n = 1 + rng_below(&r, 700), k;
        Real x[700], sorted[700], y[700];
        for (size_t i = 0; i < n; i++)
            x[i] = trial % 2 ? (Real)gauss(&r) : (Real)((int)rng_below(&r, 7) - 3);
        Codec c = parsed("topk:0.1");
        uint8_t code[700 * sizeof(Real)];
        size_t bytes = codec_encode(&c, x, n, 0, code);
        assert_int_equal(codec_decode(&c, code, bytes, n, 0, y), ST_OK);
        k = (size_t)ceil(.1 * (double)n);
        memcpy(sorted, x, sizeof x);
        qsort(sorted, n, sizeof sorted[0], by_magnitude);
        double dropped = 0;
        for (size_t i = k; i < n; i++) dropped += (double)(sorted[i] * sorted[i]);
        assert_true(fabs(distance2(x, y, n) - dropped) <= 1e-5 * (dropped + 1));
        for (size_t i = 0; i < n; i++) assert_true(y[i] == 0 || y[i] == x[i]);
    }
}

static void halves(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        if ((h & 0x7c00) != 0x7c00) assert_int_equal(fp16_from(fp16_to((uint16_t)h)), h);
        if ((h & 0x7f80) != 0x7f80) assert_int_equal(bf16_from(bf16_to((uint16_t)h)), h);
    }
    // nearest: no neighbour is closer, and a tie goes to the even code
    Rng r;
    rng_init(&r, 6, 0);
    for (int i = 0; i < 200000; i++) {
        float x = ldexpf(rng_float(&r) - .5f, (int)rng_below(&r, 40) - 26);
        uint16_t h = fp16_from(x), b = bf16_from(x);
        double eh = fabs((double)x - (double)fp16_to(h)), eb = fabs((double)x - (double)bf16_to(b));
        assert_true(eh <= fabs((double)x - (double)fp16_to((uint16_t)(h + 1))));
        assert_true(eb <= fabs((double)x - (double)bf16_to((uint16_t)(b + 1))));
        if (h & 0x7fff) assert_true(eh <= fabs((double)x - (double)fp16_to((uint16_t)(h - 1))));
        if (b & 0x7fff) assert_true(eb <= fabs((double)x - (double)bf16_to((uint16_t)(b - 1))));
    }
    assert_int_equal(fp16_from(1 + 0x1p-11f), 0x3c00);
    assert_int_equal(fp16_from(1 + 3 * 0x1p-11f), 0x3c02);
    assert_int_equal(fp16_from(1e9f), 0x7bff);
    assert_true(isnan(fp16_to(fp16_from(NAN))) && isnan(bf16_to(bf16_from(NAN))));
}

/* Wrong lengths, indices out of range or order, and scales that are no numbers: an error, and never
 * a read past the end (this test runs under ASan).                                          */
static void hostile_codes(void **state) {
    (void)state;
    enum { N = 100 };
    Real x[N], y[N];
    Rng r;
    rng_init(&r, 1, 0);
    fill(0, &r, x, N);
    for (int i = 0; i < N_NAMES; i++) {
        Codec c = parsed(names[i]);
        size_t bound = codec_bound(&c, N);
        uint8_t *code = malloc(bound + 1);
        size_t bytes = codec_encode(&c, x, N, 0, code);
        uint8_t *exact = malloc(bytes);
        memcpy(exact, code, bytes);
        assert_int_equal(codec_decode(&c, exact, bytes - 1, N, 0, y), ST_CORRUPT);
        code[bytes - 1] = 0;
        assert_int_equal(codec_decode(&c, code, bytes + 1, N, 0, y), ST_CORRUPT);
        for (int t = 0; t < 300; t++) {
            for (size_t j = 0; j < bytes; j++) exact[j] = (uint8_t)rng_u32(&r);
            (void)codec_decode(&c, exact, bytes, N, 0, y);
        }
        free(exact);
        free(code);
    }
    Codec sign = parsed("sign"), topk = parsed("topk:0.02");
    uint8_t code[N * sizeof(Real)];
    size_t bytes = codec_encode(&sign, x, N, 0, code);
    Real bad = (Real)NAN;
    memcpy(code, &bad, sizeof bad);
    assert_int_equal(codec_decode(&sign, code, bytes, N, 0, y), ST_CORRUPT);
    bytes = codec_encode(&topk, x, N, 0, code); // two values, two indices of 7 bits
    code[2 * sizeof(Real)] = 5 | (5 << 7 & 0xff);
    code[2 * sizeof(Real) + 1] = 5 >> 1;
    assert_int_equal(codec_decode(&topk, code, bytes, N, 0, y), ST_CORRUPT);
}

/* v = x + e is what was sent plus what is kept; a step voted down changes nothing; a learning rate
 * twice as large halves the residual.                                                       */
static void feedback(void **state) {
    (void)state;
    enum { N = 3000 };
    static Real x[N], y[N], total_in[N], total_out[N];
    static uint8_t code[N * sizeof(Real)];
    Codec c = parsed("sign");
    Feedback f;
    assert_int_equal(feedback_init(&f, N, true), ST_OK);
    Rng r;
    rng_init(&r, 12, 0);
    feedback_rate(&f, .1);
    for (int t = 0; t < 50; t++) {
        fill(1, &r, x, N);
        size_t bytes = feedback_encode(&f, &c, x, NULL, 0, N, 0, code, NULL);
        bool keep = t % 5 != 2;
        Real before = f.e[7];
        feedback_settle(&f, 0, N, keep);
        if (!keep) {
            assert_true(f.e[7] == before);
            continue;
        }
        assert_int_equal(codec_decode(&c, code, bytes, N, 0, y), ST_OK);
        for (int i = 0; i < N; i++) total_in[i] += x[i], total_out[i] += y[i];
    }
    double worst = 0;
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs((double)(total_in[i] - total_out[i] - f.e[i])));
    assert_true(worst < (sizeof(Real) == 4 ? 1e-5 : 1e-13));
    Real before = f.e[11];
    assert_true(before != 0 && feedback_norm(&f) > 0);
    feedback_rate(&f, .2);
    assert_true(f.e[11] == before / 2);
    feedback_rate(&f, 0);
    assert_true(f.e[11] == before / 2);
    feedback_deinit(&f);
}

/* The dead are not in the code, do not move, keep no residual, and weigh nothing in a scale. */
static void the_dead_are_left_out(void **state) {
    (void)state;
    enum { N = 1000 };
    static Real x[N], y[N], spare[N], living[N];
    static uint8_t dead[N], code[N * sizeof(Real)], plain[N * sizeof(Real)];
    Codec c = parsed("sign");
    Feedback f;
    Rng r;
    rng_init(&r, 5, 0);
    fill(0, &r, x, N);
    size_t alive = 0;
    for (int i = 0; i < N; i++) {
        dead[i] = i % 3 == 0 || (i > 200 && i < 300);
        if (dead[i]) x[i] = 1000;
        else living[alive++] = x[i];
    }
    assert_int_equal(feedback_init(&f, N, true), ST_OK);
    size_t bytes = feedback_encode(&f, &c, x, dead, 0, N, 0, code, spare);
    assert_int_equal(bytes, codec_encode(&c, living, alive, 0, plain));
    assert_memory_equal(code, plain, bytes);
    feedback_settle(&f, 0, N, true);
    for (int i = 0; i < N; i++) y[i] = 7;
    assert_int_equal(feedback_decode_add(&c, code, bytes, dead, N, 0, 1, y, spare), ST_OK);
    for (int i = 0; i < N; i++) {
        assert_true(!dead[i] || (y[i] == 7 && f.e[i] == 0));
        assert_true(dead[i] || fabs((double)(y[i] - 7 + f.e[i] - x[i])) < 1e-5);
    }
    feedback_deinit(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_their_bounds),   cmocka_unit_test(lengths),
        cmocka_unit_test(bad_names_are_refused), cmocka_unit_test(unbiased),
        cmocka_unit_test(sign_scales),           cmocka_unit_test(u8_keeps_tiny_gradients),
        cmocka_unit_test(topk_is_exact),         cmocka_unit_test(halves),
        cmocka_unit_test(hostile_codes),         cmocka_unit_test(feedback),
        cmocka_unit_test(the_dead_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
