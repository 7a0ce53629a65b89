/* The order in which buckets are exchanged: the same on every rank, whatever becomes ready when.
 *
 * A bucket is posted only when it is whole and all before it in the order are posted. The first
 * step goes from the last bucket to the first, as backward does; then rank 0 tells in which order
 * its buckets really became whole, and all take that.                                           */
#include <string.h>

#include "learner/algo/algo_ops.h"

void plan_init(Algo *a) {
    size_t bucket = a->c.bucket;
    if (bucket == 0 || bucket > a->c.n) bucket = a->c.n > 0 ? a->c.n : 1;
    if ((a->c.n + bucket - 1) / bucket > ALGO_BUCKETS)
        bucket = (a->c.n + ALGO_BUCKETS - 1) / ALGO_BUCKETS;
    a->c.bucket = bucket;
    a->n_buckets = (int)((a->c.n + bucket - 1) / bucket);
    for (int i = 0; i < a->n_buckets; i++) a->order[i] = a->n_buckets - 1 - i;
}

size_t plan_bucket(const Algo *a, int bucket, size_t *n) {
    size_t at = (size_t)bucket * a->c.bucket;
    *n = a->c.n - at < a->c.bucket ? a->c.n - at : a->c.bucket;
    return at;
}

void plan_begin(Algo *a) {
    a->next = a->n_seen = 0;
    for (int b = 0; b < a->n_buckets; b++) plan_bucket(a, b, &a->missing[b]);
}

static Status exchange(void *ctx, int bucket) {
    Algo *a = ctx;
    return a->ops->exchange(a, bucket);
}

static void post_whole_ones(Algo *a) {
    while (a->next < a->n_buckets && a->missing[a->order[a->next]] == 0) {
        int bucket = a->order[a->next++];
        a->ticket = engine_post(a->c.engine, a->ops->name, exchange, a, bucket);
    }
}

void plan_ready(Algo *a, size_t offset, size_t n) {
    while (n > 0) {
        int b = (int)(offset / a->c.bucket);
        size_t length, at = plan_bucket(a, b, &length);
        size_t part = at + length - offset < n ? at + length - offset : n;
        if (a->missing[b] > 0) {
            a->missing[b] = part < a->missing[b] ? a->missing[b] - part : 0;
            if (a->missing[b] == 0) a->seen[a->n_seen++] = b;
        }
        offset += part;
        n -= part;
    }
    post_whole_ones(a);
}

static Status agree(void *ctx, int arg) {
    (void)arg;
    Algo *a = ctx;
    return comm_broadcast(a->comm, 0, a->seen, (size_t)a->n_buckets * sizeof a->seen[0]);
}

Status plan_finish(Algo *a) {
    for (int b = a->n_buckets - 1; b >= 0; b--)
        if (a->missing[b] > 0) {
            a->missing[b] = 0;
            a->seen[a->n_seen++] = b;
        }
    post_whole_ones(a);
    if (!a->planned && a->n_buckets > 1) {
        TRY(engine_call(a->c.engine, "order", agree, a, 0));
        memcpy(a->order, a->seen, (size_t)a->n_buckets * sizeof a->order[0]);
    }
    a->planned = true;
    return engine_wait(a->c.engine, a->ticket);
}
