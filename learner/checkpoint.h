/* checkpoint.h - all that a learner needs to go on, in one file that is whole or not there.
 *
 * docs/checkpoint.md has the layout. Files are RUN/checkpoints/NNNNNNNN.ckpt, numbered upwards,
 * written beside and renamed; every byte is under one checksum. Loading takes the newest that is
 * whole and of this run.                                                                    */
#ifndef DIZHU_LEARNER_CHECKPOINT_H
#define DIZHU_LEARNER_CHECKPOINT_H
#include "engine/base/status.h"
#include "nets/net.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t run;
    uint8_t ruleset, objective, optimizer;
    uint64_t seed;
    uint64_t number;        /* of this checkpoint in its run, 1 and up */
    uint64_t frames, games; /* received and accepted so far */
    uint64_t steps[N_ROLES], samples[N_ROLES];
    double seconds;          /* trained, over all starts */
    char *config;            /* text of config.txt */
    float *params[N_ROLES];  /* flat blocks */
    uint8_t *optim[N_ROLES]; /* optim_state_save, the averaged weights in it */
    size_t n_optim[N_ROLES];
    uint8_t *algo[N_ROLES]; /* algo_save: of a learner of several ranks; NULL: none */
    size_t n_algo[N_ROLES];
} Checkpoint;

void checkpoint_free(Checkpoint *c); /* what its pointers own; c itself is the caller's */

/* One file. Reading: ST_TRUNCATED, ST_CORRUPT, ST_VERSION; *out owns its blocks. The log names the
 * file and what is wrong.                                                                   */
Status checkpoint_write(const Checkpoint *c, const char *path);
Status checkpoint_read(const char *path, Checkpoint *out);

/* Stores as the run's next file and deletes all but the newest `keep`; sets c->number. On failure
 * every older file is still there.                                                          */
Status checkpoint_store(const char *run, Checkpoint *c, int keep);
/* The newest one that is whole; older ones with a warning each for those passed over. *found false:
 * there are none. ST_CORRUPT: there are some, and none is whole.                            */
Status checkpoint_newest(const char *run, Checkpoint *out, bool *found);

#endif
