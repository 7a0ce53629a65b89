#define XXH_INLINE_ALL // header-only: nothing to link, and the compiler sees the short lengths
#include "engine/base/frame.h"
#include "engine/base/bytes.h"
#include <string.h>
#include <xxhash.h>

static const uint8_t magic[4] = {'D', 'Z', 'F', '1'};
enum { CHECKSUM_AT = 40 };

static uint64_t checksum(const uint8_t *p, size_t n) {
    uint8_t head[FRAME_HEADER_BYTES];
    memcpy(head, p, sizeof head);
    memset(head + CHECKSUM_AT, 0, 8);
    uint64_t seed = XXH3_64bits(head, sizeof head);
    return XXH3_64bits_withSeed(p + FRAME_HEADER_BYTES, n - FRAME_HEADER_BYTES, seed);
}

void frame_write(const Frame *f, uint8_t *out) {
    memcpy(out, magic, 4);
    put_u16(out + 4, f->kind);
    out[6] = f->ruleset;
    out[7] = f->objective;
    put_u64(out + 8, f->run);
    put_u64(out + 16, f->sender);
    put_u64(out + 24, f->sequence);
    put_u32(out + 32, f->length);
    put_u32(out + 36, f->weights_version);
    put_u64(out + CHECKSUM_AT, checksum(out, FRAME_HEADER_BYTES + (size_t)f->length));
}

Status frame_read(const uint8_t *p, size_t n, Frame *out, const uint8_t **body) {
    if (n < FRAME_HEADER_BYTES) return ST_TRUNCATED;
    if (memcmp(p, magic, 3) != 0) return ST_CORRUPT;
    if (p[3] != magic[3]) return ST_VERSION;
    Frame f = {.kind = get_u16(p + 4),
               .ruleset = p[6],
               .objective = p[7],
               .run = get_u64(p + 8),
               .sender = get_u64(p + 16),
               .sequence = get_u64(p + 24),
               .length = get_u32(p + 32),
               .weights_version = get_u32(p + 36)};
    if (f.length > FRAME_MAX_BODY) return ST_CORRUPT;
    if (n < FRAME_HEADER_BYTES + (size_t)f.length) return ST_TRUNCATED;
    if (n > FRAME_HEADER_BYTES + (size_t)f.length) return ST_CORRUPT;
    if (get_u64(p + CHECKSUM_AT) != checksum(p, n)) return ST_CORRUPT;
    if (f.kind == 0 || f.kind >= FRAME_N_KINDS) return ST_VERSION;
    *out = f;
    *body = p + FRAME_HEADER_BYTES;
    return ST_OK;
}
