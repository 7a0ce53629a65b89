/* One mailbox per rank, guarded by a gate. Sending copies into the receiver's mailbox; on the sim
 * the copy carries the time from which it may be taken.                                     */
#include "learner/comm/comm_fabric.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/comm/comm_ops.h"
#include "learner/comm/match.h"

typedef struct {
    Gate *gate;
    Matchbox mail;
    bool dead;        // takes nothing any more
    atomic_bool left; // took leave: known to all
    int64_t tx_free, rx_free;
    double bytes_per_s;
} Box;

typedef struct {
    World *world;
    bool sim;
    int n;
    atomic_int users;
    double latency_s, *link_latency_s; // [from * n + to], or NULL
    Box box[];
} Fabric;

typedef struct {
    Comm comm;
    Fabric *fabric;
    CommReq *sending; // sim: on their way out
    bool killed;
    double jitter_s;
    Rng jitter;
} FabricComm;

static Fabric *fabric_of(const Comm *c) { return ((const FabricComm *)c)->fabric; }
static Box *own_box(const Comm *c) { return &fabric_of(c)->box[c->rank]; }

// When a message of this size leaves i's card and is in j's mailbox.
static void travel(FabricComm *fc, int j, size_t bytes, int64_t *left, int64_t *came) {
    Fabric *f = fc->fabric;
    Box *from = &f->box[fc->comm.rank], *to = &f->box[j];
    int i = fc->comm.rank;
    double rate = from->bytes_per_s < to->bytes_per_s ? from->bytes_per_s : to->bytes_per_s;
    double latency = f->link_latency_s ? f->link_latency_s[i * f->n + j] : f->latency_s;
    if (fc->jitter_s > 0) latency += fc->jitter_s * (double)rng_float(&fc->jitter);
    int64_t now = world_now_ns(f->world), wire = (int64_t)((double)bytes / rate * 1e9);
    *left = (now > from->tx_free ? now : from->tx_free) + wire;
    from->tx_free = *left;
    *came = *left + (int64_t)(latency * 1e9);
    if (*came < to->rx_free + wire) *came = to->rx_free + wire;
    to->rx_free = *came;
}

static void fabric_send(Comm *c, CommReq *req) {
    FabricComm *fc = (FabricComm *)c;
    Fabric *f = fc->fabric;
    Box *to = &f->box[req->peer];
    req->done = true;
    if (fc->killed) return;
    int64_t left = 0, came = 0;
    if (f->sim && req->peer != c->rank) travel(fc, req->peer, req->bytes, &left, &came);
    gate_lock(to->gate);
    if (!to->dead) {
        Mail *m = matchbox_mail(&to->mail, req->bytes);
        if (m) {
            m->from = c->rank;
            m->tag = req->tag;
            m->at = came;
            if (req->bytes > 0) memcpy(m->data, req->buffer, req->bytes);
            matchbox_deliver(&to->mail, m);
        } else {
            req->status = ST_NOMEM;
        }
    }
    gate_wake(to->gate);
    gate_unlock(to->gate);
    if (left > world_now_ns(f->world)) {
        req->done = false;
        req->at = left;
        req->next = fc->sending;
        fc->sending = req;
    }
}

static void fabric_recv(Comm *c, CommReq *req) {
    Box *box = own_box(c);
    gate_lock(box->gate);
    matchbox_post(&box->mail, req);
    gate_unlock(box->gate);
}

// Sends whose time has come; *next: when the next one's comes.
static bool sent(FabricComm *fc, int64_t now, int64_t *next) {
    bool some = false;
    for (CommReq **link = &fc->sending; *link;) {
        CommReq *req = *link;
        if (req->at <= now) {
            *link = req->next;
            req->done = some = true;
        } else {
            if (req->at < *next) *next = req->at;
            link = &req->next;
        }
    }
    return some;
}

static int n_left(const Fabric *f) {
    int n = 0;
    for (int i = 0; i < f->n; i++) n += f->box[i].left;
    return n;
}

static void fabric_poll(Comm *c, int64_t until_ns) {
    FabricComm *fc = (FabricComm *)c;
    Box *box = own_box(c);
    gate_lock(box->gate);
    int left_before = n_left(fc->fabric);
    for (;;) {
        int64_t now = world_now_ns(c->world), next;
        bool some = matchbox_match(&box->mail, now, &next);
        some = sent(fc, now, &next) || some;
        if (some || now >= until_ns || comm_woken(c)) break;
        if (n_left(fc->fabric) != left_before) break;
        gate_wait(box->gate, next < until_ns ? next : until_ns);
    }
    gate_unlock(box->gate);
}

static void fabric_cancel(Comm *c, CommReq *req) {
    FabricComm *fc = (FabricComm *)c;
    if (req->is_send) {
        CommReq **link = &fc->sending;
        while (*link && *link != req) link = &(*link)->next;
        if (*link) *link = req->next;
        return;
    }
    Box *box = own_box(c);
    gate_lock(box->gate);
    matchbox_unpost(&box->mail, req);
    gate_unlock(box->gate);
}

