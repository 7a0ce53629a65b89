/* Turns, bidding, refusals and every arena's score, on games written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/game.h"
#include "engine/text.h"
#include <cmocka.h>
#include <string.h>

static Hand cards(const char *s) {
    Hand h;
    assert_int_equal(text_to_move(s, &h, NULL), ST_OK);
    return h;
}

static void start(Game *g, RulesetId rules, const char *landlord, const char *down,
                  const char *up) {
    Hand hands[] = {cards(landlord), cards(down), cards(up)};
    assert_int_equal(game_init_hands(g, rules, hands, 0), ST_OK);
}

/* Plays moves given as text, separated by blanks; each must be legal and leave a valid game. */
static void play(Game *g, const char *moves) {
    char list[512], *rest = list;
    strcpy(list, moves);
    for (char *m; (m = strsep(&rest, " "));) {
        const char *why = "";
        if (game_play(g, cards(m), &why) != ST_OK) fail_msg("%s: %s", m, why);
        if (!game_validate(g, &why)) fail_msg("after %s: %s", m, why);
    }
}

static void refused(Game *g, const char *move, const char *reason) {
    const char *why = NULL;
    Game before = *g;
    assert_int_equal(game_play(g, cards(move), &why), ST_ILLEGAL);
    assert_string_equal(why, reason);
    assert_memory_equal(&before, g, sizeof before);
    assert_int_equal(game_play(g, cards(move), NULL), ST_ILLEGAL);
}

static void scores_are(const Game *g, double a, double b, double c) {
    double score[N_SEATS];
    game_scores(g, score);
    double want[] = {a, b, c};
    for (int s = 0; s < N_SEATS; s++) assert_float_equal(score[s], want[s], 1e-12);
    for (int s = 0; s < N_SEATS; s++)
        assert_float_equal(game_return(g, OBJECTIVE_SCORE, (Role)game_role(g, s)), want[s], 1e-5);
}

static void turns(void **state) {
    (void)state;
    Game g;
    start(&g, RULES_DOUZERO, "345678", "99TTJJ", "KKAA22");
    assert_int_equal(g.turn, 0);
    refused(&g, "pass", "the leader may not pass");
    refused(&g, "9", "cards that the seat does not hold");
    refused(&g, "33", "cards that the seat does not hold");
    refused(&g, "34", "not a play under this ruleset");
    play(&g, "3");
    assert_int_equal(g.turn, 1);
    refused(&g, "99", "does not beat the last play");
    play(&g, "9 K");
    refused(&g, "8", "does not beat the last play");
    play(&g, "pass pass"); /* two passes: the lead is free */
    assert_int_equal(g.turn, 2);
    assert_true(g.to_beat.cards == 0);
    refused(&g, "pass", "the leader may not pass");
    play(&g, "AA pass pass 22 pass pass K");
    assert_int_equal(g.phase, PHASE_OVER);
    assert_int_equal(g.turn, 2);
    assert_false(game_landlord_won(&g));
    refused(&g, "4", "not the playing phase");
    assert_int_equal(game_bid(&g, 1, NULL), ST_ILLEGAL);
}

static void one_legal_list(void **state) {
    (void)state;
    Game g;
    Hand moves[MOVEGEN_MAX];
    start(&g, RULES_DOUZERO, "3457", "8888", "BR");
    play(&g, "7");
    assert_int_equal(game_legal(&g, moves), 3); /* 8, 8888, pass */
    assert_true(moves[0] == cards("8") && moves[1] == cards("8888") && moves[2] == 0);
    play(&g, "pass");
    assert_int_equal(game_legal(&g, moves), 4); /* B, R, BR, pass */
}

