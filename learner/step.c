/* With parts > 1, helpers sleep until the step's leader raises their turn number, and the leader
 * until all have answered. Parts differ by at most one sample.                              */
#include "learner/step.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"

typedef struct {
    NetLearner *net;
    int index;
    Trainer *trainer;
    float *grad;
    const Sample *at; // this step's share
    int n;
    double loss, busy_s;
    pthread_t thread;
    bool started;
} Part;

struct NetLearner {
    NetLearnerConfig config;
    size_t n_params;
    float *params;
    Optim *optim;
    float *model; // what the trainers compute with: params, or an Algo's x
    Algo *algo;   // NULL: this learner is alone
    Timeline *timeline;
    uint64_t joined_steps; // with an Algo: steps made
    Part part[NETLEARNER_MAX_PARTS];
    pthread_mutex_t lock; // params, optim, state
    NetLearnerState state;
    pthread_mutex_t turn_lock; // the meeting of leader and helpers
    pthread_cond_t go, came;
    uint64_t turn;
    int missing;
    bool end;
};

void netlearner_place(const NetLearner *n) {
    if (n->config.placed && sched_setaffinity(0, sizeof n->config.cpus, &n->config.cpus) != 0)
        log_warn("cannot keep a thread of %s to its cores", role_name(n->config.role));
}

static void slice_ready(void *ctx, size_t offset, size_t count) {
    NetLearner *n = ctx;
    algo_bucket_ready(n->algo, offset, count);
}

static void part_run(Part *p) {
    double start = clock_thread_s();
    NetLearner *n = p->net;
    bool whole = n->algo && n->config.parts == 1; // what the trainer calls final is final
    p->loss = trainer_step(p->trainer, p->n, p->at, n->config.batch, p->grad,
                           whole ? slice_ready : NULL, n);
    p->busy_s = clock_thread_s() - start;
}

static void *helper_main(void *arg) {
    Part *p = arg;
    NetLearner *n = p->net;
    netlearner_place(n);
    for (uint64_t turn = 1;; turn++) {
        pthread_mutex_lock(&n->turn_lock);
        while (!n->end && n->turn < turn) pthread_cond_wait(&n->go, &n->turn_lock);
        bool end = n->end;
        pthread_mutex_unlock(&n->turn_lock);
        if (end) return NULL;
        trainer_set(p->trainer, n->model); // nobody writes them before all parts are in
        part_run(p);
        pthread_mutex_lock(&n->turn_lock);
        if (--n->missing == 0) pthread_cond_signal(&n->came);
        pthread_mutex_unlock(&n->turn_lock);
    }
}

static Status part_init(NetLearner *n, int index, const KernelTable *k) {
    Part *p = &n->part[index];
    int largest = (n->config.batch + n->config.parts - 1) / n->config.parts;
    p->net = n;
    p->index = index;
    TRY(trainer_new(n->config.role, n->config.precision, k, largest, &p->trainer));
    p->grad = malloc(n->n_params * sizeof(float));
    if (p->grad == NULL) return ST_NOMEM;
    if (index == 0) return ST_OK;
    if (pthread_create(&p->thread, NULL, helper_main, p) != 0) return ST_NOMEM;
    p->started = true;
    return ST_OK;
}

Status netlearner_new(const NetLearnerConfig *c, const KernelTable *k, NetLearner **out) {
    assert(c->parts >= 1 && c->parts <= NETLEARNER_MAX_PARTS && c->batch >= c->parts);
    NetLearner *n = calloc(1, sizeof *n);
    if (n == NULL) return ST_NOMEM;
    Status st = ST_NOMEM;
    n->config = *c;
    n->n_params = net_layout(c->role)->n_params;
    pthread_mutex_init(&n->lock, NULL);
    pthread_mutex_init(&n->turn_lock, NULL);
    pthread_cond_init(&n->go, NULL);
    pthread_cond_init(&n->came, NULL);
    n->params = malloc(n->n_params * sizeof(float));
    if (n->params == NULL) goto free_net;
    n->model = n->params;
    net_init(c->role, c->seed, n->params);
    TRY_TO(st, optim_new(&c->optim, n->n_params, k, &n->optim), free_net);
    for (int i = 0; i < c->parts; i++) TRY_TO(st, part_init(n, i, k), free_net);
    trainer_set(n->part[0].trainer, n->params);
    *out = n;
    return ST_OK;
free_net:
    netlearner_free(n);
    return st;
}

