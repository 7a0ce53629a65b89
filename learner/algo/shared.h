/* shared.h - AsySG-incon: threads of one process train one model in shared memory, without locks.
 *
 * A thread reads x while others write it (each number whole, the block inconsistent), computes its
 * gradient, and subtracts it number by number, each by an atomic compare-and-swap that loses no
 * update. Nothing is sent and nobody waits.
 * Source: Lian et al., arXiv:1506.08272 (AsySG-incon), algorithm 2; Hogwild!, arXiv:1106.5730. */
#ifndef DIZHU_LEARNER_ALGO_SHARED_H
#define DIZHU_LEARNER_ALGO_SHARED_H
#include "engine/base/status.h"
#include "learner/codec/real.h"
#include <stdint.h>

typedef struct Shared Shared;

Status shared_new(size_t n, const Real *x0, Shared **out);
void shared_free(Shared *s);
/* x[n] as it is now, torn between updates. Returns how many updates had begun. */
uint64_t shared_read(const Shared *s, Real *x);
/* x -= lr g. Threads start at places of their own, so that they seldom meet. Returns how many
 * updates had begun before: minus what the read returned, the gradient's staleness. Zeros cost no
 * write. */
uint64_t shared_sgd(Shared *s, const Real *g, double lr, int thread, int threads);
/* v = alpha v + (1 - alpha) g^2;  x -= lr g / (sqrt(v) + eps), with v shared, too. */
uint64_t shared_rmsprop(Shared *s, const Real *g, double lr, double alpha, double eps, int thread,
                        int threads);
/* v[n], for a checkpoint; load: v from one. No thread may be at work. */
void shared_squares(const Shared *s, Real *v);
void shared_squares_load(Shared *s, const Real *v);

#endif
