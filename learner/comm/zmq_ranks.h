/* zmq_ranks.h - who is where on the zmq transport: sockets to the other ranks, and the words by
 * which ranks come to know one another. For comm_zmq.c and zmq_ranks.c only.
 *
 * Everyone has one ROUTER on which all messages come in, and one DEALER to each other rank on which
 * its own go out. A message is one ZeroMQ message: a header of 24 bytes and the payload.
 *
 *   0 u32 magic   4 u16 kind   6 u16 sender   8 u32 sender's incarnation   12 u32 receiver's
 *  16 u32 tag    20 u32 zero
 *
 * An incarnation is the number of a process in a rank's place, given by the founder and growing:
 * what was sent to or by an older one is thrown away.                                            */
#ifndef DIZHU_LEARNER_COMM_ZMQ_RANKS_H
#define DIZHU_LEARNER_COMM_ZMQ_RANKS_H
#include "learner/comm/comm_ops.h"
#include "learner/comm/match.h"
#include "learner/comm/zmq_guard.h"

enum { HEAD = 24, ENDPOINT = 128, NOBODY = 0xffff };
#define MAGIC 0x505a4431u /* "1DZP" */
enum { KIND_DATA = 1, KIND_JOIN, KIND_WELCOME, KIND_MEMBER, KIND_BYE };

typedef struct {
    void *dealer, *monitor;
    char endpoint[ENDPOINT];
    uint32_t incarnation;
    bool joined; // it is in the table, and has not fallen silent since
    bool broken; // no connection: what is sent to it is lost
} Peer;

typedef struct {
    Comm comm;
    void *context, *router;
    ZmqGuard *guard;
    int wake_fd, places;
    char public_key[41], secret_key[41], endpoint[ENDPOINT];
    Matchbox mail;
    CommReq *unsent; // waiting for room in a queue
    Peer *peer;      // [places]
    uint32_t incarnation, last_incarnation;
    int rank;     // -1 until welcomed
    bool changed; // the set of living ranks
} ZmqComm;

/* With this run's keys and limits; server: others connect to it. NULL: it cannot be had. */
void *zmq_ranks_socket(ZmqComm *z, int type, bool server);
/* Opens the way to a rank, in place of an older one. */
Status zmq_ranks_connect(ZmqComm *z, int rank, const char *endpoint, uint32_t incarnation);
void zmq_ranks_disconnect(Peer *p);
/* Sends a message; false: the queue is full. To a rank without a connection: as lost on the way. */
bool zmq_ranks_put(ZmqComm *z, int to, int kind, uint32_t tag, const void *p, size_t n);
/* Tells a rank who we are. */
void zmq_ranks_introduce(ZmqComm *z, int to);
/* A row of the table of ranks came; returns its length, 0 if it is none. */
size_t zmq_ranks_member(ZmqComm *z, const uint8_t *p, size_t n);
/* Founder: gives a newcomer its rank, tells it who is there, and those that it is. */
void zmq_ranks_welcome(ZmqComm *z, const uint8_t *p, size_t n);
/* Newcomer: that came. */
void zmq_ranks_welcomed(ZmqComm *z, const uint8_t *p, size_t n);

#endif
