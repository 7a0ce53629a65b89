/* bench.h - timing: warm up, repeat until stable, report the median.
 *
 * A work function does one repetition and returns how much it did, in the row's unit (games,
 * positions, FLOP...). Rows collect in a Bench; `dizhu bench` prints them as a table or as JSON. */
#ifndef DIZHU_ENGINE_BASE_BENCH_H
#define DIZHU_ENGINE_BASE_BENCH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    const char *room; /* static strings, or owned by the caller for the life of the Bench */
    char name[64];
    const char *unit; /* per second, e.g. "games/s" */
    double median, p10, p90;
    double ratio_ref;  /* median / that of the row's reference; 0: none */
    double peak_share; /* median / the peak measured in this run; 0: none */
} BenchRow;

typedef struct {
    const char *room;
    double seconds; /* time to spend on a row, warm-up excluded */
    BenchRow *rows;
    size_t n, cap;
} Bench;

void bench_init(Bench *b, const char *room, double seconds);
void bench_deinit(Bench *b);
/* Times fn (one tenth of the time as warm-up, then at least 5 repetitions) and adds a row. ref and
 * peak are rates in the same unit, 0 if there is none. Returns the median rate.             */
double bench_time(Bench *b, const char *name, const char *unit, double (*fn)(void *), void *ctx,
                  double ref, double peak);
/* Adds a row measured elsewhere: one value. */
void bench_value(Bench *b, const char *name, const char *unit, double value, double ref,
                 double peak);
/* Adds a row measured elsewhere: n >= 1 values, which are sorted here. Returns their median. */
double bench_values(Bench *b, const char *name, const char *unit, double *values, size_t n,
                    double ref, double peak);

/* All rows as a table; or as the rows of a JSON list, of which `first` says whether rows were
 * printed before. The brackets round the list are the caller's.                             */
void bench_print_table(const Bench *b, FILE *out);
void bench_print_json(const Bench *b, bool *first, FILE *out);

#endif
