/* Random games under every ruleset: each state valid, each record the same after a round trip.
 * With the argument `slow`, a million of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/playout.h"
#include "engine/record.h"
#include <cmocka.h>
#include <string.h>

static int n_games = 20000; /* per ruleset */

typedef struct {
    int over, void_deals, landlord_won, springs, longest;
    int64_t moves, bytes;
    double balance; /* sum of all scores of zero-sum arenas */
} Tally;

/* The checked way through a game: random bids and plays through game_bid and game_play. */
static void play_checked(Game *g, Rng *rng) {
    Hand moves[MOVEGEN_MAX];
    const char *why = "";
    while (g->phase == PHASE_BID) {
        int bid = (int)rng_below(rng, 4);
        if (game_bid(g, bid > g->bid ? bid : 0, &why) != ST_OK) fail_msg("bid refused: %s", why);
        if (!game_validate(g, &why)) fail_msg("after a bid: %s", why);
    }
    while (g->phase == PHASE_PLAY) {
        int n = game_legal(g, moves);
        assert_in_range(n, 1, MOVEGEN_MAX - 1);
        Game twin = *g;
        Hand move = moves[rng_below(rng, (uint32_t)n)];
        if (game_play(g, move, &why) != ST_OK) fail_msg("a legal play refused: %s", why);
        if (!game_validate(g, &why)) fail_msg("after a play: %s", why);
        game_apply(&twin, move);
        assert_memory_equal(&twin, g, sizeof twin);
    }
}

static void round_trip(const Game *g, const Deal *deal, uint64_t index, Rng *rng, Tally *t) {
    Record r = {.game = index, .deal = *deal, .version = {7, 7, 7}}, back;
    uint8_t bytes[RECORD_MAX_BYTES], again[RECORD_MAX_BYTES];
    size_t used;
    Game end;
    record_from_game(&r, g);
    for (int i = 0; i < r.n_moves; i++) /* one move in a hundred explored, as in training */
        if (rng_below(rng, 100) == 0) r.explored[i / 8] |= (uint8_t)(1 << i % 8);
    size_t n = record_write(&r, bytes);
    assert_in_range(n, 1, RECORD_MAX_BYTES);
    assert_int_equal(record_read(bytes, n, &back, &used), ST_OK);
    assert_int_equal(used, n);
    assert_int_equal(record_write(&back, again), n);
    assert_memory_equal(bytes, again, n);
    assert_int_equal(record_replay(&back, &end, NULL, NULL, NULL, NULL), ST_OK);
    assert_memory_equal(&end, g, sizeof end);
    t->bytes += (int64_t)n;
}

static void count(const Game *g, Tally *t) {
    double score[N_SEATS];
    game_scores(g, score);
    if (ruleset_get(g->ruleset)->score != SCORE_POINTS)
        t->balance += score[0] + score[1] + score[2];
    t->over += g->phase == PHASE_OVER;
    t->void_deals += g->phase == PHASE_VOID;
    t->landlord_won += game_landlord_won(g);
    t->springs += game_spring(g) || game_anti_spring(g);
    t->moves += g->n_moves;
    if (g->n_moves > t->longest) t->longest = g->n_moves;
}

static void random_games(void **state) {
    (void)state;
    int64_t moves = 0, bytes = 0;
    for (int rules = 0; rules < N_RULESETS; rules++) {
        Tally t = {0};
        for (int i = 0; i < n_games; i++) {
            Deal d;
            Game g;
            Rng rng;
            deal_random(41, (uint64_t)i, &d);
            rng_init(&rng, 42, (uint64_t)i);
            game_init(&g, (RulesetId)rules, &d, (int)rng_below(&rng, 3));
            play_checked(&g, &rng);
            count(&g, &t);
            round_trip(&g, &d, (uint64_t)i, &rng, &t);
        }
        const Ruleset *row = ruleset_get((RulesetId)rules);
        print_message("%-9s %d games, %d void, landlord won %.3f, %.1f decisions a game (longest "
                      "%d), %.2f bytes a decision\n",
                      row->name, t.over, t.void_deals, (double)t.landlord_won / t.over,
                      (double)t.moves / t.over, t.longest, (double)t.bytes / (double)t.moves);
        assert_int_equal(t.over + t.void_deals, n_games);
        assert_true(row->redeal ? t.void_deals > 0 : t.void_deals == 0);
        assert_true(t.springs > 0);
        assert_float_equal(t.balance, 0, 1e-9);
        assert_true(t.landlord_won > t.over / 4 && t.landlord_won < t.over / 2);
        assert_true((double)t.bytes / (double)t.moves < 4);
        moves += t.moves, bytes += t.bytes;
    }
    print_message("mean record: %.2f bytes a decision\n", (double)bytes / (double)moves);
}

/* The unchecked hot path ends in the same states as the checked one. */
static void fast_games_are_legal(void **state) {
    (void)state;
    for (int i = 0; i < n_games; i++) {
        Deal d;
        Game g, end;
        Rng rng;
        deal_random(43, (uint64_t)i, &d);
        rng_init(&rng, 44, (uint64_t)i);
        game_init(&g, (RulesetId)(i % N_RULESETS), &d, i % 3);
        playout_random(&g, &rng);
        Record r = {.deal = d};
        record_from_game(&r, &g);
        assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
        assert_memory_equal(&end, &g, sizeof end);
    }
}

/* Pins deals, rules, the order of lists, ids and record bytes. A commit that means to change one
 * of them changes this number and says so.                                                  */
static void signature(void **state) {
    (void)state;
    assert_int_equal(playout_signature(1000), 0xcff89013499e3984);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "slow") == 0) n_games = 200000;
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_games),
        cmocka_unit_test(fast_games_are_legal),
        cmocka_unit_test(signature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
