#include "engine/base/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "engine/base/log.h"

enum {
    DEFAULT_HIGH_WATER = 16,
    PEER_BYTES = 255,
    MAX_WAIT = 16,
    HEARTBEAT_MS = 5000,
    KEEPALIVE_S = 5
};
enum { STREAM_BYTES = 8 << 10 };

struct LinkContext {
    void *zmq;
};

struct Link {
    void *socket;
    LinkKind kind;
    zmq_msg_t message; // the last one received; *body points into it
    uint8_t peer[PEER_BYTES];
    size_t peer_bytes;
    char endpoint[LINK_ENDPOINT_BYTES];
};

Status link_context_new(LinkContext **out) {
    LinkContext *c = malloc(sizeof *c);
    if (c == NULL) return ST_NOMEM;
    c->zmq = zmq_ctx_new();
    if (c->zmq == NULL) {
        free(c);
        return ST_NOMEM;
    }
    *out = c;
    return ST_OK;
}

void link_context_free(LinkContext *c) {
    if (c == NULL) return;
    while (zmq_ctx_term(c->zmq) != 0 && errno == EINTR) {}
    free(c);
}

static int socket_type(LinkKind kind) {
    static const int types[] = {
        [LINK_PUSH] = ZMQ_PUSH, [LINK_PULL] = ZMQ_PULL,     [LINK_PUB] = ZMQ_PUB,
        [LINK_SUB] = ZMQ_SUB,   [LINK_DEALER] = ZMQ_DEALER, [LINK_ROUTER] = ZMQ_ROUTER,
    };
    return types[kind];
}

static bool set_int(Link *l, int option, int value) {
    return zmq_setsockopt(l->socket, option, &value, sizeof value) == 0;
}

static bool set_text(Link *l, int option, const char *value) {
    return zmq_setsockopt(l->socket, option, value, strlen(value)) == 0;
}

static bool set_keys(Link *l, const LinkOptions *o) {
    if (o->bind) {
        if (o->keys == NULL) return true;
        return set_int(l, ZMQ_CURVE_SERVER, 1) &&
               set_text(l, ZMQ_CURVE_SECRETKEY, o->keys->secret_key);
    }
    if (o->server_key == NULL) return true;
    LinkKeys own;
    if (o->keys) own = *o->keys;
    else if (link_keys_new(&own) != ST_OK) return false;
    return set_text(l, ZMQ_CURVE_SERVERKEY, o->server_key) &&
           set_text(l, ZMQ_CURVE_PUBLICKEY, own.public_key) &&
           set_text(l, ZMQ_CURVE_SECRETKEY, own.secret_key);
}

/* A peer whose host vanished is noticed, and the connection made anew. Where games are held back
 * because nobody reads them, only by TCP: libzmq 4.3.4 answers no heartbeat then, and aborts the
 * process if one is due after the other side has closed.                                      */
