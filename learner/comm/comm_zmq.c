/* Everyone has one ROUTER on which all messages come in, and one DEALER to each other rank on which
 * its own go out. A message is one ZeroMQ message: a header of 24 bytes and the payload.
 *
 *   0 u32 magic   4 u16 kind   6 u16 sender   8 u32 sender's incarnation   12 u32 receiver's
 *  16 u32 tag    20 u32 zero
 *
 * An incarnation is the number of a process in a rank's place, given by the founder and growing:
 * what was sent to or by an older one is thrown away.                                            */
#include "learner/comm/comm_zmq.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/comm/comm_ops.h"
#include "learner/comm/match.h"
#include "learner/comm/zmq_guard.h"

enum { HEAD = 24, ENDPOINT = 128, HIGH_WATER = 256, NOBODY = 0xffff };
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

static bool set_int(void *socket, int option, int value) {
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}
static bool set_text(void *socket, int option, const char *text) {
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

static void *open_socket(ZmqComm *z, int type, bool server) {
    void *s = zmq_socket(z->context, type);
    bool good = s && set_int(s, ZMQ_LINGER, 0) && set_int(s, ZMQ_SNDHWM, HIGH_WATER) &&
                set_int(s, ZMQ_RCVHWM, HIGH_WATER) && set_int(s, ZMQ_HEARTBEAT_IVL, 1000) &&
                set_int(s, ZMQ_HEARTBEAT_TIMEOUT, 5000) && set_int(s, ZMQ_RECONNECT_IVL, 100) &&
                set_int(s, ZMQ_RECONNECT_IVL_MAX, 2000) &&
                set_text(s, ZMQ_CURVE_SECRETKEY, z->secret_key);
    if (good && server) good = set_int(s, ZMQ_CURVE_SERVER, 1);
    else if (good)
        good = set_text(s, ZMQ_CURVE_SERVERKEY, z->public_key) &&
               set_text(s, ZMQ_CURVE_PUBLICKEY, z->public_key);
    if (good) return s;
    if (s) zmq_close(s);
    return NULL;
}

static void disconnect(Peer *p) {
    if (p->dealer) zmq_close(p->dealer);
    if (p->monitor) zmq_close(p->monitor);
    p->dealer = p->monitor = NULL;
}

// False: the queue is full.
static bool put(ZmqComm *z, int to, int kind, uint32_t tag, const void *p, size_t n) {
    zmq_msg_t m;
    if (!z->peer[to].dealer || z->peer[to].broken) return true; // as lost on the way
    if (zmq_msg_init_size(&m, HEAD + n) != 0) return false;
    uint8_t *head = zmq_msg_data(&m);
    put_u32(head, MAGIC);
    put_u16(head + 4, (uint16_t)kind);
    put_u16(head + 6, (uint16_t)(z->rank < 0 ? NOBODY : z->rank));
    put_u32(head + 8, z->incarnation);
    put_u32(head + 12, z->peer[to].incarnation);
    put_u32(head + 16, tag);
    put_u32(head + 20, 0);
    if (n > 0) memcpy(head + HEAD, p, n);
    if (zmq_msg_send(&m, z->peer[to].dealer, ZMQ_DONTWAIT) >= 0) return true;
    zmq_msg_close(&m);
    return false;
}

// A row of the table: u16 rank, u16 length, u32 incarnation, endpoint.
static size_t put_member(uint8_t *p, int rank, uint32_t incarnation, const char *endpoint) {
    size_t n = strlen(endpoint);
    put_u16(p, (uint16_t)rank);
    put_u16(p + 2, (uint16_t)n);
    put_u32(p + 4, incarnation);
    memcpy(p + 8, endpoint, n);
    return 8 + n;
}

// Tells a rank who we are.
static void introduce(ZmqComm *z, int to) {
    uint8_t row[8 + ENDPOINT];
    if (z->rank < 0) return;
    size_t n = put_member(row, z->rank, z->incarnation, z->endpoint);
    (void)put(z, to, KIND_MEMBER, 0, row, n);
}

// Opens the way to a rank, in place of an older one.
static Status connect_to(ZmqComm *z, int rank, const char *endpoint, uint32_t incarnation) {
    Peer *p = &z->peer[rank];
    char watch[64];
    if (p->dealer && p->incarnation == incarnation && strcmp(p->endpoint, endpoint) == 0) {
        z->changed = z->changed || !p->joined;
        p->joined = true;
        return ST_OK;
    }
    disconnect(p);
    snprintf(p->endpoint, sizeof p->endpoint, "%s", endpoint);
    snprintf(watch, sizeof watch, "inproc://watch-%d-%u", rank, incarnation);
    p->incarnation = incarnation;
    p->joined = true;
    p->broken = false;
    z->changed = true;
    z->comm.life[rank]++;
    comm_forgive(&z->comm, rank);
    p->dealer = open_socket(z, ZMQ_DEALER, false);
    if (!p->dealer) return ST_IO;
    if (zmq_socket_monitor(p->dealer, watch,
                           ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED) != 0)
        return ST_IO;
    p->monitor = zmq_socket(z->context, ZMQ_PAIR);
    if (!p->monitor || zmq_connect(p->monitor, watch) != 0) return ST_IO;
    if (zmq_connect(p->dealer, endpoint) != 0) {
        log_error("zmq: cannot connect to %s: %s", endpoint, zmq_strerror(errno));
        return ST_INVALID;
    }
    introduce(z, rank); // before anything else: an answer goes to whom it knows there
    return ST_OK;
}

static size_t take_member(ZmqComm *z, const uint8_t *p, size_t n) {
    char endpoint[ENDPOINT];
    if (n < 8) return 0;
    size_t rank = get_u16(p), length = get_u16(p + 2);
    if ((int)rank >= z->places || length >= ENDPOINT || n < 8 + length) return 0;
    memcpy(endpoint, p + 8, length);
    endpoint[length] = '\0';
    uint32_t incarnation = get_u32(p + 4);
    bool news = incarnation >= z->peer[rank].incarnation;
    if (rank == 0 &&
        z->peer[0].dealer) { // the way to the founder is known; how it sees itself is not
        if (incarnation > z->peer[0].incarnation) z->comm.life[0]++;
        z->changed = z->changed || !z->peer[0].joined;
        z->peer[0].incarnation = incarnation;
        z->peer[0].joined = true;
    } else if ((int)rank != z->rank && news) {
        (void)connect_to(z, (int)rank, endpoint, incarnation);
    }
    if (incarnation > z->last_incarnation) z->last_incarnation = incarnation;
    return 8 + length;
}

static int place_for(const ZmqComm *z, int want) {
    if (want >= z->places) return -1;
    if (want > 0) return z->peer[want].joined ? -1 : want;
    for (int i = 1; i < z->places; i++) // first where nobody has been: who fell silent may return
        if (z->peer[i].incarnation == 0) return i;
    for (int i = 1; i < z->places; i++)
        if (!z->peer[i].joined) return i;
    return -1;
}

/* Founder: gives a newcomer its rank, tells it who is there, and those that it is. */
static void welcome(ZmqComm *z, const uint8_t *p, size_t n) {
    char endpoint[ENDPOINT];
    if (z->rank != 0 || n < 4 || n - 4 >= ENDPOINT) return;
    memcpy(endpoint, p + 4, n - 4);
    endpoint[n - 4] = '\0';
    int rank = place_for(z, (int32_t)get_u32(p));
    if (rank < 0) {
        log_warn("zmq: %s may not join: place %d is taken, or all are", endpoint,
                 (int32_t)get_u32(p));
        return;
    }
    uint32_t incarnation = ++z->last_incarnation;
    if (connect_to(z, rank, endpoint, incarnation) != ST_OK) return;
    uint8_t row[8 + ENDPOINT], *table = malloc((size_t)z->places * sizeof row + 8);
    if (!table) return;
    size_t row_bytes = put_member(row, rank, incarnation, endpoint), bytes = 8;
    put_u32(table, (uint32_t)rank);
    put_u32(table + 4, incarnation);
    bytes += put_member(table + bytes, 0, z->incarnation, z->endpoint);
    for (int i = 1; i < z->places; i++)
        if (i != rank && z->peer[i].joined) {
            bytes += put_member(table + bytes, i, z->peer[i].incarnation, z->peer[i].endpoint);
            (void)put(z, i, KIND_MEMBER, 0, row, row_bytes);
        }
    (void)put(z, rank, KIND_WELCOME, 0, table, bytes);
    free(table);
    log_info("zmq: rank %d joins from %s", rank, endpoint);
}

static void be_welcomed(ZmqComm *z, const uint8_t *p, size_t n) {
    if (z->rank >= 0 || n < 8 || get_u32(p) >= (uint32_t)z->places) return;
    z->rank = (int)get_u32(p);
    z->incarnation = get_u32(p + 4);
    for (size_t at = 8, step; at < n && (step = take_member(z, p + at, n - at)) > 0; at += step) {}
}

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
        welcome(z, body, bytes);
        return;
    }
    if (from >= z->places || its < z->peer[from].incarnation) return;
    if (kind == KIND_WELCOME) be_welcomed(z, body, bytes);
    else if (kind == KIND_MEMBER) (void)take_member(z, body, bytes);
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
                introduce(z, i);
                continue;
            }
            if (p->joined) log_warn("zmq: the connection to rank %d is lost", i);
            if (p->joined) z->comm.life[i]++;
            z->changed = z->changed || p->joined;
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
        if (put(z, req->peer, KIND_DATA, req->tag, req->buffer, req->bytes)) {
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
    if (!waits && put(z, req->peer, KIND_DATA, req->tag, req->buffer, req->bytes)) {
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
        if (z->peer[i].dealer) set_int(z->peer[i].dealer, ZMQ_LINGER, 2000);
        disconnect(&z->peer[i]);
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
        if (i != z->rank) (void)put(z, i, KIND_BYE, 0, NULL, 0);
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
    if (!(z->router = open_socket(z, ZMQ_ROUTER, true))) return ST_IO;
    if (zmq_bind(z->router, endpoint) != 0) {
        log_error("zmq: cannot listen on %s: %s", endpoint, zmq_strerror(errno));
        return ST_INVALID;
    }
    return zmq_getsockopt(z->router, ZMQ_LAST_ENDPOINT, z->endpoint, &size) == 0 ? ST_OK : ST_IO;
}

static Status ask_to_join(ZmqComm *z, const ZmqConfig *config) {
    uint8_t request[4 + ENDPOINT];
    size_t n = strlen(z->endpoint);
    TRY(connect_to(z, 0, config->founder, 0));
    put_u32(request, (uint32_t)config->rank);
    memcpy(request + 4, z->endpoint, n);
    return put(z, 0, KIND_JOIN, 0, request, 4 + n) ? ST_OK : ST_IO;
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
