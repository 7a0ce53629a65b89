#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "learner/step.h"

typedef struct {
    Crew *crew;
    unsigned roles; // which it may work on, a bit each
    Sample *batch;
    pthread_t thread;
    bool started;
} Worker;

struct Crew {
    NetLearner *const *nets;
    Buffers *buffers;
    _Atomic int status; // Status: the first failure
    StepDone done;
    void *ctx;
    int n_workers;
    Worker worker[N_ROLES];
};

static void *worker_main(void *arg) {
    Worker *w = arg;
    Crew *c = w->crew;
    int role;
    for (role = 0; role < N_ROLES; role++)
        if (w->roles == 1u << role) netlearner_place(c->nets[role]);
    while (buffers_take(c->buffers, w->roles, &role, w->batch)) {
        Status st = netlearner_step(c->nets[role], w->batch);
        if (st != ST_OK) {
            int none = ST_OK;
            atomic_compare_exchange_strong(&c->status, &none, (int)st);
            buffers_close(c->buffers);
            break;
        }
        NetLearnerState state;
        netlearner_state(c->nets[role], &state);
        c->done(c->ctx, c->nets[role], (Role)role, state.steps);
        buffers_done(c->buffers, role);
    }
    return NULL;
}

/* Up to three threads lead, each at a whole batch; more than three split the batches. */
int crew_parts(int threads, Role role) {
    if (threads <= N_ROLES) return 1;
    int parts = (threads + N_ROLES - 1 - (int)role) / N_ROLES;
    return parts < NETLEARNER_MAX_PARTS ? parts : NETLEARNER_MAX_PARTS;
}

Status crew_start(int threads, int batch, NetLearner *const nets[N_ROLES], Buffers *buffers,
                  StepDone done, void *ctx, Crew **out) {
    Crew *c = calloc(1, sizeof *c);
    if (c == NULL) return ST_NOMEM;
    *c = (Crew){.nets = nets, .buffers = buffers, .done = done, .ctx = ctx};
    c->n_workers = threads < N_ROLES ? threads : N_ROLES;
    for (int i = 0; i < c->n_workers; i++) {
        Worker *w = &c->worker[i];
        w->crew = c;
        w->roles = c->n_workers == N_ROLES ? 1u << i : (1u << N_ROLES) - 1;
        w->batch = malloc((size_t)batch * sizeof *w->batch);
        w->started = w->batch && pthread_create(&w->thread, NULL, worker_main, w) == 0;
        if (!w->started) {
            buffers_close(buffers);
            crew_join(c);
            return ST_NOMEM;
        }
    }
    *out = c;
    return ST_OK;
}

Status crew_status(Crew *c) { return (Status)atomic_load(&c->status); }

void crew_join(Crew *c) {
    if (c == NULL) return;
    for (int i = 0; i < c->n_workers; i++) {
        if (c->worker[i].started) pthread_join(c->worker[i].thread, NULL);
        free(c->worker[i].batch);
    }
    free(c);
}
