/* bench_learner.h - how fast records become samples and samples become weights, on this machine. */
#ifndef DIZHU_LEARNER_BENCH_LEARNER_H
#define DIZHU_LEARNER_BENCH_LEARNER_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Decoding of records; samples learned from a second through buffers, crew, optimizer and
 * publication, by precision, batch and threads (ratio: to `ref` on one thread; share: of the peak
 * of as many cores); what a step costs beside its products; checkpoints.                       */
Status bench_learner(Bench *b);

#endif
