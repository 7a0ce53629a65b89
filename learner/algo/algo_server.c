/* server: AsySG-con, an asynchronous parameter server. Rank 0 has the model; every rank computes.
 *
 *     worker:  x = the server's z, read at version k;  g = g(x);  push (g, k, lr);  gets (z,
 * version) server:  gradients of M pushes are averaged, then z <- rule(z, mean), version + 1
 *
 * A gradient is as old as the number of updates since its worker's read. Those older than
 * `staleness` are refused (the worker gets a fresh model all the same); with `damp` a gradient of
 * age T counts 1/(1+T). With `pipeline` a worker computes its next gradient while the push is under
 * way: the network is hidden, gradients are one update older. Rank 0 serves from its engine's
 * thread and computes like the others. A worker that is lost is simply not heard of any more;
 * without rank 0 the others fail with its name. Source: Lian et al., arXiv:1506.08272 (AsySG-con),
 * algorithm 1.                           */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/algo/background.h"

enum { TAG_PUSH = 0x470000, TAG_PULL = 0x480000, TAG_BYE = 0x490000, TAG_BYE_HEARD = 0x4a0000 };
enum { HEAD = 32 }; // u64 version, u64 seed, f64 lr, u64 length of the code (push: 0 pulls only)
enum { OUTS = 4 };

typedef struct {
    Algo algo;
    Background back; // z: rank 0 the model, others what came last
    Real *sum;       // rank 0: of the gradients towards the next update
    int n_sum;
    size_t push_bytes, pull_bytes;
    uint64_t pushes;

    // rank 0
    uint8_t *push_in, *pull_out[OUTS];
    CommReq push_req, pull_sending[OUTS], bye_req, bye_sending[COMM_MAX_RANKS];
    uint8_t bye_in, word_out;
    bool bye[COMM_MAX_RANKS];

    // others
    uint8_t *push_out, *pull_in;
    size_t push_length;
    uint64_t ticket;
    bool under_way;
} Server;

static uint32_t tag(const Server *s, uint32_t kind) { return kind | (uint32_t)s->algo.c.group; }

static void put_double(uint8_t *p, double x) { memcpy(p, &x, sizeof x); }
static double get_double(const uint8_t *p) {
    double x;
    memcpy(&x, p, sizeof x);
    return x;
}

static uint64_t fresh_seed(Server *s) {
    Rng r;
    rng_init(&r, s->algo.c.seed ^ s->pushes++ << 16,
             (uint64_t)s->algo.rank << 8 | (uint64_t)s->algo.c.group);
    return rng_u64(&r);
}

/* With the gate locked, on rank 0: a gradient of this version, as a code or (code NULL) as numbers.
 */
static Status take_gradient(Server *s, uint64_t version, double lr, uint64_t seed,
                            const uint8_t *code, size_t bytes, const Real *g) {
    Algo *a = &s->algo;
    uint64_t age = s->back.version - version;
    algo_stale(&a->stats, age);
    if (a->c.staleness >= 0 && age > (uint64_t)a->c.staleness) {
        a->stats.skipped++;
        return ST_OK;
    }
    Real weight = a->c.damp ? 1 / (Real)(1 + age) : 1;
    if (code) TRY(codec_decode_add(&a->c.up, code, bytes, a->c.n, seed, weight, s->sum));
    else
        for (size_t i = 0; i < a->c.n; i++) s->sum[i] += weight * g[i];
    if (++s->n_sum < a->c.aggregate) return ST_OK;
    for (size_t i = 0; i < a->c.n; i++) s->sum[i] /= (Real)s->n_sum;
    s->n_sum = 0;
    Status st = algo_rule_at(a, s->back.z, s->sum, lr);
    memset(s->sum, 0, a->c.n * sizeof *s->sum);
    s->back.version++;
    a->stats.exchanges++;
    return st;
}

static int free_out(const Server *s) {
    for (int i = 0; i < OUTS; i++)
        if (s->pull_sending[i].done) return i;
    return -1;
}

static void post_push(Server *s) {
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_PUSH), s->push_in, s->push_bytes, &s->push_req);
}

