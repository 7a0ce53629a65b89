/* `dizhu bench learner` prints rows that a program can read. */
#include "tests/e2e/train.h"

#include <jansson.h>

static void learner_rows(void **state) {
    (void)state;
    FILE *f = popen(PROGRAM_DIR "/dizhu bench learner --seconds 0.02 --json", "r");
    assert_non_null(f);
    json_error_t error;
    json_t *list = json_loadf(f, 0, &error), *row;
    if (list == NULL) fail_msg("%s", error.text);
    assert_int_equal(pclose(f), 0);
    size_t i;
    int rates = 0;
    json_array_foreach(list, i, row) {
        const char *room, *name, *unit;
        double median, p10, p90, ratio, share;
        assert_int_equal(json_unpack(row, "{s:s,s:s,s:s,s:F,s:F,s:F,s:F,s:F}", "room", &room,
                                     "name", &name, "unit", &unit, "median", &median, "p10", &p10,
                                     "p90", &p90, "ratio_ref", &ratio, "peak_share", &share),
                         0);
        assert_string_equal(room, "learner");
        assert_true(median > 0 && p10 <= median && median <= p90);
        assert_true(ratio >= 0 && share >= 0 && share < 1.5);
        if (strncmp(name, "learning", 8) == 0 && ratio > 0) {
            assert_true(ratio > 1); // faster than the plain version
            rates++;
        }
    }
    assert_true(rates >= 2);
    json_decref(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(learner_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
