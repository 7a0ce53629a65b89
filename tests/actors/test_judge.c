/* The judge: every fault of an answer by name, hosting, the scores after faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "actors/judge.h"
#include "engine/text.h"

/* A deal from three hands of 17 as text; the rest is public. */
static Deal deal_of(const char *a, const char *b, const char *c) {
    const char *texts[] = {a, b, c};
    Deal d;
    memset(d.owner, DEAL_BOTTOM, sizeof d.owner);
    uint64_t used = 0;
    for (int s = 0; s < N_SEATS; s++) {
        Hand h;
        assert_int_equal(text_to_hand(texts[s], &h, NULL), ST_OK);
        assert_int_equal(hand_size(h), 17);
        for (int id = 0; id < N_CARDS; id++) {
            if (used >> id & 1 || hand_count(h, card_rank(id)) == 0) continue;
            used |= 1ull << id;
            h -= hand_of(card_rank(id), 1);
            d.owner[id] = (uint8_t)s;
        }
        assert_true(h == 0);
    }
    assert_int_equal(deal_check(&d), ST_OK);
    return d;
}

/* Public: J, Q, A. */
static Deal test_deal(void) {
    return deal_of("3445567789TJKKKK2", "3345668899TTJQABR", "34567789TJQQAA222");
}

static Verdict answer(Judge *j, const char *json) {
    json_t *v = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
    Verdict verdict = judge_response(j, v);
    json_decref(v);
    return verdict;
}

/* Plays text, by the ids that the judge picks. */
static void play(Judge *j, const char *text) {
    Hand h;
    assert_int_equal(text_to_move(text, &h, NULL), ST_OK);
    assert_true(judge_next(j));
    judge_play(j, h);
}

/* An answer of our own: the ids of `text` from what the seat to act was dealt. */
static Verdict answer_text(Judge *j, const char *text) {
    Hand h;
    CardList have = j->dealt[j->game.turn], cards;
    assert_int_equal(text_to_move(text, &h, NULL), ST_OK);
    if (j->game.turn == j->game.landlord)
        for (int i = 0; i < j->bottom.n; i++) have.id[have.n++] = j->bottom.id[i];
    assert_true(cardlist_pick(&have, h, &cards));
    json_t *v = cardlist_write(&cards);
    Verdict verdict = judge_response(j, v);
    json_decref(v);
    return verdict;
}

/* Seat 0 has bid 1 and been let; it is to lead. */
static Judge begin(RulesetId rules) {
    Deal d = test_deal();
    Judge j;
    judge_init(&j, rules, &d);
    for (int bid = 1; j.game.phase == PHASE_BID; bid = 0) {
        assert_true(judge_next(&j));
        judge_bid(&j, bid);
    }
    assert_int_equal(j.game.landlord, 0);
    return j;
}

static void bids(void **state) {
    (void)state;
    static const struct {
        const char *first, *second;
        Verdict v;
    } cases[] = {{"0", "0", VERDICT_OK},   {"0", "3", VERDICT_OK},     {"1", "2", VERDICT_OK},
                 {"2", "0", VERDICT_OK},   {"1", "1", VERDICT_BID},    {"2", "1", VERDICT_BID},
                 {"0", "4", VERDICT_BID},  {"0", "-1", VERDICT_BID},   {"0", "\"1\"", VERDICT_BID},
                 {"0", "[]", VERDICT_BID}, {"0", "null", VERDICT_BID}, {"0", "1.5", VERDICT_BID},
                 {"0", NULL, VERDICT_BID}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Deal d = test_deal();
        Judge j;
        judge_init(&j, RULES_BOTZONE, &d);
        assert_true(judge_next(&j));
        assert_int_equal(answer(&j, cases[i].first), VERDICT_OK);
        assert_true(judge_next(&j));
        assert_int_equal(answer(&j, cases[i].second), cases[i].v);
        assert_int_equal(j.verdict[1], cases[i].v);
        assert_true(judge_next(&j));
        /* A hosted seat bids 0; seat 2 is next, unless 3 has ended the auction. */
        bool three = cases[i].v == VERDICT_OK && cases[i].second[0] == '3';
        assert_int_equal(j.game.turn, three ? 1 : 2);
        assert_int_equal(j.game.phase, three ? PHASE_PLAY : PHASE_BID);
    }
}

