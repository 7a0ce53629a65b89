#include "learner/algo/probe.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"

enum { PIECES = 8, TAG_PROBE = 0x4d0000, BIG = 1 << 20 };

static Status no_rule(void *ctx, Real *x, const Real *g, size_t n, double lr) {
    (void)ctx, (void)x, (void)g, (void)n, (void)lr;
    return ST_OK;
}

typedef struct {
    Comm *comm;
    double value;
} MaxJob;

static Status max_job(void *ctx, int arg) {
    (void)arg;
    MaxJob *job = ctx;
    double all[COMM_MAX_RANKS];
    TRY(comm_allgather(job->comm, &job->value, sizeof job->value, all));
    for (int i = 0; i < comm_team_size(job->comm); i++) job->value = fmax(job->value, all[i]);
    return ST_OK;
}

// The greatest value over the ranks, on all of them.
static Status largest(Engine *e, double *value) {
    MaxJob job = {engine_comm(e), *value};
    TRY(engine_call(e, "probe", max_job, &job, 0));
    *value = job.value;
    return ST_OK;
}

typedef struct {
    Engine *engine;
    Probe *probe;
} LinkJob;

static Status ring_once(Comm *c, uint8_t *out, uint8_t *in, size_t bytes) {
    int n = comm_size(c), rank = comm_rank(c);
    CommExchange x[2] = {{.peer = (rank + 1) % n, .out = out, .out_bytes = bytes},
                         {.peer = (rank + n - 1) % n, .in = in, .in_bytes = bytes}};
    return comm_exchange(c, TAG_PROBE, x, 2);
}

// Small and large messages round the ring: latency and bandwidth.
static Status measure_links(void *ctx, int arg) {
    (void)arg;
    LinkJob *job = ctx;
    Comm *c = engine_comm(job->engine);
    World *w = comm_world(c);
    uint8_t *memory = calloc(2, BIG);
    if (!memory) return ST_NOMEM;
    Status st = comm_barrier(c);
    int64_t start = world_now_ns(w);
    for (int i = 0; i < 10 && st == ST_OK; i++) st = ring_once(c, memory, memory + BIG, 8);
    double small = (double)(world_now_ns(w) - start) / 1e10;
    if (st == ST_OK) st = comm_barrier(c);
    start = world_now_ns(w);
    for (int i = 0; i < 2 && st == ST_OK; i++) st = ring_once(c, memory, memory + BIG, BIG);
    double large = (double)(world_now_ns(w) - start) / 2e9 - small;
    job->probe->latency_s = small;
    job->probe->bytes_per_s = large > 0 ? BIG / large : 0;
    free(memory);
    return st;
}

static Status time_steps(Engine *e, const ProbeConfig *c, Algo *a, ProbeResult *r) {
    World *w = engine_world(e);
    int steps = c->steps > 0 ? c->steps : 3;
    int64_t start = 0;
    CommStats before = {0};
    for (int t = -2; t < steps; t++) { // the first finds the order, onebit's second is compressed
        if (t == 0) {
            start = world_now_ns(w);
            before = comm_stats(engine_comm(e));
        }
        TRY(algo_before_forward(a, 1e-9));
        world_sleep_ns(w, (int64_t)(c->compute_s / 3 * 1e9));
        for (size_t p = PIECES; p-- > 0;) {
            size_t at = c->n * p / PIECES, end = c->n * (p + 1) / PIECES;
            world_sleep_ns(w, (int64_t)(c->compute_s * 2 / 3 / PIECES * 1e9));
            algo_bucket_ready(a, at, end - at);
        }
        TRY(algo_after_backward(a));
    }
    r->step_s = (double)(world_now_ns(w) - start) / 1e9 / steps;
    r->tx_bytes = (double)(comm_stats(engine_comm(e)).tx_bytes - before.tx_bytes) / steps;
    return largest(e, &r->step_s);
}

static Status try_one(Engine *e, const ProbeConfig *c, Real *x, Real *g, ProbeResult *r) {
    AlgoConfig config;
    Algo *a;
    TRY(algo_defaults(r->algo, &config));
    config.n = c->n, config.x = x, config.g = g, config.engine = e, config.bucket = r->bucket;
    config.rule = (Rule){no_rule, NULL};
    config.momentum.warmup = 1;
    const char *topology = comm_size(engine_comm(e)) % 2 ? "ring" : "matching";
    TRY(topology_parse(topology, comm_size(engine_comm(e)), &config.topology));
    TRY(algo_new(&config, &a));
    Status st = time_steps(e, c, a, r);
    algo_free(a);
    return st;
}

// The first, in the order of faithfulness, that is nearly as fast as the fastest.
static int choose(const Probe *p, double tolerance) {
    double fastest = p->result[0].step_s;
    for (int i = 1; i < p->n; i++) fastest = fmin(fastest, p->result[i].step_s);
    int first = 0, best;
    while (p->result[first].step_s > fastest * (1 + tolerance)) first++;
    best = first; // of the same algorithm's buckets the fastest
    for (int i = first + 1; i < p->n; i++)
        if (strcmp(p->result[i].algo, p->result[first].algo) == 0 &&
            p->result[i].step_s < p->result[best].step_s)
            best = i;
    return best;
}

Status probe_run(Engine *e, const ProbeConfig *c, Probe *out) {
    static const char *const usual[] = {"allreduce", "bytegrad", "onebit", NULL};
    const char *const *algos = c->algos ? c->algos : usual;
    Probe p = {0};
    LinkJob links = {e, &p};
    TRY(engine_call(e, "probe", measure_links, &links, 0));
    size_t sizes[3] = {0, c->n / 4, c->n / 16};
    Real *x = calloc(c->n + 1, sizeof *x), *g = calloc(c->n + 1, sizeof *g);
    Status st = x && g ? ST_OK : ST_NOMEM;
    for (size_t i = 0; g && i < c->n; i++)
        g[i] = (Real)((double)(i * 2654435761u >> 8 & 0xffff) / 65536.0 - .5);
    for (int k = 0; algos[k] && st == ST_OK; k++)
        for (int b = 0; b < (c->algos ? 1 : 3) && st == ST_OK && p.n < PROBE_CANDIDATES; b++) {
            ProbeResult *r = &p.result[p.n++];
            *r = (ProbeResult){.algo = algos[k], .bucket = sizes[b]};
            st = try_one(e, c, x, g, r);
        }
    free(x);
    free(g);
    TRY(st);
    p.best = choose(&p, c->tolerance > 0 ? c->tolerance : .1);
    const ProbeResult *r = &p.result[p.best];
    if (comm_rank(engine_comm(e)) == 0)
        log_info("auto: latency %.2f ms, %.1f MB/s; %s in buckets of %zu numbers: %.1f ms a step",
                 p.latency_s * 1e3, p.bytes_per_s / 1e6, r->algo, r->bucket, r->step_s * 1e3);
    *out = p;
    return ST_OK;
}
