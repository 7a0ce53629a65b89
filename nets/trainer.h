/* trainer.h - loss and gradient of one role's net over a batch: the learner's hot path.
 *
 * loss = (1/n) sum w_i (q_i - target_i)^2. The gradient is one flat block in net_layout order, the
 * only thing that codecs, exchanges and optimizers see. Threads: one Trainer per thread on its own
 * part of the batch (gradients are then summed), or one per role.                          */
#ifndef DIZHU_NETS_TRAINER_H
#define DIZHU_NETS_TRAINER_H
#include "engine/base/status.h"
#include "kernels/ops.h"
#include "nets/scorer.h"

typedef struct {
    Obs obs;
    Hand action;
    float target;
    float weight;   /* 1 normally */
} Sample;

typedef struct Trainer Trainer;
/* Room for max_batch samples of one role; precision fp32 or bf16 (products in bf16, master weights,
 * sums and everything else in fp32). Everything is allocated here.                         */
Status trainer_new(Role role, Precision p, const KernelTable *k, int max_batch, Trainer **out);
void trainer_free(Trainer *t);

/* Takes new parameters (packs them). Call after every optimizer step. */
void trainer_set(Trainer *t, const float *params);

/* A slice of the gradient is final: called from trainer_step in the order in which backward
 * finishes the layers (dense6 first, the LSTM last), so that an exchange can overlap.      */
typedef void (*GradientReady)(void *ctx, size_t offset, size_t n);

/* Overwrites grad with the gradient of the SUM of w_i (q_i - target_i)^2 divided by `divisor`;
 * returns the sum of the squared errors divided by it. ready may be NULL.                  */
double trainer_step(Trainer *t, int n, const Sample *samples, double divisor, float *grad,
                    GradientReady ready, void *ctx);

#endif
