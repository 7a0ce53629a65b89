#include "learner/algo/engine.h"

#include <assert.h>
#include <stdlib.h>

enum { ROOM = 1024, SERVICES = 16 };

typedef struct {
    const char *name;
    EngineJob fn;
    void *ctx;
    int arg;
} Job;

struct Engine {
    Comm *comm;
    World *world;
    Timeline *timeline;
    Gate *gate; // guards all that follows
    Task *task; // NULL: not threaded
    Job job[ROOM];
    uint64_t posted, done;
    Status status; // the first error
    CommStats stats;
    bool stop, in_service;
    struct {
        EngineService fn;
        void *ctx;
    } service[SERVICES];
    int n_services;
};

static Status run(Engine *e, const Job *job) {
    int64_t start = world_now_ns(e->world);
    Status st = job->fn(job->ctx, job->arg);
    timeline_add(e->timeline, LANE_EXCHANGE, job->name, job->arg, start, world_now_ns(e->world));
    return st;
}

// With the gate locked: the next job, if any.
static bool step(Engine *e) {
    if (e->done == e->posted) return false;
    Job job = e->job[e->done % ROOM];
    Status st = e->status;
    if (st == ST_OK) {
        gate_unlock(e->gate);
        st = run(e, &job);
        CommStats stats = comm_stats(e->comm);
        gate_lock(e->gate);
        e->stats = stats;
    }
    if (e->status == ST_OK) e->status = st;
    e->done++;
    gate_wake(e->gate);
    return true;
}

// With the gate locked: every service once. Returns when to come again.
static int64_t serve(Engine *e) {
    int64_t soonest = world_now_ns(e->world) + 1000000000;
    for (int i = 0; i < e->n_services && e->status == ST_OK; i++) {
        int64_t next = WORLD_FOREVER;
        e->in_service = true;
        gate_unlock(e->gate);
        Status st = e->service[i].fn(e->service[i].ctx, &next);
        CommStats stats = comm_stats(e->comm);
        gate_lock(e->gate);
        e->stats = stats;
        e->in_service = false;
        if (st != ST_OK) e->status = st;
        if (next < soonest) soonest = next;
        gate_wake(e->gate);
    }
    return soonest;
}

static void loop(void *arg) {
    Engine *e = arg;
    gate_lock(e->gate);
    while (!e->stop || e->done < e->posted) {
        if (step(e)) continue;
        int64_t until = serve(e);
        if (e->stop || e->done < e->posted) continue;
        gate_unlock(e->gate);
        Status st = comm_idle(e->comm, until);
        gate_lock(e->gate);
        if (st != ST_OK && e->status == ST_OK) {
            e->status = st;
            gate_wake(e->gate);
        }
        if (e->status != ST_OK && e->done == e->posted && !e->stop)
            gate_wait(e->gate, WORLD_FOREVER); // nothing more will be done
    }
    gate_unlock(e->gate);
}

Status engine_new(Comm *c, bool threaded, Timeline *timeline, Engine **out) {
    Engine *e = calloc(1, sizeof *e);
    Status st;
    if (!e) return ST_NOMEM;
    e->comm = c;
    e->world = comm_world(c);
    e->timeline = timeline;
    TRY_TO(st, gate_new(e->world, &e->gate), free_engine);
    if (threaded) TRY_TO(st, world_spawn(e->world, loop, e, &e->task), free_gate);
    *out = e;
    return ST_OK;
free_gate:
    gate_free(e->gate);
free_engine:
    free(e);
    return st;
}

void engine_free(Engine *e) {
    if (!e) return;
    if (e->task) {
        gate_lock(e->gate);
        e->stop = true;
        gate_wake(e->gate);
        gate_unlock(e->gate);
        comm_wake(e->comm);
        world_join(e->task);
    }
    gate_free(e->gate);
    free(e);
}

bool engine_threaded(const Engine *e) { return e->task != NULL; }
Comm *engine_comm(const Engine *e) { return e->comm; }
World *engine_world(const Engine *e) { return e->world; }
Timeline *engine_timeline(const Engine *e) { return e->timeline; }

CommStats engine_stats(Engine *e) {
    gate_lock(e->gate);
    CommStats stats = e->stats;
    gate_unlock(e->gate);
    return stats;
}

uint64_t engine_post(Engine *e, const char *name, EngineJob fn, void *ctx, int arg) {
    gate_lock(e->gate);
    while (e->posted - e->done == ROOM) gate_wait(e->gate, WORLD_FOREVER);
    e->job[e->posted++ % ROOM] = (Job){name, fn, ctx, arg};
    uint64_t ticket = e->posted;
    if (!e->task) step(e);
    gate_wake(e->gate);
    gate_unlock(e->gate);
    if (e->task) comm_wake(e->comm);
    return ticket;
}

Status engine_wait(Engine *e, uint64_t ticket) {
    gate_lock(e->gate);
    while (e->done < ticket) gate_wait(e->gate, WORLD_FOREVER);
    Status st = e->status;
    gate_unlock(e->gate);
    return st;
}

Status engine_call(Engine *e, const char *name, EngineJob fn, void *ctx, int arg) {
    return engine_wait(e, engine_post(e, name, fn, ctx, arg));
}

Status engine_serve(Engine *e, EngineService fn, void *ctx) {
    if (!e->task) return ST_UNSUPPORTED;
    gate_lock(e->gate);
    Status st = e->n_services < SERVICES ? ST_OK : ST_INVALID;
    if (st == ST_OK) {
        e->service[e->n_services].fn = fn;
        e->service[e->n_services++].ctx = ctx;
    }
    gate_unlock(e->gate);
    comm_wake(e->comm);
    return st;
}

void engine_unserve(Engine *e, void *ctx) {
    gate_lock(e->gate);
    while (e->in_service) gate_wait(e->gate, WORLD_FOREVER);
    for (int i = 0; i < e->n_services; i++)
        if (e->service[i].ctx == ctx) e->service[i--] = e->service[--e->n_services];
    gate_unlock(e->gate);
}

void engine_nudge(Engine *e) {
    if (e->task) comm_wake(e->comm);
}