static Status serve_push(Server *s, int out) {
    Algo *a = &s->algo;
    const uint8_t *p = s->push_in;
    size_t got = s->push_req.got;
    Status st = s->push_req.status;
    if (st == ST_OK && (got < HEAD || get_u64(p + 24) != got - HEAD)) st = ST_CORRUPT;
    if (st != ST_OK) {
        log_error("server: a push of %zu bytes from rank %d: %s", got, s->push_req.peer,
                  status_text(st));
        return st;
    }
    uint8_t *reply = s->pull_out[out];
    uint64_t seed = fresh_seed(s);
    gate_lock(s->back.gate);
    if (got > HEAD && get_u64(p) <= s->back.version)
        st = take_gradient(s, get_u64(p), get_double(p + 16), get_u64(p + 8), p + HEAD, got - HEAD,
                           NULL);
    uint64_t version = s->back.version;
    size_t code = codec_encode(&a->c.down, s->back.z, a->c.n, seed, reply + HEAD);
    gate_unlock(s->back.gate);
    put_u64(reply, version);
    put_u64(reply + 8, seed);
    put_double(reply + 16, 0);
    put_u64(reply + 24, code);
    comm_send(a->comm, s->push_req.peer, tag(s, TAG_PULL), reply, HEAD + code,
              &s->pull_sending[out]);
    return st;
}

static void note_byes(Server *s) {
    while (s->bye_req.done) {
        int from = s->bye_req.peer;
        s->bye[from] = true;
        comm_send(s->algo.comm, from, tag(s, TAG_BYE_HEARD), &s->word_out, 1,
                  &s->bye_sending[from]);
        comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_BYE), &s->bye_in, 1, &s->bye_req);
    }
}

static Status service(void *ctx, int64_t *next) {
    Server *s = ctx;
    int out;
    background_serve(&s->back, &s->algo);
    note_byes(s);
    while (s->push_req.done && (out = free_out(s)) >= 0) {
        comm_forgive(s->algo.comm, s->push_req.peer);
        s->bye[s->push_req.peer] = false; // it is back
        TRY(serve_push(s, out));
        post_push(s);
    }
    gate_lock(s->back.gate);
    bool over = s->back.pausing;
    for (int i = 1; over && i < s->algo.ranks; i++)
        if ((!s->bye[i] && comm_probe(s->algo.comm, i, next)) || !s->bye_sending[i].done)
            over = false;
    for (int i = 0; i < OUTS; i++) over = over && s->pull_sending[i].done;
    if (over) {
        s->back.quiet = true;
        gate_wake(s->back.gate);
    }
    gate_unlock(s->back.gate);
    return ST_OK;
}

/* Worker: pushes what lies in push_out and waits for the model. */
static Status trade(void *ctx, int arg) {
    (void)arg;
    Server *s = ctx;
    CommExchange e = {.peer = 0,
                      .out = s->push_out,
                      .out_bytes = s->push_length,
                      .in = s->pull_in,
                      .in_bytes = s->pull_bytes};
    CommExchange both[2] = {e, e};
    both[0].in = NULL, both[1].out = NULL;
    TRY(comm_exchange_tags(s->algo.comm, tag(s, TAG_PUSH), tag(s, TAG_PULL), both, 2));
    return both[1].got >= HEAD && get_u64(s->pull_in + 24) == both[1].got - HEAD ? ST_OK
                                                                                 : ST_CORRUPT;
}

static void start_trade(Server *s, const Real *g) {
    Algo *a = &s->algo;
    uint64_t seed = fresh_seed(s);
    size_t code = g ? codec_encode(&a->c.up, g, a->c.n, seed, s->push_out + HEAD) : 0;
    put_u64(s->push_out, s->back.read_version);
    put_u64(s->push_out + 8, seed);
    put_double(s->push_out + 16, a->lr);
    put_u64(s->push_out + 24, code);
    s->push_length = HEAD + code;
    s->ticket = engine_post(a->c.engine, "push", trade, s, a->c.group);
    s->under_way = true;
}

/* Waits for the trade that is under way; z is what came. */
static Status end_trade(Server *s) {
    Algo *a = &s->algo;
    if (!s->under_way) return ST_OK;
    s->under_way = false;
    TRY(engine_wait(a->c.engine, s->ticket));
    s->back.version = get_u64(s->pull_in);
    return codec_decode(&a->c.down, s->pull_in + HEAD, get_u64(s->pull_in + 24), a->c.n,
                        get_u64(s->pull_in + 8), s->back.z);
}

static Status post_first(void *ctx, int arg) {
    (void)arg;
    Server *s = ctx;
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_BYE), &s->bye_in, 1, &s->bye_req);
    post_push(s);
    return ST_OK;
}

static Status start_server(Server *s) {
    Algo *a = &s->algo;
    s->push_in = malloc(s->push_bytes);
    if (!s->push_in) return ST_NOMEM;
    for (int i = 0; i < OUTS; i++) {
        s->pull_sending[i].done = true;
        if (!(s->pull_out[i] = malloc(s->pull_bytes))) return ST_NOMEM;
    }
    TRY(algo_block(a, "sum", a->c.n, true, &s->sum));
    if (a->ranks > 1) TRY(engine_call(a->c.engine, "post", post_first, s, 0));
    return background_start(&s->back, a, a->ranks > 1 ? service : NULL);
}

