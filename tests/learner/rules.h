/* rules.h - plain optimizers as Rules, for test problems: what the product's optimizer does, in
 * Real. */
#ifndef DIZHU_TESTS_LEARNER_RULES_H
#define DIZHU_TESTS_LEARNER_RULES_H
#include "learner/algo/algo.h"
#include <stdlib.h>

static inline Status sgd_apply(void *ctx, Real *x, const Real *g, size_t n, double lr) {
    (void)ctx;
    if (!real_finite(g, n)) return ST_CORRUPT;
    for (size_t i = 0; i < n; i++) x[i] -= (Real)lr * g[i];
    return ST_OK;
}
static inline Rule rule_sgd(void) { return (Rule){sgd_apply, NULL}; }

typedef struct {
    Real *m, *v;
    uint64_t t;
    double beta1, beta2, eps;
} Adam;

static inline void adam_init(Adam *a, size_t n) {
    *a = (Adam){calloc(n, sizeof(Real)), calloc(n, sizeof(Real)), 0, .9, .999, 1e-8};
}
static inline void adam_deinit(Adam *a) {
    free(a->m);
    free(a->v);
}
static inline Status adam_apply(void *ctx, Real *x, const Real *g, size_t n, double lr) {
    Adam *a = ctx;
    a->t++;
    double c1 = 1 / (1 - pow(a->beta1, (double)a->t)), c2 = 1 / (1 - pow(a->beta2, (double)a->t));
    for (size_t i = 0; i < n; i++) {
        a->m[i] = (Real)a->beta1 * a->m[i] + (1 - (Real)a->beta1) * g[i];
        a->v[i] = (Real)a->beta2 * a->v[i] + (1 - (Real)a->beta2) * g[i] * g[i];
        x[i] -= (Real)lr * (a->m[i] * (Real)c1 / (real_sqrt(a->v[i] * (Real)c2) + (Real)a->eps));
    }
    return ST_OK;
}
static inline Rule rule_adam(Adam *a) { return (Rule){adam_apply, a}; }

#endif
