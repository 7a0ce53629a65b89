/* Bids: deals played with each seat as landlord, auctions settled afterwards, margins by score. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/bid_play.h"
#include "actors/bid_tune.h"
#include "actors/hand_cost.h"
#include "actors/policy.h"
#include "engine/base/log.h"

static char path[] = "/tmp/dizhu-test-bid-XXXXXX";
enum { DEALS = 400 };
static BidDeal *deals;
static int64_t n_deals;
static Policy *rule;

static int play_deals(void **state) {
    (void)state;
    RulesetId rules = RULES_DOUZERO;
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    close(fd);
    remove(path);
    if (policy_open("rule", RULES_BOTZONE, PRECISION_FP32, true, &rule) != ST_OK) return -1;
    /* in two parts, on different numbers of threads */
    for (int part = 0; part < 2; part++) {
        BidPlayConfig c = {.rules = RULES_BOTZONE,
                           .seed = 3,
                           .first = (uint64_t)part * DEALS / 2,
                           .deals = DEALS / 2,
                           .threads = 1 + part,
                           .policy = rule};
        if (bid_play(&c, path) != ST_OK) return -1;
    }
    if (biddeals_read(path, &rules, &deals, &n_deals) != ST_OK) return -1;
    return rules == RULES_BOTZONE && n_deals == DEALS ? 0 : -1;
}

static int forget_deals(void **state) {
    (void)state;
    free(deals);
    policy_free(rule);
    return remove(path);
}

/* Deal i is that of the seed, and its outcomes are those of the games played out here. */
static void deals_are_as_played(void **state) {
    (void)state;
    PolicyScratch *s;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    for (int i = 0; i < DEALS; i += 37)
        for (int landlord = 0; landlord < N_SEATS; landlord++) {
            Deal d;
            Game g;
            static Hand legal[MOVEGEN_MAX];
            deal_random(3, (uint64_t)i, &d);
            assert_memory_equal(&d, &deals[i].deal, sizeof d);
            game_init(&g, RULES_BOTZONE, &d, 0);
            for (int seat = 0; seat <= landlord; seat++)
                game_bid(&g, seat == landlord ? 1 : 0, NULL);
            for (int seat = landlord + 1; seat < N_SEATS; seat++) game_bid(&g, 0, NULL);
            while (g.phase == PHASE_PLAY) {
                Decision t = {.game = &g, .legal = legal, .n_legal = game_legal(&g, legal)};
                policy_choose(rule, s, 1, &t);
                game_apply(&g, legal[t.choice]);
            }
            double score[N_SEATS];
            game_scores(&g, score);
            assert_true(deals[i].outcome[landlord] == score[landlord]);
        }
    policyscratch_free(s);
}

/* A bidder that values every hand alike; with margins it always bids the same. */
static Bidder constant(float landlord) {
    Bidder b = {.kind = "mlp", .ruleset = RULES_BOTZONE};
    b.net.b3[BID_LANDLORD] = landlord;
    b.net.b3[BID_PEASANT_NEXT] = b.net.b3[BID_PEASANT_AFTER] = -landlord / 2;
    return b;
}

static void decisions_weigh_bids_against_passing(void **state) {
    (void)state;
    Game g;
    game_init(&g, RULES_BOTZONE, &deals[0].deal, 0);
    Bidder b = constant(1);
    assert_int_equal(bidder_bid(&b, &g), 3); /* 3 points against 1 for passing round */
    b.margin[3] = 5;
    assert_int_equal(bidder_bid(&b, &g), 2);
    b.margin[2] = 5;
    assert_int_equal(bidder_bid(&b, &g), 0); /* bidding 1 is what passing comes to */
    game_bid(&g, 1, NULL);
    b.margin[2] = 0;
    assert_int_equal(bidder_bid(&b, &g), 2);
    b = constant(-1);
    assert_int_equal(bidder_bid(&b, &g), 0);
    game_init(&g, RULES_CLASSIC, &deals[0].deal, 0);
    assert_int_equal(bidder_bid(&b, &g), 0); /* a void deal costs nothing */
}

/* Against itself every bidder scores nothing; two change signs when they change places. */
static void matches_are_fair(void **state) {
    (void)state;
    Bidder b = constant(1);
    BidTable *t;
    BidMatch m, back;
    assert_int_equal(bidtable_new(deals, n_deals, RULES_BOTZONE, &b, &t), ST_OK);
    bidtable_match(t, b.margin, b.margin, &m);
    assert_true(fabs(m.score.mean) < 1e-12 && m.score.ci95 < 1e-12);
    bidtable_match(t, NULL, NULL, &m);
    assert_true(fabs(m.score.mean) < 1e-12);
    bidtable_match(t, b.margin, NULL, &m);
    bidtable_match(t, NULL, b.margin, &back);
    assert_true(fabs(m.score.mean + back.score.mean) < 1e-12);
    assert_true(m.bid[3] > 0.4); /* it bids 3 whenever it is asked and may */
    assert_true(m.landlord > back.landlord);
    bidtable_free(t);
}

/* Margins keep a bidder that overrates every hand from bidding on it. */
static void tuning_gains(void **state) {
    (void)state;
    Bidder b = constant(2);
    BidTable *t;
    BidMatch before, after;
    float margins[BIDDER_MARGINS];
    assert_int_equal(bidtable_new(deals, n_deals, RULES_BOTZONE, &b, &t), ST_OK);
    bidtable_match(t, b.margin, NULL, &before);
    bidtable_tune(t, margins);
    bidtable_match(t, margins, NULL, &after);
    print_message("score against the rule's bids: %.3f before, %.3f after\n", before.score.mean,
                  after.score.mean);
    assert_true(after.score.mean > before.score.mean + 0.05);
    bidtable_free(t);
}

/* A policy with `,bid=FILE` bids by the file. */
static void policies_bid_by_their_bidder(void **state) {
    (void)state;
    char file[] = "/tmp/dizhu-test-bidfile-XXXXXX", name[96];
    int fd = mkstemp(file);
    assert_true(fd >= 0);
    close(fd);
    Bidder b = constant(1);
    assert_int_equal(bidder_save(&b, file), ST_OK);
    snprintf(name, sizeof name, "rule,bid=%s", file);
    Policy *p;
    PolicyScratch *s;
    assert_int_equal(policy_open(name, RULES_BOTZONE, PRECISION_FP32, true, &p), ST_OK);
    assert_int_equal(policyscratch_new(&s), ST_OK);
    int other = 0;
    for (int i = 0; i < 50; i++) {
        Game g;
        game_init(&g, RULES_BOTZONE, &deals[i].deal, i % 3);
        assert_int_equal(policy_bid(p, s, &g, NULL), 3);
        other += policy_bid(rule, s, &g, NULL) != 3;
    }
    assert_true(other > 0);
    policyscratch_free(s);
    policy_free(p);
    log_level(LOG_NONE);
    assert_int_not_equal(policy_open("rule,bid=/no/such", RULES_BOTZONE, PRECISION_FP32, true, &p),
                         ST_OK);
    log_level(LOG_INFO);
    remove(file);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deals_are_as_played),
        cmocka_unit_test(decisions_weigh_bids_against_passing),
        cmocka_unit_test(matches_are_fair),
        cmocka_unit_test(tuning_gains),
        cmocka_unit_test(policies_bid_by_their_bidder),
    };
    return cmocka_run_group_tests(tests, play_deals, forget_deals);
}
