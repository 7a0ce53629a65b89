/* probe.h - what a network is worth, measured, and the algorithm that suits it: `--algo auto`.
 *
 * Each candidate makes a few steps on a block of the real size, computing as long as a real step
 * does. Of those nearly as fast as the fastest the most faithful is taken: candidates are ordered
 * so, exact sums first. The same is done for the size of buckets. Takes a few seconds.          */
#ifndef DIZHU_LEARNER_ALGO_PROBE_H
#define DIZHU_LEARNER_ALGO_PROBE_H
#include "learner/algo/algo.h"

enum { PROBE_CANDIDATES = 12 };

typedef struct {
    const char *algo;
    size_t bucket;   /* numbers; 0: one bucket */
    double step_s;   /* the slowest rank's */
    double tx_bytes; /* of a step, this rank's */
} ProbeResult;

typedef struct {
    double latency_s, bytes_per_s; /* there and back halved; of large messages round a ring */
    int n;
    ProbeResult result[PROBE_CANDIDATES];
    int best;
} Probe;

typedef struct {
    size_t n;         /* numbers of the block */
    double compute_s; /* of a step of the slowest rank, without exchange */
    int steps;        /* per candidate; 0: 3 */
    double tolerance; /* how much slower than the fastest a more faithful one may be; 0: 0.1 */
    const char *const *algos; /* the candidates, most faithful first; NULL ends. NULL: allreduce,
                               * bytegrad, onebit (each in three sizes of bucket) */
} ProbeConfig;

/* Collective; the engine must have no other work. All ranks choose alike. */
Status probe_run(Engine *e, const ProbeConfig *c, Probe *out);

#endif
