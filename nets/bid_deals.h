/* bid_deals.h - deals that were played with each seat as landlord: what bids are learnt from.
 *
 * Such deals come as a file of records (docs/record.md) of a ruleset with bidding, three of the
 * same deal in a row: in the first seat 0 is the landlord, then seat 1, then seat 2; whoever
 * becomes landlord bids 3 and the seats before him pass. The play does not depend on the bids, so
 * with all three outcomes known any auction can be settled afterwards, without playing again. */
#ifndef DIZHU_NETS_BID_DEALS_H
#define DIZHU_NETS_BID_DEALS_H
#include "engine/game.h"

typedef struct {
    Deal deal;
    /* The landlord's points at base 1 if this seat is the landlord; each peasant's are minus half.
     */
    int16_t outcome[N_SEATS];
} BidDeal;

/* Reads a file; *deals is malloced. ST_CORRUPT: not in threes, or not of one ruleset with bidding;
 * records are replayed, ST_ILLEGAL if one is not a game. The log has the line.               */
Status biddeals_read(const char *path, RulesetId *rules, BidDeal **deals, int64_t *n);

/* Who bids what in a deal: seats' choosers, each given a game in PHASE_BID. */
typedef int (*BidChoose)(void *who, const Game *g);
/* Runs the auction and scores it by the deal's outcomes. *landlord: SEAT_NONE if the deal is void.
 */
void biddeals_auction(const BidDeal *d, RulesetId rules, BidChoose choose, void *const who[N_SEATS],
                      double score[N_SEATS], int *landlord, int *base);

#endif
