/* pool.h - many games at once, each tick one batched decision per policy.
 *
 * A tick walks over all games: forced plays (one legal) and exploratory ones are made at once and
 * without asking anybody; a game that needs a decision waits in the batch of the policy that plays
 * the seat; then each policy chooses for its whole batch and the plays are made. A finished game is
 * handed to `finish` and its place given to the next one from `start`.
 *
 * A game is a function of its deal, its players and its own generator alone: how many others run
 * beside it changes nothing but speed. Owner and user: one thread. Nothing is allocated after
 * pool_new.                                                                                 */
#ifndef DIZHU_ACTORS_POOL_H
#define DIZHU_ACTORS_POOL_H
#include "actors/policy.h"

enum { POOL_MAX_POLICIES = 32 };

typedef struct {
    Game game;
    Deal deal;
    Rng rng; /* every choice by chance in this game */
    uint64_t index;
    uint8_t player[N_SEATS];   /* which of the pool's policies plays a seat */
    uint32_t version[N_ROLES]; /* free for the owner: weights versions at the start */
    uint8_t explored[(GAME_MAX_MOVES + 7) / 8]; /* bit i: move i was an exploratory one */
} PoolGame;

/* Fills index, deal, rng, player and the game (game_init) of a new game; false: no more games. */
typedef bool (*PoolStart)(void *ctx, PoolGame *g);
/* Sees a finished or void game; it is gone afterwards. */
typedef void (*PoolFinish)(void *ctx, const PoolGame *g);

typedef struct {
    int n_games;    /* at once */
    double epsilon; /* chance that an unforced play is one of the legal ones, uniformly */
    PoolStart start;
    PoolFinish finish;
    void *ctx;
} PoolConfig;

typedef struct {
    uint64_t games, decisions; /* finished games; plays of any kind, passes included */
    uint64_t forced, explored; /* plays with one legal move; exploratory plays */
    uint64_t scored, actions;  /* decisions put to a policy, and their legal plays */
} PoolStats;

typedef struct Pool Pool;
/* policies[n_policies] are borrowed. ST_INVALID: n_games < 1 or too many policies. */
Status pool_new(const PoolConfig *c, int n_policies, const Policy *const *policies, Pool **out);
void pool_free(Pool *p);

/* One tick. False: start has no more games and all have ended. */
bool pool_tick(Pool *p);
/* Asks start again for places that it left empty. */
void pool_refill(Pool *p);
const PoolStats *pool_stats(const Pool *p);

#endif