void netlearner_free(NetLearner *n) {
    if (n == NULL) return;
    pthread_mutex_lock(&n->turn_lock);
    n->end = true;
    pthread_cond_broadcast(&n->go);
    pthread_mutex_unlock(&n->turn_lock);
    for (int i = 0; i < NETLEARNER_MAX_PARTS; i++) {
        if (n->part[i].started) pthread_join(n->part[i].thread, NULL);
        trainer_free(n->part[i].trainer);
        free(n->part[i].grad);
    }
    optim_free(n->optim);
    if (n->model != n->params) free(n->model);
    free(n->params);
    pthread_cond_destroy(&n->came);
    pthread_cond_destroy(&n->go);
    pthread_mutex_destroy(&n->turn_lock);
    pthread_mutex_destroy(&n->lock);
    free(n);
}

/* Cuts the batch and wakes the helpers. */
static void hand_out(NetLearner *n, const Sample *batch) {
    int parts = n->config.parts, at = 0;
    for (int i = 0; i < parts; i++) {
        n->part[i].at = batch + at;
        n->part[i].n = (n->config.batch - at) / (parts - i);
        at += n->part[i].n;
    }
    if (parts == 1) return;
    pthread_mutex_lock(&n->turn_lock);
    n->missing = parts - 1;
    n->turn++;
    pthread_cond_broadcast(&n->go);
    pthread_mutex_unlock(&n->turn_lock);
}

/* Waits for the helpers and adds their gradients to the leader's, in order. */
static void gather(NetLearner *n) {
    if (n->config.parts == 1) return;
    pthread_mutex_lock(&n->turn_lock);
    while (n->missing > 0) pthread_cond_wait(&n->came, &n->turn_lock);
    pthread_mutex_unlock(&n->turn_lock);
    float *sum = n->part[0].grad;
    for (int i = 1; i < n->config.parts; i++)
        for (size_t j = 0; j < n->n_params; j++) sum[j] += n->part[i].grad[j];
}

/* The gradient of the batch in part[0].grad. Returns the mean loss; *busy: all threads' time. */
static double compute(NetLearner *n, const Sample *batch, double *busy) {
    double loss = 0;
    hand_out(n, batch);
    part_run(&n->part[0]);
    double start = clock_thread_s();
    gather(n);
    *busy = clock_thread_s() - start;
    for (int i = 0; i < n->config.parts; i++) {
        loss += n->part[i].loss;
        *busy += n->part[i].busy_s;
    }
    return loss;
}

static void count_samples(NetLearner *n, double loss) {
    n->state.loss_sum += loss * n->config.batch;
    n->state.samples += (uint64_t)n->config.batch;
}

static void count_update(NetLearner *n, bool ok, double norm) {
    if (ok) {
        n->state.norm_sum += norm;
        n->state.norm_steps++;
    } else n->state.refused_steps++;
}

Status netlearner_step(NetLearner *n, const Sample *batch) {
    if (n->algo) {
        TRY(netlearner_begin(n, batch));
        return netlearner_end(n);
    }
    double norm = 0, busy, loss = compute(n, batch, &busy), start = clock_thread_s();
    pthread_mutex_lock(&n->lock);
    bool ok = optim_step(n->optim, n->params, n->part[0].grad, &norm) == ST_OK;
    count_update(n, ok, norm);
    if (ok) count_samples(n, loss);
    pthread_mutex_unlock(&n->lock);
    if (!ok)
        log_warn("%s: a gradient that is not finite was thrown away", role_name(n->config.role));
    else trainer_set(n->part[0].trainer, n->params);
    pthread_mutex_lock(&n->lock);
    n->state.busy_s += busy + clock_thread_s() - start;
    pthread_mutex_unlock(&n->lock);
    return ST_OK;
}

/* ---- one of several ---- */

/* The run's optimizer as a Rule; also called from the exchange's thread. */
static Status apply(void *ctx, Real *x, const Real *g, size_t count, double lr) {
    NetLearner *n = ctx;
    double norm = 0;
    (void)count;
    pthread_mutex_lock(&n->lock);
    Status st = optim_step_at(n->optim, x, g, lr, &norm);
    count_update(n, st == ST_OK, norm);
    pthread_mutex_unlock(&n->lock);
    return st;
}

Status netlearner_block(NetLearner *n, NetBlock *out) {
    size_t bytes = n->n_params * sizeof(float);
    if (n->model == n->params && (n->model = malloc(bytes)) == NULL) {
        n->model = n->params;
        return ST_NOMEM;
    }
    memcpy(n->model, n->params, bytes);
    *out = (NetBlock){n->model, n->part[0].grad, n->n_params, {apply, n}};
    return ST_OK;
}

