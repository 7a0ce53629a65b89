/* Collectives over the team, from messages alone. */
#include <string.h>

#include "learner/comm/comm_ops.h"

void comm_team(Comm *c, const int *ranks, int n, uint32_t epoch) {
    c->team_size = n > 0 ? n : c->size;
    for (int i = 0; i < c->team_size; i++) {
        c->team[i] = n > 0 ? ranks[i] : i;
        if (c->team[i] == c->rank) c->team_index = i;
        c->team_life[i] = c->life[c->team[i]];
    }
    c->team_epoch = epoch;
    if (epoch == 0) return;
    comm_heard_epoch(c, epoch);
    if (c->ops->purge) c->ops->purge(c, epoch);
    if (c->aborted_epoch == epoch) c->abort_about = c->aborted_about; // given up before we began
}

uint32_t comm_last_epoch(const Comm *c) { return c->last_epoch; }
void comm_heard_epoch(Comm *c, uint32_t epoch) {
    if (epoch > c->last_epoch) c->last_epoch = epoch;
}
uint32_t comm_next_epoch(Comm *c) { // multiples of COMM_EPOCHS look like the team of all
    return c->last_epoch + (c->last_epoch % COMM_EPOCHS == COMM_EPOCHS - 1 ? 2 : 1);
}

int comm_team_size(const Comm *c) { return c->team_size; }
int comm_team_index(const Comm *c) { return c->team_index; }
int comm_team_rank(const Comm *c, int index) { return c->team[index]; }

static uint32_t team_tag(const Comm *c, uint32_t tag) {
    return tag | (c->team_epoch % COMM_EPOCHS) << COMM_EPOCH_SHIFT;
}

/* Pieces for everyone at once: sends out(i) to and receives in(i) from each other member. */
static Status everyone(Comm *c, uint32_t tag, const uint8_t *out, size_t out_stride,
                       size_t out_bytes, uint8_t *in, size_t in_bytes) {
    CommReq reqs[2 * COMM_MAX_RANKS], *list[2 * COMM_MAX_RANKS];
    int n = 0;
    for (int d = 1; d < c->team_size; d++) { // everybody begins with another one
        int from = (c->team_index + c->team_size - d) % c->team_size;
        list[n] = &reqs[n];
        comm_recv(c, c->team[from], team_tag(c, tag), in + (size_t)from * in_bytes, in_bytes,
                  &reqs[n]);
        n++;
    }
    for (int d = 1; d < c->team_size; d++) {
        int to = (c->team_index + d) % c->team_size;
        list[n] = &reqs[n];
        comm_send(c, c->team[to], team_tag(c, tag), out + (size_t)to * out_stride, out_bytes,
                  &reqs[n]);
        n++;
    }
    TRY(comm_wait(c, list, n));
    for (int i = 0; i < c->team_size - 1; i++)
        if (reqs[i].got != in_bytes) return ST_MISMATCH;
    return ST_OK;
}

Status comm_vote(Comm *c, bool mine, bool *all) {
    uint8_t ballot = mine, ballots[COMM_MAX_RANKS] = {0};
    TRY(everyone(c, COMM_TAG_BARRIER, &ballot, 0, 1, ballots, 1));
    bool yes = mine;
    for (int i = 0; i < c->team_size; i++) yes = yes && (i == c->team_index || ballots[i]);
    *all = yes;
    return ST_OK;
}

Status comm_barrier(Comm *c) {
    bool all;
    return comm_vote(c, true, &all);
}

Status comm_allgather(Comm *c, const void *mine, size_t bytes, void *all) {
    uint8_t *blocks = all;
    if (bytes > 0) memmove(blocks + (size_t)c->team_index * bytes, mine, bytes);
    return everyone(c, COMM_TAG_GATHER, blocks + (size_t)c->team_index * bytes, 0, bytes, blocks,
                    bytes);
}

/* A binomial tree: in round k those who have it are the first 2^k after the root. */
Status comm_broadcast(Comm *c, int root_index, void *p, size_t bytes) {
    int t = c->team_size, me = (c->team_index - root_index + t) % t;
    uint32_t tag = team_tag(c, COMM_TAG_BROADCAST);
    for (int have = 1; have < t; have *= 2) {
        CommReq req, *list[1] = {&req};
        if (me < have && me + have < t)
            comm_send(c, c->team[(me + have + root_index) % t], tag, p, bytes, &req);
        else if (me >= have && me < 2 * have)
            comm_recv(c, c->team[(me - have + root_index) % t], tag, p, bytes, &req);
        else continue;
        TRY(comm_wait(c, list, 1));
        if (!req.is_send && req.got != bytes) return ST_MISMATCH;
    }
    return ST_OK;
}

