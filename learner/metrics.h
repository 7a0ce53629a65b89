/* metrics.h - the figures of a run over time: RUN/metrics.sqlite. docs/training.md has the schema.
 *
 * Written by the learner (progress) and the supervisor (evaluations, events); read by anybody, at
 * any time (WAL). A file that cannot be written is one warning, then silence: training goes on. */
#ifndef DIZHU_LEARNER_METRICS_H
#define DIZHU_LEARNER_METRICS_H
#include "learner/report.h"

typedef struct Metrics Metrics;
/* Opens or makes the file. ST_IO with one line in the log. */
Status metrics_open(const char *run, Metrics **out);
void metrics_close(Metrics *m); /* NULL is allowed */

/* All take NULL for m and do nothing then. */
void metrics_progress(Metrics *m, const Progress *p);
/* One net's exchange with the other ranks, since this start. */
typedef struct {
    uint64_t frames; /* of this rank */
    int rank, ranks, role;
    const char *algo;
    uint64_t steps, skipped, exchanges;
    uint64_t sent, received; /* payload bytes of all nets together, as the transport counts them */
    double sent_per_step;    /* a step of one net, lately */
    double waits;            /* share of time, lately */
    double staleness;        /* mean age of the gradients */
    char ages[256];          /* "0:120 1:35 2:1": how many gradients were so many updates old */
    double apart, error, residual, drift; /* NaN: not known */
} Exchange;
void metrics_exchange(Metrics *m, const Exchange *x);
/* One evaluation: of which frames' weights, and what `dizhu eval --json` printed. */
typedef struct {
    char opponent[128];
    int64_t decks, games;
    double wp_landlord, wp_landlord_ci95, wp_peasants, wp_peasants_ci95, wp, wp_ci95, adp, adp_ci95;
} Evaluation;
void metrics_evaluation(Metrics *m, uint64_t frames, const Evaluation *e);
/* Parses that JSON. ST_PARSE: it is not one. */
Status evaluation_parse(const char *json, Evaluation *out);
void metrics_event(Metrics *m, const char *text);

#endif
