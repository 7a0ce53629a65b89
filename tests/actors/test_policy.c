/* Policies: names, legality under every ruleset, strength of the rule policy, what it may know. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "actors/match.h"
#include "actors/policy.h"
#include "actors/policy_rule.h"
#include "engine/base/log.h"

static Policy *open_policy(const char *name, RulesetId rules) {
    Policy *p;
    assert_int_equal(policy_open(name, rules, PRECISION_FP32, false, &p), ST_OK);
    return p;
}

static void unknown_names_are_errors(void **state) {
    (void)state;
    static const char *const names[] = {
        "", "rules", "RANDOM", "net", "net:", "net:/no/such/file", "search:x", "cmd:x"};
    log_level(LOG_ERROR);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Policy *p = NULL;
        assert_int_not_equal(policy_open(names[i], RULES_DOUZERO, PRECISION_FP32, false, &p),
                             ST_OK);
        assert_null(p);
    }
}

/* Plays games with one policy in every seat; every play must be legal, every game must end. */
static void play_games(const char *name, RulesetId rules, int n) {
    Policy *p = open_policy(name, rules);
    PolicyScratch *s;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    for (int i = 0; i < n; i++) {
        Deal deal;
        Game g;
        Rng rng;
        deal_random(9, (uint64_t)i, &deal);
        rng_init(&rng, 10, (uint64_t)i);
        game_init(&g, rules, &deal, i % 3);
        while (g.phase == PHASE_BID)
            assert_int_equal(game_bid(&g, policy_bid(p, s, &g, &rng), NULL), ST_OK);
        while (g.phase == PHASE_PLAY) {
            Hand legal[MOVEGEN_MAX];
            Decision d = {
                .game = &g, .legal = legal, .n_legal = game_legal(&g, legal), .rng = &rng};
            d.choice = -1;
            policy_choose(p, s, 1, &d);
            assert_in_range(d.choice, 0, d.n_legal - 1);
            assert_int_equal(game_play(&g, legal[d.choice], NULL), ST_OK);
        }
        assert_true(game_validate(&g, NULL));
    }
    policyscratch_free(s);
    policy_free(p);
}

static void plays_are_legal_everywhere(void **state) {
    (void)state;
    for (RulesetId r = 0; r < N_RULESETS; r++) {
        play_games("random", r, 300);
        play_games("rule", r, 300);
    }
}

static void rule_beats_random(void **state) {
    (void)state;
    for (RulesetId r = 0; r < N_RULESETS; r++) {
        Policy *rule = open_policy("rule", r), *random = open_policy("random", r);
        MatchConfig c = {.rules = r, .seed = 1, .decks = 2000, .threads = 2};
        MatchResult m;
        assert_int_equal(match_play(&c, rule, random, &m), ST_OK);
        print_message("rule against random, %-9s landlord %.3f peasants %.3f\n",
                      ruleset_get(r)->name, m.wp_landlord.mean, m.wp_peasants.mean);
        assert_true(m.wp_landlord.mean > 0.9);
        assert_true(m.wp_peasants.mean > 0.9);
        policy_free(rule);
        policy_free(random);
    }
}

/* Exchanges equal numbers of cards between the two hands that `seat` cannot see. */
static void swap_hidden(Game *g, Rng *rng) {
    int a = (g->turn + 1) % N_SEATS, b = (g->turn + 2) % N_SEATS;
    for (int tries = 0; tries < 30; tries++) {
        int x = (int)rng_below(rng, N_RANKS), y = (int)rng_below(rng, N_RANKS);
        if (x == y || !hand_count(g->hand[a], x) || !hand_count(g->hand[b], y)) continue;
        Hand move = hand_of(x, 1), other = hand_of(y, 1);
        g->hand[a] += other - move;
        g->hand[b] += move - other;
    }
}

static void rule_knows_only_what_it_may(void **state) {
    (void)state;
    RuleMemo *memo;
    assert_int_equal(rulememo_new(&memo), ST_OK);
    int changed = 0;
    for (uint64_t i = 0; i < 300; i++) {
        Deal deal;
        Game g;
        Rng rng;
        deal_random(11, i, &deal);
        rng_init(&rng, 12, i);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        while (g.phase == PHASE_PLAY) {
            Hand legal[MOVEGEN_MAX];
            int n = game_legal(&g, legal);
            int choice = rule_choose(memo, &g, legal, n);
            Game other = g;
            swap_hidden(&other, &rng);
            changed += other.hand[0] != g.hand[0] || other.hand[1] != g.hand[1];
            assert_int_equal(rule_choose(memo, &other, legal, n), choice);
            game_apply(&g, legal[choice]);
        }
    }
    assert_true(changed > 1000);
    rulememo_free(memo);
}

