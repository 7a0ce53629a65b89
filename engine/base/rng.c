#include "engine/base/rng.h"

void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

void rng_init(Rng *r, uint64_t seed, uint64_t stream) {
    *r = (Rng){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
               .counter = {0, 0, (uint32_t)stream, (uint32_t)(stream >> 32)}};
}

uint32_t rng_u32(Rng *r) {
    if (r->left == 0) {
        philox4x32_10(r->counter, r->key, r->block);
        if (++r->counter[0] == 0) r->counter[1]++;
        r->left = 4;
    }
    return r->block[--r->left];
}

uint64_t rng_u64(Rng *r) {
    uint64_t high = rng_u32(r);
    return high << 32 | rng_u32(r);
}

uint32_t rng_below(Rng *r, uint32_t n) {
    uint64_t m = (uint64_t)rng_u32(r) * n;
    if ((uint32_t)m < n) { // the rare case where some values would come up once too often
        uint32_t reject = -n % n;
        while ((uint32_t)m < reject) m = (uint64_t)rng_u32(r) * n;
    }
    return (uint32_t)(m >> 32);
}

float rng_float(Rng *r) { return (float)(rng_u32(r) >> 8) * 0x1p-24f; }
