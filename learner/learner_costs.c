/* The pieces of a learning step, timed one by one by the processor time of this thread. */
#include "learner/learner_costs.h"

#include <stdlib.h>

#include "engine/base/clock.h"
#include "learner/material.h"
#include "learner/optim.h"

enum { MAX_ROUNDS = 200, MIN_ROUNDS = 5, GAMES = 600, SEED = 1 };

typedef struct {
    Trainer *trainer;
    Optim *optim;
    Material *material;
    float *params, *grad, *copy;
    Sample *batch;
    size_t n_params;
    int n;
} Parts;

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median processor seconds of a call. */
static double cost(void (*fn)(Parts *), Parts *p, double seconds) {
    double s[MAX_ROUNDS], start = clock_s();
    int n = 0;
    fn(p);
    while (n < MAX_ROUNDS && (n < MIN_ROUNDS || clock_s() - start < seconds)) {
        double before = clock_thread_s();
        fn(p);
        s[n++] = clock_thread_s() - before;
    }
    qsort(s, (size_t)n, sizeof *s, by_value);
    return s[n / 2];
}

static void run_samples(Parts *p) {
    trainer_step(p->trainer, p->n, p->batch, p->n, p->grad, NULL, NULL);
}

/* All of a step that is not done by several threads; the copy is the publication's. */
static void run_rest(Parts *p) {
    optim_step(p->optim, p->params, p->grad, NULL);
    trainer_set(p->trainer, p->params);
    for (size_t i = 0; i < p->n_params; i++) p->copy[i] = p->params[i];
}

static void run_gather(Parts *p) {
    for (size_t i = 0; i < p->n_params; i++) p->grad[i] += p->copy[i];
}

static void run_records(Parts *p) { material_decode(p->material); }

static Status parts_init(Parts *p, const KernelTable *k, Precision precision, int batch) {
    Role role = ROLE_LANDLORD_UP; // the larger of the two kinds
    OptimConfig c = optim_defaults(OPTIM_RMSPROP);
    c.ema = 0.999;
    p->n_params = net_layout(role)->n_params;
    p->params = malloc(p->n_params * sizeof(float));
    p->grad = malloc(p->n_params * sizeof(float));
    p->copy = calloc(p->n_params, sizeof(float));
    p->batch = malloc((size_t)batch * sizeof *p->batch);
    if (!p->params || !p->grad || !p->copy || !p->batch) return ST_NOMEM;
    net_init(role, SEED, p->params);
    TRY(material_new(GAMES, &p->material));
    p->n = material_of_role(p->material, role, batch, p->batch);
    TRY(optim_new(&c, p->n_params, k, &p->optim));
    TRY(trainer_new(role, precision, k, batch, &p->trainer));
    trainer_set(p->trainer, p->params);
    return ST_OK;
}

static void parts_deinit(Parts *p) {
    trainer_free(p->trainer);
    optim_free(p->optim);
    material_free(p->material);
    free(p->params);
    free(p->grad);
    free(p->copy);
    free(p->batch);
}

Status learner_costs(const KernelTable *k, Precision precision, int batch, double seconds,
                     LearnerCosts *out) {
    Parts p = {0};
    Status st = parts_init(&p, k, precision, batch);
    if (st == ST_OK) {
        out->sample_s = cost(run_samples, &p, 0.55 * seconds) / p.n;
        out->step_s = cost(run_rest, &p, 0.2 * seconds);
        out->gather_s = cost(run_gather, &p, 0.1 * seconds);
        double decisions = (double)material_decode(p.material);
        out->record_s = cost(run_records, &p, 0.15 * seconds) / decisions;
    }
    parts_deinit(&p);
    return st;
}