static bool notice_vanished(Link *l, LinkKind kind) {
    if (kind != LINK_PUSH && kind != LINK_PULL)
        return set_int(l, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
               set_int(l, ZMQ_HEARTBEAT_TIMEOUT, 3 * HEARTBEAT_MS);
    return set_int(l, ZMQ_TCP_KEEPALIVE, 1) && set_int(l, ZMQ_TCP_KEEPALIVE_IDLE, KEEPALIVE_S) &&
           set_int(l, ZMQ_TCP_KEEPALIVE_INTVL, KEEPALIVE_S) && set_int(l, ZMQ_TCP_KEEPALIVE_CNT, 3);
}

static bool set_options(Link *l, const LinkOptions *o) {
    int hwm = o->high_water > 0 ? o->high_water : DEFAULT_HIGH_WATER;
    bool ok = set_int(l, ZMQ_SNDHWM, hwm) && set_int(l, ZMQ_RCVHWM, hwm) &&
              set_int(l, ZMQ_LINGER, o->linger_ms) && notice_vanished(l, o->kind) &&
              set_int(l, ZMQ_RECONNECT_IVL, 100) && set_int(l, ZMQ_RECONNECT_IVL_MAX, 1000);
    // The system's own buffers, megabytes by default, would queue minutes of games behind the few
    // frames of high_water: back-pressure must reach the sender while they are fresh.
    if (o->kind == LINK_PUSH || o->kind == LINK_PULL)
        ok = ok && set_int(l, ZMQ_SNDBUF, STREAM_BYTES) && set_int(l, ZMQ_RCVBUF, STREAM_BYTES);
    if (o->kind == LINK_SUB) {
        if (o->newest_only) ok = ok && set_int(l, ZMQ_CONFLATE, 1);
        ok = ok && set_text(l, ZMQ_SUBSCRIBE, "");
    }
    // A restarted peer may come back under the same address before the old one is given up.
    if (o->kind == LINK_ROUTER) ok = ok && set_int(l, ZMQ_ROUTER_HANDOVER, 1);
    return ok && set_keys(l, o);
}

static Status attach(Link *l, bool bind, const char *endpoint) {
    if ((bind ? zmq_bind(l->socket, endpoint) : zmq_connect(l->socket, endpoint)) != 0) {
        int e = errno;
        log_error("cannot %s %s: %s", bind ? "listen on" : "connect to", endpoint,
                  e == EADDRINUSE ? "the port is in use" : zmq_strerror(e));
        return e == EINVAL || e == EPROTONOSUPPORT || e == ENODEV ? ST_INVALID : ST_IO;
    }
    size_t n = sizeof l->endpoint;
    if (zmq_getsockopt(l->socket, ZMQ_LAST_ENDPOINT, l->endpoint, &n) != 0)
        snprintf(l->endpoint, sizeof l->endpoint, "%s", endpoint);
    return ST_OK;
}

Status link_open(LinkContext *c, const LinkOptions *o, const char *endpoint, Link **out) {
    if (o->server_key && !link_key_valid(o->server_key)) {
        log_error("'%s' is not a public key (40 characters of Z85)", o->server_key);
        return ST_INVALID;
    }
    Link *l = calloc(1, sizeof *l);
    if (l == NULL) return ST_NOMEM;
    Status st = ST_NOMEM;
    l->kind = o->kind;
    l->socket = zmq_socket(c->zmq, socket_type(o->kind));
    if (l->socket == NULL) goto free_link;
    zmq_msg_init(&l->message);
    if (!set_options(l, o)) {
        log_error("cannot set up the socket for %s: %s", endpoint, zmq_strerror(errno));
        st = ST_INVALID;
        goto close_socket;
    }
    TRY_TO(st, attach(l, o->bind, endpoint), close_socket);
    *out = l;
    return ST_OK;
close_socket:
    zmq_msg_close(&l->message);
    zmq_close(l->socket);
free_link:
    free(l);
    return st;
}

void link_close(Link *l) {
    if (l == NULL) return;
    zmq_msg_close(&l->message);
    zmq_close(l->socket);
    free(l);
}

const char *link_endpoint(const Link *l) { return l->endpoint; }

static Status status_from_errno(void) {
    switch (errno) {
    case EAGAIN: return ST_TIMEOUT;
    case EINTR:
    case ETERM: return ST_INTERRUPTED;
    case EHOSTUNREACH: return ST_PEER;
    default: log_error("socket: %s", zmq_strerror(errno)); return ST_IO;
    }
}

static Status send_frame(Link *l, const Frame *f, const void *body, int flags) {
    zmq_msg_t m;
    if (zmq_msg_init_size(&m, FRAME_HEADER_BYTES + (size_t)f->length) != 0) return ST_NOMEM;
    uint8_t *p = zmq_msg_data(&m);
    if (f->length > 0) memcpy(p + FRAME_HEADER_BYTES, body, f->length);
    frame_write(f, p);
    if (zmq_msg_send(&m, l->socket, flags) >= 0) return ST_OK;
    Status st = status_from_errno();
    zmq_msg_close(&m);
    return st;
}

Status link_send(Link *l, const Frame *f, const void *body, int timeout_ms) {
    if (!set_int(l, ZMQ_SNDTIMEO, timeout_ms)) return status_from_errno();
    return send_frame(l, f, body, 0);
}

Status link_reply(Link *l, const Frame *f, const void *body) {
    if (zmq_send(l->socket, l->peer, l->peer_bytes, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return status_from_errno();
    return send_frame(l, f, body, ZMQ_DONTWAIT);
}

/* Swallows the parts of a message that should not have more. */
static bool drain_parts(Link *l) {
    bool had_more = false;
    while (zmq_msg_more(&l->message)) {
        had_more = true;
        if (zmq_msg_recv(&l->message, l->socket, ZMQ_DONTWAIT) < 0) break;
    }
    return had_more;
}

Status link_recv(Link *l, int timeout_ms, Frame *out, const uint8_t **body) {
    if (!set_int(l, ZMQ_RCVTIMEO, timeout_ms)) return status_from_errno();
    if (zmq_msg_recv(&l->message, l->socket, 0) < 0) return status_from_errno();
    if (l->kind == LINK_ROUTER) {
        size_t n = zmq_msg_size(&l->message);
        l->peer_bytes = n < PEER_BYTES ? n : PEER_BYTES;
        memcpy(l->peer, zmq_msg_data(&l->message), l->peer_bytes);
        if (!zmq_msg_more(&l->message)) return ST_TRUNCATED;
        if (zmq_msg_recv(&l->message, l->socket, 0) < 0) return status_from_errno();
    }
    if (drain_parts(l)) return ST_CORRUPT;
    return frame_read(zmq_msg_data(&l->message), zmq_msg_size(&l->message), out, body);
}

unsigned link_wait(Link *const *links, int n, int timeout_ms) {
    zmq_pollitem_t items[MAX_WAIT];
    for (int i = 0; i < n; i++)
        items[i] = (zmq_pollitem_t){.socket = links[i]->socket, .events = ZMQ_POLLIN};
    if (zmq_poll(items, n, timeout_ms) <= 0) return 0;
    unsigned ready = 0;
    for (int i = 0; i < n; i++)
        if (items[i].revents & ZMQ_POLLIN) ready |= 1u << i;
    return ready;
}

/* The host of tcp://HOST:PORT and where its port begins; false: another form. */
static bool split(const char *endpoint, const char **host, int *host_len, const char **port) {
    if (strncmp(endpoint, "tcp://", 6) != 0) return false;
    const char *colon = strrchr(endpoint + 6, ':');
    if (colon == NULL || colon[1] == '\0') return false;
    *host = endpoint + 6;
    *host_len = (int)(colon - *host);
    *port = colon + 1;
    return true;
}

Status link_resolve(const char *connected, const char *offered, char out[LINK_ENDPOINT_BYTES]) {
    const char *host, *port, *near, *near_port;
    int len, near_len, n;
    if (!split(offered, &host, &len, &port)) {
        bool local = strncmp(offered, "ipc://", 6) == 0 || strncmp(offered, "inproc://", 9) == 0;
        if (!local) return ST_INVALID;
        n = snprintf(out, LINK_ENDPOINT_BYTES, "%s", offered);
        return n < LINK_ENDPOINT_BYTES ? ST_OK : ST_INVALID;
    }
    bool any = (len == 1 && host[0] == '*') || (len == 7 && memcmp(host, "0.0.0.0", 7) == 0) ||
               (len == 4 && memcmp(host, "[::]", 4) == 0);
    if (!any) near = host, near_len = len;
    else if (!split(connected, &near, &near_len, &near_port)) return ST_INVALID;
    n = snprintf(out, LINK_ENDPOINT_BYTES, "tcp://%.*s:%s", near_len, near, port);
    return n < LINK_ENDPOINT_BYTES ? ST_OK : ST_INVALID;
}

Status link_keys_new(LinkKeys *out) {
    if (zmq_curve_keypair(out->public_key, out->secret_key) == 0) return ST_OK;
    log_error("this libzmq has no CURVE encryption");
    return ST_UNSUPPORTED;
}

Status link_keys_save(const LinkKeys *k, const char *path) {
    char text[2 * LINK_KEY_CHARS + 3];
    int n = snprintf(text, sizeof text, "%s\n%s\n", k->public_key, k->secret_key);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        log_error("%s: %s", path, strerror(errno));
        return ST_IO;
    }
    bool ok = write(fd, text, (size_t)n) == n && fsync(fd) == 0;
    if (!ok) log_error("%s: %s", path, strerror(errno));
    close(fd);
    if (!ok) unlink(path);
    return ok ? ST_OK : ST_IO;
}

Status link_keys_load(const char *path, LinkKeys *out) {
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return ST_IO;
    }
    LinkKeys k;
    bool ok = fscanf(f, "%40s %40s", k.public_key, k.secret_key) == 2;
    fclose(f);
    if (!ok || !link_key_valid(k.public_key) || !link_key_valid(k.secret_key)) {
        log_error("%s: not a pair of keys", path);
        return ST_PARSE;
    }
    char derived[LINK_KEY_CHARS + 1];
    if (zmq_curve_public(derived, k.secret_key) != 0 || strcmp(derived, k.public_key) != 0) {
        log_error("%s: the two keys do not belong together", path);
        return ST_CORRUPT;
    }
    *out = k;
    return ST_OK;
}

bool link_key_valid(const char *key) {
    uint8_t raw[32];
    return key != NULL && strlen(key) == LINK_KEY_CHARS && zmq_z85_decode(raw, key) != NULL;
}
