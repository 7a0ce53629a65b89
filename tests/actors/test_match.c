/* Matches: symmetry, counts, independence of threads, stopping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "actors/match.h"

static Policy *open_policy(const char *name, RulesetId rules) {
    Policy *p;
    assert_int_equal(policy_open(name, rules, PRECISION_FP32, false, &p), ST_OK);
    return p;
}

static MatchResult play(RulesetId rules, const char *a, const char *b, int decks, int threads,
                        int n_games) {
    Policy *x = open_policy(a, rules), *y = open_policy(b, rules);
    MatchConfig c = {
        .rules = rules, .seed = 5, .decks = decks, .threads = threads, .n_games = n_games};
    MatchResult r;
    assert_int_equal(match_play(&c, x, y, &r), ST_OK);
    assert_int_equal(r.decks, decks);
    assert_int_equal(r.games, 2 * decks);
    policy_free(x);
    policy_free(y);
    return r;
}

/* The same player on both sides, the random one too, draws each deck exactly. */
static void equal_players_draw(void **state) {
    (void)state;
    static const char *const names[] = {"random", "rule"};
    for (RulesetId rules = 0; rules < N_RULESETS; rules++)
        for (int i = 0; i < 2; i++) {
            MatchResult r = play(rules, names[i], names[i], 300, 2, 0);
            assert_true(r.wp.mean == 0.5 && r.wp.ci95 == 0);
            assert_true(r.adp.mean == 0 && r.adp.ci95 == 0);
            assert_true(fabs(r.wp_landlord.mean + r.wp_peasants.mean - 1) < 1e-12);
        }
}

/* A against B and B against A are the same games. */
static void sides_are_opposite(void **state) {
    (void)state;
    MatchResult ab = play(RULES_BOTZONE, "rule", "random", 400, 2, 0);
    MatchResult ba = play(RULES_BOTZONE, "random", "rule", 400, 1, 50);
    assert_true(fabs(ab.wp.mean + ba.wp.mean - 1) < 1e-12);
    assert_true(fabs(ab.wp_landlord.mean + ba.wp_peasants.mean - 1) < 1e-12);
    assert_true(fabs(ab.adp.mean + ba.adp.mean) < 1e-9);
    assert_true(fabs(ab.adp.ci95 - ba.adp.ci95) < 1e-9);
}

static void threads_change_nothing(void **state) {
    (void)state;
    MatchResult one = play(RULES_DOUZERO, "rule", "random", 333, 1, 7);
    for (int threads = 2; threads <= 5; threads += 3) {
        MatchResult more = play(RULES_DOUZERO, "rule", "random", 333, threads, 64);
        assert_true(one.wp.mean == more.wp.mean && one.adp.mean == more.adp.mean);
        assert_true(one.wp_landlord.ci95 == more.wp_landlord.ci95);
    }
}

/* A match in two parts is the match. */
static void parts_make_the_whole(void **state) {
    (void)state;
    Policy *x = open_policy("rule", RULES_DOUZERO), *y = open_policy("random", RULES_DOUZERO);
    MatchConfig c = {.rules = RULES_DOUZERO, .seed = 5, .decks = 300, .threads = 2};
    MatchResult whole, a, b;
    assert_int_equal(match_play(&c, x, y, &whole), ST_OK);
    c.decks = 100;
    assert_int_equal(match_play(&c, x, y, &a), ST_OK);
    c.first = 100;
    c.decks = 200;
    assert_int_equal(match_play(&c, x, y, &b), ST_OK);
    assert_true(fabs(a.adp.mean + 2 * b.adp.mean - 3 * whole.adp.mean) < 1e-9);
    assert_true(fabs(a.wp.mean + 2 * b.wp.mean - 3 * whole.wp.mean) < 1e-9);
    policy_free(x);
    policy_free(y);
}

/* The interval of a share p over n decks is 1.96 sqrt(p (1 - p) / (n - 1)). */
static void intervals_are_right(void **state) {
    (void)state;
    MatchResult r = play(RULES_DOUZERO, "rule", "random", 500, 2, 0);
    double p = r.wp_landlord.mean;
    assert_true(fabs(r.wp_landlord.ci95 - 1.96 * sqrt(p * (1 - p) / 499)) < 1e-9);
    MatchResult single = play(RULES_DOUZERO, "rule", "random", 1, 4, 0);
    assert_true(single.wp.ci95 == 0);
}

static void no_decks_is_an_error(void **state) {
    (void)state;
    Policy *p = open_policy("random", RULES_DOUZERO);
    MatchResult r;
    MatchConfig c = {.rules = RULES_DOUZERO, .decks = 0, .threads = 1};
    assert_int_equal(match_play(&c, p, p, &r), ST_INVALID);
    policy_free(p);
}

static void stop_later(void *ctx, int64_t done, int64_t games) {
    (void)games;
    if (done > 0) atomic_store((atomic_bool *)ctx, true);
}

static void stopping_is_not_success(void **state) {
    (void)state;
    Policy *p = open_policy("rule", RULES_DOUZERO);
    atomic_bool stop = false;
    MatchResult r;
    MatchConfig c = {.rules = RULES_DOUZERO,
                     .decks = 1000000,
                     .threads = 2,
                     .stop = &stop,
                     .progress = stop_later,
                     .ctx = &stop};
    assert_int_equal(match_play(&c, p, p, &r), ST_INTERRUPTED);
    policy_free(p);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_players_draw),      cmocka_unit_test(sides_are_opposite),
        cmocka_unit_test(threads_change_nothing),  cmocka_unit_test(parts_make_the_whole),
        cmocka_unit_test(intervals_are_right),     cmocka_unit_test(no_decks_is_an_error),
        cmocka_unit_test(stopping_is_not_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
