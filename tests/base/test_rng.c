/* The generator against its authors' published vectors, and its uses against arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/rng.h"
#include <cmocka.h>

/* Random123's known-answer file, philox4x32 with 10 rounds. */
static void known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
        uint32_t out[4];
        philox4x32_10(kat[i].counter, kat[i].key, out);
        assert_memory_equal(out, kat[i].out, sizeof out);
    }
}

static void streams_differ_and_repeat(void **state) {
    (void)state;
    Rng a, b, c;
    rng_init(&a, 7, 1);
    rng_init(&b, 7, 1);
    rng_init(&c, 7, 2);
    int same = 0;
    for (int i = 0; i < 1000; i++) {
        uint32_t x = rng_u32(&a);
        assert_int_equal(x, rng_u32(&b));
        same += x == rng_u32(&c);
    }
    assert_true(same <= 1);
}

/* Chi-square over the faces of dice whose size does not divide 2^32: 5 sigma bounds. */
static void below_is_uniform(void **state) {
    (void)state;
    static const uint32_t sizes[] = {1, 2, 3, 7, 54, 504};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        enum { DRAWS = 100000 };
        uint32_t n = sizes[s], hits[504] = {0};
        Rng r;
        rng_init(&r, 11, s);
        for (int i = 0; i < DRAWS; i++) {
            uint32_t x = rng_below(&r, n);
            assert_true(x < n);
            hits[x]++;
        }
        double expected = (double)DRAWS / n, chi2 = 0;
        for (uint32_t i = 0; i < n; i++)
            chi2 += (hits[i] - expected) * (hits[i] - expected) / expected;
        assert_true(chi2 <= n - 1 + 5 * sqrt(2.0 * n));
    }
}

static void below_has_no_bias(void **state) {
    (void)state; // n = 3 * 2^30: without rejection the lowest third would come twice as often
    enum { DRAWS = 30000 };
    Rng r;
    rng_init(&r, 5, 5);
    int low = 0;
    for (int i = 0; i < DRAWS; i++) low += rng_below(&r, 3u << 30) % 3 == 0;
    assert_true(fabs(low - DRAWS / 3.0) < 5 * sqrt(DRAWS * 2.0 / 9));
}

static void floats_are_in_range(void **state) {
    (void)state;
    Rng r;
    rng_init(&r, 1, 1);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        float f = rng_float(&r);
        assert_true(f >= 0 && f < 1);
        sum += f;
    }
    assert_true(fabs(sum / 100000 - 0.5) < 5 * 0.2887 / sqrt(100000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_answers),       cmocka_unit_test(streams_differ_and_repeat),
        cmocka_unit_test(below_is_uniform),    cmocka_unit_test(below_has_no_bias),
        cmocka_unit_test(floats_are_in_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
