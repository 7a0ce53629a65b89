/* check.h - one operation, two tables, the same inputs: buffers with guard words, and comparison.
 *
 * Both tables get outputs that start out equal, so that whatever an operation leaves alone must
 * still be equal afterwards. Bounds are given by the caller per element (0: exact).          */
#ifndef DIZHU_TESTS_KERNELS_CHECK_H
#define DIZHU_TESTS_KERNELS_CHECK_H
#include "engine/base/rng.h"
#include "kernels/ops.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const KernelTable *table;      /* under test */
static const KernelTable *definition; /* ref */
static Rng rng;
static uint64_t seed = 1;
static int n_failures;

enum { GUARD = 64, MAX_BUFFERS = 64 };
static struct {
    unsigned char *raw;
    size_t size;
} buffers[MAX_BUFFERS];
static int n_buffers;

/* Zeroed memory between guard words; buffers_check frees all of them. */
static inline void *buffer(size_t n, size_t size) {
    if (n_buffers == MAX_BUFFERS) abort();
    size_t bytes = n * size;
    unsigned char *raw = aligned_alloc(64, (2 * GUARD + bytes + 63) / 64 * 64);
    if (!raw) abort();
    memset(raw, 0xa5, GUARD);
    memset(raw + GUARD, 0, bytes);
    memset(raw + GUARD + bytes, 0xa5, GUARD);
    buffers[n_buffers].raw = raw;
    buffers[n_buffers++].size = bytes;
    return raw + GUARD;
}

static inline void buffers_check(const char *op, const char *size) {
    for (int b = 0; b < n_buffers; b++) {
        for (int i = 0; i < GUARD; i++)
            if (buffers[b].raw[i] != 0xa5 ||
                buffers[b].raw[GUARD + buffers[b].size + (size_t)i] != 0xa5) {
                printf("%s %s %s: wrote outside buffer %d (seed %llu)\n", table->name, op, size, b,
                       (unsigned long long)seed);
                n_failures++;
                break;
            }
        free(buffers[b].raw);
    }
    n_buffers = 0;
}

static inline float uniform(float low, float high) { return low + (high - low) * rng_float(&rng); }

static inline float *floats(size_t n, float low, float high) {
    float *p = buffer(n, sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = uniform(low, high);
    return p;
}

static inline void *copy(const void *from, size_t n, size_t size) {
    void *p = buffer(n, size);
    memcpy(p, from, n * size);
    return p;
}

static inline float *absolute(const float *from, size_t n) {
    float *p = buffer(n, sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = fabsf(from[i]);
    return p;
}

static inline float half_value(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint16_t *halves(size_t n, float low, float high) {
    float *f = floats(n, low, high);
    uint16_t *p = buffer(n, sizeof *p);
    definition->to_bf16(n, f, p);
    return p;
}

static inline uint16_t *absolute16(const uint16_t *from, size_t n) {
    uint16_t *p = buffer(n, sizeof *p);
    for (size_t i = 0; i < n; i++) p[i] = from[i] & 0x7fff;
    return p;
}

static inline void differ(const char *op, const char *size, size_t i, double got, double want,
                          double bound) {
    printf("%s %s %s: [%zu] is %.9g, ref %.9g, bound %.3g (seed %llu)\n", table->name, op, size, i,
           got, want, bound, (unsigned long long)seed);
    n_failures++;
}

/* |got - want| <= factor * terms[i] + relative |want|; terms NULL: zeros. Reports the first. */
static inline void compare(const char *op, const char *size, size_t n, const float *got,
                           const float *want, const float *terms, double factor, double relative) {
    for (size_t i = 0; i < n; i++) {
        double bound = factor * (terms ? (double)terms[i] : 0) + relative * fabs((double)want[i]);
        if (got[i] == want[i] || fabs((double)got[i] - (double)want[i]) <= bound) continue;
        differ(op, size, i, (double)got[i], (double)want[i], bound);
        return;
    }
}

static inline void compare16(const char *op, const char *size, size_t n, const uint16_t *got,
                             const uint16_t *want, const float *terms, double factor) {
    for (size_t i = 0; i < n; i++) {
        double g = (double)half_value(got[i]), w = (double)half_value(want[i]);
        double bound = terms && terms[i] > 0 ? factor * (double)terms[i] + fabs(w) / 128 : 0;
        if (got[i] == want[i] || fabs(g - w) <= bound) continue;
        differ(op, size, i, g, w, bound);
        return;
    }
}

static inline void compare_bytes(const char *op, const char *size, size_t n, const void *got,
                                 const void *want, int bound) {
    const unsigned char *a = got, *b = want;
    for (size_t i = 0; i < n; i++)
        if (abs(a[i] - b[i]) > bound) {
            differ(op, size, i, a[i], b[i], bound);
            return;
        }
}

/* Runs a test once for each table that this processor can run. */
static inline void each_table(void (*test)(void)) {
    definition = kernels_find("ref");
    for (int i = 0; (table = kernels_at(i)); i++) {
        if (table == definition) continue;
        if (!kernels_usable(table)) {
            printf("%s: not run, this processor cannot\n", table->name);
            continue;
        }
        rng_init(&rng, seed, 0);
        test();
    }
}

#endif
