/* comm_zmq.h - ranks that are processes anywhere, encrypted, that may come and go.
 *
 * Rank 0 is the founder: it listens on a known endpoint, gives newcomers their rank and tells all
 * who is there. Everyone then speaks to everyone directly. A rank that dies is noticed when its
 * connection breaks; a new process may take its place. If the founder dies the others go on, nobody
 * can join until a new process founds again on the same endpoint; the others then report to it.
 *
 * All of a run hold one CURVE key pair: traffic is encrypted both ways and only who has the pair is
 * let in. Connections retry by themselves; messages are copied once and queued.             */
#ifndef DIZHU_LEARNER_COMM_COMM_ZMQ_H
#define DIZHU_LEARNER_COMM_COMM_ZMQ_H
#include "learner/comm/comm.h"

typedef struct {
    const char *public_key, *secret_key; /* Z85, 40 characters each */
    const char *founder;                 /* "tcp://HOST:PORT": rank 0 binds it, others connect */
    const char *listen;                  /* others: "tcp://HOST:*", as the rest can reach it */
    int size;                            /* places for ranks: the comm_size of all */
    int rank;                            /* 0: the founder; -1: any place that is free */
    int wait_for;                        /* come back when so many ranks are there, 1 to size */
    double wait_s;                       /* and no later than this: ST_TIMEOUT */
} ZmqConfig;

/* The world must be real. ST_INVALID: no such endpoint, or keys that are none; ST_PEER: refused
 * (the place is taken, or all are).                                                              */
Status comm_zmq_new(World *w, const ZmqConfig *config, Comm **out);

#endif
