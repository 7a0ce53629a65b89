/* u8: 256 equal steps from a block's least to its greatest number.
 *
 * Block: least, step as numbers, then one byte each. The step is (max - min) / 255 with no epsilon
 * added, so that gradients of 1e-9 keep their 8 bits, and x - min is taken before scaling, so that
 * a large mean costs none.                                                                    */
#include "learner/codec/codec_rows.h"

enum { HEAD = 2 * sizeof(Real) };

static size_t u8_bound(const Codec *c, size_t n) { return n + codec_blocks(c, n) * HEAD; }

static void limits(const Real *x, size_t n, Real *least, Real *greatest) {
    Real lo = x[0], hi = x[0];
    for (size_t i = 1; i < n; i++) {
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    *least = lo;
    *greatest = hi;
}

static size_t u8_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    (void)seed;
    uint8_t *p = out;
    for (size_t at = 0; at < n; at += c->block) {
        size_t b = codec_block_at(c, n, at);
        Real lo, hi;
        limits(x + at, b, &lo, &hi);
        // halves, because hi - lo may overflow; the least subnormal range still has a step
        Real half_range = hi / 2 - lo / 2, inverse = half_range > 0 ? (Real)127.5 / half_range : 0;
        if (!(inverse * half_range > 0) || isinf(inverse)) inverse = 0;
        put_real(p, lo);
        put_real(p + sizeof(Real), inverse > 0 ? half_range / (Real)127.5 : 0);
        p += HEAD;
        for (size_t i = 0; i < b; i++) {
            Real q = real_rint((x[at + i] / 2 - lo / 2) * inverse * 2);
            p[i] = (uint8_t)(int)(q < 255 ? q : 255);
        }
        p += b;
    }
    return (size_t)(p - out);
}

static Status u8_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                            uint64_t seed, Real scale, Real *y) {
    (void)seed;
    if (bytes != u8_bound(c, n)) return ST_CORRUPT;
    for (size_t at = 0; at < n; at += c->block) {
        size_t b = codec_block_at(c, n, at);
        Real lo = get_real(in), step = get_real(in + sizeof(Real));
        if (!isfinite(lo) || !isfinite(step)) return ST_CORRUPT;
        in += HEAD;
        for (size_t i = 0; i < b; i++) y[at + i] += scale * (lo + (Real)in[i] * step);
        in += b;
    }
    return ST_OK;
}

/* Half a step, and the rounding of min + q step. */
static double u8_error(const Codec *c, const Real *x, size_t n) {
    double sum = 0;
    for (size_t at = 0; at < n; at += c->block) {
        size_t b = codec_block_at(c, n, at);
        Real lo, hi;
        limits(x + at, b, &lo, &hi);
        double e = ((double)hi - (double)lo) / 510 * (1 + 1e-4) +
                   0x1p-22 * fmax(fabs((double)lo), fabs((double)hi)) +
                   0x1p-118; // a range below 1e-36 is coded as 0
        sum += (double)b * e * e;
    }
    return sum;
}

const CodecOps codec_row_u8 = {
    "u8",    "8 bits between least and greatest", true, false, u8_bound, u8_encode, u8_decode_add,
    u8_error};
