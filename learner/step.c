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

static void part_run(Part *p) {
    double start = clock_thread_s();
    p->loss = trainer_step(p->trainer, p->n, p->at, p->net->config.batch, p->grad, NULL, NULL);
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
        trainer_set(p->trainer, n->params); // nobody writes them before all parts are in
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

void netlearner_step(NetLearner *n, const Sample *batch) {
    hand_out(n, batch);
    part_run(&n->part[0]);
    double start = clock_thread_s(), loss = 0, norm = 0, busy = 0;
    gather(n);
    for (int i = 0; i < n->config.parts; i++) {
        loss += n->part[i].loss;
        busy += n->part[i].busy_s;
    }
    pthread_mutex_lock(&n->lock);
    bool ok = optim_step(n->optim, n->params, n->part[0].grad, &norm) == ST_OK;
    if (ok) {
        n->state.norm_sum += norm;
        n->state.norm_steps++;
        n->state.loss_sum += loss * n->config.batch;
        n->state.samples += (uint64_t)n->config.batch;
    } else n->state.refused_steps++;
    pthread_mutex_unlock(&n->lock);
    if (!ok)
        log_warn("%s: a gradient that is not finite was thrown away", role_name(n->config.role));
    else trainer_set(n->part[0].trainer, n->params);
    pthread_mutex_lock(&n->lock);
    n->state.busy_s += busy + clock_thread_s() - start;
    pthread_mutex_unlock(&n->lock);
}

void netlearner_state(NetLearner *n, NetLearnerState *out) {
    pthread_mutex_lock(&n->lock);
    *out = n->state;
    out->steps = optim_steps(n->optim);
    pthread_mutex_unlock(&n->lock);
}

uint64_t netlearner_copy_params(NetLearner *n, float *params) {
    pthread_mutex_lock(&n->lock);
    memcpy(params, n->params, n->n_params * sizeof *params);
    uint64_t steps = optim_steps(n->optim);
    pthread_mutex_unlock(&n->lock);
    return steps;
}

uint64_t netlearner_copy_ema(NetLearner *n, float *ema) {
    pthread_mutex_lock(&n->lock);
    const float *from = optim_ema(n->optim);
    memcpy(ema, from ? from : n->params, n->n_params * sizeof *ema);
    uint64_t steps = optim_steps(n->optim);
    pthread_mutex_unlock(&n->lock);
    return steps;
}

size_t netlearner_optim_bytes(const NetLearner *n) { return optim_state_bytes(n->optim); }

uint64_t netlearner_save(NetLearner *n, float *params, uint8_t *optim) {
    pthread_mutex_lock(&n->lock);
    memcpy(params, n->params, n->n_params * sizeof *params);
    optim_state_save(n->optim, optim);
    uint64_t steps = optim_steps(n->optim);
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
