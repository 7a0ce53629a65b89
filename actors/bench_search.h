/* bench_search.h - how fast endings are solved and games rolled out. */
#ifndef DIZHU_ACTORS_BENCH_SEARCH_H
#define DIZHU_ACTORS_BENCH_SEARCH_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Positions a second that the solver looks at, endings a second by the number of cards left (taken
 * from the rule policy's play), and playouts a second of a net in a search's rollouts. weights
 * NULL: a net with random weights, whose games are longer than a trained one's. */
Status bench_search(Bench *b, const char *weights);

#endif
