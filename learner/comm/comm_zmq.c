#include "learner/comm/comm_zmq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/comm/zmq_ranks.h"

static void deliver(ZmqComm *z, int from, uint32_t tag, const uint8_t *p, size_t n) {
    Mail *m = matchbox_mail(&z->mail, n);
    if (!m) return;
    m->from = from;
    m->tag = tag;
    m->at = 0;
    if (n > 0) memcpy(m->data, p, n);
    matchbox_deliver(&z->mail, m);
}

static void handle(ZmqComm *z, const uint8_t *p, size_t n) {
    if (n < HEAD || get_u32(p) != MAGIC) return;
    int kind = get_u16(p + 4), from = get_u16(p + 6);
    uint32_t its = get_u32(p + 8), ours = get_u32(p + 12);
    const uint8_t *body = p + HEAD;
    size_t bytes = n - HEAD;
    if (kind == KIND_JOIN) {
        zmq_ranks_welcome(z, body, bytes);
        return;
    }
    if (from >= z->places || its < z->peer[from].incarnation) return;
    if (kind == KIND_WELCOME) zmq_ranks_welcomed(z, body, bytes);
    else if (kind == KIND_MEMBER) (void)zmq_ranks_member(z, body, bytes);
    else if (kind == KIND_DATA &&
             (ours == z->incarnation || z->rank < 0)) // before our welcome, too
        deliver(z, from, get_u32(p + 16), body, bytes);
    else if (kind == KIND_BYE) {
        z->peer[from].joined = false;
        z->changed = true;
    }
}

/* A connection that comes back may lead to another process: whoever is there counts as here only
 * when it has introduced itself, so each side does as soon as it can.                            */
static void watch_connections(ZmqComm *z) {
    for (int i = 0; i < z->places; i++) {
        Peer *p = &z->peer[i];
        uint8_t event[6], address[ENDPOINT];
        while (p->monitor && zmq_recv(p->monitor, event, sizeof event, ZMQ_DONTWAIT) == 6) {
            (void)zmq_recv(p->monitor, address, sizeof address, ZMQ_DONTWAIT);
            p->broken = get_u16(event) == ZMQ_EVENT_DISCONNECTED;
            if (!p->broken) {
                zmq_ranks_introduce(z, i);
                continue;
            }
            if (p->joined) log_warn("zmq: the connection to rank %d is lost", i);
            if (p->joined) z->changed = true;
            p->joined = false;
        }
    }
}

static void read_router(ZmqComm *z) {
    zmq_msg_t m;
    zmq_msg_init(&m);
    while (zmq_msg_recv(&m, z->router, ZMQ_DONTWAIT) >= 0)
        if (!zmq_msg_more(&m)) handle(z, zmq_msg_data(&m), zmq_msg_size(&m)); // not the identity
    zmq_msg_close(&m);
}

static bool send_unsent(ZmqComm *z) {
    bool some = false;
    for (CommReq **link = &z->unsent; *link;) {
        CommReq *req = *link;
        if (zmq_ranks_put(z, req->peer, KIND_DATA, req->tag, req->buffer, req->bytes)) {
            *link = req->next;
            req->done = some = true;
        } else {
            link = &req->next;
        }
    }
    return some;
}

static void sleep_until(ZmqComm *z, int64_t until_ns) {
    zmq_pollitem_t items[2 + COMM_MAX_RANKS] = {{.socket = z->router, .events = ZMQ_POLLIN},
                                                {.fd = z->wake_fd, .events = ZMQ_POLLIN}};
    int n = 2;
    for (int i = 0; i < z->places; i++)
        if (z->peer[i].monitor)
            items[n++] = (zmq_pollitem_t){.socket = z->peer[i].monitor, .events = ZMQ_POLLIN};
    int64_t left = until_ns == WORLD_FOREVER ? 1000000000 : until_ns - clock_ns();
    long ms = left <= 0 ? 0 : left > 1000000000 ? 1000 : (long)((left + 999999) / 1000000);
    if (z->unsent && ms > 1) ms = 1; // room in a queue makes no event
    (void)zmq_poll(items, n, ms);
    uint64_t woken;
    if (items[1].revents && read(z->wake_fd, &woken, sizeof woken) < 0) return;
}

