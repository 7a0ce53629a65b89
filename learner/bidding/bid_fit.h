/* bid_fit.h - fits a bidder (nets/bidder.h) to deals that were played with each seat as landlord.
 *
 * A sample is one seat's turn in an auction: what it knows, and what became of the deal with each
 * of the three as landlord. Whose bids came before depends on who bids: in the first round bids are
 * random, in each further one they are those of the bidder fitted before (and sometimes random), so
 * that the values come to know what a pass or a bid of the others tells. Least squares, by Adam.
 * Another kind of bidder is another file beside this one, over the same samples.             */
#ifndef DIZHU_LEARNER_BIDDING_BID_FIT_H
#define DIZHU_LEARNER_BIDDING_BID_FIT_H
#include "nets/bid_deals.h"
#include "nets/bidder.h"

typedef struct {
    float x[BIDDER_FEATURES];
    float y[BIDDER_VALUES];
} BidSample;

typedef struct {
    int rounds, epochs, batch;
    double lr;      /* falls to a tenth of it along a cosine */
    double explore; /* chance of a random bid while samples are made */
    double holdout; /* share of deals that are not fitted to */
    uint64_t seed;
} BidFitConfig;

typedef struct {
    int64_t samples;
    /* mean squared errors of the landlord's value on deals held out: of the mean of all, of the net
     */
    double variance, error;
    double win_error, win_variance;
} BidFitReport;

/* Samples of the auctions of deals[n]; *samples is malloced. bidder NULL: all bids random. */
Status bid_samples(const BidDeal *deals, int64_t n, RulesetId rules, const Bidder *bidder,
                   double explore, uint64_t seed, BidSample **samples, int64_t *n_samples);
/* Adds the gradient of the loss of one sample, returns the loss. */
double bid_gradient(const BidNet *net, const BidSample *s, BidNet *grad);

/* said, if given, is called after each round. */
Status bid_fit(const BidDeal *deals, int64_t n, RulesetId rules, const BidFitConfig *c, Bidder *out,
               void (*said)(void *ctx, int round, const BidFitReport *r), void *ctx);

#endif