/* One step round the ring: chunk `give` to the right, chunk `take` from the left into `in`. */
static Status ring_step(Comm *c, uint32_t tag, Real *x, size_t n, int give, int take, Real *in) {
    int t = c->team_size;
    CommReq send, recv, *list[2] = {&recv, &send};
    size_t give_at, take_at, give_n = comm_chunk(n, t, give, &give_at),
                             take_n = comm_chunk(n, t, take, &take_at);
    comm_recv(c, c->team[(c->team_index + t - 1) % t], team_tag(c, tag), in ? in : x + take_at,
              take_n * sizeof *x, &recv);
    comm_send(c, c->team[(c->team_index + 1) % t], team_tag(c, tag), x + give_at,
              give_n * sizeof *x, &send);
    TRY(comm_wait(c, list, 2));
    if (recv.got != take_n * sizeof *x) return ST_MISMATCH;
    if (in)
        for (size_t i = 0; i < take_n; i++) x[take_at + i] += in[i];
    return ST_OK;
}

/* Chunk k starts at member k+1, who sends its own part, and is complete when it reaches member k.
 */
Status comm_reduce_scatter(Comm *c, Real *x, size_t n) {
    int t = c->team_size;
    void *in;
    TRY(comm_scratch(c, (n / (size_t)t + 1) * sizeof *x, &in));
    for (int s = 1; s < t; s++)
        TRY(ring_step(c, COMM_TAG_REDUCE, x, n, (c->team_index + 2 * t - s) % t,
                      (c->team_index + 2 * t - s - 1) % t, in));
    return ST_OK;
}

Status comm_gather_chunks(Comm *c, Real *x, size_t n) {
    int t = c->team_size;
    for (int s = 0; s < t - 1; s++)
        TRY(ring_step(c, COMM_TAG_CHUNKS, x, n, (c->team_index + t - s) % t,
                      (c->team_index + 2 * t - s - 1) % t, NULL));
    return ST_OK;
}

/* Everyone sends everything to everyone and adds in the order of the team. */
static Status allreduce_direct(Comm *c, Real *x, size_t n) {
    size_t bytes = n * sizeof *x;
    void *memory;
    TRY(comm_scratch(c, (size_t)c->team_size * bytes, &memory));
    Real *all = memory;
    TRY(everyone(c, COMM_TAG_DIRECT, (const uint8_t *)x, 0, bytes, memory, bytes));
    memcpy(all + (size_t)c->team_index * n, x, bytes);
    for (size_t i = 0; i < n; i++) {
        Real sum = all[i];
        for (int r = 1; r < c->team_size; r++) sum += all[(size_t)r * n + i];
        x[i] = sum;
    }
    return ST_OK;
}

Status comm_allreduce(Comm *c, Real *x, size_t n) {
    if (c->team_size == 1 || n == 0) return ST_OK;
    if (c->ops->allreduce && c->team_size == c->size) return c->ops->allreduce(c, x, n);
    if (n * sizeof *x <= COMM_DIRECT_BYTES) return allreduce_direct(c, x, n);
    TRY(comm_reduce_scatter(c, x, n));
    return comm_gather_chunks(c, x, n);
}

Status comm_exchange(Comm *c, uint32_t tag, CommExchange *x, int n) {
    return comm_exchange_tags(c, tag, tag, x, n);
}

Status comm_exchange_tags(Comm *c, uint32_t out_tag, uint32_t in_tag, CommExchange *x, int n) {
    CommReq reqs[2 * COMM_MAX_RANKS], *list[2 * COMM_MAX_RANKS];
    int k = 0;
    for (int i = 0; i < n; i++)
        if (x[i].in) {
            list[k] = &reqs[k];
            comm_recv(c, x[i].peer, in_tag, x[i].in, x[i].in_bytes, &reqs[k++]);
        }
    for (int i = 0; i < n; i++)
        if (x[i].out) {
            list[k] = &reqs[k];
            comm_send(c, x[i].peer, out_tag, x[i].out, x[i].out_bytes, &reqs[k++]);
        }
    TRY(comm_wait(c, list, k));
    for (int i = 0, j = 0; i < n; i++)
        if (x[i].in) x[i].got = reqs[j++].got;
    return ST_OK;
}
