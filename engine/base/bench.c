#include "engine/base/bench.h"
#include "engine/base/clock.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_REPEATS = 1000, MIN_REPEATS = 5 };

void bench_init(Bench *b, const char *room, double seconds) {
    *b = (Bench){.room = room, .seconds = seconds};
}

void bench_deinit(Bench *b) {
    free(b->rows);
    b->rows = NULL;
    b->n = b->cap = 0;
}

static void add_row(Bench *b, const char *name, const char *unit, const double q[3], double ref,
                    double peak) {
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 16;
        BenchRow *rows = realloc(b->rows, b->cap * sizeof *rows);
        if (rows == NULL) abort(); // a benchmark without memory for 16 rows measures nothing
        b->rows = rows;
    }
    BenchRow *r = &b->rows[b->n++];
    *r = (BenchRow){.room = b->room, .unit = unit, .p10 = q[0], .median = q[1], .p90 = q[2]};
    snprintf(r->name, sizeof r->name, "%s", name);
    r->ratio_ref = ref > 0 ? r->median / ref : 0;
    r->peak_share = peak > 0 ? r->median / peak : 0;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_time(Bench *b, const char *name, const char *unit, double (*fn)(void *), void *ctx,
                  double ref, double peak) {
    static double rates[MAX_REPEATS];
    double start = clock_s();
    do fn(ctx);
    while (clock_s() - start < b->seconds / 10);
    int n = 0;
    for (start = clock_s(); n < MAX_REPEATS && (n < MIN_REPEATS || clock_s() - start < b->seconds);
         n++) {
        int64_t before = clock_ns();
        double work = fn(ctx);
        rates[n] = work * 1e9 / (double)(clock_ns() - before);
    }
    qsort(rates, (size_t)n, sizeof rates[0], by_value);
    double q[3] = {rates[n / 10], rates[n / 2], rates[n - 1 - n / 10]};
    add_row(b, name, unit, q, ref, peak);
    return q[1];
}

void bench_value(Bench *b, const char *name, const char *unit, double value, double ref,
                 double peak) {
    double q[3] = {value, value, value};
    add_row(b, name, unit, q, ref, peak);
}
