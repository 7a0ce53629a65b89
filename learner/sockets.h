/* sockets.h - the learner's three sockets: where it is asked, where games come in, where weights
 * are published; on this machine, or for other hosts too, then encrypted with the run's keys.   */
#ifndef DIZHU_LEARNER_SOCKETS_H
#define DIZHU_LEARNER_SOCKETS_H
#include "engine/base/link.h"
#include "learner/learn.h"

typedef struct {
    LinkContext *context;
    Link *control, *pull, *pub;
} Sockets;

/* *out is all NULL before, and is closed by the caller whatever is returned. ST_INVALID: --listen
 * is no endpoint; else as link_open. */
Status sockets_open(const LearnConfig *c, Sockets *out);
void sockets_close(Sockets *s);

#endif
