/* hand_cost.h - how far a hand is from being played out.
 *
 * The cost of a hand is the least sum, over ways to cut it into plays, of the plays' costs: about
 * the number of times the lead must be won back from the others. A low single costs nearly 1, a
 * strong play little, a bomb less than nothing. Trios and planes carry away the cheapest-to-lose
 * singles and pairs for nothing. It is the rule policy's measure and knows nothing of the other
 * hands.                                                                                    */
#ifndef DIZHU_ACTORS_HAND_COST_H
#define DIZHU_ACTORS_HAND_COST_H
#include "engine/base/status.h"
#include "engine/cards.h"

typedef struct RuleMemo RuleMemo; /* one thread's table of costs already worked out */
Status rulememo_new(RuleMemo **out);
void rulememo_free(RuleMemo *m); /* NULL is allowed */

float hand_cost(RuleMemo *m, Hand hand);
int hand_bid(RuleMemo *m, Hand hand); /* what 17 cards are worth bidding, 0..3 */

#endif
