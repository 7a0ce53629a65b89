/* timeline.h - who did what when, as a file that chrome://tracing and Perfetto open.
 *
 * Spans are kept in a ring of fixed size, the newest kept, and written at the end. Threads of one
 * rank are its lanes (compute, exchange). Thread-safe.                                      */
#ifndef DIZHU_LEARNER_ALGO_TIMELINE_H
#define DIZHU_LEARNER_ALGO_TIMELINE_H
#include "engine/base/status.h"
#include <stdint.h>
#include <stdio.h>

typedef struct Timeline Timeline;
typedef enum { LANE_COMPUTE, LANE_EXCHANGE, N_LANES } Lane;

Status timeline_new(int rank, int room, Timeline **out);
void timeline_free(Timeline *t);
/* A span from start to end (ns, one clock for all ranks of a host). name is static text. Does
 * nothing on NULL, so that callers need not ask. */
void timeline_add(Timeline *t, Lane lane, const char *name, int number, int64_t start, int64_t end);
int timeline_count(const Timeline *t);
/* Trace Event Format, one JSON array element a line, without the brackets: files of several ranks
 * are joined by `[` and commas. first: no comma before the first.                           */
Status timeline_write(const Timeline *t, FILE *out, int *n_written);

#endif
