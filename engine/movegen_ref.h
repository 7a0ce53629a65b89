/* movegen_ref.h - the plain definition of movegen.h, for tests and as the measure of its speed.
 *
 * Filters all 58,590 plays by containment, typing and comparison. Slow, and written without the
 * generator's tricks. move_init must have run.                                             */
#ifndef DIZHU_ENGINE_MOVEGEN_REF_H
#define DIZHU_ENGINE_MOVEGEN_REF_H
#include "engine/movegen.h"

/* Every play of hand that beats last, by ascending id; last NULL: every play that may be led. */
int movegen_ref(const Ruleset *rules, Hand hand, const Move *last, Hand out[MOVEGEN_MAX]);

#endif
