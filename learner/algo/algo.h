/* algo.h - what the ranks say to one another so that they train one net: the synchronisation rules.
 *
 * An Algo looks after one flat block: parameters x[n] and gradient g[n], both the caller's. The
 * training loop of every rank is, for all of them,
 *
 *     algo_before_forward(a, lr);      // x is what this step computes on
 *     forward, backward: as slices of g become final, algo_bucket_ready(a, offset, n);
 *     algo_after_backward(a);          // g has been exchanged, x has its new value
 *
 * | name      | what is sent              | when                    | source            |
 * | local     | nothing                   |                         |                   |
 * | allreduce | gradient, any codec       | every step              |                   |
 * | bytegrad  | gradient, u8, no feedback | every step              | arXiv:2107.01499  |
 * | squeeze   | gradient, sign + feedback | every step              | arXiv:1905.05957  |
 * | onebit    | momentum, sign + feedback | every step              | arXiv:2102.02888  |
 * | qadam     | momentum, u8, no feedback | every step              | arXiv:2107.01499  |
 * | dpsgd     | model, to neighbours      | every step              | arXiv:1705.09056  |
 * | dcd       | model difference, u8      | every step              | arXiv:1803.06443  |
 * | d2        | difference of two models  | every step              | arXiv:1803.07068  |
 * | adpsgd    | model, a pair at a time   | all the time            | arXiv:1710.06952  |
 * | average   | model, to all             | every period            | arXiv:2107.01499  |
 * | server    | gradient up, model down   | whenever a rank is done | arXiv:1506.08272  |
 *
 * AsySG-incon shares memory instead of sending anything: shared.h.
 *
 * adpsgd, average and server exchange in the background. Blocks of other groups may share their
 * engine; all are made before the first step of any. Other collectives on that Comm, algo_flush
 * apart, come after algo_free.
 *
 * Every rank of the Comm has the same settings; algo_new makes sure of it. Errors are those of the
 * Comm: ST_PEER names a lost rank in comm_failed. All state a run needs to go on as if nothing had
 * happened is in algo_save; after algo_flush it does not depend on the number of ranks. */
#ifndef DIZHU_LEARNER_ALGO_ALGO_H
#define DIZHU_LEARNER_ALGO_ALGO_H
#include "learner/algo/engine.h"
#include "learner/codec/codec.h"
#include "learner/topology/topology.h"

typedef struct Algo Algo;

/* Makes new parameters of a gradient, in place: the optimizer of the run. Deterministic, the same
 * on every rank. ST_CORRUPT: g is not finite, nothing changed (the step is skipped and counted). */
typedef struct {
    Status (*apply)(void *ctx, Real *x, const Real *g, size_t n, double lr);
    void *ctx;
} Rule;

/* Of onebit and qadam, which bring their own update x -= lr m / (sqrt(v) + eps). */
typedef struct {
    bool rmsprop; /* v as RMSprop's: no bias correction; else Adam's */
    double beta1, beta2, eps, decay;
    bool plain;      /* momenta are compressed as they are, as published; else each over the
                        root of its variance, so that errors are alike in the parameters */
    uint64_t warmup; /* steps of uncompressed updates; 0: until v is steady */
    /* Compressed steps between refreshes of v: this part of the steps made so far, but not more
       than refresh_every (0: no refreshes); a part of 0: always refresh_every. */
    double refresh_part;
    uint64_t refresh_every;
    uint64_t refresh_steps; /* uncompressed steps of a refresh */
} MomentumConfig;

