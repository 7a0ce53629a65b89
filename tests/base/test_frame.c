/* Frames: what was written comes back, and no damaged byte does. Also the worked example of
 * docs/frame.md, read from the page itself.                                                */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/frame.h"
#include "engine/base/rng.h"
#include <cmocka.h>

static const Frame example = {.kind = FRAME_RECORDS,
                              .ruleset = 2,
                              .objective = 1,
                              .weights_version = 812,
                              .run = 0x0123456789abcdef,
                              .sender = 3,
                              .sequence = 17,
                              .length = 5};

static size_t write_example(uint8_t *out) {
    memcpy(out + FRAME_HEADER_BYTES, "hello", 5);
    frame_write(&example, out);
    return FRAME_HEADER_BYTES + 5;
}

static void round_trip(void **state) {
    (void)state;
    uint8_t p[64];
    size_t n = write_example(p);
    Frame f;
    const uint8_t *body;
    assert_int_equal(frame_read(p, n, &f, &body), ST_OK);
    assert_int_equal(f.kind, example.kind);
    assert_int_equal(f.ruleset, example.ruleset);
    assert_int_equal(f.objective, example.objective);
    assert_int_equal(f.weights_version, example.weights_version);
    assert_int_equal(f.run, example.run);
    assert_int_equal(f.sender, example.sender);
    assert_int_equal(f.sequence, example.sequence);
    assert_int_equal(f.length, 5);
    assert_memory_equal(body, "hello", 5);
}

static void every_damaged_byte_is_refused(void **state) {
    (void)state;
    uint8_t p[64];
    size_t n = write_example(p);
    Frame f;
    const uint8_t *body;
    for (size_t i = 0; i < n; i++)
        for (int bit = 0; bit < 8; bit++) {
            p[i] ^= (uint8_t)(1 << bit);
            assert_int_not_equal(frame_read(p, n, &f, &body), ST_OK);
            p[i] ^= (uint8_t)(1 << bit);
        }
}

static void every_wrong_length_is_refused(void **state) {
    (void)state;
    uint8_t p[65] = {0};
    size_t n = write_example(p);
    Frame f;
    const uint8_t *body;
    for (size_t i = 0; i < n; i++) assert_int_equal(frame_read(p, i, &f, &body), ST_TRUNCATED);
    assert_int_equal(frame_read(p, n + 1, &f, &body), ST_CORRUPT);
}

static void noise_is_refused(void **state) {
    (void)state;
    Rng r;
    rng_init(&r, 3, 3);
    Frame f;
    const uint8_t *body;
    for (int i = 0; i < 100000; i++) {
        uint8_t p[80];
        for (size_t j = 0; j < sizeof p; j++) p[j] = (uint8_t)rng_u32(&r);
        if (i % 2) memcpy(p, "DZF1", 4);
        assert_int_not_equal(frame_read(p, rng_below(&r, sizeof p + 1), &f, &body), ST_OK);
    }
}

/* The page shows the frame as lines "    0000: hex hex ...". */
static void docs_example(void **state) {
    (void)state;
    FILE *page = fopen(SOURCE_DIR "/docs/frame.md", "r");
    assert_non_null(page);
    uint8_t shown[64], p[64];
    size_t n = 0;
    char line[200];
    while (fgets(line, sizeof line, page) != NULL) {
        unsigned at, byte;
        int used = 0; // stays so unless the colon is there too
        if (sscanf(line, "    %4x:%n", &at, &used) != 1 || used == 0 || at != n) continue;
        for (char *s = line + used; sscanf(s, " %2x%n", &byte, &used) == 1 && n < sizeof shown;
             s += used)
            shown[n++] = (uint8_t)byte;
    }
    fclose(page);
    assert_int_equal(n, write_example(p));
    assert_memory_equal(shown, p, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip),
        cmocka_unit_test(every_damaged_byte_is_refused),
        cmocka_unit_test(every_wrong_length_is_refused),
        cmocka_unit_test(noise_is_refused),
        cmocka_unit_test(docs_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
