/* supervise.h - `train`: a learner and its actors on this machine, kept alive, shown, evaluated.
 *
 * What dies is started again, after ever longer waits; what dies at once five times in a row ends
 * the run with its last words. An actor that the learner has not heard of for 8 s, and a learner
 * that has not reported for 9 s, count as blocked: killed, and started again.               */
#ifndef DIZHU_LEARNER_SUPERVISE_H
#define DIZHU_LEARNER_SUPERVISE_H
#include "learner/config.h"
#include <stdatomic.h>

/* The run folder is made and locked (lock_fd, which the learner inherits, so that nobody else takes
 * the folder before it has stored its last checkpoint). Returns the exit code.               */
int supervise(const Settings *s, int lock_fd, atomic_bool *stop);

#endif
