#include "learner/comm/zmq_ranks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"

enum { HIGH_WATER = 256 };

static bool set_int(void *socket, int option, int value) {
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}
static bool set_text(void *socket, int option, const char *text) {
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

void *zmq_ranks_socket(ZmqComm *z, int type, bool server) {
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

void zmq_ranks_disconnect(Peer *p) {
    if (p->dealer) zmq_close(p->dealer);
    if (p->monitor) zmq_close(p->monitor);
    p->dealer = p->monitor = NULL;
}

bool zmq_ranks_put(ZmqComm *z, int to, int kind, uint32_t tag, const void *p, size_t n) {
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

void zmq_ranks_introduce(ZmqComm *z, int to) {
    uint8_t row[8 + ENDPOINT];
    if (z->rank < 0) return;
    size_t n = put_member(row, z->rank, z->incarnation, z->endpoint);
    (void)zmq_ranks_put(z, to, KIND_MEMBER, 0, row, n);
}

Status zmq_ranks_connect(ZmqComm *z, int rank, const char *endpoint, uint32_t incarnation) {
    Peer *p = &z->peer[rank];
    char watch[64];
    if (p->dealer && p->incarnation == incarnation && strcmp(p->endpoint, endpoint) == 0) {
        z->changed = z->changed || !p->joined;
        z->comm.life[rank] += !p->joined;
        p->joined = true;
        return ST_OK;
    }
    zmq_ranks_disconnect(p);
    snprintf(p->endpoint, sizeof p->endpoint, "%s", endpoint);
    snprintf(watch, sizeof watch, "inproc://watch-%d-%u", rank, incarnation);
    p->incarnation = incarnation;
    p->joined = true;
    p->broken = false;
    z->changed = true;
    z->comm.life[rank]++;
    comm_forgive(&z->comm, rank);
    p->dealer = zmq_ranks_socket(z, ZMQ_DEALER, false);
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
    zmq_ranks_introduce(z, rank); // before anything else: an answer goes to whom it knows there
    return ST_OK;
}

size_t zmq_ranks_member(ZmqComm *z, const uint8_t *p, size_t n) {
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
        z->comm.life[0] += incarnation > z->peer[0].incarnation || !z->peer[0].joined;
        z->changed = z->changed || !z->peer[0].joined;
        z->peer[0].incarnation = incarnation;
        z->peer[0].joined = true;
    } else if ((int)rank != z->rank && news) {
        (void)zmq_ranks_connect(z, (int)rank, endpoint, incarnation);
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

void zmq_ranks_welcome(ZmqComm *z, const uint8_t *p, size_t n) {
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
    if (zmq_ranks_connect(z, rank, endpoint, incarnation) != ST_OK) return;
    uint8_t row[8 + ENDPOINT], *table = malloc((size_t)z->places * sizeof row + 8);
    if (!table) return;
    size_t row_bytes = put_member(row, rank, incarnation, endpoint), bytes = 8;
    put_u32(table, (uint32_t)rank);
    put_u32(table + 4, incarnation);
    bytes += put_member(table + bytes, 0, z->incarnation, z->endpoint);
    for (int i = 1; i < z->places; i++)
        if (i != rank && z->peer[i].joined) {
            bytes += put_member(table + bytes, i, z->peer[i].incarnation, z->peer[i].endpoint);
            (void)zmq_ranks_put(z, i, KIND_MEMBER, 0, row, row_bytes);
        }
    (void)zmq_ranks_put(z, rank, KIND_WELCOME, 0, table, bytes);
    free(table);
    log_info("zmq: rank %d joins from %s", rank, endpoint);
}

void zmq_ranks_welcomed(ZmqComm *z, const uint8_t *p, size_t n) {
    if (z->rank >= 0 || n < 8 || get_u32(p) >= (uint32_t)z->places) return;
    z->rank = (int)get_u32(p);
    z->incarnation = get_u32(p + 4);
    for (size_t at = 8, step; at < n && (step = zmq_ranks_member(z, p + at, n - at)) > 0;
         at += step) {}
}
