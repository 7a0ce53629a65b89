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
                uint32_t tag) {
    size_t most = (size_t)most_neighbours(topology);
    *m = (Mix){.comm = comm, .topology = topology, .n = n, .tag = tag, .codec = *codec};
    m->exact = codec->ops == codec_none().ops;
    if (is_mean(topology) && m->exact) return ST_OK;
    if (m->exact) {
        m->in = malloc((most * n + 1) * sizeof *m->in);
        return m->in ? ST_OK : ST_NOMEM;
    }
    m->bound = codec_bound(codec, n);
    m->out = malloc(m->bound + 1);
    m->codes = malloc(most * m->bound + 1);
    return m->out && m->codes ? ST_OK : ST_NOMEM;
}

void mix_deinit(Mix *m) {
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

static Status mix_codes(Mix *m, uint64_t step, const Real *x, Real *out) {
    TopologyRow row;
    CommExchange e[TOPOLOGY_MAX];
    double weights = 0;
    topology_row(m->topology, comm_rank(m->comm), step, &row);
    size_t bytes = codec_encode(&m->codec, x, m->n, 0, m->out);
    for (int k = 0; k < row.n; k++)
        e[k] = (CommExchange){.peer = row.peer[k],
                              .out = m->out,
                              .out_bytes = bytes,
                              .in = m->codes + (size_t)k * m->bound,
                              .in_bytes = m->bound};
    TRY(comm_exchange(m->comm, m->tag, e, row.n));
    memcpy(out, x, m->n * sizeof *out);
    for (int k = 0; k < row.n; k++) {
        weights += row.weight[k];
        TRY(codec_decode_add(&m->codec, e[k].in, e[k].got, m->n, 0, (Real)row.weight[k], out));
    }
    return codec_decode_add(&m->codec, m->out, bytes, m->n, 0, (Real)-weights, out);
}

Status mix_run(Mix *m, uint64_t step, const Real *x, Real *out) {
    if (!m->exact) return mix_codes(m, step, x, out);
    if (is_mean(m->topology)) return mean(m, x, out);
    TopologyRow row;
    CommExchange e[TOPOLOGY_MAX];
    size_t bytes = m->n * sizeof *x;
    int rank = comm_rank(m->comm);
    topology_row(m->topology, rank, step, &row);
    sort_row(&row);
    for (int k = 0; k < row.n; k++)
        e[k] = (CommExchange){.peer = row.peer[k],
                              .out = x,
                              .out_bytes = bytes,
                              .in = m->in + (size_t)k * m->n,
                              .in_bytes = bytes};
    TRY(comm_exchange(m->comm, m->tag, e, row.n));
    bool self_added = false;
    for (int k = 0; k < row.n; k++) {
        if (e[k].got != bytes) return ST_MISMATCH;
        if (!self_added && row.peer[k] > rank) {
            add(out, x, (Real)row.self, m->n, k == 0);
            self_added = true;
        }
        add(out, e[k].in, (Real)row.weight[k], m->n, k == 0 && !self_added);
    }
    if (!self_added) add(out, x, (Real)row.self, m->n, row.n == 0);
    return ST_OK;
}
