/* trial.h - a training run of n ranks on a virtual network, with a problem's gradients in place of
 * a net's: what the claims of the algorithms are measured with.                               */
#ifndef DIZHU_TESTS_LEARNER_TRIAL_H
#define DIZHU_TESTS_LEARNER_TRIAL_H
#include "tests/learner/rules.h"
#include "tests/learner/team.h"

typedef struct {
    const char *algo, *topology; /* topology NULL: complete */
    int ranks;
    size_t n;
    int steps;       /* per rank; with run_s: at most */
    double lr, lr_2; /* lr_2 > 0: from step lr_change on */
    int lr_change;
    void (*gradient)(const void *problem, int rank, int step, const Real *x, Real *g);
    const void *problem;
    const Real *x0; /* NULL: zeros */
    void (*tune)(AlgoConfig *c, const void *problem);
    Rule (*rule)(int rank); /* NULL: plain SGD */
    SimNet net;
    bool threaded;
    double compute_s;   /* of a step; a rank takes slow[rank] times as long */
    const double *slow; /* NULL: 1 */
    double run_s;       /* asynchronous: every rank stops after this time; 0: after the steps */
    bool flush;         /* at the end: all ranks get the mean model */

    /* results */
    Status status;      /* of algo_new */
    Real *x[TEAM_MAX];  /* final models */
    Real *mean;         /* their mean */
    double consensus;   /* mean_i |x_i - mean|^2 */
    int done[TEAM_MAX]; /* steps */
    CommStats traffic[TEAM_MAX];
    AlgoStats stats[TEAM_MAX];
    double seconds;
    double step_s; /* rank 0's mean time of a step */
} Trial;

static inline void trial_rank(Rank *r) {
    Trial *t = r->ctx;
    Real *x = calloc(t->n + 1, sizeof *x), *g = calloc(t->n + 1, sizeof *g);
    Engine *e = NULL;
    Algo *a = NULL;
    AlgoConfig c;
    comm_timeout(r->comm, 1e6);
    if (t->x0) memcpy(x, t->x0, t->n * sizeof *x);
    team_ok(r, engine_new(r->comm, t->threaded, NULL, &e));
    team_ok(r, algo_defaults(t->algo, &c));
    c.n = t->n, c.x = x, c.g = g, c.engine = e;
    c.rule = t->rule ? t->rule(r->rank) : rule_sgd();
    team_ok(r, topology_parse(t->topology ? t->topology : "complete", r->size, &c.topology));
    if (t->tune) t->tune(&c, t->problem);
    Status st = algo_new(&c, &a);
    if (r->rank == 0) t->status = st;
    double slow = t->slow ? t->slow[r->rank] : 1;
    int64_t start = world_now_ns(r->world), end = start + (int64_t)(t->run_s * 1e9);
    CommStats before = comm_stats(r->comm);
    for (int s = 0; s < t->steps && st == ST_OK; s++) {
        double lr = t->lr_2 > 0 && s >= t->lr_change ? t->lr_2 : t->lr;
        team_ok(r, st = algo_before_forward(a, lr));
        t->gradient(t->problem, r->rank, s, x, g);
        if (t->compute_s > 0) world_sleep_ns(r->world, (int64_t)(t->compute_s * slow * 1e9));
        if (st == ST_OK) team_ok(r, st = algo_after_backward(a));
        t->done[r->rank] = s + 1;
        if (t->run_s > 0 && world_now_ns(r->world) >= end) break;
    }
    if (r->rank == 0 && t->done[0])
        t->step_s = (double)(world_now_ns(r->world) - start) / 1e9 / t->done[0];
    CommStats after = comm_stats(r->comm);
    t->traffic[r->rank] =
        (CommStats){after.tx_bytes - before.tx_bytes, after.rx_bytes - before.rx_bytes,
                    after.tx_messages - before.tx_messages, after.rx_messages - before.rx_messages,
                    after.wait_ns - before.wait_ns};
    if (t->flush && st == ST_OK) team_ok(r, algo_flush(a));
    if (a) algo_stats(a, &t->stats[r->rank]);
    memcpy(t->x[r->rank], x, t->n * sizeof *x);
    algo_free(a);
    engine_free(e);
    free(x);
    free(g);
}

static inline void trial_run(Trial *t) {
    void *ctx[TEAM_MAX];
    for (int i = 0; i < t->ranks; i++) {
        ctx[i] = t;
        t->x[i] = calloc(t->n + 1, sizeof(Real));
        t->done[i] = 0;
    }
    t->seconds = team_run(t->ranks, &t->net, trial_rank, ctx);
    t->mean = calloc(t->n + 1, sizeof(Real));
    for (int i = 0; i < t->ranks; i++)
        for (size_t k = 0; k < t->n; k++) t->mean[k] += t->x[i][k] / (Real)t->ranks;
    t->consensus = 0;
    for (int i = 0; i < t->ranks; i++)
        for (size_t k = 0; k < t->n; k++) {
            double d = (double)t->x[i][k] - (double)t->mean[k];
            t->consensus += d * d / t->ranks;
        }
}

static inline void trial_free(Trial *t) {
    for (int i = 0; i < t->ranks; i++) free(t->x[i]);
    free(t->mean);
}

#endif
