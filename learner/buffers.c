#include "learner/buffers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"

typedef struct {
    Sample *at;
    int head, fill; // the oldest sample, and how many
    bool busy;      // a batch of this role is being learned
    Sample *pool;
    int n_pool;
    Rng rng; // of the pool
} Ring;

/* Time spent waiting, of those who still do as well. */
typedef struct {
    double ended_s;     // of waits that are over
    int n;              // under way
    double sum_started; // of these, clock_s
} Waits;

struct Buffers {
    int batch, advance, capacity, pool;
    int need; // the larger of the first two: so many samples are a full batch
    Ring ring[N_ROLES];
    bool closed, hurried, forget;
    uint64_t forgotten;
    Waits put, take;
    pthread_mutex_t lock;
    pthread_cond_t room, work, quiet; // a ring shrank; grew; a role was given back
};

static Status ring_make(Ring *r, int capacity, const BuffersConfig *c, int role) {
    r->at = malloc((size_t)capacity * sizeof(Sample));
    r->pool = malloc((size_t)c->pool * sizeof(Sample) + 1);
    rng_init(&r->rng, c->seed, (uint64_t)role);
    return r->at && r->pool ? ST_OK : ST_NOMEM;
}

Status buffers_new(const BuffersConfig *c, Buffers **out) {
    int need = c->batch > c->advance ? c->batch : c->advance;
    if (c->batch < 1 || c->advance < 1 || c->pool < 0 || c->capacity < need) {
        log_error("a buffer of %d samples is smaller than a batch of %d", c->capacity, need);
        return ST_INVALID;
    }
    Buffers *b = calloc(1, sizeof *b);
    if (b == NULL) return ST_NOMEM;
    b->batch = c->batch;
    b->advance = c->advance;
    b->pool = c->pool;
    b->need = need;
    // A game puts its samples at once, so a ring also has room for the longest game beyond.
    b->capacity = c->capacity + GAME_MAX_MOVES;
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->room, NULL);
    pthread_cond_init(&b->work, NULL);
    pthread_cond_init(&b->quiet, NULL);
    for (int r = 0; r < N_ROLES; r++)
        if (ring_make(&b->ring[r], b->capacity, c, r) != ST_OK) {
            buffers_free(b);
            return ST_NOMEM;
        }
    *out = b;
    return ST_OK;
}

