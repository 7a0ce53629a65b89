/* match.h - two policies on the same deals: A as landlord against B as peasants, and the reverse.
 *
 * Deck i is deal_random(seed, first + i); its two games have the same chance too, so that equal
 * players give exactly opposite results. Seat 0 is the landlord in every ruleset: where there is
 * bidding it bids 1 and the others pass. Results do not depend on the number of threads.
 *
 * Points of a game are the landlord's and the peasants' together, as the ruleset scores them: for
 * the plain score the landlord's +-2 * 2^b, b = bombs and rockets, and the peasants' sum is the
 * opposite. (botzone1's score is not zero-sum: there it is the landlord's minus a peasant's mean.)
 * Intervals are 1.96 standard errors over decks: a deck's two games are a pair, which takes most of
 * the luck of the deal out of wp and adp.                                                   */
#ifndef DIZHU_ACTORS_MATCH_H
#define DIZHU_ACTORS_MATCH_H
#include "actors/policy.h"
#include <stdatomic.h>
#include <stdio.h>

typedef struct {
    double mean, ci95;
} Estimate; /* ci95: half width */

typedef struct {
    int64_t decks, games;
    Estimate wp_landlord, wp_peasants; /* share of games won by A in that seat */
    Estimate wp;                       /* of both together */
    Estimate adp;                      /* A's points a game */
    double seconds;
} MatchResult;

typedef struct {
    RulesetId rules;
    uint64_t seed;
    uint64_t first;    /* number of the first deck */
    int64_t decks;     /* >= 1 */
    int threads;       /* >= 1 */
    int n_games;       /* at once in a thread; 0: chosen */
    atomic_bool *stop; /* becomes true: give up; may be NULL */
    void (*progress)(void *ctx, int64_t games_done, int64_t games); /* about 5 times a second, on
                           the caller's thread; may be NULL */
    void *ctx;
} MatchConfig;

/* Plays 2 * decks games. ST_INTERRUPTED: stopped. Never ST_OK with a game missing.           */
Status match_play(const MatchConfig *c, const Policy *a, const Policy *b, MatchResult *out);

#endif
