/* Every legal play of 4,000 positions as three other engines list them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/movegen.h"
#include "engine/movegen_ref.h"
#include "engine/text.h"
#include "golden.h"
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static Hand hand_of_text(const char *s) {
    Hand h;
    assert_int_equal(text_to_hand(s, &h, NULL), ST_OK);
    return h;
}

static int by_value(const void *a, const void *b) {
    Hand x = *(const Hand *)a, y = *(const Hand *)b;
    return x < y ? -1 : x > y;
}

/* The same plays, in whatever order, none twice. */
static void check_same(const char *what, json_t *position, Hand *got, int n, json_t *want) {
    static Hand expect[MOVEGEN_MAX];
    size_t i;
    json_t *move;
    json_array_foreach(want, i, move) expect[i] = hand_of_text(json_string_value(move));
    qsort(expect, i, sizeof *expect, by_value);
    qsort(got, (size_t)n, sizeof *got, by_value);
    if ((size_t)n == i && memcmp(got, expect, i * sizeof *got) == 0) return;
    fail_msg("%s: %d plays, the golden file has %zu, hand %s last %s", what, n, i,
             json_string_value(json_object_get(position, "hand")),
             json_string_value(json_object_get(position, "last")));
}

static void check_position(json_t *p, RulesetId id, const char *column, int checked[]) {
    json_t *want = json_object_get(p, column);
    const Ruleset *rules = ruleset_get(id);
    Hand hand = hand_of_text(json_string_value(json_object_get(p, "hand"))), got[MOVEGEN_MAX];
    Move last =
        move_classify_last(rules, hand_of_text(json_string_value(json_object_get(p, "last"))));
    if (json_is_null(want)) {
        assert_int_equal(last.type, MOVE_NONE);
        return;
    }
    assert_true(json_is_array(want) && last.type != MOVE_NONE);
    bool lead = json_is_true(json_object_get(p, "must_lead"));
    assert_int_equal(lead, last.cards == 0);
    int n = lead ? movegen_leads(rules, hand, got) : movegen_answers(rules, hand, &last, got);
    check_same(rules->name, p, got, n, want);
    n = movegen_ref(rules, hand, lead ? NULL : &last, got);
    check_same("by filter", p, got, n, want);
    checked[id]++;
}

static void legal_positions(void **state) {
    (void)state;
    FILE *f = golden_open("legal_positions.jsonl.gz");
    assert_non_null(f);
    int positions = 0, checked[N_RULESETS] = {0};
    for (char *line = NULL;; positions++) {
        size_t cap = 0;
        if (getline(&line, &cap, f) < 0) {
            free(line);
            break;
        }
        json_t *p = json_loads(line, 0, NULL);
        assert_non_null(p);
        check_position(p, RULES_DOUZERO, "douzero", checked);
        check_position(p, RULES_BOTZONE, "botzone2", checked);
        check_position(p, RULES_RLCARD, "rlcard", checked);
        json_decref(p);
        free(line);
        line = NULL;
    }
    assert_int_equal(pclose(f), 0);
    assert_int_equal(positions, 4000);
    assert_int_equal(checked[RULES_DOUZERO], 4000);
    assert_int_equal(checked[RULES_BOTZONE], 3901);
    assert_int_equal(checked[RULES_RLCARD], 3762);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(legal_positions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