static void bidding(void **state) {
    (void)state;
    static const struct {
        const char *bids;
        int first, landlord, bid;
    } rows[] = {{"3", 0, 0, 3},   {"003", 0, 2, 3}, {"123", 0, 2, 3}, {"120", 0, 1, 2},
                {"100", 0, 0, 1}, {"010", 1, 2, 1}, {"13", 2, 0, 3},  {"20 ", 1, -1, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Game g;
        Deal d;
        const char *why = "";
        deal_random(1, i, &d);
        game_init(&g, RULES_BOTZONE, &d, rows[i].first);
        assert_int_equal(g.phase, PHASE_BID);
        assert_int_equal(game_play(&g, cards("3"), NULL), ST_ILLEGAL);
        for (const char *b = rows[i].bids; *b && *b != ' '; b++) {
            assert_int_equal(game_bid(&g, *b - '0', &why), ST_OK);
            assert_true(game_validate(&g, &why));
        }
        if (rows[i].landlord < 0) {
            assert_int_equal(g.phase, PHASE_BID);
            continue;
        }
        assert_int_equal(g.phase, PHASE_PLAY);
        assert_int_equal(g.landlord, rows[i].landlord);
        assert_int_equal(g.turn, rows[i].landlord);
        assert_int_equal(g.bid, rows[i].bid);
        for (int s = 0; s < N_SEATS; s++) assert_int_equal(g.left[s], s == g.landlord ? 20 : 17);
        assert_true(hand_contains(g.hand[g.landlord], g.bottom));
    }
}

static void bids_refused(void **state) {
    (void)state;
    Game g;
    Deal d;
    const char *why = NULL;
    deal_random(1, 1, &d);
    game_init(&g, RULES_CLASSIC, &d, 0);
    assert_int_equal(game_bid(&g, 4, &why), ST_ILLEGAL);
    assert_string_equal(why, "a bid is 0, 1, 2 or 3");
    assert_int_equal(game_bid(&g, -1, &why), ST_ILLEGAL);
    assert_int_equal(game_bid(&g, 2, NULL), ST_OK);
    assert_int_equal(game_bid(&g, 2, &why), ST_ILLEGAL);
    assert_string_equal(why, "not above the highest bid");
    assert_int_equal(game_bid(&g, 1, NULL), ST_ILLEGAL);
    assert_int_equal(game_bid(&g, 3, NULL), ST_OK);
    assert_int_equal(game_bid(&g, 0, &why), ST_ILLEGAL);
    assert_string_equal(why, "not the bidding phase");
    game_init(&g, RULES_DOUZERO, &d, 2); /* no bidding: the argument is ignored */
    assert_int_equal(g.first_bidder, 0);
    assert_int_equal(g.landlord, 0);
    assert_int_equal(game_bid(&g, 1, NULL), ST_ILLEGAL);
}

/* Nobody bids: botzone gives seat 0 the game at base 1, classic voids the deal. */
static void nobody_bids(void **state) {
    (void)state;
    Game g;
    Deal d;
    deal_random(1, 2, &d);
    game_init(&g, RULES_BOTZONE, &d, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(game_bid(&g, 0, NULL), ST_OK);
    assert_int_equal(g.phase, PHASE_PLAY);
    assert_int_equal(g.landlord, 0);
    assert_true(game_validate(&g, NULL));
    game_init(&g, RULES_CLASSIC, &d, 1);
    for (int i = 0; i < 3; i++) assert_int_equal(game_bid(&g, 0, NULL), ST_OK);
    assert_int_equal(g.phase, PHASE_VOID);
    assert_true(game_validate(&g, NULL));
    assert_false(game_landlord_won(&g));
    scores_are(&g, 0, 0, 0);
}

static void plain_scores(void **state) {
    (void)state;
    Game g;
    start(&g, RULES_DOUZERO, "33334", "5555", "BR6");
    play(&g, "3333 5555");
    scores_are(&g, -4 * 2, 4, 4);
    assert_int_equal(game_doublings(&g), 2);
    static const float want[][2] = {{-1, 1}, {-4, 4}, {-3, 3}};
    for (int o = 0; o < 3; o++)
        for (int role = 0; role < N_ROLES; role++)
            assert_float_equal(game_return(&g, (Objective)o, (Role)role),
                               want[o][role != ROLE_LANDLORD], 0);
    start(&g, RULES_RLCARD, "BR3", "44", "55");
    play(&g, "BR pass pass 3");
    scores_are(&g, 4, -2, -2);
    start(&g, RULES_DOUZERO, "3", "4", "5");
    play(&g, "3"); /* no spring here */
    scores_are(&g, 2, -1, -1);
    assert_int_equal(game_doublings(&g), 0);
}

static void stakes(void **state) {
    (void)state;
    for (int rules = RULES_BOTZONE; rules < N_RULESETS; rules++) {
        if (rules == RULES_BOTZONE1) continue;
        Game g;
        start(&g, (RulesetId)rules, "34", "5", "6");
        play(&g, "3 pass pass 4");
        assert_true(game_spring(&g));
        assert_int_equal(game_doublings(&g), 1);
        scores_are(&g, 4, -2, -2);
        start(&g, (RulesetId)rules, "34", "56", "7");
        play(&g, "3 5 pass pass 6");
        assert_true(game_anti_spring(&g));
        scores_are(&g, -4, 2, 2);
        start(&g, (RulesetId)rules, "33334", "5", "76");
        play(&g, "4 5"); /* a peasant wins: anti-spring */
        assert_true(game_anti_spring(&g));
        start(&g, (RulesetId)rules, "33336", "45", "7");
        play(&g, "3333 pass pass 6");
        scores_are(&g, 8, -4, -4); /* a bomb and a spring */
        start(&g, (RulesetId)rules, "338", "49", "7T");
        play(&g, "3 4 7 8 9");
        assert_false(game_spring(&g) || game_anti_spring(&g));
        scores_are(&g, -2, 1, 1);
        g.bid = 3;
        scores_are(&g, -6, 3, 3);
        g.bid = 2;
        scores_are(&g, -4, 2, 2);
    }
}

/* Every type of play earns its points; the peasants share the mean of theirs. */
static void small_points(void **state) {
    (void)state;
    static const struct {
        const char *play;
        int points;
    } rows[] = {{"3", 1},
                {"33", 2},
                {"333", 4},
                {"3334", 4},
                {"33344", 4},
                {"34567", 6},
                {"334455", 6},
                {"333345", 8},
                {"33334455", 8},
                {"333444", 8},
                {"33344456", 8},
                {"3334445566", 8},
                {"3333", 10},
                {"33334444", 10},
                {"3333444456", 10},
                {"333344445566", 10},
                {"333344445555", 20},
                {"333344445555678", 20},
                {"BR", 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Game g;
        start(&g, RULES_BOTZONE1, rows[i].play, "K", "A");
        play(&g, rows[i].play);
        scores_are(&g, 2 + rows[i].points / 100.0, 0, 0);
    }
    Game g;
    start(&g, RULES_BOTZONE1, "349", "58K", "6AA"); /* points 2, 2 and 3 */
    play(&g, "3 5 6 9 K A pass pass A");
    scores_are(&g, 0.02, 2.025, 2.025);
}

static void role_and_seat(void **state) {
    (void)state;
    Game g;
    Deal d;
    deal_random(3, 3, &d);
    for (int landlord = 0; landlord < 3; landlord++) {
        game_init(&g, RULES_BOTZONE, &d, landlord);
        assert_int_equal(game_bid(&g, 3, NULL), ST_OK);
        assert_int_equal(game_role(&g, landlord), ROLE_LANDLORD);
        assert_int_equal(game_role(&g, (landlord + 1) % 3), ROLE_LANDLORD_DOWN);
        assert_int_equal(game_role(&g, (landlord + 2) % 3), ROLE_LANDLORD_UP);
        for (int s = 0; s < 3; s++) assert_int_equal(game_seat(&g, game_role(&g, s)), s);
    }
}

static void impossible_hands(void **state) {
    (void)state;
    Game g;
    Hand ok[] = {cards("3"), cards("4"), cards("5")};
    static const struct {
        const char *hands[3], *bottom;
    } rows[] = {
        {{"", "4", "5"}, ""},                      /* an empty hand */
        {{"3333", "3", "5"}, ""},                  /* five 3s */
        {{"BR", "B", "5"}, ""},                    /* two black jokers */
        {{"3", "333444555666777888", "5"}, ""},    /* 18 cards for a peasant */
        {{"333444555666777888999", "4", "5"}, ""}, /* 21 for the landlord */
        {{"345", "4", "5"}, "6"},                  /* a bottom that the landlord lacks */
        {{"345678", "4", "5"}, "3456"},            /* a bottom of four */
    };
    assert_int_equal(game_init_hands(&g, RULES_DOUZERO, ok, 0), ST_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Hand hands[3];
        for (int r = 0; r < 3; r++) hands[r] = cards(rows[i].hands[r]);
        assert_int_equal(game_init_hands(&g, RULES_DOUZERO, hands, cards(rows[i].bottom)),
                         ST_INVALID);
    }
    Hand five[] = {hand_of(RANK_3, 5), cards("4"), cards("5")};
    assert_int_equal(game_init_hands(&g, RULES_DOUZERO, five, 0), ST_INVALID);
    Hand beyond[] = {1ull << 60, cards("4"), cards("5")};
    assert_int_equal(game_init_hands(&g, RULES_DOUZERO, beyond, 0), ST_INVALID);
    assert_int_equal(game_play(&g, ~0ull, NULL), ST_ILLEGAL);
    assert_int_equal(game_play(&g, hand_of(RANK_3, 9), NULL), ST_ILLEGAL);
}

/* Damage to any part of a game is noticed. */
static void validate_notices(void **state) {
    (void)state;
    Game g;
    start(&g, RULES_BOTZONE, "3445", "5566", "789");
    play(&g, "3 5 7 pass");
    const char *why = NULL;
    assert_true(game_validate(&g, &why));
#define NOTICED(change)                                                                            \
    do {                                                                                           \
        Game bad = g;                                                                              \
        change;                                                                                    \
        if (game_validate(&bad, NULL)) fail_msg("not noticed: %s", #change);                       \
    } while (0)
    NOTICED(bad.hand[0] += hand_of(RANK_K, 1));
    NOTICED(bad.hand[0] += hand_of(RANK_3, 4); bad.dealt[0] += hand_of(RANK_3, 4));
    NOTICED(bad.left[1]++);
    NOTICED(bad.n_plays[2] = 0);
    NOTICED(bad.turn = 0);
    NOTICED(bad.turn = 3);
    NOTICED(bad.bombs = 1);
    NOTICED(bad.passes = 0);
    NOTICED(bad.leader = 0);
    NOTICED(bad.phase = PHASE_OVER);
    NOTICED(bad.phase = 9);
    NOTICED(bad.moves[1] = hand_of(RANK_6, 1));
    NOTICED(bad.moves[0] = 0);
    NOTICED(bad.n_moves = 3);
    NOTICED(bad.n_moves = 400);
    NOTICED(bad.ruleset = N_RULESETS);
    NOTICED(bad.to_beat.cards = hand_of(RANK_8, 1));
    NOTICED(bad.bid = 2);
    NOTICED(bad.landlord = 1);
}

static void objective_names_round(void **state) {
    (void)state;
    for (int o = 0; o < N_OBJECTIVES; o++)
        assert_int_equal(objective_find(objective_name((Objective)o)), o);
    assert_int_equal(objective_find("w"), -1);
    assert_int_equal(objective_find("wpp"), -1);
    for (int r = 0; r < N_RULESETS; r++)
        assert_int_equal(ruleset_find(ruleset_get((RulesetId)r)->name), r);
    assert_int_equal(ruleset_find("botzone2"), -1);
    assert_int_equal(ruleset_find(""), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns),
        cmocka_unit_test(one_legal_list),
        cmocka_unit_test(bidding),
        cmocka_unit_test(bids_refused),
        cmocka_unit_test(nobody_bids),
        cmocka_unit_test(plain_scores),
        cmocka_unit_test(stakes),
        cmocka_unit_test(small_points),
        cmocka_unit_test(role_and_seat),
        cmocka_unit_test(impossible_hands),
        cmocka_unit_test(validate_notices),
        cmocka_unit_test(objective_names_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
