/* rankgauge.h - from the totals of the exchange between ranks to rates, for the progress line and
 * the metrics. */
#ifndef DIZHU_LEARNER_RANKGAUGE_H
#define DIZHU_LEARNER_RANKGAUGE_H
#include "learner/metrics.h"
#include "learner/ranks.h"

enum { RANKGAUGE_WINDOW = 10 }; /* samples, one a second */
typedef struct {
    struct {
        double clock, wait_s;
        uint64_t tx_bytes, steps; /* of all nets */
    } ring[RANKGAUGE_WINDOW + 1];
    int n;
} RankGauge;

/* Takes a sample; tells the rates since the oldest of the window. net_steps: of each net. */
void rankgauge_read(RankGauge *g, Ranks *r, const uint64_t net_steps[N_ROLES], Progress *out);
/* One row per net. */
void rankgauge_metrics(Ranks *r, const Progress *p, Metrics *m);

#endif
