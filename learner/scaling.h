/* scaling.h - what training would reach on a larger machine, from what was measured on this one.
 *
 * x frames a second, on C cores with P threads at each of the three nets, keep within
 *   cores    x (act + record + u (sample + (step + (P-1) gather) / B))  <=  C
 *   steps    x u / 3B  (B sample / P + step + (P-1) gather)             <=  1    of one net
 *   inbox    x record                                                   <=  1    one thread
 *   sockets  x bytes                                                    <=  what one PULL takes
 *   memory   x (act_bytes + u step_bytes(P) / B)                        <=  C times a core's share
 * with u samples a decision, batches of B. The best P is taken, and the bound that holds x down is
 * named. Caches, clocks and bandwidth a core are taken to be as here; actors' costs contain taking
 * over new weights, whose rate is bounded, so they do not grow with the machine.            */
#ifndef DIZHU_LEARNER_SCALING_H
#define DIZHU_LEARNER_SCALING_H
#include "learner/learner_costs.h"

typedef struct {
    double act_s; /* processor seconds of an actor, a decision */
    LearnerCosts learner;
    double samples;                  /* u: samples a decision */
    int batch;                       /* B */
    double bytes;                    /* of records on the wire, a decision */
    double socket_bytes_s;           /* what one socket takes */
    double act_bytes;                /* read from memory by an actor, a decision */
    double step_bytes, thread_bytes; /* moved by a step; and by each further thread */
    double core_bytes_s;             /* memory bandwidth, a core */
} ScalingInputs;

typedef enum { BOUND_CORES, BOUND_STEPS, BOUND_INBOX, BOUND_SOCKETS, BOUND_MEMORY, N_BOUNDS } Bound;
const char *bound_name(Bound b);

typedef struct {
    double frames_s;
    Bound bound;
    int threads; /* P */
} ScalingPrediction;

ScalingPrediction scaling_predict(const ScalingInputs *in, int cores);

#endif
