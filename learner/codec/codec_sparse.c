/* topk and randk: k numbers of n, exact, the others nothing.
 *
 * topk: the values, then the indices in ascending order, ceil(log2 n) bits each. The k-th largest
 * magnitude is found exactly by counting on the bits of |x| from the top, 11 at a time; ties go to
 * the lower index. randk: sender and receiver draw one place in each of k equal strata from the
 * shared seed, so that only values travel.                                                  */
#include "engine/base/rng.h"
#include "learner/codec/codec_rows.h"

/* |x| as an integer that orders alike. */
#ifdef DIZHU_REAL64
typedef uint64_t Key;
#else
typedef uint32_t Key;
#endif
enum { DIGIT = 11, BUCKETS = 1 << DIGIT, KEY_BITS = 8 * sizeof(Key) };

static Key key_of(Real x) {
    Key k;
    memcpy(&k, &x, sizeof k);
    return k & ~((Key)1 << (KEY_BITS - 1));
}

/* The key such that fewer than k numbers are above it and at least k are at or above it. *at_key is
 * how many numbers equal to it belong to the k.                                             */
static Key threshold(const Real *x, size_t n, size_t k, size_t *at_key) {
    Key prefix = 0;
    for (int low = KEY_BITS, left; low > 0; low = left) { // bits below `low` are undecided
        int digit = low < DIGIT ? low : DIGIT;
        left = low - digit;
        size_t count[BUCKETS] = {0};
        for (size_t i = 0; i < n; i++) {
            Key key = key_of(x[i]);
            if (low == KEY_BITS || key >> low == prefix >> low)
                count[key >> left & ((1u << digit) - 1)]++;
        }
        unsigned d = (1u << digit) - 1;
        while (count[d] < k) k -= count[d--];
        prefix |= (Key)d << left;
    }
    *at_key = k;
    return prefix;
}

static int index_bits(size_t n) {
    int bits = 0;
    while (bits < 63 && (size_t)1 << bits < n) bits++;
    return bits;
}

static size_t topk_bound(const Codec *c, size_t n) {
    size_t k = codec_k(c, n);
    return k * sizeof(Real) + (k * (size_t)index_bits(n) + 7) / 8;
}

static size_t topk_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    (void)seed;
    size_t k = codec_k(c, n), ties = 0;
    if (k == 0) return 0;
    Key least = threshold(x, n, k, &ties);
    int width = index_bits(n), held = 0;
    uint8_t *p = out + k * sizeof(Real);
    uint64_t bits = 0;
    for (size_t i = 0, j = 0; i < n && j < k; i++) {
        Key key = key_of(x[i]);
        if (key < least || (key == least && ties == 0)) continue;
        ties -= key == least;
        put_real(out + j++ * sizeof(Real), x[i]);
        for (bits |= (uint64_t)i << held, held += width; held >= 8; held -= 8, bits >>= 8)
            *p++ = (uint8_t)bits;
    }
    if (held > 0) *p = (uint8_t)bits;
    return topk_bound(c, n);
}

static Status topk_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                              uint64_t seed, Real scale, Real *y) {
    (void)seed;
    if (bytes != topk_bound(c, n)) return ST_CORRUPT;
    size_t k = codec_k(c, n), least = 0;
    int width = index_bits(n), held = 0;
    const uint8_t *p = in + k * sizeof(Real);
    uint64_t bits = 0;
    for (size_t j = 0; j < k; j++) {
        for (; held < width; held += 8) bits |= (uint64_t)*p++ << held;
        size_t i = (size_t)(bits & (((uint64_t)1 << width) - 1));
        bits >>= width;
        held -= width;
        Real value = get_real(in + j * sizeof(Real));
        if (i >= n || i < least || !isfinite(value)) return ST_CORRUPT;
        least = i + 1;
        y[i] += scale * value;
    }
    return ST_OK;
}

static double topk_error(const Codec *c, const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return n == 0 ? 0 : sum * (1 - (double)codec_k(c, n) / (double)n);
}

static size_t randk_bound(const Codec *c, size_t n) { return codec_k(c, n) * sizeof(Real); }

/* The place drawn in stratum j of k over n numbers; strata differ in length by one at most. */
static size_t place(Rng *r, size_t j, size_t k, size_t n) {
    size_t from = j * (n / k) + j * (n % k) / k, to = (j + 1) * (n / k) + (j + 1) * (n % k) / k;
    return from + rng_below(r, (uint32_t)(to - from));
}

static size_t randk_encode(const Codec *c, const Real *x, size_t n, uint64_t seed, uint8_t *out) {
    size_t k = codec_k(c, n);
    Rng r;
    rng_init(&r, seed, 0);
    for (size_t j = 0; j < k; j++) put_real(out + j * sizeof(Real), x[place(&r, j, k, n)]);
    return k * sizeof(Real);
}

static Status randk_decode_add(const Codec *c, const uint8_t *in, size_t bytes, size_t n,
                               uint64_t seed, Real scale, Real *y) {
    if (bytes != randk_bound(c, n)) return ST_CORRUPT;
    size_t k = codec_k(c, n);
    Rng r;
    rng_init(&r, seed, 0);
    for (size_t j = 0; j < k; j++) {
        Real value = get_real(in + j * sizeof(Real));
        if (!isfinite(value)) return ST_CORRUPT;
        y[place(&r, j, k, n)] += scale * value;
    }
    return ST_OK;
}

/* The longest stratum keeps a number with the least probability, 1 / ceil(n / k). */
static double randk_error(const Codec *c, const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    return n == 0 ? 0 : sum * (1 - 1 / ceil((double)n / (double)codec_k(c, n)));
}

const CodecOps codec_row_topk = {
    "topk",      "the largest F n numbers", true,      false, topk_bound,
    topk_encode, topk_decode_add,           topk_error};
const CodecOps codec_row_randk = {"randk",
                                  "F n numbers at places that the seed picks",
                                  true,
                                  true,
                                  randk_bound,
                                  randk_encode,
                                  randk_decode_add,
                                  randk_error};
