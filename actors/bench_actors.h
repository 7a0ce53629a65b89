/* bench_actors.h - what one core of self-play does, whole: legal plays, features, nets, records. */
#ifndef DIZHU_ACTORS_BENCH_ACTORS_H
#define DIZHU_ACTORS_BENCH_ACTORS_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Adds rows for each precision that the kernels have, and the shares of the game loop. weights: a
 * weights file, or NULL for untrained nets (which play longer games with more choices).      */
Status bench_actors(Bench *b, const char *weights);

/* One number that changes when play does: a hash over the records of fixed games of the rule
 * policy, under every ruleset, with exploration.                                            */
Status bench_signature(unsigned long long *out);

#endif
