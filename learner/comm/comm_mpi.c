#include "learner/comm/comm_mpi.h"

#include <assert.h>
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>

#include "engine/base/log.h"
#include "learner/codec/codec.h"
#include "learner/comm/comm_ops.h"

typedef struct {
    Comm comm;
    MPI_Request *open; // with the request of ours that each belongs to
    CommReq **owner;
    int n_open, room;
    int *indices;
    MPI_Status *statuses;
} MpiComm;

static const CommOps ring_ops, native_ops;

static bool make_room(MpiComm *m) {
    if (m->n_open < m->room) return true;
    int room = m->room ? 2 * m->room : 64;
    MPI_Request *open = realloc(m->open, (size_t)room * sizeof *open);
    if (open) m->open = open;
    CommReq **owner = realloc(m->owner, (size_t)room * sizeof(CommReq *));
    if (owner) m->owner = owner;
    int *indices = realloc(m->indices, (size_t)room * sizeof *indices);
    if (indices) m->indices = indices;
    MPI_Status *statuses = realloc(m->statuses, (size_t)room * sizeof *statuses);
    if (statuses) m->statuses = statuses;
    if (!open || !owner || !indices || !statuses) return false;
    m->room = room;
    return true;
}

static void start(Comm *c, CommReq *req) {
    MpiComm *m = (MpiComm *)c;
    assert(req->bytes <= INT_MAX);
    int bytes = (int)req->bytes, peer = req->peer == COMM_ANY ? MPI_ANY_SOURCE : req->peer;
    int tag = (int)req->tag, rc = MPI_ERR_NO_MEM;
    if (make_room(m))
        rc = req->is_send ? MPI_Isend(req->buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                                      &m->open[m->n_open])
                          : MPI_Irecv(req->buffer, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD,
                                      &m->open[m->n_open]);
    if (rc != MPI_SUCCESS) {
        req->done = true;
        req->status = ST_IO;
        return;
    }
    req->slot = m->n_open;
    m->owner[m->n_open++] = req;
}

static void remove_slot(MpiComm *m, int slot) {
    m->n_open--;
    m->open[slot] = m->open[m->n_open];
    m->owner[slot] = m->owner[m->n_open];
    if (slot < m->n_open) m->owner[slot]->slot = slot;
}

static void finish(CommReq *req, const MPI_Status *s, int error) {
    int got = 0;
    req->done = true;
    if (!req->is_send) {
        MPI_Get_count(s, MPI_BYTE, &got);
        req->peer = s->MPI_SOURCE;
        req->got = (size_t)got;
    }
    if (error != MPI_SUCCESS) {
        int class = 0;
        MPI_Error_class(error, &class);
        req->status = class == MPI_ERR_TRUNCATE ? ST_MISMATCH : ST_IO;
    }
}

static bool test(MpiComm *m) {
    int n = 0;
    int rc = MPI_Testsome(m->n_open, m->open, &n, m->indices, m->statuses);
    if (n == MPI_UNDEFINED || n <= 0) return false;
    for (int i = 0; i < n; i++)
        finish(m->owner[m->indices[i]], &m->statuses[i],
               rc == MPI_ERR_IN_STATUS ? m->statuses[i].MPI_ERROR : MPI_SUCCESS);
    for (int slot = m->n_open - 1; slot >= 0; slot--)
        if (m->owner[slot]->done) remove_slot(m, slot);
    return true;
}

/* Sleeps grow from 10 to 200 microseconds: a short wait stays short, a long one costs no core. */
static void mpi_poll(Comm *c, int64_t until_ns) {
    MpiComm *m = (MpiComm *)c;
    int64_t nap = 10000;
    while (!test(m)) {
        if (comm_woken(c) || world_now_ns(c->world) >= until_ns) return;
        world_sleep_ns(c->world, nap);
        if (nap < 200000) nap += nap / 2;
    }
}

static void mpi_cancel(Comm *c, CommReq *req) {
    MpiComm *m = (MpiComm *)c;
    int slot = req->slot;
    if (!req->is_send) MPI_Cancel(&m->open[slot]);
    MPI_Request_free(&m->open[slot]);
    remove_slot(m, slot);
}

static void mpi_wake(Comm *c) { (void)c; } // poll looks at c->woken every 200 microseconds

