/* gauss.h - normal random numbers for test problems, from the house's generator. */
#ifndef DIZHU_TESTS_LEARNER_GAUSS_H
#define DIZHU_TESTS_LEARNER_GAUSS_H
#include "engine/base/rng.h"
#include <math.h>

/* Box and Muller; one of the pair is thrown away. */
static inline double gauss(Rng *r) {
    double u = ((double)rng_u32(r) + 1) / 4294967297.0, w = (double)rng_u32(r) / 4294967296.0;
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * w);
}

#endif
