/* codec_rows.h - the rows of the codec table, for codec.c, and how they read and write numbers. */
#ifndef DIZHU_LEARNER_CODEC_CODEC_ROWS_H
#define DIZHU_LEARNER_CODEC_CODEC_ROWS_H
#include "learner/codec/codec.h"
#include <string.h>

extern const CodecOps codec_row_none, codec_row_fp16, codec_row_bf16, codec_row_u8, codec_row_sign,
    codec_row_sign_l2, codec_row_qsgd, codec_row_topk, codec_row_randk;

/* Numbers in a byte stream, in the machine's order (all machines of a run are little-endian). */
static inline void put_real(uint8_t *p, Real x) { memcpy(p, &x, sizeof x); }
static inline Real get_real(const uint8_t *p) {
    Real x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline size_t codec_blocks(const Codec *c, size_t n) {
    return (n + c->block - 1) / c->block;
}
/* Length of the block that starts at `at`. */
static inline size_t codec_block_at(const Codec *c, size_t n, size_t at) {
    return n - at < c->block ? n - at : c->block;
}
/* k of topk and randk: at least one of any number. */
static inline size_t codec_k(const Codec *c, size_t n) {
    size_t k = (size_t)ceil(c->fraction * (double)n);
    return k < n ? k : n;
}

#endif
