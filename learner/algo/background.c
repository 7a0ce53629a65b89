#include "learner/algo/background.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"

Status background_start(Background *b, Algo *a, EngineService service) {
    TRY(gate_new(a->world, &b->gate));
    b->z = malloc((a->c.n + 1) * sizeof *b->z);
    if (!b->z) return ST_NOMEM;
    memcpy(b->z, a->c.x, a->c.n * sizeof *b->z);
    if (!service) return ST_OK;
    Status st = engine_serve(a->c.engine, service, a);
    if (st == ST_UNSUPPORTED)
        log_error("%s needs an engine with a thread of its own", a->ops->name);
    return st;
}

void background_stop(Background *b, Algo *a) {
    engine_unserve(a->c.engine, a);
    gate_free(b->gate);
    free(b->z);
}

void background_read(Background *b, Algo *a) {
    gate_lock(b->gate);
    memcpy(a->c.x, b->z, a->c.n * sizeof *b->z);
    b->read_version = b->version;
    gate_unlock(b->gate);
}

Status background_apply(Background *b, Algo *a) {
    gate_lock(b->gate);
    algo_stale(&a->stats, b->version - b->read_version);
    Status st = algo_rule(a, b->z, a->c.g);
    memcpy(a->c.x, b->z, a->c.n * sizeof *b->z);
    gate_unlock(b->gate);
    return st;
}

void background_change(Background *b, Algo *a, const Real *change) {
    gate_lock(b->gate);
    for (size_t i = 0; i < a->c.n; i++) b->z[i] += change[i];
    b->version++;
    a->stats.exchanges++;
    gate_unlock(b->gate);
}

Status background_pause(Background *b, Algo *a) {
    Status st = ST_OK;
    gate_lock(b->gate);
    b->quiet = false;
    b->pausing = true;
    gate_unlock(b->gate);
    engine_nudge(a->c.engine);
    for (;;) {
        gate_lock(b->gate);
        if (!b->quiet) gate_wait(b->gate, world_now_ns(a->world) + 100000000);
        bool quiet = b->quiet;
        gate_unlock(b->gate);
        st = engine_wait(a->c.engine, 0); // ticket 0 is done: only the engine's state
        if (quiet || st != ST_OK) return st;
    }
}

void background_resume(Background *b) {
    gate_lock(b->gate);
    b->pausing = b->quiet = false;
    gate_unlock(b->gate);
}

void background_stats(Background *b, Algo *a, AlgoStats *out) {
    gate_lock(b->gate);
    *out = a->stats;
    gate_unlock(b->gate);
}
