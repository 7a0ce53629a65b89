#include "actors/crew.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PARCEL_BYTES = 8 << 10, PARCELS_PER_THREAD = 2, MAX_THREADS = 1024 };
static const double parcel_age_s = 0.2;

typedef struct {
    Crew *crew;
    pthread_t thread;
    bool started;
    Selfplay *play;
    Policy *policy;
    Parcel *parcel; /* being filled, or NULL */
    PoolStats seen; /* what has been added to the crew's totals */
    double busy_s, wait_s;
} Worker;

struct Crew {
    CrewConfig config;
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t changed;
    bool stop;
    uint64_t rounds; /* lockstep: rounds asked for and not begun */
    Parcel **idle;   /* stack of empty parcels */
    Parcel **full;   /* ring, oldest at `head` */
    int n_parcels, n_idle, n_full, head, n_playing;
    CrewStats stats;

    Parcel *parcels;
    Worker *workers;
};

/* ---- parcels ---- */

static void wait_changed(Crew *c, int ms) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&c->changed, &c->lock, &t);
}

/* An empty parcel, waited for; NULL when the crew stops. */
static Parcel *parcel_get(Worker *w) {
    Crew *c = w->crew;
    double begin = clock_s();
    pthread_mutex_lock(&c->lock);
    while (c->n_idle == 0 && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
    Parcel *p = c->n_idle > 0 ? c->idle[--c->n_idle] : NULL;
    pthread_mutex_unlock(&c->lock);
    w->wait_s += clock_s() - begin;
    return p;
}

static void parcel_submit(Worker *w) {
    if (!w->parcel) return;
    Crew *c = w->crew;
    pthread_mutex_lock(&c->lock);
    c->full[(c->head + c->n_full++) % c->n_parcels] = w->parcel;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    w->parcel = NULL;
}

static void emit(void *ctx, const uint8_t *record, size_t n) {
    Worker *w = ctx;
    if (w->parcel && w->parcel->n + n > w->parcel->cap) parcel_submit(w);
    if (!w->parcel) {
        if (!(w->parcel = parcel_get(w))) return; /* stopping: nobody will take it */
        w->parcel->n = 0;
        w->parcel->born = clock_s();
    }
    memcpy(w->parcel->bytes + w->parcel->n, record, n);
    w->parcel->n += n;
}

Parcel *crew_take(Crew *c, int timeout_ms) {
    pthread_mutex_lock(&c->lock);
    if (c->n_full == 0 && timeout_ms > 0) wait_changed(c, timeout_ms);
    Parcel *p = c->n_full > 0 ? c->full[c->head] : NULL;
    pthread_mutex_unlock(&c->lock);
    return p;
}

void crew_give_back(Crew *c, Parcel *p) {
    pthread_mutex_lock(&c->lock);
    c->head = (c->head + 1) % c->n_parcels;
    c->n_full--;
    c->idle[c->n_idle++] = p;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

/* ---- playing ---- */

static bool stopping(Crew *c) {
    pthread_mutex_lock(&c->lock);
    bool stop = c->stop;
    pthread_mutex_unlock(&c->lock);
    return stop;
}

static void add_stats(Worker *w) {
    Crew *c = w->crew;
    const PoolStats *now = selfplay_stats(w->play);
    pthread_mutex_lock(&c->lock);
    PoolStats *all = &c->stats.pool;
    all->games += now->games - w->seen.games;
    all->decisions += now->decisions - w->seen.decisions;
    all->forced += now->forced - w->seen.forced;
    all->explored += now->explored - w->seen.explored;
    all->scored += now->scored - w->seen.scored;
    all->actions += now->actions - w->seen.actions;
    c->stats.busy_s += w->busy_s;
    c->stats.wait_s += w->wait_s;
    pthread_mutex_unlock(&c->lock);
    w->seen = *now;
    w->busy_s = w->wait_s = 0;
}

/* One tick with the nets of the moment; waits a little if there are none. False: all played. */
static bool tick(Worker *w) {
    NetHold hold;
    if (!nethub_hold(w->crew->config.hub, &hold)) {
        w->wait_s += 0.01;
        clock_sleep_ms(10);
        return true;
    }
    double begin = clock_thread_s();
    policy_set_nets(w->policy, hold.net);
    selfplay_set_versions(w->play, hold.version);
    bool more = selfplay_tick(w->play);
    w->busy_s += clock_thread_s() - begin;
    nethub_release(w->crew->config.hub, &hold);
    return more;
}

static void run_free(Worker *w) {
    while (!stopping(w->crew)) {
        tick(w);
        if (w->parcel && clock_s() - w->parcel->born > parcel_age_s) parcel_submit(w);
        add_stats(w);
    }
    parcel_submit(w);
}

/* Waits for the order to play a round; false: stop. */
static bool round_begin(Worker *w) {
    Crew *c = w->crew;
    double begin = clock_s();
    pthread_mutex_lock(&c->lock);
    while (c->rounds == 0 && !c->stop) pthread_cond_wait(&c->changed, &c->lock);
    bool go = !c->stop;
    if (go) c->rounds--;
    pthread_mutex_unlock(&c->lock);
    w->wait_s += clock_s() - begin;
    return go;
}

static void run_lockstep(Worker *w) {
    while (round_begin(w)) {
        selfplay_allow(w->play, (uint64_t)w->crew->config.lockstep);
        bool more = true;
        while (more && !stopping(w->crew)) more = tick(w);
        add_stats(w);
        if (!more) parcel_submit(w);
    }
}

static void *work(void *arg) {
    Worker *w = arg;
    Crew *c = w->crew;
    if (c->config.lockstep) run_lockstep(w);
    else run_free(w);
    pthread_mutex_lock(&c->lock);
    c->n_playing--;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* ---- making and ending ---- */

static Status make_parcels(Crew *c) {
    size_t cap = c->config.lockstep ? (size_t)c->config.lockstep * RECORD_MAX_BYTES : PARCEL_BYTES;
    int n = c->n_parcels = PARCELS_PER_THREAD * c->config.threads;
    c->parcels = calloc((size_t)n, sizeof *c->parcels);
    c->idle = calloc((size_t)n, sizeof(Parcel *));
    c->full = calloc((size_t)n, sizeof(Parcel *));
    if (!c->parcels || !c->idle || !c->full) return ST_NOMEM;
    for (int i = 0; i < n; i++) {
        if (!(c->parcels[i].bytes = malloc(cap))) return ST_NOMEM;
        c->parcels[i].cap = cap;
        c->idle[c->n_idle++] = &c->parcels[i];
    }
    return ST_OK;
}

static Status make_worker(Crew *c, int t) {
    Worker *w = &c->workers[t];
    w->crew = c;
    TRY(policy_from_nets(&w->policy));
    const Policy *const policies[N_ROLES] = {w->policy, w->policy, w->policy};
    SelfplayConfig config = {.rules = c->config.rules,
                             .seed = c->config.seed,
                             .first = c->config.first + (uint64_t)t,
                             .stride = (uint64_t)c->config.threads,
                             .n_games = c->config.n_games,
                             .epsilon = c->config.epsilon,
                             .emit = emit,
                             .ctx = w};
    return selfplay_new(&config, policies, &w->play);
}

static Status start_workers(Crew *c) {
    for (int t = 0; t < c->config.threads; t++) TRY(make_worker(c, t));
    for (int t = 0; t < c->config.threads; t++) {
        Worker *w = &c->workers[t];
        pthread_mutex_lock(&c->lock);
        c->n_playing++;
        pthread_mutex_unlock(&c->lock);
        if (pthread_create(&w->thread, NULL, work, w) != 0) {
            log_error("cannot start thread %d", t);
            return ST_NOMEM;
        }
        w->started = true;
    }
    return ST_OK;
}

Status crew_new(const CrewConfig *config, Crew **out) {
    if (config->threads < 1 || config->threads > MAX_THREADS || config->lockstep < 0 ||
        (config->lockstep > 0 && config->threads != 1))
        return ST_INVALID;
    Crew *c = calloc(1, sizeof *c);
    if (!c) return ST_NOMEM;
    c->config = *config;
    pthread_mutex_init(&c->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->changed, &attr);
    pthread_condattr_destroy(&attr);
    c->workers = calloc((size_t)config->threads, sizeof *c->workers);
    Status st = c->workers ? make_parcels(c) : ST_NOMEM;
    if (st == ST_OK) st = start_workers(c);
    if (st == ST_OK) *out = c;
    else crew_free(c);
    return st;
}

void crew_stop(Crew *c) {
    pthread_mutex_lock(&c->lock);
    c->stop = true;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void crew_free(Crew *c) {
    if (!c) return;
    crew_stop(c);
    for (int t = 0; c->workers && t < c->config.threads; t++) {
        Worker *w = &c->workers[t];
        if (w->started) pthread_join(w->thread, NULL);
        selfplay_free(w->play);
        policy_free(w->policy);
    }
    for (int i = 0; c->parcels && i < c->n_parcels; i++) free(c->parcels[i].bytes);
    free(c->parcels);
    free(c->idle);
    free(c->full);
    free(c->workers);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void crew_round(Crew *c) {
    pthread_mutex_lock(&c->lock);
    c->rounds++;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
}

void crew_stats(Crew *c, CrewStats *out) {
    pthread_mutex_lock(&c->lock);
    *out = c->stats;
    pthread_mutex_unlock(&c->lock);
}
