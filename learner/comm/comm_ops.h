/* comm_ops.h - what a transport fills in; for the transports and comm*.c only. */
#ifndef DIZHU_LEARNER_COMM_COMM_OPS_H
#define DIZHU_LEARNER_COMM_COMM_OPS_H
#include "learner/comm/comm.h"
#include <stdatomic.h>

typedef struct {
    const char *name;
    /* Takes leave and frees the transport's struct, whose first member is the Comm. */
    void (*free)(Comm *c);
    /* Starts the message that req describes. req->done may be set at once. */
    void (*send)(Comm *c, CommReq *req);
    void (*recv)(Comm *c, CommReq *req);
    /* Moves things on; returns when some request got done, when comm_woken, when the set of
     * living ranks changed, or when the time has come.                                      */
    void (*poll)(Comm *c, int64_t until_ns);
    void (*cancel)(Comm *c, CommReq *req); /* not done: forget it */
    void (*wake)(Comm *c);                 /* from any thread, after c->woken was set */
    bool (*gone)(const Comm *c, int rank); /* it took leave, or its connection is lost */
    /* Forgets collectives' messages of teams older than this one. NULL: the transport has one team.
     */
    void (*purge)(Comm *c, uint32_t epoch);
    Status (*allreduce)(Comm *c, Real *x, size_t n); /* NULL: the ring of comm_collective.c */
} CommOps;

/* Words between ranks about who lives: 16 bytes. */
typedef struct {
    uint32_t word; /* CONTROL_... */
    int32_t about;
    uint64_t epoch; /* ABORT: of the team that gives up */
} Control;
enum { CONTROL_PING = 1, CONTROL_PONG, CONTROL_ABORT };
enum { CONTROL_SLOTS = 32 };

struct Comm {
    const CommOps *ops;
    World *world;
    int rank, size;
    CommStats stats;
    int64_t timeout_ns;
    bool elastic;
    atomic_bool woken;
    bool wakeable;          // this wait ends when woken
    int failed;             // the last rank given up
    int abort_about;        // another rank told us to give up because of this one; -1
    int waits_for;          // the rank this one waits for; -1
    uint32_t aborted_epoch; // the last ABORT word's, and whom it was about
    int aborted_about;
    bool given_up[COMM_MAX_RANKS];
    int64_t heard_at[COMM_MAX_RANKS], asked_at[COMM_MAX_RANKS]; // control words; comm_probe
    int pong_from, pong_about;                                  // the last answer; -1: none
    Control control_in, control_out[CONTROL_SLOTS];
    CommReq control_req, control_sends[CONTROL_SLOTS];
    int control_next;
    int team[COMM_MAX_RANKS], team_size, team_index;
    uint32_t team_epoch, last_epoch;
    uint32_t life[COMM_MAX_RANKS], team_life[COMM_MAX_RANKS]; // comm_life
    Real *scratch;
    size_t scratch_bytes;
};

/* Fills the common part. When the transport can receive, it calls comm_control_start. */
void comm_init(Comm *c, const CommOps *ops, World *world, int rank, int size);
void comm_deinit(Comm *c);
static inline bool comm_woken(Comm *c) { return c->wakeable && atomic_load(&c->woken); }
/* At least `bytes` of memory, kept for the next time. ST_NOMEM. */
Status comm_scratch(Comm *c, size_t bytes, void **out);
/* Marks a receive done with this message, or as too long. Copies. */
void comm_req_fill(CommReq *req, int from, const void *p, size_t bytes);
/* Comm_watch.c: takes note of control words; posts the next receive. */
void comm_control(Comm *c);
void comm_control_start(Comm *c);
void comm_control_send(Comm *c, int to, uint32_t word, int about);

enum {
    COMM_TAG_CONTROL = COMM_TAG_MAX + 1,
    COMM_TAG_BARRIER,
    COMM_TAG_BROADCAST,
    COMM_TAG_GATHER,
    COMM_TAG_REDUCE,
    COMM_TAG_CHUNKS,
    COMM_TAG_DIRECT,
    COMM_TAGS_END, // the team's epoch lies above
    COMM_EPOCH_SHIFT = 25,
    COMM_EPOCHS = 128,
};

#endif
