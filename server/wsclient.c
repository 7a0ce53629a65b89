#include "server/wsclient.h"
#include "engine/base/clock.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MAX = 2048, WAIT_MS = 5000 };

struct WsClient {
    int fd;
    uint8_t *in; /* bytes received, from `at` on not yet given away */
    size_t n, at, cap;
    char kept; /* the byte that a terminator replaced */
    uint8_t *terminated;
    uint32_t mask;
};

static Status wait_for(int fd, short events, int timeout_ms) {
    struct pollfd p = {fd, events, 0};
    int n = poll(&p, 1, timeout_ms);
    return n > 0 ? ST_OK : n == 0 || errno == EINTR ? ST_TIMEOUT : ST_IO;
}

Status wsclient_send_raw(WsClient *c, const void *bytes, size_t n) {
    const uint8_t *p = bytes;
    while (n > 0) {
        ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);
        if (sent > 0) {
            p += sent;
            n -= (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            if (wait_for(c->fd, POLLOUT, WAIT_MS) != ST_OK) return ST_TIMEOUT;
        } else if (sent < 0 && errno != EINTR) {
            return ST_PEER;
        }
    }
    return ST_OK;
}

/* Reads what is there; ST_TIMEOUT: nothing within the time. */
static Status fill(WsClient *c, int timeout_ms) {
    if (timeout_ms != 0) {
        Status st = wait_for(c->fd, POLLIN, timeout_ms);
        if (st != ST_OK) return st;
    }
    if (c->at > 0) {
        memmove(c->in, c->in + c->at, c->n - c->at);
        c->n -= c->at;
        c->at = 0;
    }
    if (c->n + 4096 > c->cap) {
        c->cap = 2 * c->cap + 4096;
        c->in = realloc(c->in, c->cap);
        if (!c->in) abort();
    }
    ssize_t got = recv(c->fd, c->in + c->n, c->cap - c->n - 1, MSG_DONTWAIT);
    if (got == 0) return ST_PEER;
    if (got < 0) return errno == EAGAIN || errno == EINTR ? ST_TIMEOUT : ST_PEER;
    c->n += (size_t)got;
    return ST_OK;
}

static Status upgrade(WsClient *c, const char *host, int port, const char *origin, int *http) {
    char text[1024];
    int n =
        snprintf(text, sizeof text,
                 "GET /ws HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Protocol: ddz.v1\r\n",
                 host, port);
    if (origin) n += snprintf(text + n, sizeof text - (size_t)n, "Origin: %s\r\n", origin);
    n += snprintf(text + n, sizeof text - (size_t)n, "\r\n");
    Status st = wsclient_send_raw(c, text, (size_t)n);
    for (const char *end = NULL; st == ST_OK; st = fill(c, WAIT_MS)) {
        if (c->n == 0) continue;
        c->in[c->n] = '\0';
        end = strstr((char *)c->in, "\r\n\r\n");
        if (!end && c->n < ANSWER_MAX) continue;
        int status = 0;
        sscanf((char *)c->in, "HTTP/%*s %d", &status);
        if (http) *http = status;
        if (!end || status != 101) return ST_PEER;
        c->at = (size_t)(end + 4 - (char *)c->in);
        return ST_OK;
    }
    return st;
}

Status wsclient_open(const char *host, int port, const char *origin, WsClient **out, int *http) {
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (http) *http = 0;
    if (inet_pton(AF_INET, host, &to.sin_addr) != 1) return ST_INVALID;
    WsClient *c = calloc(1, sizeof *c);
    if (!c) return ST_NOMEM;
    c->mask = 0x12345678;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    Status st = ST_IO;
    if (c->fd >= 0 && connect(c->fd, (struct sockaddr *)&to, sizeof to) == 0) {
        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        st = upgrade(c, host, port, origin, http);
    }
    if (st != ST_OK) {
        wsclient_close(c);
        return st;
    }
    *out = c;
    return ST_OK;
}

void wsclient_close(WsClient *c) {
    if (!c) return;
    if (c->fd >= 0) close(c->fd);
    free(c->in);
    free(c);
}

int wsclient_fd(const WsClient *c) { return c->fd; }

Status wsclient_send_frame(WsClient *c, uint8_t first, const void *p, size_t n) {
    uint8_t small[1024], *buf = n + 14 > sizeof small ? malloc(n + 14) : small;
    size_t at = 2;
    if (!buf) return ST_NOMEM;
    buf[0] = first;
    buf[1] = (uint8_t)(0x80 | (n < 126 ? n : n < 65536 ? 126 : 127));
    if (n >= 65536)
        for (int i = 7; i >= 0; i--) buf[at++] = (uint8_t)((uint64_t)n >> (8 * i));
    else if (n >= 126) {
        buf[at++] = (uint8_t)(n >> 8);
        buf[at++] = (uint8_t)n;
    }
    uint8_t mask[4];
    c->mask = c->mask * 1664525 + 1013904223;
    memcpy(mask, &c->mask, 4);
    memcpy(buf + at, mask, 4);
    at += 4;
    for (size_t i = 0; i < n; i++) buf[at + i] = ((const uint8_t *)p)[i] ^ mask[i & 3];
    Status st = wsclient_send_raw(c, buf, at + n);
    if (buf != small) free(buf);
    return st;
}

Status wsclient_send(WsClient *c, const char *text, size_t n) {
    return wsclient_send_frame(c, 0x81, text, n);
}

/* A whole frame at c->at? Its header's length, payload's length and opcode. */
static bool whole_frame(const WsClient *c, size_t *header, size_t *len, int *opcode) {
    const uint8_t *p = c->in + c->at;
    size_t have = c->n - c->at;
    if (have < 2) return false;
    *header = 2;
    *len = p[1] & 0x7f;
    *opcode = p[0] & 15;
    if (*len == 126) {
        if (have < 4) return false;
        *len = (size_t)p[2] << 8 | p[3];
        *header = 4;
    } else if (*len == 127) {
        if (have < 10) return false;
        *len = 0;
        for (int i = 2; i < 10; i++) *len = *len << 8 | p[i];
        *header = 10;
    }
    return have >= *header + *len;
}

Status wsclient_recv(WsClient *c, int timeout_ms, const char **text, size_t *n) {
    int64_t end = clock_ns() / 1000000 + timeout_ms;
    if (c->terminated) *c->terminated = (uint8_t)c->kept;
    c->terminated = NULL;
    for (;;) {
        size_t header, len;
        int opcode;
        while (whole_frame(c, &header, &len, &opcode)) {
            uint8_t *payload = c->in + c->at + header;
            c->at += header + len;
            if (opcode == 8) return ST_PEER;
            if (opcode == 9) wsclient_send_frame(c, 0x8a, payload, len);
            if (opcode != 1) continue;
            c->terminated = payload + len;
            c->kept = (char)*c->terminated;
            *c->terminated = '\0';
            *text = (char *)payload;
            *n = len;
            return ST_OK;
        }
        int64_t left = end - clock_ns() / 1000000;
        Status st = fill(c, timeout_ms == 0 ? 0 : left > 0 ? (int)left : 0);
        if (st == ST_TIMEOUT && timeout_ms != 0 && left > 0) continue;
        if (st != ST_OK) return st;
    }
}
