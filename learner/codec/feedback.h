/* feedback.h - error feedback: what compression lost in one message goes into the next.
 *
 *     v = x + e;   send C(v);   e = v - C(v)
 *
 * Summed over time nothing is lost, whatever C is (Seide et al. 2014; Karimireddy et al.,
 * arXiv:1901.09847; Tang et al., DoubleSqueeze, arXiv:1905.05957). The new residual is only
 * pending until feedback_settle: a step that some rank votes down leaves e as it was.
 *
 * The residual is in units of the message. If messages are gradients and the learning rate changes
 * from a to b, e must become e a / b, so that lr * e, what the parameters still miss, stays the
 * same: feedback_rate does that.                                                            */
#ifndef DIZHU_LEARNER_CODEC_FEEDBACK_H
#define DIZHU_LEARNER_CODEC_FEEDBACK_H
#include "learner/codec/codec.h"

typedef struct {
    Real *e;       /* n residuals; NULL: no feedback, messages are coded as they are */
    Real *pending; /* n: what e becomes if the step is kept */
    size_t n;
    double rate; /* the learning rate that e belongs to; 0: none yet */
} Feedback;

/* on false: no feedback and no memory. ST_NOMEM. */
Status feedback_init(Feedback *f, size_t n, bool on);
void feedback_deinit(Feedback *f);

/* Before a step whose messages are multiplied by lr. Not to be called where no learning rate is
 * in the message's way (momentum). lr 0 changes nothing.                                    */
void feedback_rate(Feedback *f, double lr);
/* Codes x[0..n) + e[at..at+n) into out; the pending residual is v - C(v). Returns the length.
 * dead (NULL: none) marks the numbers that are left out of the code, n of them; their residual is
 * 0. spare is room for n numbers.                                                           */
size_t feedback_encode(Feedback *f, const Codec *c, const Real *x, const uint8_t *dead, size_t at,
                       size_t n, uint64_t seed, uint8_t *out, Real *spare);
/* y[i] += scale * C(x)[i] for a code that left the dead out; they stay as they are. */
Status feedback_decode_add(const Codec *c, const uint8_t *in, size_t bytes, const uint8_t *dead,
                           size_t n, uint64_t seed, Real scale, Real *y, Real *spare);
/* keep: the pending residuals at..at+n become the residuals. Else they are forgotten. */
void feedback_settle(Feedback *f, size_t at, size_t n, bool keep);
/* The residual's Euclidean norm; 0 without feedback. */
double feedback_norm(const Feedback *f);

#endif
