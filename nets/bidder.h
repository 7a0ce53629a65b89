/* bidder.h - what a hand of 17 is worth before the public cards are known, and what to bid with it.
 *
 * x[65] = own cards 54 | seat one-hot 3 | the two earlier bids, one-hot 4 each (not yet made:
 * zeros)
 *   --Linear 128, relu--Linear 64, relu--Linear 4--> values
 * values: landlord's points a game if this seat becomes landlord; its points as a peasant if the
 * next seat does, and if the one after does; all divided by the base of the stakes, spring and
 * bombs counted; and the chance of winning as landlord. A bid of k is worth k values[landlord];
 * passing is worth what the highest bid makes a peasant's game worth, or, if nobody bids, what the
 * ruleset makes of that. The bid with the largest gain over passing and its margin is made, if
 * there is one. A file says its kind; `mlp` is the one there is. Another kind of bidder, such as a
 * kernel machine, is another row in bidder.c's table. */
#ifndef DIZHU_NETS_BIDDER_H
#define DIZHU_NETS_BIDDER_H
#include "engine/game.h"

enum {
    BIDDER_FEATURES = 54 + N_SEATS + 2 * 4,
    BIDDER_HIDDEN1 = 128,
    BIDDER_HIDDEN2 = 64,
    BIDDER_MARGINS = 4 /* by bid 0..3; that of 0 is 0 */
};
enum { BID_LANDLORD, BID_PEASANT_NEXT, BID_PEASANT_AFTER, BID_WINS, BIDDER_VALUES };

typedef struct {
    float w1[BIDDER_HIDDEN1][BIDDER_FEATURES], b1[BIDDER_HIDDEN1];
    float w2[BIDDER_HIDDEN2][BIDDER_HIDDEN1], b2[BIDDER_HIDDEN2];
    float w3[BIDDER_VALUES][BIDDER_HIDDEN2], b3[BIDDER_VALUES];
} BidNet;

typedef struct {
    char kind[16];
    uint8_t ruleset;
    float margin[BIDDER_MARGINS];
    BidNet net;
} Bidder;

/* What the seat to act of a game in PHASE_BID knows, as 0/1. */
void bidder_features(const Game *g, float x[BIDDER_FEATURES]);
void bidder_values(const Bidder *b, const float x[BIDDER_FEATURES], float v[BIDDER_VALUES]);
/* The bid that the values and margins speak for: legal for the seat to act. */
int bidder_decide(const float margin[BIDDER_MARGINS], const Game *g, const float v[BIDDER_VALUES]);
int bidder_bid(const Bidder *b, const Game *g);

/* A safetensors file: dense1.weight ... dense3.bias in fp32; metadata format dizhu-bid/1, kind,
 * ruleset, margins. The log has what is wrong: ST_MISMATCH: another kind, or tensors that are not
 * these; else what safetensors_read and file_save say.                                      */
Status bidder_load(const char *path, Bidder *out);
Status bidder_save(const Bidder *b, const char *path);

#endif
