#include "learner/bidding/bid_command.h"
#include "engine/base/options.h"
#include "learner/bidding/bid_fit.h"
#include <stdio.h>
#include <stdlib.h>

static void say(void *ctx, int round, const BidFitReport *r) {
    (void)ctx;
    fprintf(stderr,
            "round %d: %lld samples; held out: points' variance %.3f, of the net's error %.3f; "
            "wins' %.4f, %.4f\n",
            round, (long long)r->samples, r->variance, r->error, r->win_variance, r->win_error);
}

static Status run(const BidFitConfig *c, const char *from, const char *to) {
    RulesetId rules = RULES_BOTZONE;
    BidDeal *deals = NULL;
    int64_t n;
    Bidder b;
    TRY(biddeals_read(from, &rules, &deals, &n));
    fprintf(stderr, "%lld deals of %s\n", (long long)n, ruleset_get(rules)->name);
    Status st = bid_fit(deals, n, rules, c, &b, say, NULL);
    free(deals);
    return st == ST_OK ? bidder_save(&b, to) : st;
}

int bid_command(int argc, char **argv) {
    BidFitConfig c = {.rounds = 3,
                      .epochs = 6,
                      .batch = 128,
                      .lr = 1e-3,
                      .explore = 0.15,
                      .holdout = 0.1,
                      .seed = 1};
    const char *out = NULL;
    const Option options[] = {
        {"out", OPT_STR, &out, "the bidder", 0, 0, "FILE", false},
        {"rounds", OPT_INT, &c.rounds, "fits; from the second on others' bids are a bidder's", 1,
         100, NULL, false},
        {"epochs", OPT_INT, &c.epochs, "of each", 1, 1000, NULL, false},
        {"batch", OPT_INT, &c.batch, "samples a step", 1, 1e5, NULL, false},
        {"lr", OPT_REAL, &c.lr, "learning rate at first", 1e-9, 1, NULL, false},
        {"explore", OPT_REAL, &c.explore, "share of random bids", 0, 1, NULL, false},
        {"holdout", OPT_REAL, &c.holdout, "share of deals to measure with", 0, 0.9, NULL, false},
        {"seed", OPT_U64, &c.seed, "chance", 0, 0, NULL, false},
        {0}};
    const Command command = {
        .usage = "dizhu bid fit DEALS --out FILE [options]",
        .about = "Fits a bidder to deals of `dizhu bid play`. `dizhu bid tune` sets its margins.",
        .options = options,
        .min_args = 1,
        .max_args = 1};
    int n_args;
    bool done;
    if (options_parse(&command, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (!out) {
        fputs("dizhu: bid fit: --out is missing\n", stderr);
        return 2;
    }
    return run(&c, argv[1], out) == ST_OK ? 0 : 1;
}
