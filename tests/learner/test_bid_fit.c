/* Fitting bidders: the gradient, the samples, what is learnt from deals of known worth. */
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

#include "engine/base/log.h"
#include "learner/bidding/bid_fit.h"

/* Deals whose outcome is told by the jokers and twos: who has more of them wins as landlord. */
static int strength(const Deal *d, int seat) {
    int n = 0;
    for (int c = 48; c < N_CARDS; c++) n += (d->owner[c] == seat) * (c < 52 ? 1 : 2);
    return n;
}

static BidDeal *make_deals(int64_t n) {
    BidDeal *deals = malloc((size_t)n * sizeof *deals);
    for (int64_t i = 0; i < n; i++) {
        deal_random(71, (uint64_t)i, &deals[i].deal);
        for (int s = 0; s < N_SEATS; s++)
            deals[i].outcome[s] = strength(&deals[i].deal, s) >= 3 ? 4 : -2;
    }
    return deals;
}

static void gradient_is_that_of_differences(void **state) {
    (void)state;
    enum { SAMPLES = 3, CHECKS = 400 };
    BidNet net, grad, ignored;
    Rng rng;
    rng_init(&rng, 1, 2);
    float *w = (float *)&net, *g = (float *)&grad;
    size_t n = sizeof net / sizeof(float);
    for (size_t i = 0; i < n; i++) w[i] = 0.3f * (2 * rng_float(&rng) - 1);
    BidSample s[SAMPLES];
    for (int k = 0; k < SAMPLES; k++) {
        for (int i = 0; i < BIDDER_FEATURES; i++) s[k].x[i] = rng_float(&rng) < 0.3f;
        for (int i = 0; i < BIDDER_VALUES; i++) s[k].y[i] = rng_float(&rng);
    }
    memset(&grad, 0, sizeof grad);
    for (int k = 0; k < SAMPLES; k++) bid_gradient(&net, &s[k], &grad);
    int wrong = 0;
    for (int c = 0; c < CHECKS; c++) {
        size_t i = rng_below(&rng, (uint32_t)n);
        const float h = 1e-2f;
        float kept = w[i];
        double up = 0, down = 0;
        w[i] = kept + h;
        for (int k = 0; k < SAMPLES; k++) up += bid_gradient(&net, &s[k], &ignored);
        w[i] = kept - h;
        for (int k = 0; k < SAMPLES; k++) down += bid_gradient(&net, &s[k], &ignored);
        w[i] = kept;
        double slope = (up - down) / (2 * (double)h);
        wrong += fabs(slope - (double)g[i]) > 0.02 * (fabs(slope) + fabs((double)g[i])) + 1e-3;
    }
    assert_in_range(wrong, 0, CHECKS / 50); /* a relu may bend between the two */
}

static void samples_tell_what_was(void **state) {
    (void)state;
    enum { DEALS = 200 };
    BidDeal *deals = make_deals(DEALS);
    BidSample *s;
    int64_t n;
    assert_int_equal(bid_samples(deals, DEALS, RULES_BOTZONE, NULL, 0, 1, &s, &n), ST_OK);
    assert_in_range(n, DEALS, 3 * DEALS);
    int first = 0, second = 0;
    for (int64_t i = 0; i < n; i++) {
        double cards = 0, seats = 0;
        for (int k = 0; k < 54; k++) cards += (double)s[i].x[k];
        for (int k = 54; k < 57; k++) seats += (double)s[i].x[k];
        assert_true(cards == 17 && seats == 1);
        first += s[i].x[54] == 1;
        second += s[i].x[55] == 1;
        assert_true(s[i].y[BID_LANDLORD] == 4 || s[i].y[BID_LANDLORD] == -2);
        assert_true((s[i].y[BID_WINS] == 1) == (s[i].y[BID_LANDLORD] == 4));
        assert_true(s[i].y[BID_PEASANT_NEXT] == -2 || s[i].y[BID_PEASANT_NEXT] == 1);
    }
    assert_int_equal(first, DEALS);
    assert_true(second > DEALS / 2 && second < DEALS); /* a bid of 3 ends the auction */
    free(s);
    free(deals);
}

static double of_all(const BidDeal *deals, int64_t n, const Bidder *b) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        Game g;
        game_init(&g, RULES_BOTZONE, &deals[i].deal, 0);
        int bid = bidder_bid(b, &g);
        if (bid) sum += bid * deals[i].outcome[0];
    }
    return sum / (double)n;
}

/* Where a hand tells the outcome, the bidder learns it, bids on it, and is saved as it is. */
static void learns_what_a_hand_is_worth(void **state) {
    (void)state;
    enum { DEALS = 3000 };
    BidDeal *deals = make_deals(DEALS);
    BidFitConfig c = {.rounds = 2,
                      .epochs = 3,
                      .batch = 32,
                      .lr = 2e-3,
                      .explore = 0.2,
                      .holdout = 0.1,
                      .seed = 1};
    Bidder b, back;
    assert_int_equal(bid_fit(deals, DEALS, RULES_BOTZONE, &c, &b, NULL, NULL), ST_OK);
    int right = 0;
    for (int64_t i = DEALS - 300; i < DEALS; i++) { /* the deals held out */
        Game g;
        float x[BIDDER_FEATURES], v[BIDDER_VALUES];
        game_init(&g, RULES_BOTZONE, &deals[i].deal, 0);
        bidder_features(&g, x);
        bidder_values(&b, x, v);
        right += (v[BID_LANDLORD] > 1) == (deals[i].outcome[0] > 0);
    }
    print_message("%d of 300 hands judged right\n", right);
    assert_true(right > 270);
    assert_true(of_all(deals, DEALS, &b) > 1);
    char path[] = "/tmp/dizhu-test-bidder-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    b.margin[3] = 0.25f;
    assert_int_equal(bidder_save(&b, path), ST_OK);
    assert_int_equal(bidder_load(path, &back), ST_OK);
    assert_memory_equal(&back.net, &b.net, sizeof b.net);
    assert_true(back.margin[3] == 0.25f && back.ruleset == RULES_BOTZONE);
    FILE *f = fopen(path, "r+"); /* one changed byte is found */
    fseek(f, -5, SEEK_END);
    fputc('!', f);
    fclose(f);
    log_level(LOG_NONE);
    assert_int_not_equal(bidder_load(path, &back), ST_OK);
    log_level(LOG_INFO);
    remove(path);
    free(deals);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_is_that_of_differences),
        cmocka_unit_test(samples_tell_what_was),
        cmocka_unit_test(learns_what_a_hand_is_worth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
