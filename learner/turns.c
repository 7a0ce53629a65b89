#include "learner/turns.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"

static const double measure_every_s = 10;

/* What a rank tells the others. */
typedef struct {
    uint64_t frames;
    int32_t fill[N_ROLES];
    uint8_t stop, save, measure, zero;
} Wish;

typedef struct {
    int role;
    bool stop, save, measure;
    uint64_t frames;
} Decision;

struct Turns {
    TurnsConfig c;
    Sample *batch;
    Wish wish, *all; // the worker's
    double measure_at;
    pthread_t thread;
    pthread_mutex_t lock; // what follows
    pthread_cond_t moved;
    TurnsState state;
    Status status;
    bool want_save, want_stop;
    uint64_t frames, all_frames;
};

static void set_state(Turns *t, TurnsState state) {
    pthread_mutex_lock(&t->lock);
    t->state = state;
    pthread_cond_broadcast(&t->moved);
    pthread_mutex_unlock(&t->lock);
}

/* next: whose batch is about to be taken; -1: nobody's. Only rank 0's clock says when to measure; a
 * checkpoint that any rank wants all store. */
static uint64_t tell(Turns *t, int next) {
    BuffersState b;
    buffers_state(t->c.buffers, &b);
    t->wish = (Wish){0};
    for (int r = 0; r < N_ROLES; r++) t->wish.fill[r] = b.fill[r] - (r == next ? t->c.batch : 0);
    double now = clock_s();
    if (ranks_rank(t->c.ranks) == 0 && now >= t->measure_at) {
        t->wish.measure = 1;
        t->measure_at = now + measure_every_s;
    }
    pthread_mutex_lock(&t->lock);
    t->wish.frames = t->frames;
    t->wish.stop = t->want_stop;
    t->wish.save = t->want_save;
    t->want_save = false;
    pthread_mutex_unlock(&t->lock);
    return ranks_gather_begin(t->c.ranks, &t->wish, sizeof t->wish, t->all);
}

/* A pure function of what all have heard of all. */
static Decision decide(const Turns *t) {
    Decision d = {0};
    int32_t best = INT32_MIN;
    int n = ranks_size(t->c.ranks);
    for (int r = 0; r < N_ROLES; r++) {
        int32_t least = INT32_MAX;
        for (int i = 0; i < n; i++)
            if (t->all[i].fill[r] < least) least = t->all[i].fill[r];
        if (least > best) d.role = r, best = least;
    }
    for (int i = 0; i < n; i++) {
        d.stop |= t->all[i].stop;
        d.save |= t->all[i].save;
        d.measure |= t->all[i].measure;
        d.frames += t->all[i].frames;
    }
    d.stop = d.stop || (t->c.max_frames > 0 && d.frames >= t->c.max_frames);
    return d;
}

static Status end_step(Turns *t, int *pending) {
    int role = *pending;
    if (role < 0) return ST_OK;
    *pending = -1;
    TRY(netlearner_end(t->c.nets[role]));
    NetLearnerState state;
    netlearner_state(t->c.nets[role], &state);
    t->c.done(t->c.ctx, t->c.nets[role], (Role)role, state.steps);
    return ST_OK;
}

/* Everything ends here, on all ranks: one model, no residuals; the control thread copies it. */
static Status park(Turns *t, int *pending) {
    TRY(end_step(t, pending));
    TRY(ranks_flush(t->c.ranks));
    pthread_mutex_lock(&t->lock);
    t->state = TURNS_PARKED;
    while (t->state == TURNS_PARKED) pthread_cond_wait(&t->moved, &t->lock);
    pthread_mutex_unlock(&t->lock);
    return ST_OK;
}

static Status begin_step(Turns *t, int role, int *pending) {
    int taken = role;
    if (*pending == role) TRY(end_step(t, pending));
    bool got = buffers_take(t->c.buffers, 1u << role, &taken, t->batch);
    TRY(netlearner_begin(t->c.nets[role], got ? t->batch : NULL));
    if (got) buffers_done(t->c.buffers, role);
    TRY(end_step(t, pending)); // of the net before: it was exchanged meanwhile
    *pending = role;
    return ST_OK;
}

static Status steps(Turns *t) {
    int pending = -1;
    uint64_t ticket = tell(t, -1);
    for (;;) {
        TRY(ranks_gather_end(t->c.ranks, ticket));
        Decision d = decide(t);
        pthread_mutex_lock(&t->lock);
        t->all_frames = d.frames;
        pthread_mutex_unlock(&t->lock);
        if (d.save && !d.stop) TRY(park(t, &pending));
        if (d.measure) TRY(ranks_measure(t->c.ranks));
        if (d.stop) {
            TRY(end_step(t, &pending));
            return ranks_flush(t->c.ranks);
        }
        ticket = tell(t, d.role);
        TRY(begin_step(t, d.role, &pending));
    }
}

static void *turns_main(void *arg) {
    Turns *t = arg;
    t->status = ranks_explain(t->c.ranks, steps(t));
    set_state(t, t->status == ST_OK ? TURNS_OVER : TURNS_FAILED);
    return NULL;
}

Status turns_start(const TurnsConfig *c, Turns **out) {
    Turns *t = calloc(1, sizeof *t);
    if (t == NULL) return ST_NOMEM;
    t->c = *c;
    t->measure_at = clock_s() + measure_every_s;
    t->batch = malloc((size_t)c->batch * sizeof *t->batch);
    t->all = calloc((size_t)ranks_size(c->ranks), sizeof *t->all);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
    if (t->batch && t->all && pthread_create(&t->thread, NULL, turns_main, t) == 0) {
        *out = t;
        return ST_OK;
    }
    free(t->batch);
    free(t->all);
    free(t);
    return ST_NOMEM;
}

void turns_frames(Turns *t, uint64_t frames) {
    pthread_mutex_lock(&t->lock);
    t->frames = frames;
    pthread_mutex_unlock(&t->lock);
}

void turns_want_save(Turns *t) {
    pthread_mutex_lock(&t->lock);
    t->want_save = true;
    pthread_mutex_unlock(&t->lock);
}

void turns_want_stop(Turns *t) {
    pthread_mutex_lock(&t->lock);
    t->want_stop = true;
    pthread_mutex_unlock(&t->lock);
}

TurnsState turns_state(Turns *t) {
    pthread_mutex_lock(&t->lock);
    TurnsState state = t->state;
    pthread_mutex_unlock(&t->lock);
    return state;
}

Status turns_status(Turns *t) { return turns_state(t) == TURNS_FAILED ? t->status : ST_OK; }

uint64_t turns_all_frames(Turns *t) {
    pthread_mutex_lock(&t->lock);
    uint64_t n = t->all_frames;
    pthread_mutex_unlock(&t->lock);
    return n;
}

void turns_go_on(Turns *t) { set_state(t, TURNS_GO_ON); }

void turns_join(Turns *t) {
    if (t == NULL) return;
    if (turns_state(t) == TURNS_PARKED) turns_go_on(t);
    pthread_join(t->thread, NULL);
    pthread_cond_destroy(&t->moved);
    pthread_mutex_destroy(&t->lock);
    free(t->batch);
    free(t->all);
    free(t);
}
