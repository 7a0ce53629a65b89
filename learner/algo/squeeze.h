/* squeeze.h - the mean of the ranks' blocks in few bytes, with error feedback on both passes.
 *
 *     rank i:   v = x_i + d_i;  send C(v) chunk by chunk to the chunks' owners;  d_i = v - C(v)
 *     owner:    u = mean_i C(v_i) + D;  send C(u) to everyone;                   D = u - C(u)
 *     everyone: mean = C(u)
 *
 * Owners are all ranks (scatter-reduce: 2 (n-1)/n of the code sent per rank) or rank 0 alone (a
 * parameter server). With a codec that is exact this is a plain mean. Then, with Omega =
 * D + mean d_i + carry, mean_t = gbar_t + Omega_{t-1} - Omega_t: nothing is ever lost.
 * Source: Tang et al., DoubleSqueeze, arXiv:1905.05957; and, for momentum, 1-bit Adam,
 * arXiv:2102.02888.
 *
 * Every message carries a flag: this rank's x is finite. If one is not, all ranks know, and the
 * step can be dropped everywhere before anything has changed. The vote costs no message of its own.
 *
 * Numbers marked dead (the same on every rank) travel outside the code, exactly and without
 * residuals, as a list of those that are not 0.                                             */
#ifndef DIZHU_LEARNER_ALGO_SQUEEZE_H
#define DIZHU_LEARNER_ALGO_SQUEEZE_H
#include "learner/codec/feedback.h"
#include "learner/comm/comm.h"

typedef struct Squeeze Squeeze;

typedef struct {
    Comm *comm;
    size_t n;      /* of the whole block */
    size_t bucket; /* buckets are this long, the last shorter; they are squeezed singly */
    Codec up, down;
    bool feedback_up, feedback_down;
    bool server; /* rank 0 owns all chunks */
    int group;   /* 0..15: told apart in tags */
    uint64_t seed;
} SqueezeConfig;

Status squeeze_new(const SqueezeConfig *c, Squeeze **out);
void squeeze_free(Squeeze *s);

/* Before a step whose means are multiplied by lr; not for momentum (feedback.h). */
void squeeze_rate(Squeeze *s, double lr);
/* mean = the squeezed mean over ranks of x, both whole blocks (which may be the same); only this
 * bucket is touched. *kept false: some rank's x was not finite, and mean did not change. Residuals
 * do not change yet. Collective. ST_MISMATCH: the ranks are not at the same step, or differ in
 * settings.                                                                                 */
Status squeeze_run(Squeeze *s, size_t bucket, uint64_t step, const Real *x, Real *mean, bool *kept);
/* After all buckets of a step: keep if all were kept, and the residuals become what was lost in it.
 * Else it is as if the step had never been.                                                 */
void squeeze_settle(Squeeze *s, bool keep);
/* Gathers all residuals, exactly, into a carry that is the same on every rank and goes into the
 * next means: residuals are 0 then. Before a checkpoint, and when ranks or codecs change.
 * Collective. */
Status squeeze_drain(Squeeze *s);
/* Messages are counted in other units from now on: residuals become factor[n] times what they are.
 */
void squeeze_rescale(Squeeze *s, const Real *factor);
/* dead[n]: borrowed, NULL for none. Who dies must have no residual. ST_NOMEM. */
Status squeeze_dead(Squeeze *s, const uint8_t *dead);

/* State, for checkpoints and metrics. */
Feedback *squeeze_worker(Squeeze *s); /* d_i: n */
Feedback *squeeze_server(Squeeze *s); /* D: this rank's chunks, one bucket's after the other */
Feedback *squeeze_carry(Squeeze *s);  /* n, the same on all ranks */
/* |v - C(v)|^2 / |v|^2 of this rank's last messages; 0 without feedback. */
double squeeze_error(const Squeeze *s);

#endif
