/* optim.h - from a gradient to new parameters: RMSprop or Adam on one flat block.
 *
 * One step: the gradient's norm is clipped, the learning rate taken from the schedule, the update
 * made, the moving average of the parameters moved. Knows nothing of layers. The arithmetic is in
 * kernels/ops.h. RMSprop is PyTorch's (eps outside the root, no momentum), and its defaults here
 * are those of Zha et al., DouZero, ICML 2021. Adam: Kingma and Ba, arXiv:1412.6980; with decay > 0
 * it is AdamW, arXiv:1711.05101.                                                            */
#ifndef DIZHU_LEARNER_OPTIM_H
#define DIZHU_LEARNER_OPTIM_H
#include "engine/base/status.h"
#include "kernels/ops.h"
#include <stddef.h>
#include <stdint.h>

typedef enum { OPTIM_RMSPROP, OPTIM_ADAM, N_OPTIMS } OptimKind;
const char *optim_name(OptimKind k);
int optim_find(const char *name); /* -1: unknown */

typedef enum { SCHEDULE_CONSTANT, SCHEDULE_COSINE, SCHEDULE_SQRT, N_SCHEDULES } Schedule;
const char *schedule_name(Schedule s);
int schedule_find(const char *name); /* -1: unknown */

typedef struct {
    OptimKind kind;
    double lr;           /* 1e-4 */
    double alpha;        /* RMSprop: smoothing of the squares, 0.99 */
    double beta1, beta2; /* Adam: 0.9, 0.999 */
    double eps;          /* added to the root: RMSprop 1e-5, Adam 1e-8 */
    double decay;        /* Adam: decoupled weight decay, 0 */
    double clip;         /* largest gradient norm, 40; 0: no clipping */
    double ema;          /* w_ema += (1 - d) (w - w_ema) after each step, with d = ema, or less at
                            first: (1 + t) / (10 + t) after t steps; 0: no average kept */
    Schedule schedule;
    uint64_t warmup; /* steps over which lr rises from nothing; 0: none */
    /* cosine: lr falls to lr_end from step decay_from to step decay_to. sqrt: after decay_from as
     * lr sqrt(decay_from / step), never below lr_end: needs no end to be known. */
    uint64_t decay_from, decay_to;
    double lr_end;
} OptimConfig;

OptimConfig optim_defaults(OptimKind kind);
/* ST_INVALID and one line in the log: a value out of range. */
Status optim_check(const OptimConfig *c);
/* The learning rate of the step-th step, counted from 0. */
double optim_lr(const OptimConfig *c, uint64_t step);

typedef struct Optim Optim;
/* State for n parameters, all allocated here. ST_INVALID as optim_check; ST_NOMEM. */
Status optim_new(const OptimConfig *c, size_t n, const KernelTable *k, Optim **out);
void optim_free(Optim *o);

/* One step. *norm, if given, becomes the gradient's norm before clipping. ST_CORRUPT: the norm is
 * not finite; params and state are unchanged then. Allocates nothing.                       */
Status optim_step(Optim *o, float *params, const float *grads, double *norm);
/* The same at a learning rate that somebody else keeps the schedule of. */
Status optim_step_at(Optim *o, float *params, const float *grads, double lr, double *norm);
/* A step that was made elsewhere, without this state: it is counted, and the average moved. before:
 * the parameters it began with, needed if no step was made yet.                               */
void optim_follow(Optim *o, const float *before, const float *params);
uint64_t optim_steps(const Optim *o); /* steps made, over all resumptions */
/* The averaged parameters; NULL if none are kept or no step was made yet. */
const float *optim_ema(const Optim *o);
/* A setting may change between steps (not kind, nor whether an average is kept). */
Status optim_configure(Optim *o, const OptimConfig *c);

/* The state as bytes, for a checkpoint (which has its own checksum): "DZO1", u32 kind, u64 n,
 * u64 steps, u32 number of blocks, u32 zero, then each block of n fp32, little-endian: squares,
 * Adam's means, averaged parameters. Loading: ST_TRUNCATED, ST_CORRUPT (no such state, a value that
 * cannot be), ST_MISMATCH (of another kind or size); the state is unchanged then.           */
size_t optim_state_bytes(const Optim *o);
void optim_state_save(const Optim *o, uint8_t *out);
Status optim_state_load(Optim *o, const uint8_t *p, size_t n);

#endif
