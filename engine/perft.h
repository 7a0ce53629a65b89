/* perft.h - counts of move sequences, the cheap way to compare two rule engines.
 *
 * perft(0) = 1; perft(d) = sum over legal plays of perft(d-1) of the position after it; a finished
 * game counts as one leaf however much depth is left. Freestanding.                        */
#ifndef DIZHU_ENGINE_PERFT_H
#define DIZHU_ENGINE_PERFT_H
#include "engine/game.h"

uint64_t perft(const Game *g, int depth);

#endif
