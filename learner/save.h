/* save.h - the state of the nets on its way to disk and back. */
#ifndef DIZHU_LEARNER_SAVE_H
#define DIZHU_LEARNER_SAVE_H
#include "learner/checkpoint.h"
#include "learner/config.h"
#include "learner/step.h"

typedef struct {
    const Settings *settings;
    uint64_t run;
    NetLearner *const *nets; /* [N_ROLES] */
    double seconds_before;   /* trained in earlier starts */
    uint64_t samples_before[N_ROLES];
} Saver;

/* Takes the nets' state into a checkpoint (checkpoint_free it). ST_NOMEM. */
Status saver_take(const Saver *s, uint64_t frames, uint64_t games, double seconds, Checkpoint *out);
/* Stores it, and RUN/weights.safetensors: the averaged weights, or the raw ones where no average is
 * kept; with settings->snapshots also as snapshots/FRAMES.safetensors.                      */
Status saver_store(const Saver *s, Checkpoint *c);
/* The newest checkpoint into the nets. *found false: there is none. ST_MISMATCH: of another run. */
Status saver_resume(Saver *s, Checkpoint *out, bool *found);

#endif
