#include "learner/scaling.h"

#include "engine/game.h"

enum { MAX_THREADS = 64 };

const char *bound_name(Bound b) {
    static const char *const names[N_BOUNDS] = {"cores", "steps of a net", "the inbox", "sockets",
                                                "memory bandwidth"};
    return names[b];
}

/* The most frames a second with `threads` at each net, and what allows no more. */
static ScalingPrediction with_threads(const ScalingInputs *in, int cores, int threads) {
    const LearnerCosts *c = &in->learner;
    double batch = in->batch, extra = threads - 1;
    double rest = c->step_s + extra * c->gather_s; // of a step, not shared
    const double most[N_BOUNDS] = {
        [BOUND_CORES] =
            cores / (in->act_s + c->record_s + in->samples * (c->sample_s + rest / batch)),
        [BOUND_STEPS] = N_ROLES * batch / in->samples / (batch * c->sample_s / threads + rest),
        [BOUND_INBOX] = 1 / c->record_s,
        [BOUND_SOCKETS] = in->socket_bytes_s / in->bytes,
        [BOUND_MEMORY] =
            cores * in->core_bytes_s /
            (in->act_bytes + in->samples * (in->step_bytes + extra * in->thread_bytes) / batch)};
    ScalingPrediction p = {.frames_s = most[0], .threads = threads};
    for (int b = 1; b < N_BOUNDS; b++)
        if (most[b] < p.frames_s) {
            p.frames_s = most[b];
            p.bound = (Bound)b;
        }
    return p;
}

ScalingPrediction scaling_predict(const ScalingInputs *in, int cores) {
    ScalingPrediction best = with_threads(in, cores, 1);
    for (int threads = 2; threads <= MAX_THREADS && threads <= cores && threads <= in->batch;
         threads++) {
        ScalingPrediction p = with_threads(in, cores, threads);
        if (p.frames_s > best.frames_s) best = p;
    }
    return best;
}
