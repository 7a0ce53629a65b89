/* The solver against plain exhaustive search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "actors/solver.h"
#include "engine/playout.h"
#include "engine/text.h"

static uint64_t plain_nodes;

/* The definition: every legal play of the engine, no order, no memory. */
static bool plain(const Game *g) {
    if (g->phase == PHASE_OVER) return game_landlord_won(g);
    Hand legal[512];
    int n = 0;
    {
        static Hand all[MOVEGEN_MAX];
        n = game_legal(g, all);
        assert_true(n <= 512);
        for (int i = 0; i < n; i++) legal[i] = all[i];
    }
    plain_nodes++;
    bool landlord = g->turn == g->landlord;
    for (int i = 0; i < n; i++) {
        Game next = *g;
        game_apply(&next, legal[i]);
        if (plain(&next) == landlord) return landlord;
    }
    return !landlord;
}

/* Random play until few cards are left. False: the game ended before. */
static bool make_ending(RulesetId rules, uint64_t i, int cards, Game *g) {
    Deal deal;
    Rng rng;
    deal_random(31, i, &deal);
    rng_init(&rng, 32, i);
    game_init(g, rules, &deal, 0);
    for (int bid = 1; g->phase == PHASE_BID; bid = 0) game_bid(g, bid, NULL);
    while (g->phase == PHASE_PLAY) {
        if (g->left[0] + g->left[1] + g->left[2] <= cards) return true;
        static Hand legal[MOVEGEN_MAX];
        int n = game_legal(g, legal);
        game_apply(g, legal[rng_below(&rng, (uint32_t)n)]);
    }
    return false;
}

/* Endings of 8 to 16 cards under every ruleset; one solver, whose table fills as it goes. */
static void agrees_with_plain_search(void **state) {
    (void)state;
    enum { ENDINGS = 10000 };
    int n = 0, won = 0;
    Solver *s[N_RULESETS];
    for (int r = 0; r < N_RULESETS; r++)
        assert_int_equal(solver_new(ruleset_get((RulesetId)r), 16, &s[r]), ST_OK);
    for (uint64_t i = 0; n < ENDINGS; i++) {
        Game g;
        RulesetId rules = (RulesetId)(i % N_RULESETS);
        if (!make_ending(rules, i, 8 + (int)(i / N_RULESETS % 9), &g)) continue;
        Ending e;
        ending_from_game(&g, &e);
        bool expected = plain(&g);
        Solved got = solver_run(s[rules], &e, UINT64_MAX / 2);
        if (got != (expected ? SOLVED_WON : SOLVED_LOST)) fail_msg("ending %d", (int)i);
        n++;
        won += expected;
    }
    uint64_t nodes = 0;
    for (int r = 0; r < N_RULESETS; r++) {
        nodes += solver_nodes(s[r]);
        solver_free(s[r]);
    }
    print_message("%d endings, %d won by the landlord; nodes: plain %llu, solver %llu\n", n, won,
                  (unsigned long long)plain_nodes, (unsigned long long)nodes);
    assert_in_range(won, ENDINGS / 5, ENDINGS * 4 / 5);
    assert_true(nodes * 3 < plain_nodes);
}

/* A full table and an empty one say the same of larger endings, and of every play in them. */
static void the_table_changes_nothing(void **state) {
    (void)state;
    const Ruleset *rules = ruleset_get(RULES_DOUZERO);
    Solver *small, *large;
    assert_int_equal(solver_new(rules, 4, &small), ST_OK);
    assert_int_equal(solver_new(rules, 18, &large), ST_OK);
    int n = 0;
    for (uint64_t i = 0; n < 150; i++) {
        Game g;
        if (!make_ending(RULES_DOUZERO, i, 15, &g)) continue;
        Ending e;
        ending_from_game(&g, &e);
        Solved value = solver_run(small, &e, UINT64_MAX / 2);
        assert_int_equal(value, solver_run(large, &e, UINT64_MAX / 2));
        /* The value is that of the best play. */
        static Hand legal[MOVEGEN_MAX];
        int plays = game_legal(&g, legal);
        bool landlord = e.turn == ROLE_LANDLORD, good = false;
        for (int k = 0; k < plays; k++) {
            Ending next;
            bool goes_on = ending_play(rules, &e, legal[k], &next);
            Solved v = !goes_on ? (landlord ? SOLVED_WON : SOLVED_LOST)
                                : solver_run(large, &next, UINT64_MAX / 2);
            good |= (v == SOLVED_WON) == landlord;
        }
        assert_int_equal(good, (value == SOLVED_WON) == landlord);
        n++;
    }
    solver_free(small);
    solver_free(large);
}

