/* qsgd: each number as its sign and a random neighbour of s |x_i| / |x|_2 among 0..s: unbiased.
 *
 * s = 2^(bits-1) - 1, so that sign and level fill `bits` bits (2, 4 or 8; a level needs bits-1).
 * Layout: all scales |x|_2 / s, then the codes, packed from the least significant bit. The variance
 * of a block is at most min(b / s^2, sqrt(b) / s) |x|_2^2.
 * Source: Alistarh et al., QSGD, NeurIPS 2017, arXiv:1610.02132, section 3.1.               */
#include "engine/base/rng.h"
#include "learner/codec/codec_rows.h"

static int levels(const Codec *c) { return (1 << (c->bits - 1)) - 1; }

static size_t qsgd_bound(const Codec *c, size_t n) {
    return codec_blocks(c, n) * sizeof(Real) + (n * (size_t)c->bits + 7) / 8;
}

static double block_norm(const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static size_t qsgd_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    int s = levels(c), bits = c->bits, per_byte = 8 / bits;
    uint8_t *codes = out + codec_blocks(c, n) * sizeof(Real);
    memset(codes, 0, (n * (size_t)bits + 7) / 8);
    for (size_t at = 0, block = 0; at < n; at += c->block, block++) {
        size_t b = codec_block_at(c, n, at);
        Real unit = (Real)(block_norm(x + at, b) / s);
        put_real(out + block * sizeof unit, unit);
        Rng r;
        rng_init(&r, seed, block);
        for (size_t i = at; i < at + b; i++) {
            float drawn = rng_float(&r);
            Real exact = unit > 0 ? real_abs(x[i]) / unit : 0;
            int level = (int)(exact + (Real)drawn);
            if (level > s) level = s;
            unsigned code = (unsigned)level << 1 | (x[i] < 0);
            codes[i / (size_t)per_byte] |= (uint8_t)(code << bits * (int)(i % (size_t)per_byte));
        }
    }
    return qsgd_bound(c, n);
}

static Status qsgd_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                              uint64_t seed, Real scale, Real *y) {
    (void)seed;
    if (bytes != qsgd_bound(c, n)) return ST_CORRUPT;
    int bits = c->bits, per_byte = 8 / bits;
    unsigned mask = (1u << bits) - 1;
    const uint8_t *codes = in + codec_blocks(c, n) * sizeof(Real);
    for (size_t at = 0; at < n; at += c->block, in += sizeof(Real)) {
        Real unit = get_real(in);
        if (!isfinite(unit)) return ST_CORRUPT;
        Real value[256];
        for (unsigned code = 0; code <= mask; code++)
            value[code] = scale * unit * (Real)(code >> 1) * (code & 1 ? -1 : 1);
        size_t end = at + codec_block_at(c, n, at);
        for (size_t i = at; i < end; i++)
            y[i] += value[codes[i / (size_t)per_byte] >> bits * (int)(i % (size_t)per_byte) & mask];
    }
    return ST_OK;
}

static double qsgd_error(const Codec *c, const Real *x, size_t n) {
    double s = levels(c), sum = 0;
    for (size_t at = 0; at < n; at += c->block) {
        size_t b = codec_block_at(c, n, at);
        double norm = block_norm(x + at, b);
        sum += fmin((double)b / (s * s), sqrt((double)b) / s) * norm * norm;
    }
    return sum;
}

const CodecOps codec_row_qsgd = {"qsgd",          "random rounding of |x|/norm, unbiased",
                                 false,           false,
                                 qsgd_bound,      qsgd_encode,
                                 qsgd_decode_add, qsgd_error};
