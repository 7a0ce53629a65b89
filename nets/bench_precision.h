/* bench_precision.h - what bf16 and int8 cost in play: error in Q, argmax agreement, regret. */
#ifndef DIZHU_NETS_BENCH_PRECISION_H
#define DIZHU_NETS_BENCH_PRECISION_H
#include "engine/base/bench.h"
#include "kernels/ops.h"
#include "nets/weights.h"

/* Self-play by these weights in fp32 (1% random plays); every decision with a choice is scored in
 * each precision too. Adds per precision: rms error of Q, share of equal best plays, and mean
 * regret (what the chosen play loses in fp32's eyes); error and regret in units of the standard
 * deviation of Q over decisions. Roles that the file lacks are skipped; ST_MISMATCH: it has none.
 */
Status bench_precision(Bench *b, const KernelTable *k, const Weights *w);

#endif
