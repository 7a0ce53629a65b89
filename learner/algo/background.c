#include "learner/algo/background.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
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

enum { TAG_FETCH = 0x4b0000, TAG_MODEL = 0x4c0000 };

// The answer to a fetch: u32 the last team's epoch, a byte, 1 if the settings fit, then the model.
enum { ANSWER_HEAD = 5 };
void background_serve(Background *b, Algo *a) {
    uint8_t ours[ALGO_SETTINGS];
    size_t bytes = a->c.n * sizeof *b->z;
    if (!b->fetch_posted) {
        b->fetch_posted = b->fetch_sending.done = true;
    } else {
        if (!b->fetch_req.done || !b->fetch_sending.done) return;
        int from = b->fetch_req.peer;
        if (!b->fetch_out && !(b->fetch_out = malloc(ANSWER_HEAD + bytes))) return;
        algo_settings(a, ours);
        put_u32(b->fetch_out, comm_last_epoch(a->comm));
        b->fetch_out[4] = memcmp(ours, b->fetch_in, sizeof ours) == 0;
        gate_lock(b->gate);
        memcpy(b->fetch_out + ANSWER_HEAD, b->z, bytes);
        gate_unlock(b->gate);
        comm_send(a->comm, from, TAG_MODEL | (uint32_t)a->c.group, b->fetch_out,
                  b->fetch_out[4] ? ANSWER_HEAD + bytes : ANSWER_HEAD, &b->fetch_sending);
    }
    comm_recv(a->comm, COMM_ANY, TAG_FETCH | (uint32_t)a->c.group, b->fetch_in, sizeof b->fetch_in,
              &b->fetch_req);
}

Status background_fetch(void *algo, int arg) {
    (void)arg;
    Algo *a = algo;
    size_t bytes = ANSWER_HEAD + a->c.n * sizeof *a->c.x;
    uint8_t settings[ALGO_SETTINGS], *model = malloc(bytes);
    int from = 0;
    if (!model) return ST_NOMEM;
    while (from < a->ranks && (from == a->rank || !comm_alive(a->comm, from))) from++;
    algo_settings(a, settings);
    CommExchange e[2] = {{.peer = from, .out = settings, .out_bytes = sizeof settings},
                         {.peer = from, .in = model, .in_bytes = bytes}};
    Status st = ST_PEER;
    if (from < a->ranks)
        st = comm_exchange_tags(a->comm, TAG_FETCH | (uint32_t)a->c.group,
                                TAG_MODEL | (uint32_t)a->c.group, e, 2);
    if (st == ST_OK && e[1].got != ANSWER_HEAD && e[1].got != bytes) {
        log_error("rank %d answered with %zu bytes instead of a model of %zu", from, e[1].got,
                  bytes);
        st = ST_CORRUPT;
    }
    if (st == ST_OK) comm_heard_epoch(a->comm, get_u32(model));
    if (st == ST_OK && (!model[4] || e[1].got != bytes)) {
        log_error("rank %d has other settings for %s than rank %d", a->rank, a->ops->name, from);
        st = ST_MISMATCH;
    }
    if (st == ST_OK) memcpy(a->c.x, model + ANSWER_HEAD, a->c.n * sizeof *a->c.x);
    free(model);
    return st;
}

static Status cancel_fetch(void *ctx, int arg) {
    (void)arg;
    Background *b = ctx;
    comm_cancel(b->comm, &b->fetch_req);
    comm_cancel(b->comm, &b->fetch_sending);
    return ST_OK;
}

void background_stop(Background *b, Algo *a) {
    engine_unserve(a->c.engine, a);
    b->comm = a->comm;
    if (b->fetch_posted) (void)engine_call(a->c.engine, "cancel", cancel_fetch, b, 0);
    free(b->fetch_out);
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
    double sum = 0;
    for (size_t i = 0; i < a->c.n; i++) sum += (double)change[i] * (double)change[i];
    gate_lock(b->gate);
    a->stats.distance = sqrt(sum);
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

Status background_mean(Background *b, Algo *a, EngineJob resume) {
    TRY(background_pause(b, a));
    TRY(algo_mean(a, b->z));
    memcpy(a->c.x, b->z, a->c.n * sizeof *a->c.x);
    return engine_call(a->c.engine, "resume", resume, a, 0);
}

void background_loaded(Background *b, Algo *a) {
    gate_lock(b->gate);
    memcpy(b->z, a->c.x, a->c.n * sizeof *b->z);
    gate_unlock(b->gate);
}
