/* Records become samples: what each seat saw and played, and the game's return from its side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learner/samples.h"
#include "tests/learner/games.h"

enum { GAMES = 200 };

static GameSamples got;

/* Plays the game once more and compares decision by decision. */
static void check_game(const SampleRules *rules, const Game *g, const Record *r) {
    Game again;
    Hand legal[MOVEGEN_MAX];
    int at = 0, decisions[N_ROLES] = {0};
    game_init(&again, rules->ruleset, &r->deal, r->first_bidder);
    for (int i = 0; i < r->n_bids; i++) game_bid(&again, r->bids[i], NULL);
    for (int i = 0; i < g->n_moves; i++) {
        int role = game_role(&again, again.turn);
        decisions[role]++;
        if (!rules->unforced_only || game_legal(&again, legal) > 1) {
            const Sample *s = &got.sample[at++];
            Obs want;
            obs_from_game(&again, &want);
            assert_memory_equal(&s->obs, &want, sizeof want);
            assert_true(s->action == g->moves[i]);
            assert_true(s->target == game_return(g, rules->objective, (Role)role));
            assert_true(s->weight == 1);
        }
        game_apply(&again, g->moves[i]);
    }
    assert_int_equal(at, got.n);
    for (int k = 0; k < N_ROLES; k++) {
        assert_int_equal(decisions[k], got.n_decisions[k]);
        assert_int_equal(got.seat[k], game_seat(g, k));
    }
}

static void every_decision(void **state) {
    (void)state;
    int dropped = 0;
    for (int rules = 0; rules < N_RULESETS; rules++)
        for (int objective = 0; objective < N_OBJECTIVES; objective++)
            for (int unforced = 0; unforced < 2; unforced++)
                for (uint64_t i = 0; i < GAMES / 8; i++) {
                    SampleRules c = {(RulesetId)rules, (Objective)objective, unforced};
                    Game g;
                    Record r;
                    const char *why = NULL;
                    random_game(c.ruleset, 5, i, &g);
                    random_record(c.ruleset, 5, i, &r);
                    assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_OK);
                    check_game(&c, &g, &r);
                    dropped += g.n_moves - got.n;
                }
    assert_true(dropped > 1000); // there are forced decisions, and they were left out
}

static void zero_sum(void **state) {
    (void)state;
    SampleRules c = {RULES_DOUZERO, OBJECTIVE_ADP, false};
    for (uint64_t i = 0; i < GAMES; i++) {
        Record r;
        const char *why;
        float target[N_ROLES] = {0};
        random_record(c.ruleset, 6, i, &r);
        assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_OK);
        for (int k = 0; k < got.n; k++) target[got.sample[k].obs.role] = got.sample[k].target;
        assert_true(target[ROLE_LANDLORD] * (float)r.result > 0);
        if (got.n_decisions[ROLE_LANDLORD_UP]) // else the landlord won at once
            assert_true(target[ROLE_LANDLORD] == -target[ROLE_LANDLORD_UP] ||
                        target[ROLE_LANDLORD] == -2 * target[ROLE_LANDLORD_UP]);
    }
}

/* A record that was tampered with is no game: no samples, and the reason is told. */
static void refusals(void **state) {
    (void)state;
    SampleRules c = {RULES_DOUZERO, OBJECTIVE_WP, false};
    const char *why;
    int refused = 0;
    for (uint64_t i = 0; i < GAMES; i++) {
        Record r;
        random_record(c.ruleset, 7, i, &r);
        r.moves[i % r.n_moves] = r.moves[(i + 1) % r.n_moves];
        why = NULL;
        Status st = samples_from_record(&c, &r, &got, &why);
        assert_true(st == ST_ILLEGAL || st == ST_OK); // two passes may look alike
        if (st == ST_ILLEGAL) {
            assert_non_null(why);
            refused++;
        }
        random_record(c.ruleset, 7, i, &r);
        r.result = (int8_t)-r.result;
        assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_ILLEGAL);
        random_record(c.ruleset, 7, i, &r);
        r.n_moves--;
        assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_ILLEGAL);
    }
    assert_true(refused > GAMES / 2);
    Record r;
    random_record(RULES_RLCARD, 7, 1, &r);
    assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_MISMATCH);
}

static void void_games_teach_nothing(void **state) {
    (void)state;
    SampleRules c = {RULES_CLASSIC, OBJECTIVE_SCORE, false};
    Game g;
    Record r = {.game = 3};
    const char *why;
    deal_random(8, 3, &r.deal);
    game_init(&g, c.ruleset, &r.deal, 0);
    for (int i = 0; i < 3; i++) assert_int_equal(game_bid(&g, 0, NULL), ST_OK);
    assert_int_equal(g.phase, PHASE_VOID);
    record_from_game(&r, &g);
    assert_int_equal(samples_from_record(&c, &r, &got, &why), ST_OK);
    assert_int_equal(got.n, 0);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decision),
        cmocka_unit_test(zero_sum),
        cmocka_unit_test(refusals),
        cmocka_unit_test(void_games_teach_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