void buffers_free(Buffers *b) {
    if (b == NULL) return;
    for (int r = 0; r < N_ROLES; r++) {
        free(b->ring[r].at);
        free(b->ring[r].pool);
    }
    pthread_cond_destroy(&b->quiet);
    pthread_cond_destroy(&b->work);
    pthread_cond_destroy(&b->room);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static double wait_begins(Waits *w) {
    double now = clock_s();
    w->n++;
    w->sum_started += now;
    return now;
}

static void wait_ends(Waits *w, double started) {
    w->n--;
    w->sum_started -= started;
    w->ended_s += clock_s() - started;
}

static double waited(const Waits *w) { return w->ended_s + w->n * clock_s() - w->sum_started; }

static void append(Buffers *b, Ring *r, const Sample *s) {
    assert(r->fill < b->capacity);
    int at = r->head + r->fill++;
    r->at[at >= b->capacity ? at - b->capacity : at] = *s;
}

/* Forgets what a game's samples need the room of, if a role waits for games. */
static void make_room(Buffers *b, const int need[N_ROLES]) {
    bool wanted = false;
    for (int r = 0; r < N_ROLES; r++) wanted = wanted || b->ring[r].fill < b->need;
    for (int r = 0; wanted && r < N_ROLES; r++) {
        Ring *ring = &b->ring[r];
        int over = ring->fill + need[r] - b->capacity;
        if (over <= 0) continue;
        ring->head = (ring->head + over) % b->capacity;
        ring->fill -= over;
        b->forgotten += (uint64_t)over;
    }
}

static void mix(Buffers *b, const Sample *s) {
    Ring *r = &b->ring[s->obs.role];
    if (b->pool == 0) append(b, r, s);
    else if (r->n_pool < b->pool) r->pool[r->n_pool++] = *s;
    else {
        Sample *place = &r->pool[rng_below(&r->rng, (uint32_t)b->pool)];
        append(b, r, place);
        *place = *s;
    }
}

/* Is there room for a game's samples? It may be made. */
static bool find_room(Buffers *b, const int need[N_ROLES]) {
    if (b->forget) make_room(b, need);
    for (int r = 0; r < N_ROLES; r++)
        if (need[r] > 0 && b->ring[r].fill + need[r] > b->capacity) return false;
    return true;
}

bool buffers_put(Buffers *b, const Sample *samples, int n) {
    int need[N_ROLES] = {0};
    for (int i = 0; i < n; i++) need[samples[i].obs.role]++;
    pthread_mutex_lock(&b->lock);
    if (!find_room(b, need)) {
        double started = wait_begins(&b->put);
        while (!b->closed && !find_room(b, need)) pthread_cond_wait(&b->room, &b->lock);
        wait_ends(&b->put, started);
    }
    bool ok = !b->closed;
    for (int i = 0; ok && i < n; i++) mix(b, &samples[i]);
    bool full = false;
    for (int r = 0; r < N_ROLES; r++) full |= need[r] > 0 && b->ring[r].fill >= b->need;
    if (full) pthread_cond_broadcast(&b->work);
    pthread_mutex_unlock(&b->lock);
    return ok;
}

/* The fullest of the roles that have a batch and are free; -1: none. */
static int ready_role(const Buffers *b, unsigned roles) {
    int best = -1;
    for (int r = 0; r < N_ROLES; r++) {
        const Ring *ring = &b->ring[r];
        if (!(roles >> r & 1) || ring->busy || ring->fill < b->need) continue;
        if (best < 0 || ring->fill > b->ring[best].fill) best = r;
    }
    return best;
}

bool buffers_take(Buffers *b, unsigned roles, int *role, Sample *batch) {
    pthread_mutex_lock(&b->lock);
    int found = b->closed ? -1 : ready_role(b, roles);
    if (found < 0) {
        double started = wait_begins(&b->take);
        if (b->forget) pthread_cond_broadcast(&b->room); // who can forget need not wait any more
        while (!b->closed && (found = ready_role(b, roles)) < 0 && !b->hurried)
            pthread_cond_wait(&b->work, &b->lock);
        wait_ends(&b->take, started);
    }
    bool ok = !b->closed && found >= 0;
    if (ok) {
        Ring *r = &b->ring[found];
        int first = b->capacity - r->head < b->batch ? b->capacity - r->head : b->batch;
        memcpy(batch, r->at + r->head, (size_t)first * sizeof *batch);
        memcpy(batch + first, r->at, (size_t)(b->batch - first) * sizeof *batch);
        r->head = (r->head + b->advance) % b->capacity;
        r->fill -= b->advance;
        r->busy = true;
        *role = found;
        pthread_cond_signal(&b->room);
    }
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void buffers_done(Buffers *b, int role) {
    pthread_mutex_lock(&b->lock);
    b->ring[role].busy = false;
    if (b->ring[role].fill >= b->need) pthread_cond_broadcast(&b->work);
    pthread_cond_broadcast(&b->quiet);
    pthread_mutex_unlock(&b->lock);
}

static bool settled(const Buffers *b) {
    for (int r = 0; r < N_ROLES; r++)
        if (b->ring[r].busy || b->ring[r].fill >= b->need) return false;
    return true;
}

bool buffers_settle(Buffers *b) {
    pthread_mutex_lock(&b->lock);
    while (!b->closed && !settled(b)) pthread_cond_wait(&b->quiet, &b->lock);
    bool ok = !b->closed;
    pthread_mutex_unlock(&b->lock);
    return ok;
}

void buffers_forget(Buffers *b) { b->forget = true; }

uint64_t buffers_forgotten(Buffers *b) {
    pthread_mutex_lock(&b->lock);
    uint64_t n = b->forgotten;
    pthread_mutex_unlock(&b->lock);
    return n;
}

void buffers_hurry(Buffers *b) {
    pthread_mutex_lock(&b->lock);
    b->hurried = true;
    pthread_cond_broadcast(&b->work);
    pthread_mutex_unlock(&b->lock);
}

void buffers_close(Buffers *b) {
    pthread_mutex_lock(&b->lock);
    b->closed = true;
    pthread_cond_broadcast(&b->room);
    pthread_cond_broadcast(&b->work);
    pthread_cond_broadcast(&b->quiet);
    pthread_mutex_unlock(&b->lock);
}

void buffers_state(Buffers *b, BuffersState *out) {
    pthread_mutex_lock(&b->lock);
    for (int r = 0; r < N_ROLES; r++) out->fill[r] = b->ring[r].fill;
    out->put_wait_s = waited(&b->put);
    out->take_wait_s = waited(&b->take);
    pthread_mutex_unlock(&b->lock);
}
