/* zmq_guard.h - lets in who has the team's key, and nobody else: ZeroMQ's authentication (RFC 27).
 */
#ifndef DIZHU_LEARNER_COMM_ZMQ_GUARD_H
#define DIZHU_LEARNER_COMM_ZMQ_GUARD_H
#include "engine/base/status.h"
#include <stdint.h>

typedef struct ZmqGuard ZmqGuard;

/* Before the context's first CURVE socket is bound. key: the public key in its 32 bytes. The thread
 * ends when the context is shut down; then zmq_guard_free joins it.                         */
Status zmq_guard_new(void *context, const uint8_t key[32], ZmqGuard **out);
void zmq_guard_free(ZmqGuard *g);

#endif
