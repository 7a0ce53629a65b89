/* learner_costs.h - what learning costs by pieces: of these a larger learner is made, and predicted
 * (scaling.h).                                                                              */
#ifndef DIZHU_LEARNER_LEARNER_COSTS_H
#define DIZHU_LEARNER_LEARNER_COSTS_H
#include "engine/base/status.h"
#include "kernels/ops.h"
#include "nets/trainer.h"

/* Processor seconds, measured with one thread. */
typedef struct {
    double sample_s; /* forward and backward, a sample */
    double step_s;   /* the rest of a step: optimizer, packing, publication */
    double gather_s; /* adding the gradient of one more thread */
    double record_s; /* a decision of a record into samples, learned from or not */
} LearnerCosts;

/* For steps of this batch. Takes about `seconds`. */
Status learner_costs(const KernelTable *k, Precision p, int batch, double seconds,
                     LearnerCosts *out);

#endif
