#include "learner/algo/mix.h"

#include <stdlib.h>
#include <string.h>

static int most_neighbours(const Topology *t) {
    int most = 0;
    for (int step = 0; step < topology_period(t); step++)
        for (int rank = 0; rank < t->n; rank++) {
            TopologyRow row;
            topology_row(t, rank, (uint64_t)step, &row);
            if (row.n > most) most = row.n;
        }
    return most;
}

static bool is_mean(const Topology *t) { return t->kind == TOPOLOGY_COMPLETE && !t->lazy; }

Status mix_init(Mix *m, Comm *comm, const Topology *topology, const Codec *codec, size_t n,
                uint32_t tag, bool precise) {
    size_t most = (size_t)most_neighbours(topology);
    *m = (Mix){.comm = comm, .topology = topology, .n = n, .tag = tag, .codec = *codec};
    m->exact = codec->ops == codec_none().ops;
    m->precise = precise;
    if (is_mean(topology) && m->exact && !precise) return ST_OK;
    if (precise && !(m->sum = malloc((n + 1) * sizeof *m->sum))) return ST_NOMEM;
    if (m->exact || precise) {
        m->in = malloc(((m->exact ? most : 1) * n + 1) * sizeof *m->in);
        if (!m->in) return ST_NOMEM;
    }
    if (m->exact) return ST_OK;
    m->bound = codec_bound(codec, n);
    m->out = malloc(m->bound + 1);
    m->codes = malloc(most * m->bound + 1);
    return m->out && m->codes ? ST_OK : ST_NOMEM;
}

void mix_deinit(Mix *m) {
    free(m->sum);
    free(m->in);
    free(m->out);
    free(m->codes);
    *m = (Mix){0};
}

static Status mean(Mix *m, const Real *x, Real *out) {
    memcpy(out, x, m->n * sizeof *out);
    TRY(comm_allreduce(m->comm, out, m->n));
    for (size_t i = 0; i < m->n; i++) out[i] /= (Real)m->topology->n;
    return ST_OK;
}

static void add(Real *out, const Real *x, Real weight, size_t n, bool first) {
    if (first)
        for (size_t i = 0; i < n; i++) out[i] = weight * x[i];
    else
        for (size_t i = 0; i < n; i++) out[i] += weight * x[i];
}

static void sort_row(TopologyRow *row) {
    for (int i = 1; i < row->n; i++)
        for (int k = i; k > 0 && row->peer[k] < row->peer[k - 1]; k--) {
            int peer = row->peer[k];
            double weight = row->weight[k];
            row->peer[k] = row->peer[k - 1], row->weight[k] = row->weight[k - 1];
            row->peer[k - 1] = peer, row->weight[k - 1] = weight;
        }
}

/* Sends x, or its code, to the neighbours and has theirs in e, in the order of their rank. */
static Status trade(Mix *m, uint64_t step, const Real *x, TopologyRow *row, CommExchange *e) {
    size_t bytes = m->n * sizeof *x, room = m->exact ? bytes : m->bound;
    uint8_t *in = m->exact ? (uint8_t *)m->in : m->codes;
    topology_row(m->topology, comm_rank(m->comm), step, row);
    sort_row(row);
    if (!m->exact) bytes = codec_encode(&m->codec, x, m->n, 0, m->out);
    for (int k = 0; k < row->n; k++)
        e[k] = (CommExchange){.peer = row->peer[k],
                              .out = m->exact ? (const void *)x : m->out,
                              .out_bytes = bytes,
                              .in = in + (size_t)k * room,
                              .in_bytes = room};
    TRY(comm_exchange(m->comm, m->tag, e, row->n));
    for (int k = 0; k < row->n; k++)
        if (m->exact && e[k].got != bytes) return ST_MISMATCH;
    m->out_bytes = bytes;
    return ST_OK;
}

static Status mix_codes(Mix *m, uint64_t step, const Real *x, Real *out) {
    TopologyRow row;
    CommExchange e[TOPOLOGY_MAX];
    double weights = 0;
    TRY(trade(m, step, x, &row, e));
    memcpy(out, x, m->n * sizeof *out);
    for (int k = 0; k < row.n; k++) {
        weights += row.weight[k];
        TRY(codec_decode_add(&m->codec, e[k].in, e[k].got, m->n, 0, (Real)row.weight[k], out));
    }
    return codec_decode_add(&m->codec, m->out, m->out_bytes, m->n, 0, (Real)-weights, out);
}

// sum += weight C, C the code or, without a codec, the numbers at p.
static Status add_precise(Mix *m, const void *p, size_t bytes, double weight) {
    const Real *x = p;
    if (!m->exact) {
        TRY(codec_decode(&m->codec, p, bytes, m->n, 0, m->in));
        x = m->in;
    }
    for (size_t i = 0; i < m->n; i++) m->sum[i] += weight * (double)x[i];
    return ST_OK;
}

Status mix_run_precise(Mix *m, uint64_t step, const Real *x, Real *out, Real *rest) {
    TopologyRow row;
    CommExchange e[TOPOLOGY_MAX];
    double weights = 0;
    TRY(trade(m, step, x, &row, e));
    for (int k = 0; k < row.n; k++) weights += row.weight[k];
    double self = m->exact ? 1 - weights : 1;
    for (size_t i = 0; i < m->n; i++) m->sum[i] = self * (double)x[i];
    if (!m->exact) TRY(add_precise(m, m->out, m->out_bytes, -weights));
    for (int k = 0; k < row.n; k++) TRY(add_precise(m, e[k].in, e[k].got, row.weight[k]));
    for (size_t i = 0; i < m->n; i++) {
        out[i] = (Real)m->sum[i];
        rest[i] = (Real)(m->sum[i] - (double)out[i]);
    }
    return ST_OK;
}

Status mix_run(Mix *m, uint64_t step, const Real *x, Real *out) {
    if (!m->exact) return mix_codes(m, step, x, out);
    if (is_mean(m->topology)) return mean(m, x, out);
    TopologyRow row;
    CommExchange e[TOPOLOGY_MAX];
    int rank = comm_rank(m->comm);
    TRY(trade(m, step, x, &row, e));
    bool self_added = false;
    for (int k = 0; k < row.n; k++) {
        if (!self_added && row.peer[k] > rank) {
            add(out, x, (Real)row.self, m->n, k == 0);
            self_added = true;
        }
        add(out, e[k].in, (Real)row.weight[k], m->n, k == 0 && !self_added);
    }
    if (!self_added) add(out, x, (Real)row.self, m->n, row.n == 0);
    return ST_OK;
}
