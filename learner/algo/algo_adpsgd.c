/* adpsgd: asynchronous decentralised SGD. Pairs of ranks average their models while all compute.
 *
 * Ranks form a bipartite graph: odd ranks are active, they start swaps, even ranks are passive,
 * they answer. So nobody can wait in a circle. A swap has two phases:
 *
 *     active:  OFFER id, C(a)  ---------->           a, b: the models as they are now
 *              <---------- ACCEPT id, C(b)  :passive, which answers no other offer until it hears
 *     active:  z += (C(b) - C(a)) / 2;  COMMIT id --> passive: z += (C(a) - C(b)) / 2
 *
 * What is added is a difference, so gradients applied in between are kept, and the sum over ranks
 * does not change whatever the codec loses. If a rank is lost before the commit, neither side has
 * changed. One is taken for lost that does not answer for the Comm's timeout; its edge is dropped
 * until it speaks again.
 * Source: Lian et al., AD-PSGD, arXiv:1710.06952.                                           */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/algo/background.h"

enum { TAG_OFFER = 0x400000, TAG_ANSWER = 0x410000, TAG_COMMIT = 0x420000, TAG_QUIET = 0x430000 };
enum { HEAD = 16 }; // u64 id, u64 length of the code

typedef struct {
    Algo algo;
    Background back;
    TopologyRow row;
    bool active;
    Rng rng;
    uint64_t id;
    int64_t due, began; // when the next swap may start; when this one did
    int peer;           // of the swap that is under way; -1: none
    size_t message;
    uint8_t *out, *in;
    size_t out_bytes;
    Real *change;
    CommReq sending, waiting, offer; // our message; the answer or commit; passive: an offer
    bool offered, sent_out;          // `offer` is posted; `sending` was used
    uint8_t commit[HEAD], quiet_in[8], quiet_out[TOPOLOGY_MAX];
    CommReq commit_sending, quiet_req, quiet_sending[TOPOLOGY_MAX];
    bool quiet_from[TOPOLOGY_MAX]; // by neighbour
    bool told;                     // active: the neighbours know that we pause
} Adpsgd;

static uint32_t tag(const Adpsgd *s, uint32_t kind) { return kind | (uint32_t)s->algo.c.group; }

static void put_head(uint8_t *p, uint64_t id, size_t code) {
    put_u64(p, id);
    put_u64(p + 8, code);
}

// The model as it is now, coded, into s->out.
static void take_model(Adpsgd *s, uint64_t id) {
    Algo *a = &s->algo;
    gate_lock(s->back.gate);
    size_t code = codec_encode(&a->c.up, s->back.z, a->c.n, id, s->out + HEAD);
    gate_unlock(s->back.gate);
    put_head(s->out, id, code);
    s->out_bytes = HEAD + code;
}

// z += (theirs - ours) / 2, as both sides decode them.
static Status average(Adpsgd *s, uint64_t id, const uint8_t *in, size_t in_bytes) {
    Algo *a = &s->algo;
    memset(s->change, 0, a->c.n * sizeof *s->change);
    TRY(codec_decode_add(&a->c.up, in + HEAD, in_bytes - HEAD, a->c.n, id, (Real).5, s->change));
    TRY(codec_decode_add(&a->c.up, s->out + HEAD, s->out_bytes - HEAD, a->c.n, id, (Real)-.5,
                         s->change));
    background_change(&s->back, a, s->change);
    return ST_OK;
}

// The peer is gone or mute: as if the swap had never begun.
static void abandon_swap(Adpsgd *s) {
    comm_give_up(s->algo.comm, s->peer);
    comm_cancel(s->algo.comm, &s->waiting);
    if (s->sent_out) comm_cancel(s->algo.comm, &s->sending);
    s->peer = -1;
}

static bool lost(Adpsgd *s, int64_t now, int64_t patience) {
    return !comm_alive(s->algo.comm, s->peer) || now - s->began > patience;
}

static bool sending_done(const Adpsgd *s) {
    return (!s->sent_out || s->sending.done) && s->commit_sending.done;
}

static int pick_neighbour(Adpsgd *s) {
    int alive[TOPOLOGY_MAX], n = 0;
    for (int k = 0; k < s->row.n; k++)
        if (comm_alive(s->algo.comm, s->row.peer[k])) alive[n++] = s->row.peer[k];
    return n > 0 ? alive[rng_below(&s->rng, (uint32_t)n)] : -1;
}

static void start_swap(Adpsgd *s, int64_t now) {
    int peer = pick_neighbour(s);
    double period = s->algo.c.period_s;
    s->due = now + (int64_t)(period * 1e9);
    if (peer < 0) return;
    s->peer = peer;
    s->began = now;
    take_model(s, ++s->id << 16 | (uint64_t)s->algo.rank);
    comm_recv(s->algo.comm, peer, tag(s, TAG_ANSWER), s->in, s->message, &s->waiting);
    comm_send(s->algo.comm, peer, tag(s, TAG_OFFER), s->out, s->out_bytes, &s->sending);
    s->sent_out = true;
}

