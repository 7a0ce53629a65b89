/* comm_walk.h - what every transport must do, whatever carries it: all operations, with integers so
 * small that any order of adding is exact, at sizes around every boundary.                  */
#ifndef DIZHU_TESTS_LEARNER_COMM_WALK_H
#define DIZHU_TESTS_LEARNER_COMM_WALK_H
#include "tests/learner/team.h"

static const size_t walk_sizes[] = {0, 1, 7, 1023, 1500001};
enum { WALK_SIZES = sizeof walk_sizes / sizeof walk_sizes[0] };

/* Rank r's number at i; the sum over ranks is known without adding. */
static inline Real walk_value(int r, size_t i) { return (Real)((int)(i % 251) - 125 + 3 * r); }
static inline Real walk_sum(int n, size_t i) {
    return (Real)(n * ((int)(i % 251) - 125) + 3 * n * (n - 1) / 2);
}

static inline void walk_allreduce(Rank *r, size_t n, Real *x) {
    for (size_t i = 0; i < n; i++) x[i] = walk_value(r->rank, i);
    team_ok(r, comm_allreduce(r->comm, x, n));
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++) wrong += x[i] != walk_sum(r->size, i);
    team_check(r, wrong == 0);
}

static inline void walk_halves(Rank *r, size_t n, Real *x) {
    size_t at, mine = comm_chunk(n, r->size, r->rank, &at), wrong = 0;
    for (size_t i = 0; i < n; i++) x[i] = walk_value(r->rank, i);
    team_ok(r, comm_reduce_scatter(r->comm, x, n));
    for (size_t i = at; i < at + mine; i++) wrong += x[i] != walk_sum(r->size, i);
    for (size_t i = 0; i < n; i++)
        if (i < at || i >= at + mine) x[i] = -7;
    team_ok(r, comm_gather_chunks(r->comm, x, n));
    for (size_t i = 0; i < n; i++) wrong += x[i] != walk_sum(r->size, i);
    team_check(r, wrong == 0);
}

static inline void walk_broadcast(Rank *r, size_t n, Real *x) {
    for (int root = 0; root < r->size; root++) {
        for (size_t i = 0; i < n; i++) x[i] = walk_value(r->rank, i);
        team_ok(r, comm_broadcast(r->comm, root, x, n * sizeof *x));
        size_t wrong = 0;
        for (size_t i = 0; i < n; i++) wrong += x[i] != walk_value(root, i);
        team_check(r, wrong == 0);
        if (n > 1023) break; // the large size once
    }
}

static inline void walk_allgather(Rank *r, size_t n, Real *x) {
    n = n > 100000 ? 100000 : n;
    Real *mine = malloc((n + 1) * sizeof *mine);
    for (size_t i = 0; i < n; i++) mine[i] = walk_value(r->rank, i);
    team_ok(r, comm_allgather(r->comm, mine, n * sizeof *x, x));
    size_t wrong = 0;
    for (int k = 0; k < r->size; k++)
        for (size_t i = 0; i < n; i++) wrong += x[(size_t)k * n + i] != walk_value(k, i);
    team_check(r, wrong == 0);
    free(mine);
}

/* With both neighbours of a ring, which may be the same rank, or oneself. */
static inline void walk_exchange(Rank *r, size_t n, Real *x) {
    int right = (r->rank + 1) % r->size, left = (r->rank + r->size - 1) % r->size;
    Real *in = malloc((n + 1) * sizeof *in);
    for (size_t i = 0; i < n; i++) x[i] = walk_value(r->rank, i);
    CommExchange e[2] = {{.peer = right, .out = x, .out_bytes = n * sizeof *x},
                         {.peer = left, .in = in, .in_bytes = n * sizeof *x}};
    team_ok(r, comm_exchange(r->comm, 77, e, 2));
    size_t wrong = e[1].got != n * sizeof *x;
    for (size_t i = 0; i < n; i++) wrong += in[i] != walk_value(left, i);
    team_check(r, wrong == 0);
    free(in);
}

static inline void walk_vote(Rank *r) {
    for (int dissenter = -1; dissenter < r->size; dissenter++) {
        bool all = dissenter >= 0;
        team_ok(r, comm_vote(r->comm, r->rank != dissenter, &all));
        team_check(r, all == (dissenter < 0));
    }
}

/* Everyone sends numbered messages under three tags to everyone; the receiver takes the tags in
 * another order, and each tag's messages must come in the order sent.                       */
static inline void walk_tags(Rank *r) {
    enum { TAGS = 3, EACH = 5 };
    uint32_t out[TAGS][EACH];
    CommReq sends[TEAM_MAX * TAGS * EACH], *list[TEAM_MAX * TAGS * EACH];
    int k = 0;
    for (int to = 0; to < r->size; to++)
        for (uint32_t e = 0; e < EACH; e++)
            for (uint32_t t = 0; t < TAGS; t++, k++) {
                out[t][e] = (uint32_t)r->rank << 16 | t << 8 | e;
                list[k] = &sends[k];
                comm_send(r->comm, to, t, &out[t][e], sizeof out[t][e], &sends[k]);
            }
    for (uint32_t t = TAGS; t-- > 0;)
        for (int from = 0; from < r->size; from++)
            for (uint32_t e = 0; e < EACH; e++) {
                uint32_t in = 0;
                CommReq req, *one[1] = {&req};
                comm_recv(r->comm, from, t, &in, sizeof in, &req);
                team_ok(r, comm_wait(r->comm, one, 1));
                team_check(r, in == ((uint32_t)from << 16 | t << 8 | e) && req.got == sizeof in);
            }
    team_ok(r, comm_wait(r->comm, list, k));
    team_ok(r, comm_barrier(r->comm));
}

