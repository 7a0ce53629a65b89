/* sign and sign-l2: one bit a number and one scale a block.
 *
 * The L1 scale s = mean|x| loses |x|_2^2 - |x|_1^2 / b: always a contraction. The L2 scale
 * s = |x|_2 / sqrt(b) loses 2 |x|_2^2 - 2 |x|_2 |x|_1 / sqrt(b): on sparse blocks more than x
 * itself. Layout: all scales, then the bits of all numbers, 8 a byte, least significant first. */
#include "learner/codec/codec_rows.h"

static size_t sign_bound(const Codec *c, size_t n) {
    return codec_blocks(c, n) * sizeof(Real) + (n + 7) / 8;
}

static double norm1(const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i]);
    return sum;
}

static double norm2_squared(const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum;
}

/* The loop over whole bytes has no branch and vectorises; the tail is the last n % 8 numbers. */
static void put_bits(const Real *x, size_t n, uint8_t *out) {
    size_t whole = n / 8;
    for (size_t i = 0; i < whole; i++) {
        unsigned bits = 0;
        for (unsigned j = 0; j < 8; j++) bits |= (unsigned)(x[8 * i + j] >= 0) << j;
        out[i] = (uint8_t)bits;
    }
    if (n % 8 == 0) return;
    unsigned bits = 0;
    for (unsigned j = 0; j < n % 8; j++) bits |= (unsigned)(x[8 * whole + j] >= 0) << j;
    out[whole] = (uint8_t)bits;
}

static size_t encode(const Codec *c, const Real *x, size_t n, uint8_t *out, bool l2) {
    uint8_t *p = out;
    for (size_t at = 0; at < n; at += c->block, p += sizeof(Real)) {
        size_t b = codec_block_at(c, n, at);
        double s = l2 ? sqrt(norm2_squared(x + at, b) / (double)b) : norm1(x + at, b) / (double)b;
        put_real(p, (Real)s);
    }
    put_bits(x, n, p);
    return sign_bound(c, n);
}

static size_t sign_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    (void)seed;
    return encode(c, x, n, out, false);
}

static size_t sign_l2_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    (void)seed;
    return encode(c, x, n, out, true);
}

static Status sign_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                              uint64_t seed, Real scale, Real *y) {
    (void)seed;
    if (bytes != sign_bound(c, n)) return ST_CORRUPT;
    const uint8_t *bits = in + codec_blocks(c, n) * sizeof(Real);
    for (size_t at = 0; at < n; at += c->block, in += sizeof(Real)) {
        Real s = get_real(in);
        if (!isfinite(s)) return ST_CORRUPT;
        Real value[2] = {-scale * s, scale * s};
        size_t end = at + codec_block_at(c, n, at);
        for (size_t i = at; i < end; i++) y[i] += value[bits[i / 8] >> (i % 8) & 1];
    }
    return ST_OK;
}

static double error(const Codec *c, const Real *x, size_t n, bool l2) {
    double sum = 0;
    for (size_t at = 0; at < n; at += c->block) {
        size_t b = codec_block_at(c, n, at);
        double one = norm1(x + at, b), two = norm2_squared(x + at, b);
        double e =
            l2 ? 2 * two - 2 * sqrt(two) * one / sqrt((double)b) : two - one * one / (double)b;
        sum += fmax(e, 0) + two * 1e-6; // the scale is rounded to a Real
    }
    return sum + 1e-80;
}

static double sign_error(const Codec *c, const Real *x, size_t n) { return error(c, x, n, false); }
static double sign_l2_error(const Codec *c, const Real *x, size_t n) {
    return error(c, x, n, true);
}

const CodecOps codec_row_sign = {"sign",      "1 bit, scale mean|x|", true,      false, sign_bound,
                                 sign_encode, sign_decode_add,        sign_error};
const CodecOps codec_row_sign_l2 = {"sign-l2",
                                    "1 bit, scale |x|_2/sqrt(b), as the 1-bit Adam paper",
                                    true,
                                    false,
                                    sign_bound,
                                    sign_l2_encode,
                                    sign_decode_add,
                                    sign_l2_error};
