/* zmq_place.h - keys and a founder's endpoint on loopback, for tests with processes. */
#ifndef DIZHU_TESTS_LEARNER_ZMQ_PLACE_H
#define DIZHU_TESTS_LEARNER_ZMQ_PLACE_H
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "learner/comm/comm_zmq.h"

static char public_key[41], secret_key[41], founder[64];

/* A port that was free a moment ago. False: this libzmq cannot encrypt. */
static inline bool new_place(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(s, (struct sockaddr *)&a, sizeof a) != 0) return false;
    if (getsockname(s, (struct sockaddr *)&a, &size) != 0) return false;
    close(s);
    snprintf(founder, sizeof founder, "tcp://127.0.0.1:%d", ntohs(a.sin_port));
    return public_key[0] || zmq_curve_keypair(public_key, secret_key) == 0;
}

static inline ZmqConfig config_of(int rank, int size, int wait_for) {
    return (ZmqConfig){.public_key = public_key,
                       .secret_key = secret_key,
                       .founder = founder,
                       .listen = "tcp://127.0.0.1:*",
                       .size = size,
                       .rank = rank,
                       .wait_for = wait_for,
                       .wait_s = 30};
}

#endif
