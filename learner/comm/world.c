/* The virtual world passes a baton: one mutex guards all of it, each task has a condition on which
 * it sleeps until it is the current one. All its threads stay on one processor, because waking a
 * thread on another costs ten times as much as switching to it. A task gives the baton away only
 * where it blocks, to the waiting task with the least (time, order of blocking). */
#include "learner/comm/world.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"

typedef enum { TASK_READY, TASK_WAITING, TASK_LOCKING, TASK_JOINING, TASK_DONE } TaskState;

struct Task {
    World *world;
    Task *next; // all tasks of a virtual world
    void (*fn)(void *);
    void *arg;
    pthread_t thread;
    pthread_cond_t turn;
    TaskState state;
    int64_t at;     // READY, WAITING: when to go on at the latest
    uint64_t order; // of two at the same time the one that blocked first
    Gate *gate;     // WAITING, LOCKING: on this
    Task *joined;   // JOINING: this one
    bool woken;
};

struct World {
    bool is_virtual;
    pthread_mutex_t baton;
    Task *tasks, *current;
    int64_t now;
    uint64_t orders;
    cpu_set_t processors; // of the thread that made the virtual world, before
};

struct Gate {
    World *world;
    bool held; // virtual
    pthread_mutex_t lock;
    pthread_cond_t condition;
};

static void condition_init(pthread_cond_t *c) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(c, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static Task *task_new(World *w, void (*fn)(void *), void *arg) {
    Task *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    *t = (Task){.world = w, .fn = fn, .arg = arg};
    condition_init(&t->turn);
    return t;
}

static void task_free(Task *t) {
    pthread_cond_destroy(&t->turn);
    free(t);
}

static void stay_here(World *w) {
    cpu_set_t one;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof w->processors, &w->processors);
    int here = sched_getcpu();
    if (here >= 0) CPU_SET(here, &one);
    if (here >= 0) sched_setaffinity(0, sizeof one, &one);
}

Status world_new(bool is_virtual, World **out) {
    World *w = calloc(1, sizeof *w);
    if (!w) return ST_NOMEM;
    w->is_virtual = is_virtual;
    pthread_mutex_init(&w->baton, NULL);
    if (is_virtual && !(w->tasks = w->current = task_new(w, NULL, NULL))) {
        free(w);
        return ST_NOMEM;
    }
    if (is_virtual) stay_here(w);
    *out = w;
    return ST_OK;
}

void world_free(World *w) {
    if (!w) return;
    if (w->is_virtual) {
        task_free(w->tasks);
        sched_setaffinity(0, sizeof w->processors, &w->processors);
    }
    pthread_mutex_destroy(&w->baton);
    free(w);
}

bool world_is_virtual(const World *w) { return w->is_virtual; }

// Can this task go on, and when at the earliest?
static bool can_go(const World *w, const Task *t, int64_t *at) {
    switch (t->state) {
    case TASK_READY: *at = t->at; return true;
    case TASK_WAITING: *at = t->woken ? w->now : t->at; return *at != WORLD_FOREVER;
    case TASK_LOCKING: *at = w->now; return !t->gate->held;
    case TASK_JOINING: *at = w->now; return t->joined->state == TASK_DONE;
    default: return false;
    }
}

static Task *next_task(World *w) {
    Task *best = NULL;
    int64_t best_at = 0, at;
    for (Task *t = w->tasks; t; t = t->next)
        if (can_go(w, t, &at) &&
            (!best || at < best_at || (at == best_at && t->order < best->order)))
            best = t, best_at = at;
    if (!best) {
        log_error("virtual world: every task waits for ever at %.6f s", (double)w->now / 1e9);
        abort();
    }
    if (best_at > w->now) w->now = best_at;
    return best;
}

// With the baton held: the current task, whose state says what for, blocks until its turn.
static void block(World *w) {
    Task *me = w->current;
    me->order = w->orders++;
    Task *next = next_task(w);
    w->current = next;
    if (next != me) {
        pthread_cond_signal(&next->turn);
        while (w->current != me) pthread_cond_wait(&me->turn, &w->baton);
    }
    me->state = TASK_READY;
    me->at = w->now;
}

static void *virtual_main(void *arg) {
    Task *me = arg;
    World *w = me->world;
    pthread_mutex_lock(&w->baton);
    while (w->current != me) pthread_cond_wait(&me->turn, &w->baton);
    pthread_mutex_unlock(&w->baton);
    me->fn(me->arg);
    pthread_mutex_lock(&w->baton);
    me->state = TASK_DONE;
    w->current = next_task(w);
    pthread_cond_signal(&w->current->turn);
    pthread_mutex_unlock(&w->baton);
    return NULL;
}