/* The limit is kept, is told, and what was found before it helps the next try. */
static void the_limit_is_kept(void **state) {
    (void)state;
    Solver *s;
    assert_int_equal(solver_new(ruleset_get(RULES_DOUZERO), 18, &s), ST_OK);
    int unknown = 0;
    for (uint64_t i = 0; i < 40; i++) {
        Game g;
        if (!make_ending(RULES_DOUZERO, i, 22, &g)) continue;
        Ending e;
        ending_from_game(&g, &e);
        uint64_t before = solver_nodes(s);
        Solved v = solver_run(s, &e, 100);
        assert_true(solver_nodes(s) - before <= 100);
        if (v != SOLVED_UNKNOWN) continue;
        unknown++;
        for (int tries = 0; v == SOLVED_UNKNOWN && tries < 100000; tries++)
            v = solver_run(s, &e, 1000);
        assert_int_not_equal(v, SOLVED_UNKNOWN);
    }
    assert_true(unknown > 5);
    solver_free(s);
}

static void endings_by_hand(void **state) {
    (void)state;
    static const struct {
        const char *hand[N_ROLES], *last;
        int turn, leader;
        bool won;
    } cases[] = {
        {{"3", "4", "5"}, "", 0, 0, true},     /* goes out */
        {{"34", "5", "6"}, "", 0, 0, false},   /* any lead is taken */
        {{"R3", "5", "6"}, "", 0, 0, true},    /* the joker, then the 3 */
        {{"3R", "55", "66"}, "", 0, 0, true},  /* nobody has the chance */
        {{"33R", "3", "4"}, "", 0, 0, true},   /* the pair first: only singles are against it */
        {{"37", "456", "8"}, "", 0, 0, false}, /* 3 is beaten by 4, 7 by 8 */
        {{"8", "37", "9"}, "", 1, 1, false},   /* 7 to the partner's 9 */
        {{"T", "37", "99"}, "", 1, 1, true},   /* whatever is led, T goes out on it */
        {{"T", "37", "9"}, "6", 0, 2, true},   /* T goes out */
        {{"3", "4445", "66667"}, "5", 0, 2, false},
        {{"3333R", "4", "5"}, "", 0, 0, true},
        {{"BR", "2222", "AAAA"}, "KKKK", 0, 1, true},
    };
    Solver *s;
    const Ruleset *rules = ruleset_get(RULES_DOUZERO);
    assert_int_equal(solver_new(rules, 10, &s), ST_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Ending e = {.turn = (uint8_t)cases[i].turn, .leader = (uint8_t)cases[i].leader};
        Hand last;
        for (int r = 0; r < N_ROLES; r++)
            assert_int_equal(text_to_hand(cases[i].hand[r], &e.hand[r], NULL), ST_OK);
        assert_int_equal(text_to_move(cases[i].last, &last, NULL), ST_OK);
        if (last) e.last = move_classify(rules, last);
        if (solver_run(s, &e, 100000) != (cases[i].won ? SOLVED_WON : SOLVED_LOST))
            fail_msg("case %d", (int)i);
    }
    solver_free(s);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_by_hand),
        cmocka_unit_test(agrees_with_plain_search),
        cmocka_unit_test(the_table_changes_nothing),
        cmocka_unit_test(the_limit_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
