/* The generator against the plain filter over all plays, on random hands under every ruleset.
 * With the argument `slow`, 100,000 positions each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/movegen_ref.h"
#include "engine/text.h"
#include "random_position.h"
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static int n_positions = 6000; /* per ruleset */
static bool thorough;

static int by_value(const void *a, const void *b) {
    Hand x = *(const Hand *)a, y = *(const Hand *)b;
    return (x > y) - (x < y);
}

static void same_plays(const Ruleset *rules, Hand hand, const Move *last, Hand *got, int n) {
    static Hand want[MOVEGEN_MAX];
    int n_want = movegen_ref(rules, hand, last, want);
    qsort(got, (size_t)n, sizeof *got, by_value);
    qsort(want, (size_t)n_want, sizeof *want, by_value);
    if (n == n_want && memcmp(got, want, (size_t)n * sizeof *got) == 0) return;
    char hand_text[TEXT_MAX], last_text[TEXT_MAX], play[TEXT_MAX] = "";
    text_from_hand(hand, hand_text);
    text_from_move(last ? last->cards : 0, last_text);
    for (int i = 0; i < n || i < n_want; i++)
        if (i >= n || i >= n_want || got[i] != want[i]) {
            text_from_hand(i < n ? got[i] : want[i], play);
            break;
        }
    fail_msg("%s: hand %s last %s: %d plays, by filter %d; they differ at %s", rules->name,
             hand_text, last_text, n, n_want, play);
}

static void agrees_with_filter(void **state) {
    (void)state;
    static Hand got[MOVEGEN_MAX];
    for (int r = 0; r < N_RULESETS; r++) {
        const Ruleset *rules = ruleset_get((RulesetId)r);
        int answered = 0, seen[N_MOVE_TYPES] = {0};
        Rng rng;
        rng_init(&rng, 11, (uint64_t)r);
        for (int i = 0; i < n_positions; i++) {
            Move last;
            Hand hand = random_position(&rng, rules, &last);
            same_plays(rules, hand, NULL, got, movegen_leads(rules, hand, got));
            int n = movegen_answers(rules, hand, &last, got);
            for (int k = 0; k < n; k++) seen[move_classify(rules, got[k]).type]++;
            same_plays(rules, hand, &last, got, n);
            answered += n > 0;
        }
        /* The positions are worth something: many have answers, of every type there is. */
        assert_true(answered > n_positions / 4);
        for (int t = MOVE_SINGLE; t < N_MOVE_TYPES; t++) {
            bool shuttle = t >= MOVE_SHUTTLE && t <= MOVE_SHUTTLE_PAIRS;
            bool exists = shuttle ? rules->shuttles : t != MOVE_UNTYPED || rules->detector_quirks;
            if (t == MOVE_UNTYPED && !thorough) continue; /* once in 10,000 positions */
            if (exists == (seen[t] == 0))
                fail_msg("%s: %d answers of type %s", rules->name, seen[t],
                         move_type_name((MoveType)t));
        }
    }
}

/* Any play of the ruleset can be followed; what follows is the same whoever holds it. */
static void answers_follow_beats(void **state) {
    (void)state;
    static Hand got[MOVEGEN_MAX];
    Rng rng;
    rng_init(&rng, 12, 0);
    for (int i = 0; i < n_positions; i++) {
        const Ruleset *rules = ruleset_get((RulesetId)(i % N_RULESETS));
        Move last = {0};
        while (last.type == MOVE_NONE || last.type == MOVE_PASS)
            last = move_classify(rules, move_from_id((uint16_t)rng_below(&rng, N_MOVE_IDS)));
        Hand hand = random_hand(&rng, HAND_FULL - last.cards, 20);
        same_plays(rules, hand, &last, got, movegen_answers(rules, hand, &last, got));
    }
}

static void edges(void **state) {
    (void)state;
    static Hand got[MOVEGEN_MAX];
    for (int r = 0; r < N_RULESETS; r++) {
        const Ruleset *rules = ruleset_get((RulesetId)r);
        Move rocket = move_classify(rules, hand_of(RANK_B, 1) | hand_of(RANK_R, 1));
        Move twos = move_classify(rules, hand_of(RANK_2, 4));
        assert_int_equal(rocket.type, MOVE_ROCKET);
        assert_int_equal(movegen_leads(rules, 0, got), 0);
        assert_int_equal(movegen_answers(rules, 0, &twos, got), 0);
        assert_int_equal(movegen_answers(rules, HAND_FULL - rocket.cards, &rocket, got), 0);
        assert_int_equal(movegen_answers(rules, HAND_FULL - twos.cards, &twos, got), 1);
        assert_true(got[0] == rocket.cards);
    }
}

/* Climbs from random hands to those with the most leads: far from the end of a caller's buffer. */
static void lists_fit(void **state) {
    (void)state;
    static Hand got[4 * MOVEGEN_MAX];
    int most = 0;
    for (int r = 0; r < N_RULESETS; r++) {
        const Ruleset *rules = ruleset_get((RulesetId)r);
        Rng rng;
        rng_init(&rng, 13, (uint64_t)r);
        for (int climb = 0; climb < 60; climb++) {
            Hand hand = random_hand(&rng, random_deck(&rng), 20);
            hand += random_hand(&rng, HAND_FULL - hand, 20 - hand_size(hand));
            int n = movegen_leads(rules, hand, got);
            for (int i = 0; i < 1500; i++) {
                int k = 1 + (int)rng_below(&rng, 3);
                Hand out = random_hand(&rng, hand, k);
                Hand next = hand - out + random_hand(&rng, HAND_FULL - hand, k);
                int m = movegen_leads(rules, next, got);
                if (m >= n) hand = next, n = m;
            }
            if (n > most) most = n;
        }
    }
    print_message("most plays of a hand found: %d\n", most);
    assert_in_range(most, 700, MOVEGEN_MAX / 2);
}

int main(int argc, char **argv) {
    thorough = argc > 1 && strcmp(argv[1], "slow") == 0;
    if (thorough) n_positions = 100000;
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_filter),
        cmocka_unit_test(answers_follow_beats),
        cmocka_unit_test(edges),
        cmocka_unit_test(lists_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
