/* link.h - sockets that carry frames: a thin layer over libzmq.
 *
 * A Link is one socket, bound or connected, used by one thread at a time. Messages are single
 * frames (frame.h), checked on arrival; a ROUTER link remembers who sent the last frame, for
 * link_reply. Connecting succeeds at once, before or after the other side exists, and reconnects by
 * itself. Queues are bounded by high_water: a PUSH whose queue is full makes link_send wait (that
 * is the back-pressure), a PUB drops for that subscriber.
 * With keys, traffic is encrypted and the server authenticated (CURVE); a client that does not know
 * the server's public key cannot speak to it, so hand that key only to whom may join.
 * Library `link` (libzmq); docs/frame.md says who speaks to whom.                           */
#ifndef DIZHU_ENGINE_BASE_LINK_H
#define DIZHU_ENGINE_BASE_LINK_H
#include "engine/base/frame.h"
#include "engine/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { LINK_PUSH, LINK_PULL, LINK_PUB, LINK_SUB, LINK_DEALER, LINK_ROUTER } LinkKind;

/* A CURVE key pair as text (Z85). */
enum { LINK_KEY_CHARS = 40, LINK_ENDPOINT_BYTES = 256 };
typedef struct {
    char public_key[LINK_KEY_CHARS + 1], secret_key[LINK_KEY_CHARS + 1];
} LinkKeys;

typedef struct {
    LinkKind kind;
    bool bind;            /* else connect */
    int high_water;       /* messages queued per peer and direction; 0: 16 */
    int linger_ms;        /* how long link_close may wait for unsent messages; 0: not at all */
    bool newest_only;     /* SUB: keep the last message alone (PUB/SUB of whole states) */
    const LinkKeys *keys; /* bind: of the server; connect: NULL, a pair for this process is made */
    const char *server_key; /* connect: the server's public key; NULL: plain text */
} LinkOptions;

typedef struct LinkContext LinkContext;
typedef struct Link Link;

/* One per process. Free it after its links: link_context_free waits for their lingering. */
Status link_context_new(LinkContext **out);
void link_context_free(LinkContext *c);

/* Opens a socket on an endpoint: "tcp://127.0.0.1:5555", "tcp://127.0.0.1:*" (any free port),
 * "tcp://0.0.0.0:5555" (all interfaces; the host may be a star), "ipc://PATH", "inproc://NAME". A
 * SUB subscribes to everything. ST_INVALID: no such endpoint or a bad key; ST_IO: the port is in
 * use or not ours. The log has the endpoint and why. */
Status link_open(LinkContext *c, const LinkOptions *o, const char *endpoint, Link **out);
void link_close(Link *l); /* NULL is allowed */
/* What the socket is bound to, with the port that was found. */
const char *link_endpoint(const Link *l);

/* Sends a frame: the header is made here (length and checksum are set), body[f->length] is copied.
 * Waits up to timeout_ms (-1: for ever) for room in the queue: ST_TIMEOUT. ST_INTERRUPTED: a
 * signal came or the context ends.                                                          */
Status link_send(Link *l, const Frame *f, const void *body, int timeout_ms);
/* ROUTER: sends to whoever sent the last frame received here. A peer that has gone is no error. */
Status link_reply(Link *l, const Frame *f, const void *body);
/* Receives the next frame; *body is valid until the next receive or close. ST_TIMEOUT,
 * ST_INTERRUPTED as above; what frame_read says of a message that is no frame (the message is
 * consumed, nothing is logged: the caller counts).                                          */
Status link_recv(Link *l, int timeout_ms, Frame *out, const uint8_t **body);
/* Waits until one of n <= 16 links can be received from; bit i of the result is links[i]. 0: none
 * within timeout_ms, or a signal came.                                                      */
unsigned link_wait(Link *const *links, int n, int timeout_ms);

/* A peer's endpoint as seen from here: if `offered` is bound to all interfaces (host 0.0.0.0,
 * [::] or a star), its host is replaced by that of `connected`, the endpoint that we reached the
 * peer by. ST_INVALID: too long or not tcp.                                                 */
Status link_resolve(const char *connected, const char *offered, char out[LINK_ENDPOINT_BYTES]);

/* A new key pair; the pair kept in a file of two lines, public and secret, mode 600. Loading logs
 * the path: ST_IO, ST_PARSE, ST_CORRUPT (the two do not belong together). ST_UNSUPPORTED: libzmq
 * was built without CURVE.                                                                  */
Status link_keys_new(LinkKeys *out);
Status link_keys_save(const LinkKeys *k, const char *path);
Status link_keys_load(const char *path, LinkKeys *out);
/* Is this the text of a public key? */
bool link_key_valid(const char *key);

#endif