typedef struct {
    const char *name;
    size_t n;
    Real *x, *g;
    Engine *engine;
    int group; /* 0..15: each block on one engine has its own */
    Rule rule;
    size_t bucket;  /* numbers per bucket, 0: one bucket */
    Codec up, down; /* to the owners of chunks and back; the decentralised: up */
    bool feedback_up, feedback_down;
    bool by_server;    /* squeeze and its like: rank 0 owns all chunks */
    Topology topology; /* dpsgd, dcd, d2, adpsgd */
    bool adapt_first;  /* dpsgd: step, then average */
    MomentumConfig momentum;
    double period_s; /* average, adpsgd: least time from one exchange to the next */
    int staleness;   /* server: older gradients are refused; -1: none are */
    int aggregate;   /* server: gradients per update, M */
    bool damp;       /* server: lr / (1 + staleness) */
    bool pipeline;   /* server: compute on while the push is under way */
    bool join;       /* adpsgd, average, server: the run goes on already; take its model */
    uint64_t seed;
} AlgoConfig;

/* Of every step so far. */
enum { ALGO_STALENESS = 32 };
typedef struct {
    uint64_t steps, skipped; /* skipped: some rank's gradient was not finite, or refused */
    uint64_t exchanges;      /* adpsgd: swaps; average: rounds; server: updates */
    uint64_t staleness[ALGO_STALENESS]; /* how often a gradient was that many updates old; the last:
                                           more */
    double distance;                    /* adpsgd, average: |change| of the last exchange */
    double residual;                    /* norm of this rank's error feedback */
    double error;                       /* |v - C(v)|^2 / |v|^2 of the last messages */
    double drift;                       /* onebit: |v now|_1 / |v frozen|_1 at the last refresh */
    uint64_t dead;                      /* onebit: coordinates with v = 0 */
    bool compressed;                    /* onebit: past the warm-up */
} AlgoStats;

/* The settings each name stands for; only n, x, g, engine, rule and topology are left to fill in.
 * ST_INVALID with a line in the log: no such algorithm.                                     */
Status algo_defaults(const char *name, AlgoConfig *out);
const char *algo_name(int index); /* NULL past the end */
const char *algo_help(int index);
/* Its ranks do not step together: they may leave and join, and none waits for another. False for a
 * name that is none. */
bool algo_elastic(const char *name);
bool algo_apart(const char *name);    /* each rank has a model of its own: algo_consensus */
bool algo_own_rule(const char *name); /* onebit, qadam: no Rule is applied */

/* Collective. Checks that settings fit (ST_INVALID, a line in the log) and are alike on all ranks
 * (ST_MISMATCH), and gives every rank rank 0's x. With `join` only this rank acts: it is given the
 * model of a rank that is there.                                                            */
Status algo_new(const AlgoConfig *c, Algo **out);
/* Ends what runs in the background. Collective for `average` and `adpsgd`, so that no rank waits
 * for one that is gone: all ranks come here after the same call, but not at the same time.      */
void algo_free(Algo *a);

/* lr: of the step that begins. */
Status algo_before_forward(Algo *a, double lr);
/* g[offset..offset+n) is final. Slices come in any order; what is never announced is taken as final
 * in algo_after_backward.                                                                   */
void algo_bucket_ready(Algo *a, size_t offset, size_t n);
Status algo_after_backward(Algo *a);

/* Brings all ranks to one model and empties the residuals, losing nothing. Collective. */
Status algo_flush(Algo *a);
/* The state without x: *bytes of malloc'ed memory, the caller's. To load, x must have its loaded
 * value already. ST_MISMATCH: another algorithm's, another size's, or another rank's and not
 * flushed. A flushed state is the same for all ranks. */
Status algo_save(Algo *a, uint8_t **out, size_t *bytes);
Status algo_load(Algo *a, const uint8_t *p, size_t bytes);

void algo_stats(Algo *a, AlgoStats *out);
/* |x - mean over ranks of x|: an fp32 allreduce, for the synchronous ones. Collective.
 * ST_UNSUPPORTED: an exchange goes on in the background; see AlgoStats.distance. */
Status algo_consensus(Algo *a, double *distance);
uint64_t algo_steps(const Algo *a);
const char *algo_name_of(const Algo *a);

#endif
