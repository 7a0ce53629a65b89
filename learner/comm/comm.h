/* comm.h - how the ranks of a run talk: tagged messages, and collectives made of them.
 *
 * | transport | ranks are                  | made by                        |
 * | local     | threads of this process    | comm_local_new (comm_fabric.h) |
 * | sim       | tasks on a virtual clock   | comm_sim_new   (comm_fabric.h) |
 * | mpi       | the processes of an MPI job| comm_mpi_new   (comm_mpi.h)    |
 * | zmq       | processes that come and go | comm_zmq_new   (comm_zmq.h)    |
 *
 * Only two-sided, non-blocking, tagged messages are asked of a transport; every collective is built
 * on them here once (a transport may bring a faster allreduce). Messages between two ranks with one
 * tag arrive in the order sent. Payload bytes, messages and time spent waiting are counted where
 * they pass.
 *
 * One thread owns a Comm; only comm_wake may be called from others. Nothing waits for ever: a rank
 * that neither sends nor answers for the timeout (10 s; a few more ranks' answers are asked on the
 * way, to find the one that the others wait for) is ST_PEER, and comm_failed names it. A rank that
 * computes for longer than half the timeout must call comm_progress now and then, or leave its Comm
 * to a thread of its own (learner/algo/engine.h does).                                     */
#ifndef DIZHU_LEARNER_COMM_COMM_H
#define DIZHU_LEARNER_COMM_COMM_H
#include "engine/base/status.h"
#include "learner/codec/real.h"
#include "learner/comm/world.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Comm Comm;

enum {
    COMM_ANY = -1, /* receive from whoever sends */
    COMM_MAX_RANKS = 512,
    COMM_TAG_MAX = 0xffffff, /* tags of users; those above are the collectives' */
};

typedef struct {
    uint64_t tx_bytes, rx_bytes, tx_messages, rx_messages;
    int64_t wait_ns; /* spent blocked in comm_wait and in collectives */
} CommStats;

/* A message on its way. The caller's memory, like the buffer; both must stay until it is done or
 * cancelled. Read only: done, peer (of a finished receive: who sent), got, status.          */
typedef struct CommReq {
    bool done, is_send;
    Status status; /* ST_MISMATCH: the message was longer than the buffer */
    int peer;
    uint32_t tag;
    void *buffer;
    size_t bytes, got; /* size of the buffer; length of what came */
    int64_t at;        /* the transport's: when it is done */
    struct CommReq *next;
    int slot;
} CommReq;

int comm_rank(const Comm *c);
int comm_size(const Comm *c);
World *comm_world(const Comm *c);
const char *comm_transport(const Comm *c);
void comm_free(Comm *c); /* takes leave of the others; NULL is allowed */

CommStats comm_stats(const Comm *c);
void comm_timeout(Comm *c, double seconds);
int64_t comm_timeout_ns(const Comm *c);
/* Elastic: a lost peer concerns only who waits for it, and the team it was in: the run goes on. */
void comm_elastic(Comm *c, bool on);
int comm_failed(const Comm *c);           /* the rank that the last ST_PEER was about; -1: none */
bool comm_alive(const Comm *c, int rank); /* false once it left or was given up */
/* Does it still answer? For who waits for a word that a rank may send at any time: asks now and
 * then, gives it up after the timeout's silence. To be called again until *next at the latest. */
bool comm_probe(Comm *c, int rank, int64_t *next_ns);
void comm_give_up(Comm *c, int rank); /* it counts as lost, until it speaks again */
void comm_forgive(Comm *c, int rank); /* it is back */
/* Grows when a new process takes a rank's place, and when one is back whose lost connection may
 * have cost messages. */
uint32_t comm_life(const Comm *c, int rank);
/* Goes on after an ST_PEER in a collective, with a team without the lost rank. */
void comm_recover(Comm *c);

