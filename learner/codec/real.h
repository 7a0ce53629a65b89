/* real.h - the number type of parameters, gradients and residuals.
 *
 * float in the product. The same sources are compiled a second time with DIZHU_REAL64 for the tests
 * that must tell an ordering bug from a rounding error: identities that hold to 1e-10, floors of
 * 1e-24.                                                                                    */
#ifndef DIZHU_LEARNER_CODEC_REAL_H
#define DIZHU_LEARNER_CODEC_REAL_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef DIZHU_REAL64
typedef double Real;
static inline Real real_sqrt(Real x) { return sqrt(x); }
static inline Real real_abs(Real x) { return fabs(x); }
static inline Real real_rint(Real x) { return rint(x); }
#else
typedef float Real;
static inline Real real_sqrt(Real x) { return sqrtf(x); }
static inline Real real_abs(Real x) { return fabsf(x); }
static inline Real real_rint(Real x) { return rintf(x); }
#endif

/* No NaN and no infinity among the n values. One pass that vectorises: 0 * x is 0 or NaN. */
static inline bool real_finite(const Real *x, size_t n) {
    Real sum = 0;
    for (size_t i = 0; i < n; i++) sum += 0 * x[i];
    return sum == 0;
}

#endif
