/* Messages: starting them, counting them, waiting for them. Who is to blame for a long wait is
 * found in comm_watch.c. */
#include "learner/comm/comm.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/comm/comm_ops.h"
#include "learner/comm/comm_watch.h"

void comm_init(Comm *c, const CommOps *ops, World *world, int rank, int size) {
    assert(size >= 1 && size <= COMM_MAX_RANKS && rank >= 0 && rank < size);
    c->ops = ops;
    c->world = world;
    c->rank = rank;
    c->size = size;
    c->timeout_ns = 10000000000;
    c->failed = c->abort_about = c->waits_for = c->pong_from = -1;
    for (int i = 0; i < CONTROL_SLOTS; i++) c->control_sends[i].done = true;
    comm_team(c, NULL, 0, 0);
}

void comm_deinit(Comm *c) { free(c->scratch); }

void comm_free(Comm *c) {
    if (c) c->ops->free(c);
}

int comm_rank(const Comm *c) { return c->rank; }
int comm_size(const Comm *c) { return c->size; }
World *comm_world(const Comm *c) { return c->world; }
const char *comm_transport(const Comm *c) { return c->ops->name; }
CommStats comm_stats(const Comm *c) { return c->stats; }
void comm_timeout(Comm *c, double seconds) { c->timeout_ns = (int64_t)(seconds * 1e9); }
void comm_elastic(Comm *c, bool on) { c->elastic = on; }
int64_t comm_timeout_ns(const Comm *c) { return c->timeout_ns; }
int comm_failed(const Comm *c) { return c->failed; }
void comm_forgive(Comm *c, int rank) { c->given_up[rank] = false; }
uint32_t comm_life(const Comm *c, int rank) { return c->life[rank]; }

void comm_give_up(Comm *c, int rank) {
    if (!c->given_up[rank]) log_warn("rank %d goes on without rank %d", c->rank, rank);
    c->given_up[rank] = true;
}

void comm_recover(Comm *c) { c->abort_about = -1; }

bool comm_alive(const Comm *c, int rank) {
    return rank == c->rank || (!c->given_up[rank] && !c->ops->gone(c, rank));
}

Status comm_scratch(Comm *c, size_t bytes, void **out) {
    if (bytes > c->scratch_bytes) {
        void *more = realloc(c->scratch, bytes);
        if (!more) return ST_NOMEM;
        c->scratch = more;
        c->scratch_bytes = bytes;
    }
    *out = c->scratch;
    return ST_OK;
}

void comm_req_fill(CommReq *req, int from, const void *p, size_t bytes) {
    req->peer = from;
    req->got = bytes;
    if (bytes > req->bytes) req->status = ST_MISMATCH;
    else if (bytes > 0) memcpy(req->buffer, p, bytes);
    req->done = true;
}

void comm_send(Comm *c, int to, uint32_t tag, const void *p, size_t bytes, CommReq *req) {
    assert(to >= 0 && to < c->size);
    *req = (CommReq){.is_send = true, .peer = to, .tag = tag, .buffer = (void *)p, .bytes = bytes};
    if (tag != COMM_TAG_CONTROL) {
        c->stats.tx_bytes += bytes;
        c->stats.tx_messages++;
    }
    c->ops->send(c, req);
}

void comm_recv(Comm *c, int from, uint32_t tag, void *p, size_t bytes, CommReq *req) {
    assert(from >= COMM_ANY && from < c->size);
    *req = (CommReq){.peer = from, .tag = tag, .buffer = p, .bytes = bytes};
    c->ops->recv(c, req);
}

bool comm_cancel(Comm *c, CommReq *req) {
    if (req->done) return true;
    c->ops->cancel(c, req);
    req->done = true;
    req->status = ST_INTERRUPTED;
    return false;
}

static void count(Comm *c, const CommReq *req) {
    if (req->is_send || req->status != ST_OK) return;
    c->stats.rx_bytes += req->got;
    c->stats.rx_messages++;
}

static int first_open(CommReq **reqs, int n, int from) {
    while (from < n && reqs[from]->done) from++;
    return from;
}

Status comm_wait(Comm *c, CommReq **reqs, int n) {
    int64_t start = world_now_ns(c->world);
    Status st = ST_OK;
    Watch watch;
    watch_start(&watch, start);
    for (int i = first_open(reqs, n, 0); i < n && st == ST_OK; i = first_open(reqs, n, i)) {
        c->waits_for = reqs[i]->peer;
        if ((st = watch_look(&watch, c, reqs[i])) != ST_OK) break;
        c->ops->poll(c, watch_next(&watch, c));
        comm_control(c);
        if (reqs[i]->done) watch_start(&watch, world_now_ns(c->world)); // it came: begin anew
    }
    c->waits_for = -1;
    for (int i = 0; i < n; i++) {
        if (!comm_cancel(c, reqs[i])) continue;
        count(c, reqs[i]);
        if (st == ST_OK) st = reqs[i]->status;
    }
    c->stats.wait_ns += world_now_ns(c->world) - start;
    return st;
}

Status comm_wait_any(Comm *c, CommReq **reqs, int n, int64_t until_ns, int *which) {
    int64_t start = world_now_ns(c->world);
    Status st = ST_TIMEOUT;
    for (;;) {
        int i = 0;
        while (i < n && !reqs[i]->done) i++;
        if (i < n) {
            count(c, reqs[i]);
            *which = i;
            st = reqs[i]->status;
            break;
        }
        if (atomic_exchange(&c->woken, false) || world_now_ns(c->world) >= until_ns) break;
        c->wakeable = true;
        c->ops->poll(c, until_ns);
        c->wakeable = false;
        comm_control(c);
        if (c->abort_about >= 0) {
            st = watch_give_up(c, c->abort_about);
            break;
        }
    }
    c->stats.wait_ns += world_now_ns(c->world) - start;
    return st;
}

Status comm_idle(Comm *c, int64_t until_ns) {
    c->wakeable = true;
    c->ops->poll(c, until_ns);
    c->wakeable = false;
    atomic_store(&c->woken, false);
    comm_control(c);
    return c->abort_about >= 0 ? watch_give_up(c, c->abort_about) : ST_OK;
}

Status comm_progress(Comm *c) { return comm_idle(c, 0); }

void comm_wake(Comm *c) {
    atomic_store(&c->woken, true);
    c->ops->wake(c);
}
