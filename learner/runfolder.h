/* runfolder.h - the folder of a run: config.txt, log.txt, run.txt, metrics.sqlite, checkpoints/,
 * records/, weights.safetensors. One `train` at a time owns it (a lock that dies with its owner).
 *
 * run.txt holds the run's id and the number that the next actor gets; it is replaced whole before
 * numbers are given away, so that no number, and no game, is ever given twice.                */
#ifndef DIZHU_LEARNER_RUNFOLDER_H
#define DIZHU_LEARNER_RUNFOLDER_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { RUN_PATH_BYTES = 512 };

/* Is there a run (a config.txt) in this folder? */
bool runfolder_exists(const char *run);
/* Makes the folder, its parents and subfolders, and run.txt with a new id, where they are missing.
 * ST_IO with the path and why in the log (also: not writable); ST_INVALID: the path is too long. */
Status runfolder_make(const char *run);
/* Locks the folder, waiting up to wait_s for the last owner to finish. *fd holds the lock until it
 * and its copies in children are closed. ST_MISMATCH: in use, by whom is in the log.        */
Status runfolder_lock(const char *run, double wait_s, int *fd);
/* "RUN/name"; asserts that it fits. */
void runfolder_path(const char *run, const char *name, char out[RUN_PATH_BYTES]);

Status runfolder_id(const char *run, uint64_t *id);
/* Takes n numbers for actors, *first (1 and up) and those after it: nobody gets them again, even if
 * this process dies before it has given them away.                                          */
Status runfolder_take_actors(const char *run, uint32_t n, uint32_t *first);

#endif
