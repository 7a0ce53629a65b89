/* bid_play.h - deals played with each seat as landlord (nets/bid_deals.h has the file's order). */
#ifndef DIZHU_ACTORS_BID_PLAY_H
#define DIZHU_ACTORS_BID_PLAY_H
#include "actors/policy.h"
#include <stdatomic.h>

typedef struct {
    RulesetId rules;      /* with bidding */
    uint64_t seed, first; /* deals first.. of the seed */
    int64_t deals;
    int threads;
    const Policy *policy; /* plays every seat */
    atomic_bool *stop;    /* may be NULL */
    void (*progress)(void *ctx, int64_t games, int64_t all);
    void *ctx;
} BidPlayConfig;

/* Appends the records to a file. ST_INTERRUPTED: as many deals as were whole by then. */
Status bid_play(const BidPlayConfig *c, const char *path);

#endif