static Status take_answer(Adpsgd *s) {
    uint64_t id = get_u64(s->out);
    if (s->waiting.status != ST_OK || s->waiting.got < HEAD) return ST_CORRUPT;
    if (get_u64(s->in) != id) { // of an older swap that we had given up
        comm_recv(s->algo.comm, s->peer, tag(s, TAG_ANSWER), s->in, s->message, &s->waiting);
        return ST_OK;
    }
    int peer = s->peer;
    TRY(average(s, id, s->in, s->waiting.got));
    s->peer = -1;
    put_head(s->commit, id, 0);
    comm_send(s->algo.comm, peer, tag(s, TAG_COMMIT), s->commit, HEAD, &s->commit_sending);
    return ST_OK;
}

static void tell_quiet(Adpsgd *s) {
    for (int k = 0; k < s->row.n; k++)
        if (comm_alive(s->algo.comm, s->row.peer[k]))
            comm_send(s->algo.comm, s->row.peer[k], tag(s, TAG_QUIET), &s->quiet_out[k], 1,
                      &s->quiet_sending[k]);
    s->told = true;
}

static bool told_all(const Adpsgd *s) {
    for (int k = 0; k < s->row.n; k++)
        if (!s->quiet_sending[k].done) return false;
    return true;
}

static Status active_service(Adpsgd *s, bool pausing, bool *quiet, int64_t *next) {
    int64_t now = world_now_ns(s->algo.world), patience = comm_timeout_ns(s->algo.comm);
    if (s->peer >= 0 && s->waiting.done) TRY(take_answer(s));
    if (s->peer >= 0 && lost(s, now, patience)) abandon_swap(s);
    if (s->peer >= 0) {
        *next = s->began + patience + 1;
    } else if (!sending_done(s)) {
        return ST_OK; // comes again when it is
    } else if (pausing) {
        if (!s->told) tell_quiet(s);
        *quiet = told_all(s);
    } else {
        s->told = false;
        if (now >= s->due) start_swap(s, now);
        *next = s->peer >= 0 ? s->began + patience + 1 : s->due;
        if (*next <= now) *next = now + 1000000; // no neighbour lives: look again
    }
    return ST_OK;
}

static void post_offer(Adpsgd *s) {
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_OFFER), s->in, s->message, &s->offer);
    s->offered = true;
}

static void wait_for_commit(Adpsgd *s) {
    comm_recv(s->algo.comm, s->peer, tag(s, TAG_COMMIT), s->commit, HEAD, &s->waiting);
}

// Answers an offer, and from then on waits for its commit.
static void accept(Adpsgd *s, int64_t now) {
    s->offered = false;
    if (s->offer.status != ST_OK || s->offer.got < HEAD) return;
    s->peer = s->offer.peer;
    s->began = now;
    comm_forgive(s->algo.comm, s->peer);
    take_model(s, get_u64(s->in));
    wait_for_commit(s);
    comm_send(s->algo.comm, s->peer, tag(s, TAG_ANSWER), s->out, s->out_bytes, &s->sending);
    s->sent_out = true;
}

static void note_quiet(Adpsgd *s) {
    while (s->quiet_req.done) {
        for (int k = 0; k < s->row.n; k++)
            if (s->row.peer[k] == s->quiet_req.peer) s->quiet_from[k] = true;
        comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_QUIET), s->quiet_in, 1, &s->quiet_req);
    }
}

static bool all_quiet(Adpsgd *s, int64_t *next) {
    bool all = true;
    for (int k = 0; k < s->row.n; k++)
        if (!s->quiet_from[k] && comm_probe(s->algo.comm, s->row.peer[k], next)) all = false;
    return all;
}

static Status take_commit(Adpsgd *s) {
    if (s->waiting.got != HEAD || get_u64(s->commit) != get_u64(s->out)) {
        wait_for_commit(s); // that was an older swap's, given up here
        return ST_OK;
    }
    TRY(average(s, get_u64(s->out), s->in, s->offer.got));
    s->peer = -1;
    return ST_OK;
}

static Status passive_service(Adpsgd *s, bool pausing, bool *quiet, int64_t *next) {
    int64_t now = world_now_ns(s->algo.world), patience = 2 * comm_timeout_ns(s->algo.comm);
    note_quiet(s);
    for (bool again = true; again;) {
        again = false;
        if (s->peer >= 0 && s->waiting.done) TRY(take_commit(s));
        if (s->peer >= 0 && lost(s, now, patience)) abandon_swap(s);
        if (s->peer < 0 && !s->offered && sending_done(s)) post_offer(s);
        if (s->offered && s->offer.done) {
            accept(s, now);
            again = true;
        }
    }
    *quiet = pausing && all_quiet(s, next) && s->peer < 0 && sending_done(s);
    if (s->peer >= 0 && s->began + patience < *next) *next = s->began + patience + 1;
    return ST_OK;
}

