#include "learner/comm/zmq_guard.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

struct ZmqGuard {
    void *socket;
    pthread_t thread;
    uint8_t key[32];
};

enum { FRAMES = 16, FRAME_BYTES = 256 };

/* A request is version, id, domain, address, identity, mechanism, credentials: for CURVE the last
 * is the client's public key. Returns the number of frames, -1 when the context ends.          */
static int receive(void *socket, uint8_t frame[FRAMES][FRAME_BYTES], int length[FRAMES]) {
    int n = 0, more = 1;
    size_t size = sizeof more;
    while (more) {
        int k = n < FRAMES ? n : FRAMES - 1;
        length[k] = zmq_recv(socket, frame[k], FRAME_BYTES, 0);
        if (length[k] < 0) return -1;
        n = k + 1;
        if (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0) return -1;
    }
    return n;
}

static void *serve(void *arg) {
    ZmqGuard *g = arg;
    uint8_t frame[FRAMES][FRAME_BYTES];
    int length[FRAMES], n;
    while ((n = receive(g->socket, frame, length)) >= 0) {
        if (n < 2 || length[0] > FRAME_BYTES || length[1] > FRAME_BYTES) continue;
        int good = n == 7 && length[5] == 5 && memcmp(frame[5], "CURVE", 5) == 0 &&
                   length[6] == 32 && memcmp(frame[6], g->key, 32) == 0;
        zmq_send(g->socket, "1.0", 3, ZMQ_SNDMORE);
        zmq_send(g->socket, frame[1], (size_t)length[1], ZMQ_SNDMORE);
        zmq_send(g->socket, good ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send(g->socket, "", 0, ZMQ_SNDMORE);
        zmq_send(g->socket, "", 0, ZMQ_SNDMORE);
        zmq_send(g->socket, "", 0, 0);
    }
    zmq_close(g->socket);
    return NULL;
}

Status zmq_guard_new(void *context, const uint8_t key[32], ZmqGuard **out) {
    ZmqGuard *g = calloc(1, sizeof *g);
    if (!g) return ST_NOMEM;
    memcpy(g->key, key, sizeof g->key);
    g->socket = zmq_socket(context, ZMQ_REP);
    if (!g->socket || zmq_bind(g->socket, "inproc://zeromq.zap.01") != 0 ||
        pthread_create(&g->thread, NULL, serve, g) != 0) {
        if (g->socket) zmq_close(g->socket);
        free(g);
        return ST_IO;
    }
    *out = g;
    return ST_OK;
}

void zmq_guard_free(ZmqGuard *g) {
    if (!g) return;
    pthread_join(g->thread, NULL);
    free(g);
}
