/* codec.h - a block of numbers as fewer bytes, and what is lost by it.
 *
 * | name      | bytes for n numbers             | decoded value C(x)                           |
 * | none      | 4n                              | x                                            |
 * | fp16,bf16 | 2n                              | nearest, saturating (fp16)                   |
 * | u8        | n + 8 a block                   | min + q (max - min) / 255, q in 0..255       |
 * | sign      | n/8 + 4 a block                 | +-mean|x| of the block (EF-SignSGD)          |
 * | sign-l2   | n/8 + 4 a block                 | +-|x|_2/sqrt(b) (the 1-bit Adam paper)       |
 * | qsgd:B    | nB/8 + 4 a block                | sign |x|_2 l / s, s = 2^(B-1)-1, unbiased    |
 * | topk:F    | k(4 + ceil(log2 n)/8), k = F n  | x at the k largest |x|, else 0               |
 * | randk:F   | 4k                              | x at k places that the seed picks, else 0    |
 *
 * A block is `block` consecutive numbers with one scale; the last may be shorter, and no padding is
 * ever counted. `sign` codes x >= 0 as 1: it never emits 0. Encoding is a pure function of (x,
 * seed). The double build (real.h) stores scales and values in 8 bytes instead of 4. Sources:
 * Karimireddy et al. arXiv:1901.09847 (sign), Tang et al. arXiv:2102.02888 (1-bit Adam), Alistarh
 * et al. arXiv:1610.02132 (QSGD), Stich et al. arXiv:1809.07599 (top-k, random-k).  */
#ifndef DIZHU_LEARNER_CODEC_CODEC_H
#define DIZHU_LEARNER_CODEC_CODEC_H
#include "engine/base/status.h"
#include "learner/codec/real.h"
#include <stdint.h>

typedef struct CodecOps CodecOps;

/* A codec and its settings; plain data, copied freely. */
typedef struct {
    const CodecOps *ops;
    uint32_t block;  /* numbers per scale: u8, sign, sign-l2, qsgd */
    double fraction; /* topk, randk: k = ceil(fraction n) */
    int bits;        /* qsgd: 2, 4 or 8, the sign included */
} Codec;

struct CodecOps {
    const char *name, *help;
    bool biased; /* E C(x) != x: it needs error feedback to reach what plain SGD reaches */
    bool seeded; /* decoding needs the seed, too */
    /* Bytes that n numbers take at most. */
    size_t (*bound)(const Codec *c, size_t n);
    /* Writes the code of x[n] to out, returns its length. x must be finite. */
    size_t (*encode)(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out);
    /* y[i] += scale * C(x)[i]. ST_CORRUPT: not a code of n numbers; y may be half done then. */
    Status (*decode_add)(const Codec *c, const uint8_t *in, size_t bytes, size_t n, uint64_t seed,
                         Real scale, Real *y);
    /* The stated bound on |x - C(x)|^2 (its expectation, for qsgd and randk). */
    double (*error)(const Codec *c, const Real *x, size_t n);
};

/* The table of all codecs; NULL past the end. */
const CodecOps *codec_ops(int index);
/* From "none", "u8", "qsgd:4", "topk:0.01"...; the block is 2048. ST_INVALID, with a line in the
 * log that names what is allowed.                                                               */
Status codec_parse(const char *text, Codec *out);
/* `none`: exact. */
Codec codec_none(void);

static inline size_t codec_bound(const Codec *c, size_t n) { return c->ops->bound(c, n); }
static inline size_t codec_encode(const Codec *c, const Real *x, size_t n, uint64_t seed,
                                  uint8_t *out) {
    return c->ops->encode(c, x, n, seed, out);
}
static inline Status codec_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                                      uint64_t seed, Real scale, Real *y) {
    return c->ops->decode_add(c, in, bytes, n, seed, scale, y);
}
/* y = C(x) instead of adding to it. */
Status codec_decode(const Codec *c, const uint8_t *in, size_t bytes, size_t n, uint64_t seed,
                    Real *y);

/* 16-bit floats, round to nearest even; fp16 saturates at 65504. */
uint16_t fp16_from(float x);
float fp16_to(uint16_t h);
uint16_t bf16_from(float x);
float bf16_to(uint16_t h);

#endif