static bool mpi_gone(const Comm *c, int rank) {
    (void)c, (void)rank;
    return false;
}

static Status native_sum(Comm *c, void *x, size_t n, size_t size, MPI_Datatype type, MPI_Op op) {
    int64_t start_ns = world_now_ns(c->world), nap = 10000;
    MPI_Request request;
    int done = 0;
    assert(n <= INT_MAX);
    if (MPI_Iallreduce(MPI_IN_PLACE, x, (int)n, type, op, MPI_COMM_WORLD, &request) != MPI_SUCCESS)
        return ST_IO;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        world_sleep_ns(c->world, nap);
        if (nap < 200000) nap += nap / 2;
    }
    uint64_t bytes = 2 * (uint64_t)(c->size - 1) * n * size / (uint64_t)c->size;
    c->stats.tx_bytes += bytes;
    c->stats.rx_bytes += bytes;
    c->stats.tx_messages += 2 * (uint64_t)(c->size - 1);
    c->stats.rx_messages += 2 * (uint64_t)(c->size - 1);
    c->stats.wait_ns += world_now_ns(c->world) - start_ns;
    return done ? ST_OK : ST_IO;
}

static Status native_allreduce(Comm *c, Real *x, size_t n) {
    return native_sum(c, x, n, sizeof *x, sizeof *x == 4 ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM);
}

static void add_halves(void *in, void *inout, int *n, MPI_Datatype *type) {
    (void)type;
    const uint16_t *a = in;
    uint16_t *b = inout;
    for (int i = 0; i < *n; i++) b[i] = fp16_from(fp16_to(a[i]) + fp16_to(b[i]));
}

Status comm_mpi_allreduce(Comm *c, Real *x, size_t n, bool half) {
    if (!half) return native_allreduce(c, x, n);
    MPI_Op op;
    uint16_t *h = malloc((n + 1) * sizeof *h);
    if (!h || MPI_Op_create(add_halves, 1, &op) != MPI_SUCCESS) {
        free(h);
        return ST_NOMEM;
    }
    for (size_t i = 0; i < n; i++) h[i] = fp16_from((float)x[i]);
    Status st = native_sum(c, h, n, sizeof *h, MPI_UINT16_T, op);
    for (size_t i = 0; i < n; i++) x[i] = (Real)fp16_to(h[i]);
    MPI_Op_free(&op);
    free(h);
    return st;
}

static void mpi_free(Comm *c) {
    MpiComm *m = (MpiComm *)c;
    bool whole = c->failed < 0;
    if (whole) {
        comm_cancel(c, &c->control_req);
        MPI_Finalize();
    }
    comm_deinit(c);
    free(m->open);
    free(m->owner);
    free(m->indices);
    free(m->statuses);
    free(m);
}

#define MPI_OPS(title, native)                                                                     \
    {                                                                                              \
        .name = title, .free = mpi_free, .send = start, .recv = start, .poll = mpi_poll,           \
        .cancel = mpi_cancel, .wake = mpi_wake, .gone = mpi_gone, .allreduce = native              \
    }
static const CommOps ring_ops = MPI_OPS("mpi", NULL),
                     native_ops = MPI_OPS("mpi native", native_allreduce);

void comm_mpi_native(Comm *c, bool on) { c->ops = on ? &native_ops : &ring_ops; }

Status comm_mpi_new(World *w, int *argc, char ***argv, Comm **out) {
    int level = 0, rank = 0, size = 0;
    if (world_is_virtual(w)) return ST_INVALID;
    MpiComm *m = calloc(1, sizeof *m);
    if (!m) return ST_NOMEM;
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
        level < MPI_THREAD_SERIALIZED) {
        log_error("mpi: thread level %d, needs MPI_THREAD_SERIALIZED", level);
        free(m);
        return ST_UNSUPPORTED;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > COMM_MAX_RANKS) {
        log_error("mpi: %d ranks, at most %d", size, COMM_MAX_RANKS);
        MPI_Finalize();
        free(m);
        return ST_INVALID;
    }
    comm_init(&m->comm, &ring_ops, w, rank, size);
    comm_control_start(&m->comm);
    *out = &m->comm;
    return ST_OK;
}