static void zmq_comm_poll(Comm *c, int64_t until_ns) {
    ZmqComm *z = (ZmqComm *)c;
    z->changed = false;
    for (;;) {
        int64_t next;
        watch_connections(z);
        read_router(z);
        bool some = send_unsent(z);
        some = matchbox_match(&z->mail, 0, &next) || some;
        if (some || z->changed || comm_woken(c) || clock_ns() >= until_ns) return;
        sleep_until(z, until_ns);
    }
}

static void zmq_comm_send(Comm *c, CommReq *req) {
    ZmqComm *z = (ZmqComm *)c;
    if (req->peer == c->rank) {
        deliver(z, c->rank, req->tag, req->buffer, req->bytes);
        req->done = true;
        return;
    }
    CommReq **link = &z->unsent; // behind those that wait already, to keep the order
    bool waits = false;
    for (; *link; link = &(*link)->next) waits = waits || (*link)->peer == req->peer;
    if (!waits && zmq_ranks_put(z, req->peer, KIND_DATA, req->tag, req->buffer, req->bytes)) {
        req->done = true;
        return;
    }
    req->next = NULL;
    *link = req;
}

static void zmq_comm_recv(Comm *c, CommReq *req) { matchbox_post(&((ZmqComm *)c)->mail, req); }

static void zmq_comm_cancel(Comm *c, CommReq *req) {
    ZmqComm *z = (ZmqComm *)c;
    if (!req->is_send) {
        matchbox_unpost(&z->mail, req);
        return;
    }
    CommReq **link = &z->unsent;
    while (*link && *link != req) link = &(*link)->next;
    if (*link) *link = req->next;
}

static void zmq_comm_wake(Comm *c) {
    uint64_t one = 1;
    if (write(((ZmqComm *)c)->wake_fd, &one, sizeof one) < 0) return; // it is set already
}

static bool zmq_comm_gone(const Comm *c, int rank) {
    const ZmqComm *z = (const ZmqComm *)c;
    if (rank == c->rank || z->peer[rank].joined) return false;
    for (const Mail *m = z->mail.mail; m; m = m->next)
        if (m->from == rank) return false; // it said something before it left
    return true;
}

static void zmq_comm_purge(Comm *c, uint32_t epoch) {
    matchbox_purge(&((ZmqComm *)c)->mail, epoch);
}

