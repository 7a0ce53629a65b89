/* rng.h - counter-based random numbers: Philox4x32-10.
 *
 * The stream is a pure function of (seed, stream id): game 17 of run 5 is the same on every
 * machine, whatever the number of threads or actors. Freestanding, 32 bytes of state.
 * Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
#ifndef DIZHU_ENGINE_BASE_RNG_H
#define DIZHU_ENGINE_BASE_RNG_H
#include <stdint.h>

typedef struct {
    uint32_t key[2];     /* the seed */
    uint32_t counter[4]; /* [0..1] position in the stream, [2..3] the stream id */
    uint32_t block[4];   /* words of the last counter, used from the end */
    uint32_t left;       /* unused words in block */
} Rng;

/* One block: out[4] from counter[4] and key[2] (the published function, for tests). */
void philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

void rng_init(Rng *r, uint64_t seed, uint64_t stream);
uint32_t rng_u32(Rng *r);
uint64_t rng_u64(Rng *r);
/* Uniform in 0..n-1, without bias (Lemire 2019); n > 0. */
uint32_t rng_below(Rng *r, uint32_t n);
/* Uniform in [0, 1) with 24 bits. */
float rng_float(Rng *r);

#endif
