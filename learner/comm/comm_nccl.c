#include "learner/comm/comm_nccl.h"

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

#include "engine/base/log.h"
#include "learner/comm/comm_ops.h"

/* The Comm's ops are replaced by these, which know those below. */
typedef struct {
    CommOps ops; // first: c->ops leads here
    const CommOps *below;
    ncclComm_t nccl;
    cudaStream_t stream;
    Real *device;
    size_t room; // numbers
} Layer;

static bool cuda_ok(cudaError_t e, const char *what) {
    if (e == cudaSuccess) return true;
    log_error("nccl: %s: %s", what, cudaGetErrorString(e));
    return false;
}

static bool nccl_ok(ncclResult_t r, const char *what) {
    if (r == ncclSuccess) return true;
    log_error("nccl: %s: %s", what, ncclGetErrorString(r));
    return false;
}

static bool make_room(Layer *l, size_t n) {
    if (n <= l->room) return true;
    cudaFree(l->device);
    l->device = NULL;
    l->room = 0;
    if (!cuda_ok(cudaMalloc((void **)&l->device, n * sizeof(Real)), "memory")) return false;
    l->room = n;
    return true;
}

/* Polls, so that a rank that never comes is no wait for ever. */
static Status wait_for_sum(Comm *c, Layer *l) {
    int64_t until = world_now_ns(c->world) + c->timeout_ns, nap = 10000;
    for (;;) {
        cudaError_t e = cudaStreamQuery(l->stream);
        if (e == cudaSuccess) return ST_OK;
        ncclResult_t r = ncclSuccess;
        bool good = e == cudaErrorNotReady && ncclCommGetAsyncError(l->nccl, &r) == ncclSuccess &&
                    (r == ncclSuccess || r == ncclInProgress);
        if (!good || world_now_ns(c->world) > until) break;
        world_sleep_ns(c->world, nap);
        if (nap < 200000) nap += nap / 2;
    }
    ncclCommAbort(l->nccl);
    l->nccl = NULL;
    Status st = comm_barrier(c); // by the transport below: names who is missing
    return st == ST_OK ? ST_IO : st;
}

static Status nccl_allreduce(Comm *c, Real *x, size_t n) {
    Layer *l = (Layer *)(uintptr_t)c->ops;
    if (l->nccl == NULL || !make_room(l, n)) return ST_IO;
    int64_t start = world_now_ns(c->world);
    ncclDataType_t type = sizeof(Real) == 4 ? ncclFloat : ncclDouble;
    bool good =
        cuda_ok(cudaMemcpyAsync(l->device, x, n * sizeof *x, cudaMemcpyHostToDevice, l->stream),
                "to the device") &&
        nccl_ok(ncclAllReduce(l->device, l->device, n, type, ncclSum, l->nccl, l->stream), "sum") &&
        cuda_ok(cudaMemcpyAsync(x, l->device, n * sizeof *x, cudaMemcpyDeviceToHost, l->stream),
                "from the device");
    Status st = good ? wait_for_sum(c, l) : ST_IO;
    uint64_t bytes = 2 * (uint64_t)(c->size - 1) * n * sizeof *x / (uint64_t)c->size; // as a ring
    c->stats.tx_bytes += bytes;
    c->stats.rx_bytes += bytes;
    c->stats.wait_ns += world_now_ns(c->world) - start;
    return st;
}

static void layer_free(Layer *l) {
    if (l->nccl) ncclCommDestroy(l->nccl);
    if (l->stream) cudaStreamDestroy(l->stream);
    cudaFree(l->device);
    free(l);
}

static void nccl_free(Comm *c) {
    Layer *l = (Layer *)(uintptr_t)c->ops;
    c->ops = l->below;
    layer_free(l);
    c->ops->free(c);
}

Status comm_nccl_over(Comm *c, int device) {
    ncclUniqueId id;
    bool all = false;
    Layer *l = calloc(1, sizeof *l);
    if (!l) return ST_NOMEM;
    bool good = cuda_ok(cudaSetDevice(device), "device") &&
                cuda_ok(cudaStreamCreate(&l->stream), "stream") &&
                (c->rank != 0 || nccl_ok(ncclGetUniqueId(&id), "id"));
    Status st = comm_vote(c, good, &all); // all try, or none: the rest would wait for ever
    if (st == ST_OK && all) st = comm_broadcast(c, 0, &id, sizeof id);
    if (st == ST_OK && all) {
        good = nccl_ok(ncclCommInitRank(&l->nccl, c->size, id, c->rank), "start");
        st = comm_vote(c, good, &all);
    }
    if (st != ST_OK || !all) {
        layer_free(l);
        return st != ST_OK ? st : ST_UNSUPPORTED;
    }
    l->below = c->ops;
    l->ops = *c->ops;
    l->ops.allreduce = nccl_allreduce;
    l->ops.free = nccl_free;
    c->ops = &l->ops;
    return ST_OK;
}
