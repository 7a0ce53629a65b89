/* frame.h - the envelope of everything that crosses a socket.
 *
 *   0  4  magic "DZF1"             24  8  sequence number from this sender
 *   4  2  kind (FrameKind)         32  4  length of the body in bytes
 *   6  1  ruleset                  36  4  version of the weights it speaks of
 *   7  1  objective                40  8  XXH3-64 of the header with this field 0, and the body
 *   8  8  run id                   48     body
 *  16  8  sender id
 *
 * All little-endian. Whatever comes off a socket is hostile until frame_read has checked it.
 * docs/frame.md has a worked example in hex. Uses xxhash.                                   */
#ifndef DIZHU_ENGINE_BASE_FRAME_H
#define DIZHU_ENGINE_BASE_FRAME_H
#include "engine/base/status.h"
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEADER_BYTES = 48, FRAME_MAX_BODY = 64 << 20 };

typedef enum {
    FRAME_RECORDS = 1, /* body: game records back to back */
    FRAME_HEARTBEAT,   /* body: actor counters (learner/README or docs/frame.md) */
    FRAME_HELLO,       /* actor -> learner: asks for the run and its first weights */
    FRAME_WELCOME,     /* learner -> actor: the run's settings */
    FRAME_WEIGHTS,     /* body: a weights file */
    FRAME_VERSION,     /* body empty: this version of the weights lies in shared memory */
    FRAME_REFUSED,     /* body: text, why */
    FRAME_BYE,         /* the run has ended */
    FRAME_N_KINDS
} FrameKind;

typedef struct {
    uint16_t kind;
    uint8_t ruleset, objective;
    uint32_t weights_version;
    uint64_t run, sender, sequence;
    uint32_t length; /* of the body */
} Frame;

/* Writes the header in front of a body that already lies at out + FRAME_HEADER_BYTES. */
void frame_write(const Frame *f, uint8_t *out);
/* Checks magic, length, kind and checksum. *body points into p. */
Status frame_read(const uint8_t *p, size_t n, Frame *out, const uint8_t **body);

#endif
