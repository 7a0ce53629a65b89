/* bench_pipeline.h - whole training through its real processes and sockets, for some seconds a row.
 */
#ifndef DIZHU_LEARNER_BENCH_PIPELINE_H
#define DIZHU_LEARNER_BENCH_PIPELINE_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Frames a second with actors and learner in each precision, every decision learned from once, and
 * with the defaults of `train`; bytes on the wire, shares of acting, learning and waiting; then
 * what that predicts for larger machines (scaling.h). weights: what training begins with, NULL:
 * random. Each row runs for ten times b->seconds after a start-up that does not count. */
Status bench_pipeline(Bench *b, const char *weights);

#endif
