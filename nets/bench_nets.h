/* bench_nets.h - how fast kernels, scorer and trainer are, and what lower precision costs. */
#ifndef DIZHU_NETS_BENCH_NETS_H
#define DIZHU_NETS_BENCH_NETS_H
#include "engine/base/bench.h"
#include "engine/base/status.h"

/* Peaks of the instruction sets, products by rows, scored decisions and training samples per second
 * on one thread. With a weights file also the error in Q, argmax agreement and regret of bf16 and
 * int8 on positions of self-play; NULL: random weights, speed alone.                        */
Status bench_nets(Bench *b, const char *weights_path);

#endif
