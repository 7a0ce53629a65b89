/* dcd: decentralised SGD on compressed differences (DCD-PSGD; Bagua's low-precision decentralised).
 *
 * Every rank keeps a replica of its own and its neighbours' models, all as the others see them:
 *     z = sum_j W_ij xh_j - u(g(x_i)) - x_i;   q = C(z);   every replica of i += q;   x_i = xh_i
 * Only q travels. W is static and symmetric, and the codec's error must be small against W's
 * spectral gap: with u8 on a ring it is.
 * Source: Tang et al., "Communication compression for decentralized training", arXiv:1803.06443. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/algo/algo_ops.h"

typedef struct {
    Algo algo;
    TopologyRow row;
    Real *replica; // [row.n][n]: neighbours as all see them
    Real *z;
    uint8_t *out, *in; // in: [row.n][bound]
    size_t bound;
} Dcd;

enum { TAG_DCD = 0x310000 };

static void same_everywhere(Algo *a) {
    Dcd *s = (Dcd *)a;
    for (int k = 0; k < s->row.n; k++)
        memcpy(s->replica + (size_t)k * a->c.n, a->c.x, a->c.n * sizeof *s->replica);
}

static Status start(Algo *a) {
    Dcd *s = (Dcd *)a;
    if (a->c.topology.n != a->ranks) {
        log_error("dcd: a topology of %d ranks for a run of %d", a->c.topology.n, a->ranks);
        return ST_INVALID;
    }
    TRY(topology_check(&a->c.topology, "dcd", TOPOLOGY_MEAN | TOPOLOGY_STATIC, -1));
    topology_row(&a->c.topology, a->rank, 0, &s->row);
    size_t degree = (size_t)s->row.n, n = a->c.n;
    s->bound = codec_bound(&a->c.up, n);
    s->z = malloc((n + 1) * sizeof *s->z);
    s->out = malloc(s->bound + 1);
    s->in = malloc(degree * s->bound + 1);
    if (!s->z || !s->out || !s->in) return ST_NOMEM;
    TRY(algo_block(a, "replicas", degree * n, true, &s->replica));
    same_everywhere(a);
    return ST_OK;
}

static void stop(Algo *a) {
    Dcd *s = (Dcd *)a;
    free(s->replica);
    free(s->z);
    free(s->out);
    free(s->in);
}

static uint64_t seed_of(const Algo *a, int rank) {
    Rng r;
    rng_init(&r, a->c.seed ^ a->t << 16, (uint64_t)rank << 8 | (uint64_t)a->c.group);
    return rng_u64(&r);
}

static Status trade(void *ctx, int arg) {
    (void)arg;
    Dcd *s = ctx;
    Algo *a = &s->algo;
    CommExchange e[TOPOLOGY_MAX];
    size_t n = a->c.n;
    size_t bytes = codec_encode(&a->c.up, s->z, n, seed_of(a, a->rank), s->out);
    for (int k = 0; k < s->row.n; k++)
        e[k] = (CommExchange){.peer = s->row.peer[k],
                              .out = s->out,
                              .out_bytes = bytes,
                              .in = s->in + (size_t)k * s->bound,
                              .in_bytes = s->bound};
    TRY(comm_exchange(a->comm, TAG_DCD | (uint32_t)a->c.group, e, s->row.n));
    for (int k = 0; k < s->row.n; k++)
        TRY(codec_decode_add(&a->c.up, e[k].in, e[k].got, n, seed_of(a, s->row.peer[k]), 1,
                             s->replica + (size_t)k * n));
    return codec_decode_add(&a->c.up, s->out, bytes, n, seed_of(a, a->rank), 1, a->c.x);
}

static Status after_backward(Algo *a) {
    Dcd *s = (Dcd *)a;
    size_t n = a->c.n;
    memcpy(s->z, a->c.x, n * sizeof *s->z);
    TRY(algo_rule(a, s->z, a->c.g)); // z = x - u
    // + W-mean - x, then - x: (x - u) + (self - 2) x + sum_j W_ij xh_j
    for (size_t i = 0; i < n; i++) s->z[i] += ((Real)s->row.self - 2) * a->c.x[i];
    for (int k = 0; k < s->row.n; k++) {
        const Real *xh = s->replica + (size_t)k * n;
        Real weight = (Real)s->row.weight[k];
        for (size_t i = 0; i < n; i++) s->z[i] += weight * xh[i];
    }
    return engine_call(a->c.engine, "dcd", trade, s, a->c.group);
}

static Status flush(Algo *a) {
    TRY(algo_mean(a, a->c.x));
    same_everywhere(a);
    return ST_OK;
}

static void loaded(Algo *a) {
    Dcd *s = (Dcd *)a;
    for (size_t i = 0; i < (size_t)s->row.n * a->c.n; i++)
        if (s->replica[i] != 0) return;
    same_everywhere(a); // replicas were left out of a flushed state
}

static void defaults(AlgoConfig *c) { c->up = algo_codec("u8"); }

const AlgoOps algo_dcd = {.name = "dcd",
                          .help = "low-precision decentralised: 8-bit model differences",
                          .size = sizeof(Dcd),
                          .apart = true,
                          .defaults = defaults,
                          .start = start,
                          .stop = stop,
                          .after_backward = after_backward,
                          .flush = flush,
                          .loaded = loaded};