void netlearner_join(NetLearner *n, Algo *algo, uint64_t steps, Timeline *timeline) {
    n->algo = algo;
    n->timeline = timeline;
    pthread_mutex_lock(&n->lock);
    n->joined_steps = steps;
    pthread_mutex_unlock(&n->lock);
}

Status netlearner_begin(NetLearner *n, const Sample *batch) {
    double busy = 0, loss = 0;
    TRY(algo_before_forward(n->algo, optim_lr(&n->config.optim, n->joined_steps)));
    int64_t start_ns = clock_ns();
    double start = clock_thread_s();
    trainer_set(n->part[0].trainer, n->model);
    double packing = clock_thread_s() - start;
    if (batch) loss = compute(n, batch, &busy);
    else memset(n->part[0].grad, 0, n->n_params * sizeof(float));
    algo_bucket_ready(n->algo, 0, n->n_params); // all of it, whatever was called ready before
    timeline_add(n->timeline, LANE_COMPUTE, role_name(n->config.role), (int)n->joined_steps,
                 start_ns, clock_ns());
    pthread_mutex_lock(&n->lock);
    if (batch) count_samples(n, loss);
    n->state.busy_s += busy + packing;
    pthread_mutex_unlock(&n->lock);
    return ST_OK;
}

Status netlearner_end(NetLearner *n) {
    double start = clock_thread_s();
    TRY(algo_after_backward(n->algo));
    pthread_mutex_lock(&n->lock);
    if (algo_own_rule(algo_name_of(n->algo))) optim_follow(n->optim, n->params, n->model);
    memcpy(n->params, n->model, n->n_params * sizeof(float));
    n->joined_steps++;
    n->state.busy_s += clock_thread_s() - start;
    pthread_mutex_unlock(&n->lock);
    return ST_OK;
}

void netlearner_follow(NetLearner *n) {
    pthread_mutex_lock(&n->lock);
    memcpy(n->params, n->model, n->n_params * sizeof(float));
    pthread_mutex_unlock(&n->lock);
}

Status netlearner_adopt(NetLearner *n, const uint8_t *optim, size_t n_optim) {
    pthread_mutex_lock(&n->lock);
    Status st = optim_state_load(n->optim, optim, n_optim);
    pthread_mutex_unlock(&n->lock);
    return st;
}

static uint64_t steps_made(const NetLearner *n) {
    return n->algo ? n->joined_steps : optim_steps(n->optim);
}

void netlearner_state(NetLearner *n, NetLearnerState *out) {
    pthread_mutex_lock(&n->lock);
    *out = n->state;
    out->steps = steps_made(n);
    pthread_mutex_unlock(&n->lock);
}

uint64_t netlearner_copy_params(NetLearner *n, float *params) {
    pthread_mutex_lock(&n->lock);
    memcpy(params, n->params, n->n_params * sizeof *params);
    uint64_t steps = steps_made(n);
    pthread_mutex_unlock(&n->lock);
    return steps;
}

uint64_t netlearner_copy_ema(NetLearner *n, float *ema) {
    pthread_mutex_lock(&n->lock);
    const float *from = optim_ema(n->optim);
    memcpy(ema, from ? from : n->params, n->n_params * sizeof *ema);
    uint64_t steps = steps_made(n);
    pthread_mutex_unlock(&n->lock);
    return steps;
}

size_t netlearner_optim_bytes(const NetLearner *n) { return optim_state_bytes(n->optim); }

uint64_t netlearner_save(NetLearner *n, float *params, uint8_t *optim) {
    pthread_mutex_lock(&n->lock);
    memcpy(params, n->params, n->n_params * sizeof *params);
    optim_state_save(n->optim, optim);
    uint64_t steps = steps_made(n);
    pthread_mutex_unlock(&n->lock);
    return steps;
}

void netlearner_set(NetLearner *n, const float *params) {
    pthread_mutex_lock(&n->lock);
    assert(optim_steps(n->optim) == 0);
    memcpy(n->params, params, n->n_params * sizeof *params);
    trainer_set(n->part[0].trainer, n->params);
    pthread_mutex_unlock(&n->lock);
}

Status netlearner_load(NetLearner *n, const float *params, const uint8_t *optim, size_t n_optim) {
    pthread_mutex_lock(&n->lock);
    Status st = optim_state_load(n->optim, optim, n_optim);
    if (st == ST_OK) {
        memcpy(n->params, params, n->n_params * sizeof *params);
        trainer_set(n->part[0].trainer, n->params);
    }
    pthread_mutex_unlock(&n->lock);
    return st;
}
