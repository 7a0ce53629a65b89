/* arena.h - a round robin in the duplicate format: every deal played by every lineup.
 *
 * A lineup says which agent sits where. Formats:
 *   sides    for each pair A, B: A as landlord against two of B, and the reverse. Seat 0 is the
 *            landlord in every ruleset (where there is bidding it bids 1 and the others pass), so
 *            that role and strength of bidding stay apart. Two games a deal.
 *   seats    for each pair: all six ways to seat both, with the auction if there is one.
 *   triples  for each three agents: all six orders, as Botzone's contests do.
 * Game g of an arena is deal g / n_lineups, lineup g % n_lineups. Deals and chance depend on (seed,
 * deal) alone, so games can be played in any order, by any number of threads, and later.     */
#ifndef DIZHU_ACTORS_ARENA_H
#define DIZHU_ACTORS_ARENA_H
#include "actors/agent.h"
#include "engine/record.h"
#include <stdatomic.h>

enum { ARENA_MAX_AGENTS = 32, ARENA_MAX_LINEUPS = 6 * 4960 };
typedef enum { FORMAT_SIDES, FORMAT_SEATS, FORMAT_TRIPLES } ArenaFormat;

typedef struct {
    uint8_t agent[N_SEATS];
} Lineup;

/* The lineups of n agents, one pair or three after another; returns their number (0: too few
 * agents for the format). out: ARENA_MAX_LINEUPS places.                                     */
int arena_lineups(ArenaFormat f, int n_agents, Lineup *out);

typedef struct {
    int64_t deal;
    Lineup lineup;
    uint8_t landlord; /* seat; SEAT_NONE: void, or ended by faults while bidding */
    bool landlord_won;
    bool void_deal;
    double score[N_SEATS];
    uint8_t verdict[N_SEATS]; /* first fault of each seat */
    uint16_t n_moves;
    float seconds;     /* wall time; of games played one at a time */
    uint16_t n_record; /* 0: the game was not played to its end */
    uint8_t record[RECORD_MAX_BYTES];
} ArenaGame;

typedef struct {
    RulesetId rules;
    ArenaFormat format;
    uint64_t seed;
    int64_t deals;
    int n_agents;
    Agent *agents; /* borrowed */
    int threads;
    atomic_bool *stop; /* may be NULL */
    /* Is this game there already? May be NULL. Called while arena_run begins. */
    bool (*done)(void *ctx, int64_t deal, const Lineup *l);
    /* Gets the finished games, in any order, and then how far the arena is; on the caller's thread,
     * about five times a second. What emit returns other than ST_OK ends the arena.            */
    Status (*emit)(void *ctx, const ArenaGame *games, int n, int64_t played, int64_t all);
    void *ctx;
} ArenaConfig;

/* Plays what is not done yet. ST_INTERRUPTED: stopped; what was emitted is good. */
Status arena_run(const ArenaConfig *c);

#endif
