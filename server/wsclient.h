/* wsclient.h - a small WebSocket client for the bench and the tests: one connection, plain TCP.
 *
 * Speaks only what this server needs (RFC 6455, sub-protocol ddz.v1, no extensions, no TLS).  */
#ifndef DIZHU_SERVER_WSCLIENT_H
#define DIZHU_SERVER_WSCLIENT_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct WsClient WsClient;

/* Connects and waits for the upgrade. origin NULL: none is sent. *http, if given, becomes the
 * answer's status. ST_PEER: refused. ST_IO: no connection.                                  */
Status wsclient_open(const char *host, int port, const char *origin, WsClient **out, int *http);
void wsclient_close(WsClient *c); /* without a farewell; NULL is allowed */
int wsclient_fd(const WsClient *c);

/* One text message, waiting for room if the socket is full. ST_PEER: the connection is gone. */
Status wsclient_send(WsClient *c, const char *text, size_t n);
/* One frame with these first two bits and opcode, for tests of what is not allowed. */
Status wsclient_send_frame(WsClient *c, uint8_t first, const void *p, size_t n);
/* Bytes as they are. */
Status wsclient_send_raw(WsClient *c, const void *p, size_t n);

/* The next message; valid until the next call. ST_TIMEOUT: none came; 0 never waits. ST_PEER: the
 * server closed.                                                                            */
Status wsclient_recv(WsClient *c, int timeout_ms, const char **text, size_t *n);

#endif
