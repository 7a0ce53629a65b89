/* learn.h - one learner process: sockets, inbox, crew, publication, checkpoints, put together.
 *
 * It ends at its limits (frames, minutes), when told to, or when the run folder cannot be written;
 * a last checkpoint is stored in every case that leaves it time to.                         */
#ifndef DIZHU_LEARNER_LEARN_H
#define DIZHU_LEARNER_LEARN_H
#include "learner/config.h"
#include <stdatomic.h>

typedef struct {
    const Settings *settings; /* settings->run is the run folder, made and locked */
    const char *endpoints[3]; /* control, records, weights to listen on; NULL: choose */
    int report_fd;            /* the supervisor's pipe; -1: none, a line of its own then */
    atomic_bool *stop;        /* becomes true: store a checkpoint and end */
} LearnConfig;

/* ST_OK: the limits were reached, or stop, and everything is stored. Otherwise the log says what
 * went wrong.                                                                               */
Status learn(const LearnConfig *c);

#endif
