/* selfplay.h - one thread's endless self-play: many games at once, each finished one a record.
 *
 * Games are numbered first, first + stride, ...; game i is deal_random(seed, i) and its choices by
 * chance come from (seed, i) too, so with the same weights record i is the same whatever n_games,
 * threads or actors. Weights may be exchanged between ticks: a record carries the versions that
 * were in use when its game began.                                                          */
#ifndef DIZHU_ACTORS_SELFPLAY_H
#define DIZHU_ACTORS_SELFPLAY_H
#include "actors/pool.h"
#include "engine/record.h"

/* Gets every record's bytes; they are gone afterwards. */
typedef void (*SelfplayEmit)(void *ctx, const uint8_t *record, size_t n);

typedef struct {
    RulesetId rules;
    uint64_t seed;
    uint64_t first, stride; /* game numbers */
    int n_games;            /* at once */
    double epsilon;
    SelfplayEmit emit;
    void *ctx;
} SelfplayConfig;

typedef struct Selfplay Selfplay;
/* policies[role] plays the role (borrowed; the same one may stand three times). With bidding the
 * landlord's policy bids for all seats, and policies must then be one and the same: ST_INVALID. */
Status selfplay_new(const SelfplayConfig *c, const Policy *const policies[N_ROLES], Selfplay **out);
void selfplay_free(Selfplay *s);

/* The versions that games starting from now on are played with. */
void selfplay_set_versions(Selfplay *s, const uint32_t version[N_ROLES]);
/* Starts at most n more games (lockstep); without a call the number is unlimited. */
void selfplay_allow(Selfplay *s, uint64_t n);
/* One tick of all games. False: the allowance is used up and all games have ended. */
bool selfplay_tick(Selfplay *s);
const PoolStats *selfplay_stats(const Selfplay *s);
/* Bytes of all records so far, and the plays in them. */
uint64_t selfplay_bytes(const Selfplay *s, uint64_t *n_moves);

#endif
