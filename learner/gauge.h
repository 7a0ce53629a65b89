/* gauge.h - from the totals of inbox, buffers, nets and actors to rates over the last seconds. */
#ifndef DIZHU_LEARNER_GAUGE_H
#define DIZHU_LEARNER_GAUGE_H
#include "learner/inbox.h"
#include "learner/report.h"
#include "learner/step.h"

typedef struct {
    double clock;
    InboxState inbox;
    BuffersState buffers;
    RosterTotals roster;
    NetLearnerState net[N_ROLES];
} GaugeSample;

enum { GAUGE_WINDOW = 10 }; /* samples, one a second */
typedef struct {
    int n_cores, n_threads; /* of the machine; of the crew, crew parts included */
    double start;           /* clock_s */
    int n;                  /* samples taken */
    GaugeSample ring[GAUGE_WINDOW + 1];
    double loss[N_ROLES], norm[N_ROLES]; /* the last known; NaN: none yet */
} Gauge;

void gauge_init(Gauge *g, int n_cores, int n_threads);
/* Takes a sample and tells the progress since the oldest of the window. */
void gauge_read(Gauge *g, const GaugeSample *now, Progress *out);

#endif
