#include "learner/algo/shared.h"

#include <stdatomic.h>
#include <stdlib.h>

struct Shared {
    size_t n;
    atomic_uint_fast64_t begun;
    _Atomic(Real) *x, *v;
};

Status shared_new(size_t n, const Real *x0, Shared **out) {
    Shared *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->n = n;
    s->x = malloc((n + 1) * sizeof *s->x);
    s->v = malloc((n + 1) * sizeof *s->v);
    if (!s->x || !s->v) {
        shared_free(s);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        atomic_init(&s->x[i], x0[i]);
        atomic_init(&s->v[i], 0);
    }
    *out = s;
    return ST_OK;
}

void shared_free(Shared *s) {
    if (!s) return;
    free(s->x);
    free(s->v);
    free(s);
}

uint64_t shared_read(const Shared *s, Real *x) {
    uint64_t begun = atomic_load_explicit(&s->begun, memory_order_relaxed);
    for (size_t i = 0; i < s->n; i++) x[i] = atomic_load_explicit(&s->x[i], memory_order_relaxed);
    return begun;
}

static inline void subtract(_Atomic(Real) *x, Real step) {
    Real old = atomic_load_explicit(x, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(x, &old, old - step, memory_order_relaxed,
                                                  memory_order_relaxed)) {}
}

uint64_t shared_sgd(Shared *s, const Real *g, double lr, int thread, int threads) {
    uint64_t begun = atomic_fetch_add_explicit(&s->begun, 1, memory_order_relaxed);
    size_t start = s->n * (size_t)thread / (size_t)threads;
    for (size_t k = 0; k < s->n; k++) {
        size_t i = start + k < s->n ? start + k : start + k - s->n;
        if (g[i] != 0) subtract(&s->x[i], (Real)lr * g[i]);
    }
    return begun;
}

uint64_t shared_rmsprop(Shared *s, const Real *g, double lr, double alpha, double eps, int thread,
                        int threads) {
    uint64_t begun = atomic_fetch_add_explicit(&s->begun, 1, memory_order_relaxed);
    size_t start = s->n * (size_t)thread / (size_t)threads;
    Real keep = (Real)alpha, add = 1 - keep;
    for (size_t k = 0; k < s->n; k++) {
        size_t i = start + k < s->n ? start + k : start + k - s->n;
        Real v = atomic_load_explicit(&s->v[i], memory_order_relaxed), next;
        do next = keep * v + add * g[i] * g[i];
        while (!atomic_compare_exchange_weak_explicit(&s->v[i], &v, next, memory_order_relaxed,
                                                      memory_order_relaxed));
        if (g[i] != 0) subtract(&s->x[i], (Real)lr * g[i] / (real_sqrt(next) + (Real)eps));
    }
    return begun;
}

void shared_squares(const Shared *s, Real *v) {
    for (size_t i = 0; i < s->n; i++) v[i] = atomic_load_explicit(&s->v[i], memory_order_relaxed);
}

void shared_squares_load(Shared *s, const Real *v) {
    for (size_t i = 0; i < s->n; i++) atomic_store_explicit(&s->v[i], v[i], memory_order_relaxed);
}
