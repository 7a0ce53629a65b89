/* policy_rule.h - the heuristic player: how it is told in policy_rule.c.
 *
 * It looks at nothing but the seat's hand and what is public. Deterministic.                */
#ifndef DIZHU_ACTORS_POLICY_RULE_H
#define DIZHU_ACTORS_POLICY_RULE_H
#include "actors/hand_cost.h"
#include "engine/game.h"

/* Index of the chosen play among n >= 1 legal ones (game_legal). Allocates nothing. */
int rule_choose(RuleMemo *m, const Game *g, const Hand *legal, int n);
/* A legal bid 0..3. */
int rule_bid(RuleMemo *m, const Game *g);

#endif
