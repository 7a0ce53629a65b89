/* playout.h - games played at random: for tests, benches and rollouts.
 *
 * Freestanding; allocates nothing. */
#ifndef DIZHU_ENGINE_PLAYOUT_H
#define DIZHU_ENGINE_PLAYOUT_H
#include "engine/game.h"

/* Plays on from any phase to the end, each legal bid and each legal play being equally likely. */
void playout_random(Game *g, Rng *rng);

/* One hash over the records of n_games random games from fixed seeds under every ruleset: it
 * changes if the deals, the rules, the generator's order, the ids or the record format do.
 * move_init must have run. */
uint64_t playout_signature(int n_games);

#endif
