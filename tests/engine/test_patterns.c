/* Typing of all 58,591 rank multisets against what five other engines say of them, and the ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/move.h"
#include "engine/text.h"
#include "golden.h"
#include <cmocka.h>
#include <string.h>

enum { GENERATOR = 1, DETECTOR, RLCARD, OPENSPIEL, BOTZONE, BOTZONE1, N_COLUMNS };

/* The name a foreign engine gives to a type; `*` at its end stands for a length. */
typedef struct {
    const char *name;
    MoveType type;
} Word;

static const Word words[] = {
    {"pass", MOVE_PASS},
    {"single", MOVE_SINGLE},
    {"pair", MOVE_PAIR},
    {"triple", MOVE_TRIO},
    {"bomb", MOVE_BOMB},
    {"rocket", MOVE_ROCKET},
    {"3+1", MOVE_TRIO_SINGLE},
    {"3+2", MOVE_TRIO_PAIR},
    {"straight", MOVE_STRAIGHT},
    {"pairchain", MOVE_PAIR_CHAIN},
    {"plane0", MOVE_PLANE},
    {"plane1", MOVE_PLANE_SINGLES},
    {"plane2", MOVE_PLANE_PAIRS},
    {"4+2", MOVE_FOUR_SINGLES},
    {"4+2+2", MOVE_FOUR_PAIRS},
    {"shuttle0", MOVE_SHUTTLE},
    {"shuttle2", MOVE_SHUTTLE_SINGLES},
    {"shuttle4", MOVE_SHUTTLE_PAIRS},
    {"WRONG", MOVE_UNTYPED},
    {"solo", MOVE_SINGLE},
    {"trio", MOVE_TRIO},
    {"trio_solo", MOVE_TRIO_SINGLE},
    {"trio_pair", MOVE_TRIO_PAIR},
    {"four_two_solo", MOVE_FOUR_SINGLES},
    {"four_two_pair", MOVE_FOUR_PAIRS},
    {"solo_chain_*", MOVE_STRAIGHT},
    {"pair_chain_*", MOVE_PAIR_CHAIN},
    {"trio_chain_*", MOVE_PLANE},
    {"trio_solo_chain_*", MOVE_PLANE_SINGLES},
    {"trio_pair_chain_*", MOVE_PLANE_PAIRS},
    {"-", MOVE_NONE},
};

/* The type a word means, and the length it carries (0: none). */
static MoveType meaning(const char *word, int *length) {
    *length = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *name = words[i].name;
        size_t stem = strlen(name) - 1;
        if (name[stem] == '*' && strncmp(word, name, stem) == 0 &&
            sscanf(word + stem, "%d", length) == 1)
            return words[i].type;
        if (strcmp(word, name) == 0) return words[i].type;
    }
    fail_msg("the golden file has an unknown word: %s", word);
    return MOVE_NONE;
}

static void check(RulesetId id, const char *text, Hand cards, const char *word) {
    int length;
    MoveType want = meaning(word, &length);
    Move m = move_classify(ruleset_get(id), cards);
    if (m.type != want || (length && m.length != length))
        fail_msg("%s under %s: %s of %d, the golden file says %s", text, ruleset_get(id)->name,
                 move_type_name(m.type), m.length, word);
}

/* What the research system generates, typed as its detector does; `-`: not generated. */
static void check_douzero(const char *text, Hand cards, char *const column[]) {
    bool generated = strcmp(column[GENERATOR], "-") != 0;
    if (cards == 0) return; /* the file has no pass for it */
    check(RULES_DOUZERO, text, cards, generated ? column[DETECTOR] : "-");
}

static void types_and_ids(void **state) {
    (void)state;
    FILE *f = golden_open("patterns.tsv.gz");
    assert_non_null(f);
    char line[256];
    int id = 0;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#') continue;
        line[strcspn(line, "\n")] = '\0';
        char *column[N_COLUMNS], *rest = line;
        for (int i = 0; i < N_COLUMNS; i++) assert_non_null(column[i] = strsep(&rest, "\t"));
        Hand cards;
        char text[TEXT_MAX];
        assert_int_equal(text_to_move(column[0], &cards, NULL), ST_OK);
        text_from_move(cards, text);
        assert_string_equal(text, column[0]);
        assert_int_equal(move_id(cards), id);
        assert_true(move_from_id((uint16_t)id) == cards);
        check_douzero(text, cards, column);
        check(RULES_RLCARD, text, cards, column[RLCARD]);
        check(RULES_BOTZONE, text, cards, column[BOTZONE]);
        check(RULES_BOTZONE1, text, cards, column[BOTZONE1]);
        check(RULES_CLASSIC, text, cards, column[RLCARD]);
        id++;
    }
    assert_int_equal(pclose(f), 0);
    assert_int_equal(id, N_MOVE_IDS);
}

/* The numbers of plays that docs/rules.md gives. */
static void counts(void **state) {
    (void)state;
    static const int want[N_RULESETS] = {29984, 27471, 34323, 21421, 27471};
    for (int r = 0; r < N_RULESETS; r++) {
        int n = 0;
        for (int id = 1; id < N_MOVE_IDS; id++)
            n += move_classify(ruleset_get(r), move_from_id((uint16_t)id)).type != MOVE_NONE;
        assert_int_equal(n, want[r]);
    }
}

static void what_is_no_play(void **state) {
    (void)state;
    static const char *const none[] = {"34",        "3B",          "333B R",       "3344",
                                       "3456",      "TJQKA2",      "QQKKAA22",     "AAA222",
                                       "KKKAAA222", "33344455566", "3333444",      "34567B",
                                       "333344",    "3333445",     "333444555777", "33334444555"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        Hand cards;
        assert_int_equal(text_to_hand(none[i], &cards, NULL), ST_OK);
        bool botzone = move_classify(ruleset_get(RULES_BOTZONE), cards).type != MOVE_NONE;
        if (botzone) fail_msg("%s is a play under botzone", none[i]);
    }
    assert_int_equal(move_id(hand_of(RANK_3, 5)), MOVE_ID_NONE);
    assert_int_equal(move_id(HAND_FULL), MOVE_ID_NONE);
    assert_int_equal(move_classify(ruleset_get(RULES_DOUZERO), HAND_FULL).type, MOVE_NONE);
    assert_int_equal(move_classify(ruleset_get(RULES_DOUZERO), ~0ull).type, MOVE_NONE);
    assert_int_equal(move_classify(ruleset_get(RULES_DOUZERO), hand_of(RANK_3, 5)).type, MOVE_NONE);
    assert_int_equal(move_classify(ruleset_get(RULES_DOUZERO), hand_of(RANK_R, 2)).type, MOVE_NONE);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_and_ids),
        cmocka_unit_test(counts),
        cmocka_unit_test(what_is_no_play),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
