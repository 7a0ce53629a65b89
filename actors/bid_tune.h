/* bid_tune.h - bidders against one another on played deals, and margins chosen by their score.
 *
 * All three outcomes of a deal are known, so an auction is settled without playing: two bidders
 * meet in all six ways to seat both, and the score of a deal is the mean over the seats of the
 * first.  */
#ifndef DIZHU_ACTORS_BID_TUNE_H
#define DIZHU_ACTORS_BID_TUNE_H
#include "actors/arena_stats.h"
#include "nets/bid_deals.h"
#include "nets/bidder.h"

typedef struct {
    Spread score;    /* points per seat and game of the first */
    double landlord; /* share of its seats that became landlord */
    double won;      /* ... and of these, won */
    double bid[4];   /* share of its turns by bid */
} BidMatch;

typedef struct BidTable BidTable;
/* Values of every hand of deals[n] in every auction, and the rule policy's wishes. */
Status bidtable_new(const BidDeal *deals, int64_t n, RulesetId rules, const Bidder *b,
                    BidTable **out);
void bidtable_free(BidTable *t); /* NULL is allowed */

/* margins NULL: the rule policy's bids. */
void bidtable_match(const BidTable *t, const float *a_margins, const float *b_margins,
                    BidMatch *out);
/* Margins with a high score against the rule policy and against themselves of the step before. */
void bidtable_tune(const BidTable *t, float margins[BIDDER_MARGINS]);

#endif