static void *real_main(void *arg) {
    Task *me = arg;
    me->fn(me->arg);
    return NULL;
}

Status world_spawn(World *w, void (*fn)(void *), void *arg, Task **out) {
    Task *t = task_new(w, fn, arg);
    if (!t) return ST_NOMEM;
    if (w->is_virtual) {
        pthread_mutex_lock(&w->baton);
        t->at = w->now;
        t->order = w->orders++;
        t->next = w->tasks->next;
        w->tasks->next = t;
        pthread_mutex_unlock(&w->baton);
    }
    if (pthread_create(&t->thread, NULL, w->is_virtual ? virtual_main : real_main, t) != 0) {
        if (w->is_virtual) w->tasks->next = t->next;
        task_free(t);
        return ST_NOMEM;
    }
    *out = t;
    return ST_OK;
}

void world_join(Task *t) {
    World *w = t->world;
    if (w->is_virtual) {
        pthread_mutex_lock(&w->baton);
        w->current->state = TASK_JOINING;
        w->current->joined = t;
        block(w);
        Task **link = &w->tasks;
        while (*link != t) link = &(*link)->next;
        *link = t->next;
        pthread_mutex_unlock(&w->baton);
    }
    pthread_join(t->thread, NULL);
    task_free(t);
}

int64_t world_now_ns(World *w) {
    if (!w->is_virtual) return clock_ns();
    pthread_mutex_lock(&w->baton);
    int64_t now = w->now;
    pthread_mutex_unlock(&w->baton);
    return now;
}

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
}

void world_sleep_ns(World *w, int64_t ns) {
    if (w->is_virtual) {
        pthread_mutex_lock(&w->baton);
        w->current->state = TASK_READY;
        w->current->at = w->now + (ns > 0 ? ns : 0);
        block(w);
        pthread_mutex_unlock(&w->baton);
    } else if (ns > 0) {
        struct timespec rest = timespec_of(ns);
        while (nanosleep(&rest, &rest) != 0) {}
    }
}

Status gate_new(World *w, Gate **out) {
    Gate *g = calloc(1, sizeof *g);
    if (!g) return ST_NOMEM;
    g->world = w;
    pthread_mutex_init(&g->lock, NULL);
    condition_init(&g->condition);
    *out = g;
    return ST_OK;
}

void gate_free(Gate *g) {
    if (!g) return;
    pthread_cond_destroy(&g->condition);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

static void virtual_lock(World *w, Gate *g) {
    while (g->held) {
        w->current->state = TASK_LOCKING;
        w->current->gate = g;
        block(w);
    }
    g->held = true;
}

void gate_lock(Gate *g) {
    World *w = g->world;
    if (!w->is_virtual) {
        pthread_mutex_lock(&g->lock);
        return;
    }
    pthread_mutex_lock(&w->baton);
    virtual_lock(w, g);
    pthread_mutex_unlock(&w->baton);
}

void gate_unlock(Gate *g) {
    World *w = g->world;
    if (!w->is_virtual) {
        pthread_mutex_unlock(&g->lock);
        return;
    }
    pthread_mutex_lock(&w->baton);
    g->held = false;
    pthread_mutex_unlock(&w->baton);
}

bool gate_wait(Gate *g, int64_t until_ns) {
    World *w = g->world;
    if (!w->is_virtual) {
        if (until_ns == WORLD_FOREVER) return pthread_cond_wait(&g->condition, &g->lock) == 0;
        struct timespec until = timespec_of(until_ns);
        return pthread_cond_timedwait(&g->condition, &g->lock, &until) == 0;
    }
    pthread_mutex_lock(&w->baton);
    Task *me = w->current;
    g->held = false;
    me->state = TASK_WAITING;
    me->gate = g;
    me->at = until_ns > w->now ? until_ns : w->now;
    me->woken = false;
    block(w);
    bool woken = me->woken;
    virtual_lock(w, g);
    pthread_mutex_unlock(&w->baton);
    return woken;
}

void gate_wake(Gate *g) {
    World *w = g->world;
    if (!w->is_virtual) {
        pthread_cond_broadcast(&g->condition);
        return;
    }
    pthread_mutex_lock(&w->baton);
    for (Task *t = w->tasks; t; t = t->next)
        if (t->state == TASK_WAITING && t->gate == g) t->woken = true;
    pthread_mutex_unlock(&w->baton);
}