static Status service(void *ctx, int64_t *next) {
    Adpsgd *s = ctx;
    bool quiet = false;
    gate_lock(s->back.gate);
    bool pausing = s->back.pausing;
    gate_unlock(s->back.gate);
    background_serve(&s->back, &s->algo);
    TRY(s->active ? active_service(s, pausing, &quiet, next)
                  : passive_service(s, pausing, &quiet, next));
    if (!pausing || !quiet) return ST_OK;
    gate_lock(s->back.gate);
    s->back.quiet = true;
    gate_wake(s->back.gate);
    gate_unlock(s->back.gate);
    return ST_OK;
}

static Status post_first(void *ctx, int arg) {
    (void)arg;
    Adpsgd *s = ctx;
    if (s->active) return ST_OK;
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_QUIET), s->quiet_in, 1, &s->quiet_req);
    post_offer(s);
    return ST_OK;
}

static Status start(Algo *a) {
    Adpsgd *s = (Adpsgd *)a;
    s->peer = -1;
    s->waiting.done = s->commit_sending.done = true;
    for (int k = 0; k < TOPOLOGY_MAX; k++) s->quiet_sending[k].done = true;
    if (a->c.topology.n != a->ranks) {
        log_error("adpsgd: a topology of %d ranks for a run of %d", a->c.topology.n, a->ranks);
        return ST_INVALID;
    }
    TRY(topology_check(&a->c.topology, "adpsgd",
                       TOPOLOGY_MEAN | TOPOLOGY_STATIC | TOPOLOGY_TWO_SIDED, -1));
    topology_row(&a->c.topology, a->rank, 0, &s->row);
    s->active = a->rank % 2 == 1;
    rng_init(&s->rng, a->c.seed, (uint64_t)a->rank << 8 | (uint64_t)a->c.group);
    s->message = HEAD + codec_bound(&a->c.up, a->c.n);
    s->out = malloc(s->message);
    s->in = malloc(s->message);
    s->change = malloc((a->c.n + 1) * sizeof *s->change);
    if (!s->out || !s->in || !s->change) return ST_NOMEM;
    TRY(engine_call(a->c.engine, "post", post_first, s, 0));
    return background_start(&s->back, a, service);
}

static Status cancel_all(void *ctx, int arg) {
    (void)arg;
    Adpsgd *s = ctx;
    if (s->active) return ST_OK;
    comm_cancel(s->algo.comm, &s->quiet_req);
    if (s->offered) comm_cancel(s->algo.comm, &s->offer);
    return ST_OK;
}

static void stop(Algo *a) {
    Adpsgd *s = (Adpsgd *)a;
    if (s->back.z) {
        (void)background_pause(&s->back, a);
        engine_unserve(a->c.engine, a);
        (void)engine_call(a->c.engine, "cancel", cancel_all, s, 0);
    }
    background_stop(&s->back, a);
    free(s->out);
    free(s->in);
    free(s->change);
}

static Status before_forward(Algo *a) {
    background_read(&((Adpsgd *)a)->back, a);
    return ST_OK;
}

static Status after_backward(Algo *a) { return background_apply(&((Adpsgd *)a)->back, a); }

/* Nobody is quiet for the next time before all have forgotten this one. */
static Status resume(void *ctx, int arg) {
    (void)arg;
    Adpsgd *s = ctx;
    memset(s->quiet_from, 0, sizeof s->quiet_from);
    s->told = false;
    background_resume(&s->back);
    return comm_barrier(s->algo.comm);
}

static Status flush(Algo *a) { return background_mean(&((Adpsgd *)a)->back, a, resume); }

static void stats(Algo *a, AlgoStats *out) { background_stats(&((Adpsgd *)a)->back, a, out); }

static void loaded(Algo *a) { background_loaded(&((Adpsgd *)a)->back, a); }

static void defaults(AlgoConfig *c) { c->period_s = .01; }

const AlgoOps algo_adpsgd = {.name = "adpsgd",
                             .help = "AD-PSGD: pairs average at any time, slow ranks slow nobody",
                             .size = sizeof(Adpsgd),
                             .elastic = true,
                             .defaults = defaults,
                             .start = start,
                             .stop = stop,
                             .before_forward = before_forward,
                             .after_backward = after_backward,
                             .flush = flush,
                             .stats = stats,
                             .loaded = loaded};
