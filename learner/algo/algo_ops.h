/* algo_ops.h - what an algorithm fills in, and what all of them share; for algo*.c only. */
#ifndef DIZHU_LEARNER_ALGO_ALGO_OPS_H
#define DIZHU_LEARNER_ALGO_ALGO_OPS_H
#include "learner/algo/algo.h"
#include "learner/algo/squeeze.h"

typedef struct {
    const char *name, *help;
    size_t size; /* of its struct, whose first member is the Algo */
    void (*defaults)(AlgoConfig *c);
    Status (*start)(Algo *a); /* checks settings, allocates, registers state */
    void (*stop)(Algo *a);    /* undoes start, also one that failed half way */
    Status (*before_forward)(Algo *a);
    /* On the engine's thread: exchange one bucket of g. NULL: the gradient is not sent. */
    Status (*exchange)(Algo *a, int bucket);
    Status (*after_backward)(Algo *a);
    Status (*flush)(Algo *a);
    void (*stats)(Algo *a, AlgoStats *out);
    /* The state was read from a checkpoint; a rank's own blocks that were left out are zero. */
    void (*loaded)(Algo *a);
    bool elastic;  /* ranks may leave and join */
    bool apart;    /* each rank has a model of its own, near the others' */
    bool own_rule; /* makes the update itself: the Rule is not used */
} AlgoOps;

/* A block or number that is part of the state. */
typedef struct {
    const char *name;
    void *p;
    size_t bytes;
    bool own; /* differs from rank to rank; can be rebuilt after a flush */
} AlgoState;

enum { ALGO_STATES = 16, ALGO_BUCKETS = 512 };

struct Algo {
    const AlgoOps *ops;
    AlgoConfig c;
    Comm *comm;
    World *world;
    int rank, ranks;
    uint64_t t;   // steps done
    bool flushed; // since the last step
    AlgoStats stats;
    AlgoState state[ALGO_STATES];
    int n_states;
    double lr; // of the step that is under way

    // Buckets are posted in `order`, each when all of it is ready and it is the next (algo_plan.c).
    int n_buckets, order[ALGO_BUCKETS], next;
    size_t missing[ALGO_BUCKETS];   // numbers of the bucket that are not ready yet
    int seen[ALGO_BUCKETS], n_seen; // the order in which they became ready in this step
    bool planned;
    uint64_t ticket;
};

extern const AlgoOps algo_local, algo_allreduce, algo_bytegrad, algo_squeeze, algo_onebit,
    algo_qadam, algo_dpsgd, algo_dcd, algo_d2, algo_adpsgd, algo_average, algo_server;

/* What must be alike on all ranks, as bytes. */
enum { ALGO_SETTINGS = 256 };
void algo_settings(const Algo *a, uint8_t out[ALGO_SETTINGS]);
/* n Reals of zeros as part of the state. ST_NOMEM. Freed by the caller. */
Status algo_block(Algo *a, const char *name, size_t n, bool own, Real **out);
/* Existing memory as part of the state. */
void algo_keep(Algo *a, const char *name, void *p, size_t bytes, bool own);
/* Applies the rule; a gradient that is not finite is a skipped step, not an error. */
Status algo_rule(Algo *a, Real *x, const Real *g);
Status algo_rule_at(Algo *a, Real *x, const Real *g, double lr);
/* x = the mean over ranks of x, on the engine. */
Status algo_mean(Algo *a, Real *x);
/* A squeeze as the settings say; its residuals and carry are part of the state. Freed by the
 * caller.
 */
Status algo_make_squeeze(Algo *a, Squeeze **out);
/* Drains the squeeze, on the engine. */
Status algo_drain(Algo *a, Squeeze *s);
Codec algo_codec(const char *name); /* one that exists */
/* Counts one gradient of this age. */
void algo_stale(AlgoStats *s, uint64_t age);

/* algo_plan.c */
void plan_init(Algo *a);
void plan_begin(Algo *a);
size_t plan_bucket(const Algo *a, int bucket, size_t *n); /* its offset */
void plan_ready(Algo *a, size_t offset, size_t n);
Status plan_finish(Algo *a); /* all that is left is ready; waits until all is exchanged */

#endif
