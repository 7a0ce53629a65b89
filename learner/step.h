/* step.h - the three nets in training: a batch becomes a gradient becomes new weights.
 *
 * A NetLearner owns one role's parameters, optimizer state and trainers; its batch may be split
 * over several threads, whose gradients are summed in a fixed order (the same split gives the same
 * bits). The Crew is the worker threads: each waits for a full batch of a role nobody else is at,
 * makes the step, hands the new weights to `publish`. The three nets never wait for one another. */
#ifndef DIZHU_LEARNER_STEP_H
#define DIZHU_LEARNER_STEP_H
#include "kernels/ops.h"
#include "learner/algo/algo.h"
#include "learner/buffers.h"
#include "learner/machine.h"
#include "learner/optim.h"
#include "nets/trainer.h"

enum { NETLEARNER_MAX_PARTS = 64 };
typedef struct NetLearner NetLearner;

typedef struct {
    Role role;
    uint64_t seed;    /* of the first weights */
    int batch, parts; /* samples per step; threads they are split over */
    Precision precision;
    OptimConfig optim;
    bool placed; /* its threads keep to these hardware threads: */
    cpu_set_t cpus;
} NetLearnerConfig;

/* Totals since this process started, besides steps. */
typedef struct {
    uint64_t steps; /* of the run */
    uint64_t samples;
    double loss_sum;                    /* of every sample's squared error */
    double norm_sum;                    /* gradient norms, one per step of this process */
    uint64_t norm_steps, refused_steps; /* refused: the gradient was not finite */
    double busy_s;                      /* processor time, all threads */
} NetLearnerState;

Status netlearner_new(const NetLearnerConfig *c, const KernelTable *k, NetLearner **out);
void netlearner_free(NetLearner *n);

/* ---- one learner of several: an Algo exchanges the gradient (learner/algo/algo.h) ---- */

/* What an Algo works on: x, its own parameters (those that are published follow after each step),
 * and the gradient; and the run's optimizer as its Rule. Borrowed; of n_params floats.        */
typedef struct {
    float *x, *g;
    size_t n;
    Rule rule;
} NetBlock;
/* ST_NOMEM. Before the first step, after netlearner_load or _set. */
Status netlearner_block(NetLearner *n, NetBlock *out);
/* From now on `algo`, made on the block, exchanges; NULL: no longer. steps: made so far, which the
 * learning rate follows from. timeline may be NULL.                                          */
void netlearner_join(NetLearner *n, Algo *algo, uint64_t steps, Timeline *timeline);
/* A step in two halves, between which other nets may be computed on: the exchange goes on
 * meanwhile. batch NULL: there is none, this rank's gradient is 0. Errors are the Algo's. */
Status netlearner_begin(NetLearner *n, const Sample *batch);
Status netlearner_end(NetLearner *n);
/* x was changed between steps (a flush): the published parameters follow. */
void netlearner_follow(NetLearner *n);
/* The optimizer's state of another rank. As netlearner_load; x is left alone. */
Status netlearner_adopt(NetLearner *n, const uint8_t *optim, size_t n_optim);

/* The calling thread will lead the steps of this net alone: it goes where its threads are. */
void netlearner_place(const NetLearner *n);
/* One step on batch[config.batch]; one thread at a time. With parts > 1 the calling thread does the
 * first part and threads of its own the others.                                             */
Status netlearner_step(NetLearner *n, const Sample *batch); /* alone: always ST_OK */
void netlearner_state(NetLearner *n, NetLearnerState *out);

/* Copies of what a step changes, consistent with one another; may run beside steps. n_params floats
 * each; ema: the parameters themselves if no average is kept (yet).                         */
uint64_t netlearner_copy_params(NetLearner *n, float *params); /* returns the steps they are of */
uint64_t netlearner_copy_ema(NetLearner *n, float *ema);
/* For checkpoints: parameters and the optimizer's state bytes in one consistent copy. */
size_t netlearner_optim_bytes(const NetLearner *n);
uint64_t netlearner_save(NetLearner *n, float *params, uint8_t *optim); /* returns the steps */
/* New parameters, and an optimizer that has seen nothing: before the first step only. */
void netlearner_set(NetLearner *n, const float *params);
/* ST_MISMATCH, ST_CORRUPT as optim_state_load; nothing is changed then. */
Status netlearner_load(NetLearner *n, const float *params, const uint8_t *optim, size_t n_optim);

/* Called after every step by the thread that made it, the role still in its hands. */
typedef void (*StepDone)(void *ctx, NetLearner *net, Role role, uint64_t steps);

typedef struct Crew Crew;
/* Starts `threads` workers over nets[N_ROLES] and buffers (borrowed). A step that fails ends its
 * worker, and closes the buffers for all.                                                   */
Status crew_start(int threads, int batch, NetLearner *const nets[N_ROLES], Buffers *buffers,
                  StepDone done, void *ctx, Crew **out);
/* How many threads each role's batch is split over when there are this many workers. */
int crew_parts(int threads, Role role);
Status crew_status(Crew *c); /* why a worker ended; ST_OK: none has failed */
/* Waits for the workers to end: close the buffers first. NULL is allowed. */
void crew_join(Crew *c);

#endif
