/* Names, and rows of W. What makes a W fit for an algorithm is in topology_check.c. */
#include "learner/topology/topology.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"

static const char *const names[N_TOPOLOGIES] = {"complete", "ring",      "exponential", "bipartite",
                                                "matching", "hypercube", "matrix"};

const char *topology_name(const Topology *t) { return names[t->kind]; }

static int log2_floor(int n) {
    int k = 0;
    while (n >> (k + 1)) k++;
    return k;
}

static Status fits(const Topology *t, const char *text) {
    if (t->n < 1 || t->n > TOPOLOGY_MAX) {
        log_error("topology %s: %d ranks; there may be 1 to %d", text, t->n, TOPOLOGY_MAX);
    } else if (t->kind == TOPOLOGY_MATCHING && t->n % 2) {
        log_error("topology %s: %d ranks cannot be matched in pairs; use ring", text, t->n);
    } else if (t->kind == TOPOLOGY_HYPERCUBE && t->n != 1 << log2_floor(t->n)) {
        log_error("topology %s: %d ranks are no power of two; use matching or ring", text, t->n);
    } else {
        return ST_OK;
    }
    return ST_INVALID;
}

Status topology_parse(const char *text, int n, Topology *out) {
    Topology t = {.n = n, .weight = 1.0 / 3, .kind = N_TOPOLOGIES};
    const char *name = text;
    if (strncmp(name, "lazy-", 5) == 0) {
        t.lazy = true;
        name += 5;
    }
    size_t length = strcspn(name, ":");
    for (int k = 0; k < TOPOLOGY_MATRIX; k++)
        if (strlen(names[k]) == length && memcmp(name, names[k], length) == 0)
            t.kind = (TopologyKind)k;
    bool good = t.kind != N_TOPOLOGIES;
    if (name[length] == ':') {
        char *end;
        t.weight = strtod(name + length + 1, &end);
        good = good && t.kind == TOPOLOGY_RING && *end == '\0' && t.weight > 0 && t.weight <= 0.5;
    }
    if (!good) {
        log_error("no topology \"%s\"; there are complete ring[:A, 0 < A <= 1/2] exponential "
                  "bipartite matching hypercube, each also as lazy-NAME",
                  text);
        return ST_INVALID;
    }
    TRY(fits(&t, text));
    *out = t;
    return ST_OK;
}

int topology_period(const Topology *t) {
    if (t->kind == TOPOLOGY_MATCHING) return t->n / 2;
    if (t->kind == TOPOLOGY_HYPERCUBE) return t->n > 1 ? log2_floor(t->n) : 1;
    return 1;
}

static void add(TopologyRow *row, int self, int peer, double weight) {
    if (peer == self) return;
    for (int i = 0; i < row->n; i++)
        if (row->peer[i] == peer) return;
    row->peer[row->n] = peer;
    row->weight[row->n++] = weight;
}

static int mod(int a, int n) { return ((a % n) + n) % n; }

static void exponential_row(const Topology *t, int rank, TopologyRow *row) {
    for (int d = 1; d < t->n; d *= 2) {
        add(row, rank, mod(rank + d, t->n), 0);
        add(row, rank, mod(rank - d, t->n), 0);
    }
    for (int i = 0; i < row->n; i++) row->weight[i] = 1.0 / (row->n + 1);
}

/* Odd distances 1, 3, 5, 9, 17...; round the circle only where that keeps parity, for n even. */
static void bipartite_peers(const Topology *t, int rank, TopologyRow *row) {
    row->n = 0;
    for (int d = 1; d < t->n; d = d == 1 ? 3 : 2 * d - 1)
        for (int sign = -1; sign <= 1; sign += 2) {
            int peer = rank + sign * d;
            if (t->n % 2 == 0) peer = mod(peer, t->n);
            if (peer >= 0 && peer < t->n) add(row, rank, peer, 0);
        }
}

static void bipartite_row(const Topology *t, int rank, TopologyRow *row) {
    bipartite_peers(t, rank, row);
    for (int i = 0; i < row->n; i++) {
        TopologyRow other;
        bipartite_peers(t, row->peer[i], &other);
        row->weight[i] = 1.0 / (1 + (row->n > other.n ? row->n : other.n));
    }
}

static void matching_row(const Topology *t, int rank, uint64_t step, TopologyRow *row) {
    int half = t->n / 2, shift = (int)(step % (uint64_t)half);
    int peer = rank < half ? (rank + shift) % half + half : mod(rank - half - shift, half);
    add(row, rank, peer, 0.5);
}

void topology_row(const Topology *t, int rank, uint64_t step, TopologyRow *out) {
    out->n = 0;
    out->self = 1;
    if (t->n == 1) return;
    switch (t->kind) {
    case TOPOLOGY_COMPLETE:
        for (int j = 0; j < t->n; j++) add(out, rank, j, 1.0 / t->n);
        break;
    case TOPOLOGY_RING:
        add(out, rank, mod(rank - 1, t->n), t->n == 2 ? 2 * t->weight : t->weight);
        add(out, rank, mod(rank + 1, t->n), t->weight);
        break;
    case TOPOLOGY_EXPONENTIAL: exponential_row(t, rank, out); break;
    case TOPOLOGY_BIPARTITE: bipartite_row(t, rank, out); break;
    case TOPOLOGY_MATCHING: matching_row(t, rank, step, out); break;
    case TOPOLOGY_HYPERCUBE:
        add(out, rank, rank ^ 1 << step % (uint64_t)topology_period(t), 0.5);
        break;
    default:
        for (int j = 0; j < t->n; j++)
            if (t->matrix[rank * t->n + j] != 0) add(out, rank, j, t->matrix[rank * t->n + j]);
    }
    for (int i = 0; i < out->n; i++) {
        if (t->lazy) out->weight[i] /= 2;
        out->self -= out->weight[i];
    }
    if (t->kind == TOPOLOGY_MATRIX) out->self = t->matrix[rank * t->n + rank];
}
