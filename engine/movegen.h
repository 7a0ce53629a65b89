/* movegen.h - all legal plays.
 *
 * Lists hold distinct plays in an order that depends only on the arguments. A caller's buffer of
 * MOVEGEN_MAX entries always suffices. Freestanding; allocates nothing.                      */
#ifndef DIZHU_ENGINE_MOVEGEN_H
#define DIZHU_ENGINE_MOVEGEN_H
#include "engine/move.h"

/* Far above the number of plays of any 20 cards under any ruleset: a search for the richest hand
 * ends at 804 (tests/engine/test_movegen.c).                                                */
enum { MOVEGEN_MAX = 4096 };

/* Every play that may be led from hand, at most 20 cards; never pass. Returns their number (0 iff
 * the hand is empty).                                                                       */
int movegen_leads(const Ruleset *rules, Hand hand, Hand out[MOVEGEN_MAX]);
/* Every play from hand, at most 20 cards, that beats last (not pass), pass excluded. */
int movegen_answers(const Ruleset *rules, Hand hand, const Move *last, Hand out[MOVEGEN_MAX]);

#endif
