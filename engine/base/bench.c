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
    return bench_values(b, name, unit, rates, (size_t)n, ref, peak);
}

double bench_values(Bench *b, const char *name, const char *unit, double *values, size_t n,
                    double ref, double peak) {
    assert(n >= 1);
    qsort(values, n, sizeof *values, by_value);
    double q[3] = {values[n / 10], values[n / 2], values[n - 1 - n / 10]};
    add_row(b, name, unit, q, ref, peak);
    return q[1];
}

void bench_value(Bench *b, const char *name, const char *unit, double value, double ref,
                 double peak) {
    double q[3] = {value, value, value};
    add_row(b, name, unit, q, ref, peak);
}

/* 1234567 -> "1.235 M" */
static const char *short_number(double v, char out[32]) {
    const char *suffix = v >= 1e9 ? " G" : v >= 1e6 ? " M" : v >= 1e4 ? " k" : "";
    double unit = v >= 1e9 ? 1e9 : v >= 1e6 ? 1e6 : v >= 1e4 ? 1e3 : 1;
    snprintf(out, 32, "%.4g%s", v / unit, suffix);
    return out;
}

void bench_print_table(const Bench *b, FILE *out) {
    for (size_t i = 0; i < b->n; i++) {
        const BenchRow *r = &b->rows[i];
        char median[32], p10[32], p90[32];
        fprintf(out, "%-8s %-52s %10s %-15s", r->room, r->name, short_number(r->median, median),
                r->unit);
        if (r->p10 != r->p90)
            fprintf(out, " (%s .. %s)", short_number(r->p10, p10), short_number(r->p90, p90));
        if (r->ratio_ref > 0) fprintf(out, "  %.2f x ref", r->ratio_ref);
        if (r->peak_share > 0) fprintf(out, "  %.0f%% of peak", 100 * r->peak_share);
        fputc('\n', out);
    }
}

/* Names and units are ours: nothing in them needs escaping. */
void bench_print_json(const Bench *b, bool *first, FILE *out) {
    for (size_t i = 0; i < b->n; i++) {
        const BenchRow *r = &b->rows[i];
        fprintf(out,
                "%s {\"room\": \"%s\", \"name\": \"%s\", \"unit\": \"%s\", \"median\": %.6g, "
                "\"p10\": %.6g, \"p90\": %.6g, \"ratio_ref\": %.6g, \"peak_share\": %.6g}",
                *first ? "" : ",\n", r->room, r->name, r->unit, r->median, r->p10, r->p90,
                r->ratio_ref, r->peak_share);
        *first = false;
    }
}
