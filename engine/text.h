/* text.h - cards and moves as people write them.
 *
 * Output: ranks in ascending order, 3456789TJQKA2BR; pass is "pass", an empty hand "". Input also
 * takes 10 for T, X (small) and D (big) for the jokers, lower case, spaces, any order.
 * Freestanding. */
#ifndef DIZHU_ENGINE_TEXT_H
#define DIZHU_ENGINE_TEXT_H
#include "engine/base/status.h"
#include "engine/cards.h"

enum { TEXT_MAX = 64 }; /* holds 54 ranks and the terminator */

/* Writes the canonical text, returns its length. */
int text_from_hand(Hand h, char out[TEXT_MAX]);
int text_from_move(Hand h, char out[TEXT_MAX]); /* 0 gives "pass" */
/* Parses a hand ("" is empty) or a move ("pass", or "" for pass). ST_PARSE: an unknown letter,
 * ST_INVALID: more than four of a rank or two of a joker. *bad, if given, is the offset of the
 * offending character.                                                                      */
Status text_to_hand(const char *s, Hand *out, int *bad);
Status text_to_move(const char *s, Hand *out, int *bad);

#endif
