/* none, fp16 and bf16: number by number, no scales. */
#include "engine/base/bytes.h"
#include "learner/codec/codec_rows.h"

static size_t none_bound(const Codec *c, size_t n) {
    (void)c;
    return n * sizeof(Real);
}

static size_t none_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    (void)c, (void)seed;
    if (n > 0) memcpy(out, x, n * sizeof *x);
    return n * sizeof *x;
}

static Status none_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                              uint64_t seed, Real scale, Real *y) {
    (void)c, (void)seed;
    if (bytes != n * sizeof *y) return ST_CORRUPT;
    for (size_t i = 0; i < n; i++) y[i] += scale * get_real(in + i * sizeof *y);
    return ST_OK;
}

static double none_error(const Codec *c, const Real *x, size_t n) {
    (void)c, (void)x, (void)n;
    return 0;
}

static uint32_t float_bits(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static float bits_float(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

uint16_t bf16_from(float x) {
    uint32_t u = float_bits(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40); // a NaN stays one
    uint32_t rounded = (u + 0x7fffu + (u >> 16 & 1)) >> 16;
    return (uint16_t)rounded;
}

float bf16_to(uint16_t h) { return bits_float((uint32_t)h << 16); }

uint16_t fp16_from(float x) {
    uint32_t u = float_bits(x), sign = u >> 16 & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);  // NaN
    if (magnitude >= 0x477fe000u) return (uint16_t)(sign | 0x7bffu); // at and above 65504
    if (magnitude < 0x38800000u) {                                   // below 2^-14: steps of 2^-24
        float scaled = bits_float(magnitude) * 0x1p24f;
        return (uint16_t)(sign | (uint32_t)rintf(scaled));
    }
    uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1);
    return (uint16_t)(sign | ((rounded >> 13) - (112u << 10)));
}

float fp16_to(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ffu;
    if (exponent == 31) return bits_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0) {
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return bits_float(sign | (exponent + 112u) << 23 | mantissa << 13);
}

static size_t half_bound(const Codec *c, size_t n) {
    (void)c;
    return 2 * n;
}

#define HALF_CODEC(name)                                                                           \
    static size_t name##_encode(const Codec *c, const Real *x, size_t n, uint64_t seed,            \
                                uint8_t *out) {                                                    \
        (void)c, (void)seed;                                                                       \
        for (size_t i = 0; i < n; i++) put_u16(out + 2 * i, name##_from((float)x[i]));             \
        return 2 * n;                                                                              \
    }                                                                                              \
    static Status name##_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,     \
                                    uint64_t seed, Real scale, Real *y) {                          \
        (void)c, (void)seed;                                                                       \
        if (bytes != 2 * n) return ST_CORRUPT;                                                     \
        for (size_t i = 0; i < n; i++) y[i] += scale * (Real)name##_to(get_u16(in + 2 * i));       \
        return ST_OK;                                                                              \
    }
HALF_CODEC(fp16)
HALF_CODEC(bf16)

/* Half a unit in the last place, 2^-11 relative, or half a step of the subnormals; plus what lies
 * above 65504.                                                                              */
static double fp16_error(const Codec *c, const Real *x, size_t n) {
    (void)c;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double a = fabs((double)x[i]), e = a > 65504 ? a - 65504 : fmax(a * 0x1p-11, 0x1p-25);
        sum += e * e;
    }
    return sum * (1 + 1e-6);
}

static double bf16_error(const Codec *c, const Real *x, size_t n) {
    (void)c;
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return sum * 0x1p-16 * (1 + 1e-6) + 1e-70; // 2^-8 relative; subnormals are below 1e-35
}

const CodecOps codec_row_none = {"none",     "exact",     false,           false,
                                 none_bound, none_encode, none_decode_add, none_error};
const CodecOps codec_row_fp16 = {"fp16",      "IEEE half",     true,      false, half_bound,
                                 fp16_encode, fp16_decode_add, fp16_error};
const CodecOps codec_row_bf16 = {"bf16",      "upper half of a float", true,      false, half_bound,
                                 bf16_encode, bf16_decode_add,         bf16_error};
