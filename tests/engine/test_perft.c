/* perft against a plain walk that filters all plays, and golden counts of deeper walks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/movegen_ref.h"
#include "engine/perft.h"
#include <cmocka.h>

static void start(Game *g, RulesetId rules, uint64_t seed) {
    Deal d;
    deal_random(seed, 0, &d);
    game_init(g, rules, &d, 0);
    if (g->phase == PHASE_BID) assert_int_equal(game_bid(g, 3, NULL), ST_OK);
}

/* Written from the definition: filter, checked play, every leaf visited. */
static uint64_t plain(const Game *g, int depth) {
    if (depth == 0 || g->phase == PHASE_OVER) return 1;
    Hand plays[MOVEGEN_MAX];
    const Move *last = g->to_beat.cards ? &g->to_beat : NULL;
    int n = movegen_ref(ruleset_get(g->ruleset), g->hand[g->turn], last, plays);
    if (last) plays[n++] = 0;
    uint64_t total = 0;
    for (int i = 0; i < n; i++) {
        Game next = *g;
        assert_int_equal(game_play(&next, plays[i], NULL), ST_OK);
        total += plain(&next, depth - 1);
    }
    return total;
}

static void agrees_with_plain_walk(void **state) {
    (void)state;
    for (int rules = 0; rules < N_RULESETS; rules++)
        for (uint64_t seed = 0; seed < 3; seed++) {
            Game g;
            start(&g, (RulesetId)rules, seed);
            for (int depth = 0; depth <= 3; depth++)
                assert_int_equal(perft(&g, depth), plain(&g, depth));
        }
}

/* A game that can end within the depth. */
static void counts_endings_once(void **state) {
    (void)state;
    Game g;
    Hand hands[] = {hand_of(RANK_3, 1) | hand_of(RANK_5, 1), hand_of(RANK_4, 1),
                    hand_of(RANK_6, 1)};
    assert_int_equal(game_init_hands(&g, RULES_DOUZERO, hands, 0), ST_OK);
    assert_int_equal(perft(&g, 0), 1);
    assert_int_equal(perft(&g, 1), 2);
    assert_int_equal(perft(&g, 2), 3); /* 3-4 ends, 3-pass, 5-pass */
    for (int depth = 3; depth < 9; depth++) assert_int_equal(perft(&g, depth), plain(&g, depth));
    assert_int_equal(perft(&g, 50), perft(&g, 60));
}

static void golden(void **state) {
    (void)state;
    static const struct {
        RulesetId rules;
        uint64_t seed;
        int depth;
        uint64_t count;
    } rows[] = {
        {RULES_DOUZERO, 92, 7, 771976},    {RULES_RLCARD, 92, 7, 770303},
        {RULES_BOTZONE, 92, 7, 763682},    {RULES_BOTZONE1, 92, 7, 763682},
        {RULES_CLASSIC, 92, 7, 770303},    {RULES_DOUZERO, 95, 7, 454972},
        {RULES_RLCARD, 95, 7, 452998},     {RULES_BOTZONE, 95, 7, 443726},
        {RULES_BOTZONE1, 95, 7, 443726},   {RULES_CLASSIC, 95, 7, 452998},
        {RULES_DOUZERO, 543, 7, 608525},   {RULES_RLCARD, 543, 7, 608525},
        {RULES_BOTZONE, 543, 7, 626544},   {RULES_BOTZONE1, 543, 7, 603980},
        {RULES_CLASSIC, 543, 7, 608525},   {RULES_DOUZERO, 860, 7, 2374885},
        {RULES_RLCARD, 860, 7, 2374885},   {RULES_BOTZONE, 860, 7, 2321216},
        {RULES_BOTZONE1, 860, 7, 2301288}, {RULES_CLASSIC, 860, 7, 2374885},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Game g;
        start(&g, rows[i].rules, rows[i].seed);
        uint64_t got = perft(&g, rows[i].depth);
        if (got != rows[i].count)
            fail_msg("%s seed %d depth %d: %llu, golden %llu", ruleset_get(rows[i].rules)->name,
                     (int)rows[i].seed, rows[i].depth, (unsigned long long)got,
                     (unsigned long long)rows[i].count);
    }
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_plain_walk),
        cmocka_unit_test(counts_endings_once),
        cmocka_unit_test(golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
