/* The table: cards of the right owner, the beginnings, undo, and the way into a record and back. */
#include "engine/base/rng.h"
#include "server/table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static TableSetup setup_of(int rules, int chosen, int allpass, uint64_t seed) {
    TableSetup s = {.number = 77 + seed,
                    .rules = (uint8_t)rules,
                    .first = (uint8_t)(seed % 3),
                    .allpass = (uint8_t)allpass,
                    .chosen = (int8_t)chosen};
    deal_random(seed, 1, &s.deal);
    return s;
}

static void check_owners(const Table *t) {
    int held[5] = {0};
    Hand hand[3] = {0};
    for (int c = 0; c < N_CARDS; c++) {
        held[t->owner[c]]++;
        if (t->owner[c] < 3) hand[t->owner[c]] += hand_of(card_rank(c), 1);
    }
    for (int s = 0; s < 3; s++) {
        assert_int_equal(held[s], t->game.left[s]);
        assert_true(hand[s] == t->game.hand[s]);
    }
    assert_int_equal(held[OWNER_PLAYED], t->n_cards);
    assert_int_equal(held[OWNER_BOTTOM], t->game.landlord == SEAT_NONE ? 3 : 0);
}

/* One random action; suits at random too, so that a table is not only tested on its own picks. */
static void step(Table *t, Rng *r) {
    Game *g = &t->game;
    if (g->phase == PHASE_BID) {
        int points = rng_below(r, 2) ? (int)rng_below(r, 4) : 0;
        if (points && points <= g->bid) points = 0;
        assert_null(table_bid(t, g->turn, points, WHY_PLAYER));
        return;
    }
    Hand legal[MOVEGEN_MAX];
    uint8_t cards[PLAY_CARDS_MAX], other[PLAY_CARDS_MAX];
    Hand move = legal[rng_below(r, (uint32_t)game_legal(g, legal))];
    int n = table_pick(t, move, cards);
    assert_int_equal(n, hand_size(move));
    for (int i = 0; i < n; i++) { // another suit of that rank, if the seat has one
        other[i] = cards[i];
        int rank = card_rank(cards[i]);
        for (int c = 51; c >= 0 && rank < 13; c--) {
            bool used = false;
            for (int j = 0; j < n; j++) used |= (j < i ? other[j] : cards[j]) == c;
            if (!used && card_rank(c) == rank && t->owner[c] == g->turn) other[i] = (uint8_t)c;
        }
    }
    assert_null(table_play(t, g->turn, other, n, (Why)rng_below(r, N_WHYS)));
}

static bool same(const Table *a, const Table *b) { return memcmp(a, b, sizeof *a) == 0; }

static void test_games(void **state) {
    (void)state;
    int over = 0, first = 0, voids = 0;
    move_init();
    for (uint64_t seed = 0; seed < 400; seed++) {
        Rng r;
        Table t, back;
        StoreGame g;
        rng_init(&r, seed, 9);
        int rules = seed % 2 ? RULES_DOUZERO : RULES_CLASSIC;
        TableSetup s = setup_of(rules, seed % 5 == 0 ? (int)(seed / 5 % 3) : -1,
                                seed % 3 ? ALLPASS_FIRST : ALLPASS_REDEAL, seed);
        if (s.chosen >= 0) s.first = (uint8_t)s.chosen;
        table_init(&t, &s);
        for (int ply = 0; t.game.phase < PHASE_OVER; ply++) {
            assert_int_equal(table_ply(&t), ply);
            check_owners(&t);
            step(&t, &r);
        }
        voids += t.game.phase == PHASE_VOID;
        if (t.game.phase == PHASE_VOID) continue;
        over++;
        first += t.how == HOW_FIRST;
        table_to_game(&t, &g);
        assert_int_equal(table_from_game(&g, &back), ST_OK);
        back.setup = t.setup; // the record does not know what an unwanted deal would have been
        assert_true(same(&t, &back));
        double sum = 0;
        for (int seat = 0; seat < 3; seat++) sum += g.seat[seat].points;
        assert_true(sum == 0);
        g.n_cards = 0; // a record without suits replays as well
        assert_int_equal(table_from_game(&g, &back), ST_OK);
        assert_memory_equal(back.game.moves, t.game.moves, sizeof t.game.moves);
    }
    assert_true(over > 300 && first > 0 && voids > 0);
}

