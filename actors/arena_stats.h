/* arena_stats.h - what an arena's games say: ratings, scores, cross table, with 95% intervals.
 *
 * The games of one deal are not independent of one another, those of different deals are: intervals
 * come from deals, never from games. Ratings and scores by bootstrap over deals, the cross table
 * from the spread of its means per deal. */
#ifndef DIZHU_ACTORS_ARENA_STATS_H
#define DIZHU_ACTORS_ARENA_STATS_H
#include "actors/arena_db.h"
#include "actors/elo.h"

/* ci95: half width; 0 with fewer than two deals. */
typedef struct {
    double mean, ci95;
} Spread;

typedef struct {
    int64_t seats; /* played: one agent may sit at two in a game */
    int64_t as_landlord, as_peasant;
    Spread score;              /* per seat and game, as the ruleset scores it */
    Spread landlord, peasants; /* share of games won in that role */
    Spread elo, elo_landlord, elo_peasants;
    int64_t faults;
} AgentStats;

/* Games in which both sit: the row agent's share of wins and score, mean over its seats. */
typedef struct {
    int64_t games, deals;
    Spread won, score;
} PairStats;

typedef struct {
    int n_agents;
    int64_t games, deals, void_deals;
    double landlord_won; /* share */
    Spread elo_seat;
    AgentStats agent[ARENA_MAX_AGENTS];
    PairStats pair[ARENA_MAX_AGENTS][ARENA_MAX_AGENTS];
} ArenaStats;

/* rows in order of deal. resamples: of the bootstrap, 0: no intervals for what needs it. */
Status arena_stats(const ArenaRow *rows, int64_t n, int n_agents, int resamples, ArenaStats *out);

#endif