static Status start(Algo *a) {
    Server *s = (Server *)a;
    for (int i = 0; i < COMM_MAX_RANKS; i++) s->bye_sending[i].done = true;
    if (a->c.aggregate < 1) {
        log_error("server: gradients per update must be at least 1");
        return ST_INVALID;
    }
    s->push_bytes = HEAD + codec_bound(&a->c.up, a->c.n);
    s->pull_bytes = HEAD + codec_bound(&a->c.down, a->c.n);
    if (a->rank == 0) return start_server(s);
    s->push_out = malloc(s->push_bytes);
    s->pull_in = malloc(s->pull_bytes);
    if (!s->push_out || !s->pull_in) return ST_NOMEM;
    TRY(background_start(&s->back, a, NULL));
    if (a->c.join) start_trade(s, NULL); // whoever starts with the others has version 0
    return ST_OK;
}

static Status say_bye(void *ctx, int arg) {
    (void)arg;
    Server *s = ctx;
    uint8_t heard;
    CommExchange both[2] = {{.peer = 0, .out = &s->word_out, .out_bytes = 1},
                            {.peer = 0, .in = &heard, .in_bytes = 1}};
    return comm_exchange_tags(s->algo.comm, tag(s, TAG_BYE), tag(s, TAG_BYE_HEARD), both, 2);
}

static Status cancel_all(void *ctx, int arg) {
    (void)arg;
    Server *s = ctx;
    comm_cancel(s->algo.comm, &s->bye_req);
    comm_cancel(s->algo.comm, &s->push_req);
    return ST_OK;
}

/* Workers take leave; rank 0 serves until all that live have. */
static Status pause_all(Algo *a) {
    Server *s = (Server *)a;
    if (a->ranks == 1) return ST_OK;
    if (a->rank == 0) return background_pause(&s->back, a);
    TRY(end_trade(s));
    return engine_call(a->c.engine, "bye", say_bye, s, 0);
}

static void stop(Algo *a) {
    Server *s = (Server *)a;
    if (s->back.z) {
        (void)pause_all(a);
        engine_unserve(a->c.engine, a);
        if (a->rank == 0 && a->ranks > 1)
            (void)engine_call(a->c.engine, "cancel", cancel_all, s, 0);
    }
    background_stop(&s->back, a);
    for (int i = 0; i < OUTS; i++) free(s->pull_out[i]);
    free(s->push_in);
    free(s->push_out);
    free(s->pull_in);
    free(s->sum);
}

static Status before_forward(Algo *a) {
    Server *s = (Server *)a;
    if (a->rank != 0 && (!a->c.pipeline || a->t == 0)) TRY(end_trade(s));
    background_read(&s->back, a);
    return ST_OK;
}

static Status after_backward(Algo *a) {
    Server *s = (Server *)a;
    if (!real_finite(a->c.g, a->c.n)) {
        a->stats.skipped++;
        return ST_OK;
    }
    if (a->rank == 0) {
        gate_lock(s->back.gate);
        Status st = take_gradient(s, s->back.read_version, a->lr, 0, NULL, 0, a->c.g);
        gate_unlock(s->back.gate);
        return st;
    }
    uint64_t read_version = s->back.read_version;
    TRY(end_trade(s)); // pipeline: of the step before
    s->back.read_version = read_version;
    start_trade(s, a->c.g);
    return ST_OK;
}

static Status resume(void *ctx, int arg) {
    (void)arg;
    Server *s = ctx;
    memset(s->bye, 0, sizeof s->bye);
    background_resume(&s->back);
    TRY(comm_broadcast(s->algo.comm, 0, &s->back.version, sizeof s->back.version));
    return comm_broadcast(s->algo.comm, 0, s->back.z, s->algo.c.n * sizeof *s->back.z);
}

static Status flush(Algo *a) {
    Server *s = (Server *)a;
    TRY(pause_all(a));
    TRY(engine_call(a->c.engine, "resume", resume, s, 0));
    background_read(&s->back, a);
    return ST_OK;
}

static void stats(Algo *a, AlgoStats *out) { background_stats(&((Server *)a)->back, a, out); }

static void loaded(Algo *a) { background_loaded(&((Server *)a)->back, a); }

const AlgoOps algo_server = {.name = "server",
                             .help = "AsySG-con: asynchronous parameter server on rank 0",
                             .size = sizeof(Server),
                             .elastic = true,
                             .start = start,
                             .stop = stop,
                             .before_forward = before_forward,
                             .after_backward = after_backward,
                             .flush = flush,
                             .stats = stats,
                             .loaded = loaded};
