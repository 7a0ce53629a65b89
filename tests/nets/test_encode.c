/* Features: bit for bit those of the original system, and nothing that the seat cannot see. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nets/encode.h"
#include "tests/nets/fixtures.h"

/* Are the 0/1 values the bits of the hex text, least significant bit first in each byte? */
static void check_bits(const float *v, int n, const char *hex) {
    assert_int_equal(strlen(hex), (n + 7) / 8 * 2);
    for (int i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + i / 8 * 2, "%2x", &byte), 1);
        if (v[i] != (float)(byte >> i % 8 & 1)) fail_msg("bit %d is %g", i, (double)v[i]);
    }
}

static void test_original_features(void **state) {
    (void)state;
    static Hand legal[MOVEGEN_MAX];
    FILE *f = fixture_open("douzero_positions.jsonl.gz");
    int seen[N_ROLES] = {0};
    for (json_t *p; (p = fixture_line(f)); json_decref(p)) {
        Game g;
        Obs o;
        float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM], action[CARDS_DIM];
        fixture_game(p, &g);
        obs_from_game(&g, &o);
        Role role = fixture_role(json_string_value(json_object_get(p, "seat")));
        assert_int_equal(o.role, role);
        int n = game_legal(&g, legal);
        assert_int_equal(n, json_integer_value(json_object_get(p, "n_legal")));
        obs_expand(&o, legal[n / 2], x, z);
        check_bits(x, obs_x_dim(role), json_string_value(json_object_get(p, "x")));
        check_bits(z, OBS_STEPS * STEP_DIM, json_string_value(json_object_get(p, "z")));
        encode_cards(legal[n / 2], action);
        assert_memory_equal(x + obs_x_dim(role), action, sizeof action);
        seen[role]++;
    }
    for (int r = 0; r < N_ROLES; r++) assert_int_equal(seen[r], 250);
}

static void test_thermometer(void **state) {
    (void)state;
    float v[CARDS_DIM];
    encode_cards(hand_of(RANK_3, 2) + hand_of(RANK_2, 4) + hand_of(RANK_R, 1), v);
    for (int i = 0; i < CARDS_DIM; i++) {
        float want = i < 2 || (i >= 48 && i < 52) || i == 53;
        assert_true(v[i] == want);
    }
}

/* A random card of h. */
static int pick(Rng *rng, Hand h) {
    int at = (int)rng_below(rng, (uint32_t)hand_size(h)), rank = 0;
    while (at >= hand_count(h, rank)) at -= hand_count(h, rank++);
    return rank;
}

/* Another deal that the seat to act cannot tell from this one: the other two exchange some cards,
 * except what is left of the public cards, which everybody knows the landlord to hold.       */
static bool exchange_hidden(Game *g, Rng *rng) {
    int a = (g->turn + 1) % N_SEATS, b = (g->turn + 2) % N_SEATS;
    Hand before = g->hand[a];
    Hand known =
        0; // the landlord's public cards, unless more of that rank than it held were played
    for (int rank = 0; rank < N_RANKS; rank++) {
        int left = hand_count(g->bottom, rank), in_hand = hand_count(g->hand[g->landlord], rank);
        known += hand_of(rank, left < in_hand ? left : in_hand);
    }
    Hand free_a = g->hand[a] - (a == g->landlord ? known : 0);
    Hand free_b = g->hand[b] - (b == g->landlord ? known : 0);
    for (int i = 0; i < 8 && free_a && free_b; i++) {
        Hand from_a = hand_of(pick(rng, free_a), 1), from_b = hand_of(pick(rng, free_b), 1);
        free_a -= from_a;
        free_b -= from_b;
        g->hand[a] += from_b - from_a;
        g->dealt[a] += from_b - from_a;
        g->hand[b] += from_a - from_b;
        g->dealt[b] += from_a - from_b;
    }
    return g->hand[a] != before;
}