void comm_send(Comm *c, int to, uint32_t tag, const void *p, size_t bytes, CommReq *req);
void comm_recv(Comm *c, int from, uint32_t tag, void *p, size_t bytes, CommReq *req);
/* Waits until all are done. ST_PEER: a rank is lost. ST_MISMATCH: a message did not fit, or two
 * ranks wait for one another. Requests that are not done are cancelled then.                */
Status comm_wait(Comm *c, CommReq **reqs, int n);
/* Waits until one is done, comm_wake is called or the time has come (ST_TIMEOUT for both).  */
Status comm_wait_any(Comm *c, CommReq **reqs, int n, int64_t until_ns, int *which);
/* Gives up a request. True: it had been done already. */
bool comm_cancel(Comm *c, CommReq *req);
/* Answers the others' questions whether this rank lives. */
Status comm_progress(Comm *c);
/* The same, and waits until some request gets done, comm_wake is called, or the time has come. */
Status comm_idle(Comm *c, int64_t until_ns);
/* From any thread: ends a comm_wait_any or comm_idle. */
void comm_wake(Comm *c);

/* ---- collectives: every rank of the team (all ranks, unless comm_team said otherwise) calls them
 * in the same order ---- */

/* Who takes part: n ranks in ascending order, this one included. epoch: changes with each team, so
 * that late messages of an older team are not taken for the new one's. n 0: all ranks.
 * If a member of such a team is lost, or a new process is in its place, the collective ends with
 * ST_PEER on all members, also on those that wait for somebody else.                        */
void comm_team(Comm *c, const int *ranks, int n, uint32_t epoch);
/* An epoch for the next team, above all that this rank has had or heard of. */
uint32_t comm_next_epoch(Comm *c);
uint32_t comm_last_epoch(const Comm *c);
void comm_heard_epoch(Comm *c, uint32_t epoch);
int comm_team_size(const Comm *c);
int comm_team_index(const Comm *c);
int comm_team_rank(const Comm *c, int index);

/* Chunk `index` of n numbers cut in `parts`: sizes differ by at most one, and may be 0. */
static inline size_t comm_chunk(size_t n, int parts, int index, size_t *at) {
    size_t base = n / (size_t)parts, more = n % (size_t)parts, i = (size_t)index;
    *at = i * base + (i < more ? i : more);
    return base + (i < more);
}

Status comm_barrier(Comm *c);
/* *all: true if `mine` is on every rank. One latency. */
Status comm_vote(Comm *c, bool mine, bool *all);
Status comm_broadcast(Comm *c, int root_index, void *p, size_t bytes);
/* all[index] = the block of that team member; bytes is the same everywhere. */
Status comm_allgather(Comm *c, const void *mine, size_t bytes, void *all);
/* Afterwards chunk `index` of x holds the sum on the member of that index; the rest is undefined.
 */
Status comm_reduce_scatter(Comm *c, Real *x, size_t n);
/* The reverse: everybody gets everybody's chunk. */
Status comm_gather_chunks(Comm *c, Real *x, size_t n);
/* x = the sum over the team, the same bits everywhere: the order of adding depends on n and on the
 * team only. A ring, 2 (t-1)/t n numbers sent per rank; below COMM_DIRECT_BYTES everyone sends to
 * everyone, in one latency.                                                                 */
Status comm_allreduce(Comm *c, Real *x, size_t n);
enum { COMM_DIRECT_BYTES = 16384 };

/* One message to and one from each peer (ranks, no COMM_ANY), all at once. A NULL pointer sends or
 * receives nothing. got[i] is the length that came.                                         */
typedef struct {
    int peer;
    const void *out;
    size_t out_bytes;
    void *in;
    size_t in_bytes, got;
} CommExchange;
Status comm_exchange(Comm *c, uint32_t tag, CommExchange *x, int n);
/* With one tag for what goes out and another for what comes in: question and answer. */
Status comm_exchange_tags(Comm *c, uint32_t out_tag, uint32_t in_tag, CommExchange *x, int n);

#endif