/* The memo holds what was worked out before, never something else. */
static void memo_changes_nothing(void **state) {
    (void)state;
    RuleMemo *used, *fresh;
    assert_int_equal(rulememo_new(&used), ST_OK);
    for (uint64_t i = 0; i < 2000; i++) {
        Deal deal;
        Game g;
        deal_random(13, i, &deal);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        float cost = hand_cost(used, g.hand[0]);
        if (i % 20) continue;
        assert_int_equal(rulememo_new(&fresh), ST_OK);
        assert_true(hand_cost(fresh, g.hand[0]) == cost);
        rulememo_free(fresh);
    }
    rulememo_free(used);
}

/* ---- net policies ---- */

static char *write_net(RulesetId rules) {
    static char path[] = "/tmp/dizhu-test-policy-XXXXXX";
    strcpy(path, "/tmp/dizhu-test-policy-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    Weights w;
    assert_int_equal(weights_new(&w), ST_OK);
    w.info.ruleset = (uint8_t)rules;
    for (Role r = 0; r < N_ROLES; r++) net_init(r, 5, w.params[r]);
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);
    weights_free(&w);
    return path;
}

static void nets_of_other_rules_are_refused(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "net:%s", write_net(RULES_DOUZERO));
    Policy *p = NULL;
    assert_int_equal(policy_open(name, RULES_BOTZONE, PRECISION_FP32, false, &p), ST_MISMATCH);
    assert_null(p);
    assert_int_equal(policy_open(name, RULES_BOTZONE, PRECISION_FP32, true, &p), ST_OK);
    assert_int_equal(policy_info(p)->ruleset, RULES_DOUZERO);
    policy_free(p);
    remove(name + 4);
}

enum { MANY = 3000 }; /* more than a batch holds, in decisions and in plays */

/* A large mixed batch gives what each decision gives alone. */
static void batches_change_nothing(void **state) {
    (void)state;
    char name[64];
    snprintf(name, sizeof name, "net:%s", write_net(RULES_DOUZERO));
    Policy *p = open_policy(name, RULES_DOUZERO), *random = open_policy("random", RULES_DOUZERO);
    PolicyScratch *s;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    Game *games = malloc(MANY * sizeof *games);
    Decision *d = malloc(MANY * sizeof *d);
    Hand *legal = malloc((size_t)MANY * 600 * sizeof *legal), *at = legal;
    Rng rng;
    rng_init(&rng, 3, 3);
    for (int i = 0; i < MANY; i++) {
        Deal deal;
        deal_random(14, (uint64_t)i, &deal);
        game_init(&games[i], RULES_DOUZERO, &deal, 0);
        for (int moves = (int)rng_below(&rng, 12); moves > 0; moves--) {
            Hand list[MOVEGEN_MAX];
            int n = game_legal(&games[i], list);
            game_apply(&games[i], list[rng_below(&rng, (uint32_t)n)]);
            if (games[i].phase != PHASE_PLAY) game_init(&games[i], RULES_DOUZERO, &deal, 0);
        }
        int n = game_legal(&games[i], at);
        d[i] = (Decision){.game = &games[i], .legal = at, .n_legal = n, .choice = -1};
        at += n;
    }
    policy_choose(p, s, MANY, d);
    for (int i = 0; i < MANY; i += 7) {
        Decision alone = d[i];
        policy_choose(p, s, 1, &alone);
        assert_int_equal(alone.choice, d[i].choice);
    }
    free(legal);
    free(d);
    free(games);
    policyscratch_free(s);
    policy_free(random);
    policy_free(p);
    remove(name + 4);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_are_errors),
        cmocka_unit_test(plays_are_legal_everywhere),
        cmocka_unit_test(rule_beats_random),
        cmocka_unit_test(rule_knows_only_what_it_may),
        cmocka_unit_test(memo_changes_nothing),
        cmocka_unit_test(nets_of_other_rules_are_refused),
        cmocka_unit_test(batches_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