static void test_hidden_cards_do_not_show(void **state) {
    (void)state;
    static Hand legal[MOVEGEN_MAX];
    int exchanged = 0;
    Rng rng;
    rng_init(&rng, 20, 1);
    for (uint64_t index = 0; index < 400; index++) {
        Deal deal;
        Game g;
        deal_random(7, index, &deal);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        while (g.phase == PHASE_PLAY) {
            Game other = g;
            Obs seen, seen_other;
            const char *why = "";
            exchanged += exchange_hidden(&other, &rng);
            if (!game_validate(&other, &why)) fail_msg("exchange: %s", why);
            obs_from_game(&g, &seen);
            obs_from_game(&other, &seen_other);
            assert_memory_equal(&seen, &seen_other, sizeof seen);
            int n = game_legal(&g, legal);
            game_apply(&g, legal[rng_below(&rng, (uint32_t)n)]);
        }
    }
    assert_true(exchanged > 10000);
}

/* From any position of any game: the history is what was played, and the counts agree. */
static void test_invariants(void **state) {
    (void)state;
    static Hand legal[MOVEGEN_MAX];
    Rng rng;
    rng_init(&rng, 21, 1);
    for (uint64_t index = 0; index < 300; index++) {
        Deal deal;
        Game g;
        deal_random(8, index, &deal);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        while (g.phase == PHASE_PLAY) {
            Obs o;
            obs_from_game(&g, &o);
            assert_int_equal(o.n_sets, o.role == ROLE_LANDLORD ? 5 : 7);
            assert_int_equal(hand_size(o.sets[1]), o.onehot[0] + o.onehot[1]);
            for (int i = 1; i <= OBS_PLAYS; i++) {
                Hand play = i <= g.n_moves ? g.moves[g.n_moves - i] : 0;
                assert_true(o.plays[OBS_PLAYS - i] == play);
            }
            int n = game_legal(&g, legal);
            game_apply(&g, legal[rng_below(&rng, (uint32_t)n)]);
        }
    }
}

/* The same cards with the landlord at another seat, after bidding. */
static void bid_game(const Deal *deal, int landlord, Game *g) {
    Deal turned = *deal;
    for (int c = 0; c < N_CARDS; c++)
        if (turned.owner[c] != DEAL_BOTTOM)
            turned.owner[c] = (uint8_t)((turned.owner[c] + landlord) % N_SEATS);
    game_init(g, RULES_BOTZONE, &turned, 0);
    for (int s = 0; s < landlord; s++) assert_int_equal(game_bid(g, 0, NULL), ST_OK);
    assert_int_equal(game_bid(g, 3, NULL), ST_OK);
    assert_int_equal(g->landlord, landlord);
}

/* Roles matter, seat numbers do not. */
static void test_seat_numbers_do_not_show(void **state) {
    (void)state;
    static Hand legal[MOVEGEN_MAX];
    Rng rng;
    rng_init(&rng, 22, 1);
    for (uint64_t index = 0; index < 100; index++) {
        Deal deal;
        Game g[N_SEATS];
        deal_random(9, index, &deal);
        for (int landlord = 0; landlord < N_SEATS; landlord++)
            bid_game(&deal, landlord, &g[landlord]);
        while (g[0].phase == PHASE_PLAY) {
            Obs o[N_SEATS];
            for (int i = 0; i < N_SEATS; i++) obs_from_game(&g[i], &o[i]);
            assert_memory_equal(&o[0], &o[1], sizeof o[0]);
            assert_memory_equal(&o[0], &o[2], sizeof o[0]);
            Hand play = legal[rng_below(&rng, (uint32_t)game_legal(&g[0], legal))];
            for (int i = 0; i < N_SEATS; i++) game_apply(&g[i], play);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_original_features),        cmocka_unit_test(test_thermometer),
        cmocka_unit_test(test_hidden_cards_do_not_show), cmocka_unit_test(test_invariants),
        cmocka_unit_test(test_seat_numbers_do_not_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
