/* rollout.h - many games played to their end at once by one policy, for their returns.
 *
 * The games go in step, so that a net scores the decisions of all in few batches. A play that wins
 * at once is made without asking.                                                           */
#ifndef DIZHU_ACTORS_ROLLOUT_H
#define DIZHU_ACTORS_ROLLOUT_H
#include "actors/policy.h"

typedef struct Rollout Rollout;
Status rollout_new(int max_games, Rollout **out);
void rollout_free(Rollout *r); /* NULL is allowed */

Game *rollout_games(Rollout *r); /* max_games places, the caller's to fill */
/* Plays the first n games on until each is over. */
void rollout_run(Rollout *r, const Policy *p, PolicyScratch *s, int n);

#endif