/* Requests from anyone, answered: what a parameter server does. */
static inline void walk_server(Rank *r) {
    enum { ASK = 200, ANSWER = 201, ROUNDS = 4 };
    if (r->rank == 0) {
        for (int k = 0; k < ROUNDS * (r->size - 1); k++) {
            int in = 0, which;
            CommReq ask, answer, *list[1] = {&ask}, *sent[1] = {&answer};
            comm_recv(r->comm, COMM_ANY, ASK, &in, sizeof in, &ask);
            team_ok(r, comm_wait_any(r->comm, list, 1, WORLD_FOREVER, &which));
            int out = in * in;
            comm_send(r->comm, ask.peer, ANSWER, &out, sizeof out, &answer);
            team_ok(r, comm_wait(r->comm, sent, 1));
        }
    } else {
        for (int k = 0; k < ROUNDS; k++) {
            int out = r->rank * 10 + k, in = -1;
            CommReq reqs[2], *list[2] = {&reqs[0], &reqs[1]};
            comm_send(r->comm, 0, ASK, &out, sizeof out, &reqs[0]);
            comm_recv(r->comm, 0, ANSWER, &in, sizeof in, &reqs[1]);
            team_ok(r, comm_wait(r->comm, list, 2));
            team_check(r, in == out * out);
        }
    }
    team_ok(r, comm_barrier(r->comm));
}

/* The ring sends 2 (n-1)/n of the block and not a byte more; all that is sent is received. */
static inline void walk_bytes(Rank *r) {
    enum { N = 100000 };
    Real *x = calloc(N, sizeof *x);
    CommStats before = comm_stats(r->comm);
    team_ok(r, comm_allreduce(r->comm, x, N));
    CommStats after = comm_stats(r->comm);
    double tx = (double)(after.tx_bytes - before.tx_bytes) / sizeof *x;
    double rx = (double)(after.rx_bytes - before.rx_bytes) / sizeof *x;
    double expected = 2.0 * (r->size - 1) / r->size * N;
    team_check(r, tx >= expected - 2 && tx <= expected + 2);
    team_check(r, rx >= expected - 2 && rx <= expected + 2);
    team_check(r, after.wait_ns >= before.wait_ns);
    free(x);
}

/* A message longer than its buffer is an error and is not written. */
static inline void walk_too_long(Rank *r) {
    uint8_t out[8] = {1, 2, 3, 4, 5, 6, 7, 8}, in[8] = {0};
    CommReq reqs[2], *list[2] = {&reqs[0], &reqs[1]};
    comm_send(r->comm, (r->rank + 1) % r->size, 9, out, 8, &reqs[0]);
    comm_recv(r->comm, (r->rank + r->size - 1) % r->size, 9, in, 4, &reqs[1]);
    team_check(r, comm_wait(r->comm, list, 2) == ST_MISMATCH);
    team_check(r, in[4] == 0);
    team_ok(r, comm_barrier(r->comm));
}

/* Collectives of every second rank, while the others do their own. */
static inline void walk_team(Rank *r) {
    int ranks[TEAM_MAX], n = 0;
    for (int i = r->rank % 2; i < r->size; i += 2) ranks[n++] = i;
    comm_team(r->comm, ranks, n, 1);
    Real *x = malloc(9000 * sizeof *x);
    for (size_t size = 10; size <= 9000; size *= 30) {
        size_t wrong = 0;
        for (size_t i = 0; i < size; i++) x[i] = walk_value(r->rank, i);
        team_ok(r, comm_allreduce(r->comm, x, size));
        for (size_t i = 0; i < size; i++) {
            Real sum = 0;
            for (int k = 0; k < n; k++) sum += walk_value(ranks[k], i);
            wrong += x[i] != sum;
        }
        team_check(r, wrong == 0);
    }
    free(x);
    comm_team(r->comm, NULL, 0, 2);
    team_ok(r, comm_barrier(r->comm));
}

static inline void comm_walk(Rank *r) {
    for (int s = 0; s < WALK_SIZES; s++) {
        size_t n = walk_sizes[s];
        size_t room = n > 100000 * (size_t)r->size ? n : n * (size_t)r->size;
        Real *x = malloc(((room > n ? room : n) + 1) * sizeof *x);
        walk_allreduce(r, n, x);
        walk_halves(r, n, x);
        walk_broadcast(r, n, x);
        walk_exchange(r, n, x);
        walk_allgather(r, n, x);
        free(x);
    }
    walk_vote(r);
    walk_tags(r);
    walk_server(r);
    if (r->size > 1) walk_bytes(r);
    walk_too_long(r);
    walk_team(r);
    team_ok(r, comm_barrier(r->comm));
}

#endif