static void test_undo(void **state) {
    (void)state;
    move_init();
    for (uint64_t seed = 0; seed < 50; seed++) {
        Rng r;
        static Table at[MAX_ACTS + 1];
        Table t;
        TableSetup s = setup_of(seed % 2 ? RULES_CLASSIC : RULES_DOUZERO, -1, ALLPASS_FIRST, seed);
        rng_init(&r, seed, 4);
        table_init(&t, &s);
        for (; t.game.phase < PHASE_OVER; step(&t, &r)) at[table_ply(&t)] = t;
        for (int ply = table_ply(&t) - 1; ply >= 0; ply -= 3) {
            Table cut = t;
            table_cut(&cut, ply);
            assert_int_equal(table_ply(&cut), ply);
            assert_true(cut.game.hand[0] == at[ply].game.hand[0]);
            assert_memory_equal(cut.owner, at[ply].owner, sizeof cut.owner);
            assert_int_equal(cut.game.turn, at[ply].game.turn);
        }
    }
}

static void test_refusals(void **state) {
    (void)state;
    Table t;
    TableSetup s = setup_of(RULES_CLASSIC, -1, ALLPASS_REDEAL, 4);
    uint8_t card = 0;
    move_init();
    table_init(&t, &s);
    int seat = t.game.turn;
    assert_string_equal(table_play(&t, seat, &card, 1, WHY_PLAYER), "bad_state");
    assert_string_equal(table_bid(&t, (seat + 1) % 3, 1, WHY_PLAYER), "not_turn");
    assert_null(table_bid(&t, seat, 2, WHY_PLAYER));
    assert_string_equal(table_bid(&t, t.game.turn, 1, WHY_PLAYER), "lower");
    assert_null(table_bid(&t, t.game.turn, 3, WHY_PLAYER));
    assert_int_equal(t.how, HOW_BID);
    seat = t.game.landlord;
    uint8_t own[PLAY_CARDS_MAX], kitty[3];
    assert_int_equal(table_hand(&t, seat, own), 20);
    assert_int_equal(table_kitty(&t, kitty), 3);
    for (int i = 0; i < 3; i++) assert_int_equal(t.owner[kitty[i]], seat);
    assert_string_equal(table_play(&t, seat, own, 0, WHY_PLAYER), "illegal"); // leader's pass
    uint8_t twice[2] = {own[0], own[0]};
    assert_string_equal(table_play(&t, seat, twice, 2, WHY_PLAYER), "not_yours");
    uint8_t others[PLAY_CARDS_MAX];
    table_hand(&t, (seat + 1) % 3, others);
    assert_string_equal(table_play(&t, seat, others, 1, WHY_PLAYER), "not_yours");
    assert_string_equal(table_play(&t, (seat + 1) % 3, others, 1, WHY_PLAYER), "not_turn");
    uint8_t mixed[2] = {own[0], own[19]}; // highest and lowest: no pair
    assert_string_equal(table_play(&t, seat, mixed, 2, WHY_PLAYER), "illegal");
    assert_null(table_play(&t, seat, own, 1, WHY_PLAYER)); // his highest single
    int next = t.game.turn, n = table_hand(&t, next, others);
    assert_string_equal(table_play(&t, next, &others[n - 1], 1, WHY_PLAYER), "lower");
    assert_string_equal(table_play(&t, seat, own, 1, WHY_PLAYER), "not_turn");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_games),
        cmocka_unit_test(test_undo),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