static void faults_of_a_lead(void **state) {
    (void)state;
    static const struct {
        const char *json;
        Verdict v;
    } cases[] = {{NULL, VERDICT_NO_LIST},
                 {"3", VERDICT_NO_LIST},
                 {"\"pass\"", VERDICT_NO_LIST},
                 {"{}", VERDICT_NO_LIST},
                 {"null", VERDICT_NO_LIST},
                 {"[]", VERDICT_PASS},
                 {"[54]", VERDICT_MISSING},
                 {"[-1]", VERDICT_MISSING},
                 {"[\"0\"]", VERDICT_MISSING},
                 {"[53]", VERDICT_MISSING},
                 {"[0,1]", VERDICT_MISSING},
                 {"[0,0]", VERDICT_REPEATED},
                 {"[0,4]", VERDICT_NO_TYPE},
                 {"[40,41,42,0,4]", VERDICT_NO_TYPE},
                 {"[0]", VERDICT_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Judge j = begin(RULES_BOTZONE);
        assert_true(judge_next(&j));
        Verdict v = answer(&j, cases[i].json);
        if (v != cases[i].v) fail_msg("case %d: %s", (int)i, verdict_name(v));
    }
}

static void faults_of_an_answer(void **state) {
    (void)state;
    static const struct {
        const char *lead, *answer;
        Verdict v;
    } cases[] = {
        {"T", "pass", VERDICT_OK},
        {"T", "J", VERDICT_OK},
        {"T", "T", VERDICT_LESS},
        {"T", "3", VERDICT_LESS},
        {"T", "TT", VERDICT_OTHER_TYPE},
        {"44", "3", VERDICT_OTHER_TYPE},
        {"44", "33", VERDICT_LESS},
        {"44", "66", VERDICT_OK},
        {"44", "BR", VERDICT_OK},
        {"45678", "89TJQ", VERDICT_OK},
        {"45678", "3456", VERDICT_NO_TYPE},
        {"34567", "89TJQ", VERDICT_OK},
        {"56789TJ", "89TJQ", VERDICT_OTHER_LENGTH},
        {"45678", "8899TT", VERDICT_OTHER_TYPE},
        {"KKKK", "8899TT", VERDICT_LESS},
        {"KKKK", "J", VERDICT_LESS},
        {"KKKK", "BR", VERDICT_OK},
        {"KKKK", "R", VERDICT_LESS},
        {"KKK", "66", VERDICT_OTHER_TYPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Judge j = begin(RULES_BOTZONE);
        play(&j, cases[i].lead);
        assert_true(judge_next(&j));
        Verdict v = answer_text(&j, cases[i].answer);
        if (v != cases[i].v)
            fail_msg("%s on %s: %s", cases[i].answer, cases[i].lead, verdict_name(v));
    }
}

/* A card played before is REPEATED, also after others have played. */
static void a_played_card_is_repeated(void **state) {
    (void)state;
    Judge j = begin(RULES_BOTZONE);
    play(&j, "3");
    play(&j, "pass");
    play(&j, "pass");
    assert_true(judge_next(&j));
    assert_int_equal(answer(&j, "[0]"), VERDICT_REPEATED);
}

/* Bombs are beaten by higher ones alone, the rocket by nothing. */
static void nothing_beats_the_rocket(void **state) {
    (void)state;
    Judge j = begin(RULES_BOTZONE);
    play(&j, "T");
    play(&j, "BR");
    play(&j, "pass");
    assert_true(judge_next(&j));
    assert_int_equal(answer_text(&j, "KKKK"), VERDICT_LESS);
}

/* Faults of the running program end up the same way. */
static void hosted_seats_pass_and_lead_the_lowest(void **state) {
    (void)state;
    Judge j = begin(RULES_BOTZONE);
    assert_true(judge_next(&j));
    judge_fault(&j, VERDICT_TLE); /* the landlord, with the lead */
    assert_true(judge_next(&j));
    assert_int_equal(j.game.turn, 1);
    assert_int_equal(j.game.n_moves, 1);
    assert_true(j.game.moves[0] == hand_of(RANK_3, 1));
    play(&j, "J");
    play(&j, "pass");
    assert_true(judge_next(&j)); /* the landlord has passed */
    assert_int_equal(j.game.turn, 1);
    assert_int_equal(j.game.n_moves, 4);
    judge_fault(&j, VERDICT_RE);
    assert_true(judge_next(&j)); /* seat 1 has led its lowest single */
    assert_int_equal(j.game.turn, 2);
    assert_true(j.game.moves[4] == hand_of(RANK_3, 1));
    /* seat 2 plays on alone, and wins its side the full score: base 1, spring against? none */
    while (judge_next(&j)) {
        assert_int_equal(j.game.turn, 2);
        if (j.game.to_beat.cards && j.game.leader != 2) {
            play(&j, "A");
            continue;
        }
        static Hand legal[MOVEGEN_MAX];
        game_legal(&j.game, legal);
        judge_play(&j, legal[0]);
    }
    double score[N_SEATS];
    judge_scores(&j, score);
    assert_false(j.stopped);
    /* The landlord came to play but once (its hosted lead): anti-spring doubles. */
    assert_true(score[0] == -4 && score[1] == 2 && score[2] == 2);
    assert_int_equal(j.verdict[0], VERDICT_TLE);
    assert_int_equal(j.verdict[1], VERDICT_RE);
    assert_int_equal(j.verdict[2], VERDICT_OK);
}

/* What is asked after another seat was hosted shows its plays like any other's. */
static void hosted_plays_are_in_the_history(void **state) {
    (void)state;
    Judge j = begin(RULES_BOTZONE);
    assert_true(judge_next(&j));
    judge_fault(&j, VERDICT_NJ);
    assert_true(judge_next(&j));
    BotzoneRequest r;
    judge_request(&j, &r);
    assert_int_equal(r.kind, REQUEST_FIRST_PLAY);
    assert_int_equal(r.history[0].n, 0);
    assert_int_equal(r.history[1].n, 1);
    assert_int_equal(r.history[1].id[0], 0);
}

static void three_faults_end_the_game(void **state) {
    (void)state;
    Judge j = begin(RULES_BOTZONE);
    for (int i = 0; i < N_SEATS; i++) {
        assert_true(judge_next(&j));
        judge_fault(&j, VERDICT_OLE);
    }
    assert_false(judge_next(&j));
    double score[N_SEATS];
    judge_scores(&j, score);
    for (int s = 0; s < N_SEATS; s++) assert_true(score[s] == -1);
}

static void the_older_game_ends_with_the_first_fault(void **state) {
    (void)state;
    for (int offender = 0; offender < N_SEATS; offender++) {
        Judge j = begin(RULES_BOTZONE1);
        if (offender > 0) play(&j, "3");
        if (offender > 1) play(&j, "4");
        assert_true(judge_next(&j));
        assert_int_equal(j.game.turn, offender);
        assert_int_equal(answer(&j, "[99]"), VERDICT_MISSING);
        assert_false(judge_next(&j));
        double score[N_SEATS];
        judge_scores(&j, score);
        for (int s = 0; s < N_SEATS; s++)
            assert_true(score[s] == ((s == 0) == (offender == 0) ? -1 : 2.5));
    }
}

/* Winners 2, losers 0, plus own small points / 100, the peasants averaged: a game by hand. */
static void the_older_game_scores_small_points(void **state) {
    (void)state;
    Deal d = deal_of("3456789TJQKA22233", "3445566778899TTJJ", "456789TJQQQKKKAAA");
    Judge j;
    judge_init(&j, RULES_BOTZONE1, &d);
    play(&j, "3456789TJQKA"); /* 6 */
    play(&j, "pass");
    play(&j, "pass");
    play(&j, "22233"); /* 4 */
    play(&j, "pass");
    play(&j, "pass");
    while (judge_next(&j)) { /* the public cards, one by one */
        static Hand legal[MOVEGEN_MAX];
        int n = game_legal(&j.game, legal);
        judge_play(&j, j.game.turn == 0 ? legal[0] : legal[n - 1]);
    }
    double score[N_SEATS];
    judge_scores(&j, score);
    assert_true(score[0] > 2 && score[1] == 0 && score[2] == 0);
    assert_true(score[0] == 2 + j.game.points[0] / 100.0);
    assert_int_equal(j.game.points[0], 10 + 1 * (j.game.n_plays[0] - 2));
}

/* Nobody bids: seat 0 is the landlord, base 1; under classic the deal is void. */
static void nobody_bids(void **state) {
    (void)state;
    for (int classic = 0; classic < 2; classic++) {
        Deal d = test_deal();
        Judge j;
        judge_init(&j, classic ? RULES_CLASSIC : RULES_BOTZONE, &d);
        for (int i = 0; i < N_SEATS; i++) {
            assert_true(judge_next(&j));
            assert_int_equal(answer(&j, "0"), VERDICT_OK);
        }
        assert_int_equal(judge_next(&j), !classic);
        assert_int_equal(j.game.phase, classic ? PHASE_VOID : PHASE_PLAY);
        if (!classic) assert_int_equal(j.game.landlord, 0);
    }
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bids),
        cmocka_unit_test(faults_of_a_lead),
        cmocka_unit_test(faults_of_an_answer),
        cmocka_unit_test(a_played_card_is_repeated),
        cmocka_unit_test(nothing_beats_the_rocket),
        cmocka_unit_test(hosted_seats_pass_and_lead_the_lowest),
        cmocka_unit_test(hosted_plays_are_in_the_history),
        cmocka_unit_test(three_faults_end_the_game),
        cmocka_unit_test(the_older_game_ends_with_the_first_fault),
        cmocka_unit_test(the_older_game_scores_small_points),
        cmocka_unit_test(nobody_bids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