static void fabric_purge(Comm *c, uint32_t epoch) {
    Box *box = own_box(c);
    gate_lock(box->gate);
    matchbox_purge(&box->mail, epoch);
    gate_unlock(box->gate);
}

static void fabric_wake(Comm *c) {
    Box *box = own_box(c);
    gate_lock(box->gate);
    gate_wake(box->gate);
    gate_unlock(box->gate);
}

/* Left, and nothing of it is still to be taken. */
static bool fabric_gone(const Comm *c, int rank) {
    Box *box = own_box(c);
    if (!fabric_of(c)->box[rank].left) return false;
    gate_lock(box->gate);
    bool waits = false;
    for (const Mail *m = box->mail.mail; m; m = m->next) waits = waits || m->from == rank;
    gate_unlock(box->gate);
    return !waits;
}

static void fabric_unref(Fabric *f) {
    if (atomic_fetch_sub(&f->users, 1) > 1) return;
    for (int i = 0; i < f->n; i++) {
        matchbox_deinit(&f->box[i].mail);
        gate_free(f->box[i].gate);
    }
    free(f->link_latency_s);
    free(f);
}

static void close_box(Comm *c, bool leave) {
    Box *box = own_box(c);
    gate_lock(box->gate);
    box->dead = true;
    box->mail.posted = NULL;
    gate_unlock(box->gate);
    if (!leave) return;
    box->left = true;
    for (int i = 0; i < fabric_of(c)->n; i++) {
        Box *other = &fabric_of(c)->box[i];
        gate_lock(other->gate);
        gate_wake(other->gate);
        gate_unlock(other->gate);
    }
}

static void fabric_free(Comm *c) {
    FabricComm *fc = (FabricComm *)c;
    close_box(c, !fc->killed);
    fabric_unref(fc->fabric);
    comm_deinit(c);
    free(fc);
}

void comm_kill(Comm *c) {
    ((FabricComm *)c)->killed = true;
    close_box(c, false);
}

void comm_jitter(Comm *c, double max_s, uint64_t seed) {
    ((FabricComm *)c)->jitter_s = max_s;
    rng_init(&((FabricComm *)c)->jitter, seed, (uint64_t)c->rank);
}

#define FABRIC_OPS(title)                                                                          \
    {                                                                                              \
        .name = title, .free = fabric_free, .send = fabric_send, .recv = fabric_recv,              \
        .poll = fabric_poll, .cancel = fabric_cancel, .wake = fabric_wake, .gone = fabric_gone,    \
        .purge = fabric_purge                                                                      \
    }
static const CommOps local_ops = FABRIC_OPS("local"), sim_ops = FABRIC_OPS("sim");

static Status fabric_new(World *w, int n, const SimNet *net, Fabric **out) {
    Fabric *f = calloc(1, sizeof *f + (size_t)n * sizeof f->box[0]);
    if (!f) return ST_NOMEM;
    f->world = w;
    f->n = n;
    f->sim = net != NULL;
    f->users = 1;
    for (int i = 0; i < n; i++) {
        Status st = gate_new(w, &f->box[i].gate);
        if (st != ST_OK) {
            fabric_unref(f);
            return st;
        }
    }
    if (net) {
        f->latency_s = net->latency_s;
        for (int i = 0; i < n; i++) {
            double rate = net->card_bytes_per_s ? net->card_bytes_per_s[i] : net->bytes_per_s;
            f->box[i].bytes_per_s = rate > 0 ? rate : 1e300;
        }
        if (net->link_latency_s) {
            size_t bytes = (size_t)n * (size_t)n * sizeof *f->link_latency_s;
            if (!(f->link_latency_s = malloc(bytes))) {
                fabric_unref(f);
                return ST_NOMEM;
            }
            memcpy(f->link_latency_s, net->link_latency_s, bytes);
        }
    }
    *out = f;
    return ST_OK;
}

static Status comms_new(World *w, int n, const SimNet *net, Comm **out) {
    Fabric *f;
    if (n < 1 || n > COMM_MAX_RANKS) return ST_INVALID;
    TRY(fabric_new(w, n, net, &f));
    for (int i = 0; i < n; i++) {
        FabricComm *fc = calloc(1, sizeof *fc);
        if (!fc) {
            while (i-- > 0) comm_free(out[i]);
            fabric_unref(f);
            return ST_NOMEM;
        }
        fc->fabric = f;
        atomic_fetch_add(&f->users, 1);
        out[i] = &fc->comm;
        comm_init(out[i], net ? &sim_ops : &local_ops, w, i, n);
        comm_control_start(out[i]);
    }
    fabric_unref(f);
    return ST_OK;
}

Status comm_local_new(World *w, int n, Comm **out) { return comms_new(w, n, NULL, out); }

Status comm_sim_new(World *w, int n, const SimNet *net, Comm **out) {
    return world_is_virtual(w) ? comms_new(w, n, net, out) : ST_INVALID;
}