static void close_all(ZmqComm *z) {
    for (int i = 0; z->peer && i < z->places; i++) {
        int linger_ms = 2000;
        if (z->peer[i].dealer)
            zmq_setsockopt(z->peer[i].dealer, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
        zmq_ranks_disconnect(&z->peer[i]);
    }
    if (z->router) zmq_close(z->router);
    if (z->context) zmq_ctx_shutdown(z->context); // ends the guard's thread
    zmq_guard_free(z->guard);
    if (z->context) zmq_ctx_term(z->context);
    if (z->wake_fd >= 0) close(z->wake_fd);
    matchbox_deinit(&z->mail);
    free(z->peer);
    free(z);
}

static void zmq_comm_free(Comm *c) {
    ZmqComm *z = (ZmqComm *)c;
    for (int i = 0; i < z->places; i++)
        if (i != z->rank) (void)zmq_ranks_put(z, i, KIND_BYE, 0, NULL, 0);
    comm_deinit(c);
    close_all(z);
}

static const CommOps zmq_ops = {.name = "zmq",
                                .free = zmq_comm_free,
                                .send = zmq_comm_send,
                                .recv = zmq_comm_recv,
                                .poll = zmq_comm_poll,
                                .cancel = zmq_comm_cancel,
                                .wake = zmq_comm_wake,
                                .gone = zmq_comm_gone,
                                .purge = zmq_comm_purge};

static int n_here(const ZmqComm *z) {
    int n = 1;
    for (int i = 0; i < z->places; i++) n += i != z->rank && z->peer[i].joined;
    return n;
}

static Status listen_on(ZmqComm *z, const char *endpoint) {
    size_t size = sizeof z->endpoint;
    if (!(z->router = zmq_ranks_socket(z, ZMQ_ROUTER, true))) return ST_IO;
    if (zmq_bind(z->router, endpoint) != 0) {
        log_error("zmq: cannot listen on %s: %s", endpoint, zmq_strerror(errno));
        return ST_INVALID;
    }
    return zmq_getsockopt(z->router, ZMQ_LAST_ENDPOINT, z->endpoint, &size) == 0 ? ST_OK : ST_IO;
}

static Status ask_to_join(ZmqComm *z, const ZmqConfig *config) {
    uint8_t request[4 + ENDPOINT];
    size_t n = strlen(z->endpoint);
    TRY(zmq_ranks_connect(z, 0, config->founder, 0));
    put_u32(request, (uint32_t)config->rank);
    memcpy(request + 4, z->endpoint, n);
    return zmq_ranks_put(z, 0, KIND_JOIN, 0, request, 4 + n) ? ST_OK : ST_IO;
}

static Status wait_for_others(ZmqComm *z, const ZmqConfig *config) {
    int64_t until = clock_ns() + (int64_t)(config->wait_s * 1e9);
    while (z->rank < 0 || n_here(z) < config->wait_for) {
        if (clock_ns() >= until) {
            log_error("zmq: %s after %.0f s", z->rank < 0 ? "not let in" : "not enough ranks",
                      config->wait_s);
            return ST_TIMEOUT;
        }
        watch_connections(z);
        read_router(z);
        int64_t soon = clock_ns() + 100000000;
        sleep_until(z, soon < until ? soon : until);
    }
    return ST_OK;
}

static Status open_all(ZmqComm *z, const ZmqConfig *config) {
    uint8_t key[32];
    if (config->size < 1 || config->size > COMM_MAX_RANKS || config->rank < -1 ||
        config->rank >= config->size || strlen(config->public_key) != 40 ||
        strlen(config->secret_key) != 40 || !zmq_z85_decode(key, config->public_key)) {
        log_error("zmq: size, rank or keys are not what they should be");
        return ST_INVALID;
    }
    strcpy(z->public_key, config->public_key);
    strcpy(z->secret_key, config->secret_key);
    z->places = config->size;
    z->rank = config->rank == 0 ? 0 : -1;
    if (!(z->peer = calloc((size_t)z->places, sizeof *z->peer))) return ST_NOMEM;
    if ((z->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) return ST_IO;
    if (!(z->context = zmq_ctx_new())) return ST_NOMEM;
    zmq_ctx_set(z->context, ZMQ_MAX_SOCKETS, 16 + 4 * z->places);
    TRY(zmq_guard_new(z->context, key, &z->guard));
    TRY(listen_on(z, config->rank == 0 ? config->founder : config->listen));
    if (z->rank == 0) // grows over restarts of the founder, too
        z->incarnation = z->last_incarnation = (uint32_t)clock_wall_s();
    else TRY(ask_to_join(z, config));
    return wait_for_others(z, config);
}

Status comm_zmq_new(World *w, const ZmqConfig *config, Comm **out) {
    if (world_is_virtual(w)) return ST_INVALID;
    ZmqComm *z = calloc(1, sizeof *z);
    if (!z) return ST_NOMEM;
    z->wake_fd = -1;
    Status st = open_all(z, config);
    if (st != ST_OK) {
        close_all(z);
        return st;
    }
    comm_init(&z->comm, &zmq_ops, w, z->rank, z->places);
    comm_control_start(&z->comm);
    *out = &z->comm;
    return ST_OK;
}
