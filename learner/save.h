/* save.h - the state of the nets on its way to disk and back.
 *
 * Storing 70 MB may take a second or, on a slow disk, ten: the state is copied at once and stored
 * by a thread of its own, while training, the door and the reports go on.                      */
#ifndef DIZHU_LEARNER_SAVE_H
#define DIZHU_LEARNER_SAVE_H
#include "learner/archive.h"
#include "learner/checkpoint.h"
#include "learner/config.h"
#include "learner/ranks.h"
#include "learner/step.h"

typedef struct {
    const Settings *settings;
    uint64_t run;
    NetLearner *const *nets; /* [N_ROLES] */
    Ranks *ranks;            /* NULL: this learner is alone */
    Archive *archive;        /* flushed before each checkpoint; NULL: none */
} SaverConfig;

typedef struct Saver Saver;
Status saver_new(const SaverConfig *c, Saver **out);
void saver_free(Saver *s); /* waits for what is being stored; NULL is allowed */

/* The newest checkpoint into the nets; its counters stay in *out (checkpoint_free it). *found
 * false: there is none. ST_MISMATCH: of another run, ruleset, objective, optimizer or seed. */
Status saver_resume(Saver *s, Checkpoint *out, bool *found);

/* The weights of settings->init into the nets of a new run. ST_MISMATCH: trained under another
 * ruleset or for another objective, or not of all roles; else what weights_load says.       */
Status saver_init_nets(Saver *s);
/* What became known only after saver_new. */
void saver_ranks(Saver *s, Ranks *ranks);

/* Copies the state and begins to store it: the checkpoint, then RUN/weights.safetensors (the
 * averaged weights, or the raw ones where no average is kept), with settings->snapshots also as
 * snapshots/FRAMES.safetensors. seconds: of this start. Nothing may be under way.            */
Status saver_begin(Saver *s, uint64_t frames, uint64_t games, double seconds);
bool saver_busy(const Saver *s);
/* Is what was begun done, or will it be within wait_ms? Then *st is how it ended, *frames of which
 * moment it is, and the saver is no longer busy.                                            */
bool saver_end(Saver *s, int wait_ms, uint64_t *frames, Status *st);

#endif
