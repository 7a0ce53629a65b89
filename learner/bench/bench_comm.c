/* dizhu-bench-comm: every algorithm side by side on one network, with a block of the real nets'
 * size.
 *
 * Computing is sleep, so that ranks that share a machine do not slow one another: what is timed is
 * the exchange, the codecs and the updates. Rank 0 prints one row per algorithm: steps a second,
 * bytes sent per rank and step as the transport counts them, the share of time spent waiting.
 *
 *     dizhu bench comm --ranks 4                                (threads of this process)
 *     mpirun -np 4 dizhu-bench-comm --transport mpi
 *     dizhu bench comm --transport zmq --rank R --ranks 4 --founder tcp://HOST:PORT --keys FILE  */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/link.h"
#include "engine/base/log.h"
#include "engine/base/options.h"
#include "learner/algo/algo.h"
#include "learner/comm/comm_fabric.h"
#include "learner/comm/comm_zmq.h"
#ifdef DIZHU_MPI
#include "learner/comm/comm_mpi.h"
#endif
#ifdef DIZHU_NCCL
#include "learner/comm/comm_nccl.h"
#endif

enum { PIECES = 16, ROWS = 32 };

static int ranks = 4, transport, my_rank = -1, slow_rank = -1;
static const char *algos = "allreduce,bytegrad,squeeze,onebit,qadam,dpsgd:ring,dpsgd:matching,"
                           "dpsgd-fp16:matching,dcd:ring,d2:ring,adpsgd:bipartite,average,server";
static const char *founder = "tcp://127.0.0.1:7700", *listen_on = "tcp://127.0.0.1:*", *keys = "";
static uint64_t numbers = 1514497;
static double compute_ms = 50, seconds = 5, slow_factor = 10, link_mbit, latency_ms;
static double bucket_kb = 1024;
static bool json, help_needed, by_nccl;

static const Option options[] = {
    {"transport", OPT_CHOICE, &transport, "what carries the messages", 0, 0, "local|sim|mpi|zmq",
     false},
    {"ranks", OPT_INT, &ranks, "local, sim, zmq: how many", 1, 64, NULL, false},
    {"algos", OPT_STR, &algos, "what to time: NAME[-CODEC][:TOPOLOGY], commas between", 0, 0,
     "LIST", false},
    {"numbers", OPT_U64, &numbers, "size of the block; a peasant's net by default", 0, 0, NULL,
     false},
    {"compute-ms", OPT_REAL, &compute_ms, "computing of one step", 0, 1e6, NULL, false},
    {"seconds", OPT_REAL, &seconds, "time for each", 0.1, 3600, NULL, false},
    {"bucket-kb", OPT_REAL, &bucket_kb, "size of buckets; 0: one", 0, 1e6, NULL, false},
    {"slow-rank", OPT_INT, &slow_rank, "this rank computes more slowly; -1: none", -1, 63, NULL,
     false},
    {"slow-factor", OPT_REAL, &slow_factor, "by how much", 1, 1000, NULL, false},
    {"link-mbit", OPT_REAL, &link_mbit, "sim: of each card; 0: unlimited", 0, 1e6, NULL, false},
    {"latency-ms", OPT_REAL, &latency_ms, "sim: of each link", 0, 1e4, NULL, false},
    {"rank", OPT_INT, &my_rank, "zmq: of this process; 0 founds", -1, 63, NULL, false},
    {"founder", OPT_STR, &founder, "zmq: where rank 0 listens", 0, 0, "ENDPOINT", false},
    {"listen", OPT_STR, &listen_on, "zmq: where this rank listens", 0, 0, "ENDPOINT", false},
    {"keys", OPT_STR, &keys, "zmq: the run's key pair", 0, 0, "FILE", false},
    {"nccl", OPT_FLAG, &by_nccl, "mpi, zmq: sums on GPUs, rank K's is device K", 0, 0, NULL, false},
    {"json", OPT_FLAG, &json, "a list of objects", 0, 0, NULL, true},
    {NULL, 0, NULL, NULL, 0, 0, NULL, false},
};
enum { LOCAL, SIM, MPI, ZMQ };

typedef struct {
    char name[48];
    double steps_s, all_steps_s, exchanges_s, bytes, wait;
} Row;

typedef struct {
    Comm *comm;
    World *world;
    int rank;
    Row row[ROWS];
    int n_rows;
    Status status;
} Bench;

static Status plain_sgd(void *ctx, Real *x, const Real *g, size_t n, double lr) {
    (void)ctx;
    Real rate = (Real)lr;
    for (size_t i = 0; i < n; i++) x[i] -= rate * g[i];
    return ST_OK;
}

static bool asynchronous(const char *text) {
    static const char *const names[] = {"adpsgd", "average", "server", "local"};
    for (int i = 0; i < 4; i++)
        if (strncmp(text, names[i], strlen(names[i])) == 0) return true;
    return false;
}

// "dpsgd-fp16:matching" -> dpsgd, fp16, matching.
static Status configure(Bench *b, const char *text, AlgoConfig *c) {
    char name[48], *codec, *topology;
    snprintf(name, sizeof name, "%s", text);
    if ((topology = strchr(name, ':'))) *topology++ = '\0';
    if ((codec = strchr(name, '-'))) *codec++ = '\0';
    TRY(algo_defaults(name, c));
    if (codec) TRY(codec_parse(codec, &c->up));
    if (codec && strcmp(name, "dpsgd") != 0) c->down = c->up;
    const char *usual = strcmp(name, "adpsgd") == 0 ? "bipartite"
                        : strcmp(name, "d2") == 0   ? "ring:0.25"
                                                    : "ring";
    if (topology && strcmp(name, "d2") == 0 && strcmp(topology, "ring") == 0) topology = NULL;
    c->momentum.warmup = 1;
    c->momentum.refresh_every = 0;
    c->period_s = c->period_s > 0 ? .05 : 0;
    return topology_parse(topology ? topology : usual, comm_size(b->comm), &c->topology);
}

static Status one_step(Bench *b, Algo *a, Real *g, uint64_t t) {
    double s = compute_ms / 1e3 * (b->rank == slow_rank ? slow_factor : 1);
    TRY(algo_before_forward(a, 1e-6));
    world_sleep_ns(b->world, (int64_t)(s / 3 * 1e9));
    g[t % numbers] += (Real)1e-3; // never the same gradient
    for (uint64_t p = PIECES; p-- > 0;) {
        uint64_t at = numbers * p / PIECES, end = numbers * (p + 1) / PIECES;
        world_sleep_ns(b->world, (int64_t)(s * 2 / 3 / PIECES * 1e9));
        algo_bucket_ready(a, at, end - at);
    }
    return algo_after_backward(a);
}

typedef struct {
    Comm *comm;
    double mine, all[COMM_MAX_RANKS];
} Gather;

static Status gather_job(void *ctx, int arg) {
    (void)arg;
    Gather *job = ctx;
    return comm_allgather(job->comm, &job->mine, sizeof job->mine, job->all);
}

static Status gather(Bench *b, Engine *e, double mine, double *sum, double *most) {
    Gather job = {.comm = b->comm, .mine = mine};
    TRY(engine_call(e, "gather", gather_job, &job, 0));
    *sum = *most = 0;
    for (int i = 0; i < comm_size(b->comm); i++) {
        *sum += job.all[i];
        *most = fmax(*most, job.all[i]);
    }
    return ST_OK;
}

typedef struct {
    double took, n, bytes, wait, exchanges;
} Measured;

/* Steps until the time is over; where ranks must make the same number of them, as many as three
 * steps have shown to fit. */
static Status time_it(Bench *b, Engine *e, Algo *a, bool free_running, Real *g, Measured *m) {
    double sum, most;
    uint64_t t = 0;
    int64_t start = world_now_ns(b->world);
    for (; t < 3; t++) TRY(one_step(b, a, g, t));
    most = (double)(world_now_ns(b->world) - start) / 3e9;
    if (!free_running) TRY(gather(b, e, most, &sum, &most));
    uint64_t steps = (uint64_t)fmax(3, ceil(seconds / most)), n = 0;
    AlgoStats stats_before, stats_after;
    algo_stats(a, &stats_before);
    CommStats before = comm_stats(b->comm);
    start = world_now_ns(b->world);
    int64_t until = start + (int64_t)(seconds * 1e9);
    for (; free_running ? world_now_ns(b->world) < until : n < steps; n++)
        TRY(one_step(b, a, g, t++));
    CommStats after = comm_stats(b->comm);
    algo_stats(a, &stats_after);
    *m = (Measured){.took = (double)(world_now_ns(b->world) - start) / 1e9,
                    .n = (double)n,
                    .bytes = (double)(after.tx_bytes - before.tx_bytes),
                    .wait = (double)(after.wait_ns - before.wait_ns) / 1e9,
                    .exchanges = (double)(stats_after.exchanges - stats_before.exchanges)};
    return ST_OK;
}

static Status add_row(Bench *b, Engine *e, const char *text, const Measured *m) {
    Row *r = &b->row[b->n_rows++];
    double sum, most, size = comm_size(b->comm);
    snprintf(r->name, sizeof r->name, "%s", text);
    TRY(gather(b, e, m->n / m->took, &r->all_steps_s, &most));
    r->steps_s = r->all_steps_s / size;
    TRY(gather(b, e, m->bytes / m->n, &sum, &most));
    r->bytes = sum / size;
    TRY(gather(b, e, m->wait / m->took, &sum, &most));
    r->wait = sum / size;
    return gather(b, e, m->exchanges / m->took, &r->exchanges_s, &most);
}

static Status bench_algo(Bench *b, const char *text) {
    AlgoConfig c;
    Engine *e;
    Algo *a;
    Measured m;
    Status st;
    TRY(configure(b, text, &c));
    Real *x = calloc(numbers + 1, sizeof *x), *g = malloc((numbers + 1) * sizeof *g);
    if (!x || !g) return ST_NOMEM;
    for (uint64_t i = 0; i < numbers; i++)
        g[i] = (Real)((double)((i + (uint64_t)b->rank) * 2654435761u >> 8 & 0xffff) / 65536 - .5);
    TRY(engine_new(b->comm, true, NULL, &e));
    c.n = numbers, c.x = x, c.g = g, c.engine = e, c.rule = (Rule){plain_sgd, NULL};
    c.bucket = (size_t)(bucket_kb * 1024 / sizeof *x);
    st = algo_new(&c, &a);
    if (st == ST_OK) {
        st = time_it(b, e, a, asynchronous(text), g, &m);
        algo_free(a);
    }
    if (st == ST_OK) st = add_row(b, e, text, &m); // nothing goes on in the background now
    engine_free(e);
    free(x);
    free(g);
    return st;
}

#ifdef DIZHU_MPI
/* The peer: MPI's own allreduce, after computing, fp32 or fp16. */
static Status bench_native(Bench *b, bool half) {
    Real *g = calloc(numbers + 1, sizeof *g);
    if (!g) return ST_NOMEM;
    uint64_t n = 0, steps = 3;
    int64_t start = 0;
    CommStats before = comm_stats(b->comm);
    for (uint64_t t = 0; t < 3 + steps; t++) {
        if (t == 3) {
            double per = (double)(world_now_ns(b->world) - start) / 2e9, all[COMM_MAX_RANKS];
            TRY(comm_allgather(b->comm, &per, sizeof per, all));
            for (int i = 0; i < comm_size(b->comm); i++) per = fmax(per, all[i]);
            steps = (uint64_t)fmax(3, ceil(seconds / per));
            before = comm_stats(b->comm);
        }
        if (t == 1 || t == 3) start = world_now_ns(b->world);
        double s = compute_ms / 1e3 * (b->rank == slow_rank ? slow_factor : 1);
        world_sleep_ns(b->world, (int64_t)(s * 1e9));
        TRY(comm_mpi_allreduce(b->comm, g, numbers, half));
        n += t >= 3;
    }
    double took = (double)(world_now_ns(b->world) - start) / 1e9;
    CommStats after = comm_stats(b->comm);
    Row *r = &b->row[b->n_rows++];
    snprintf(r->name, sizeof r->name, "MPI_Allreduce %s", half ? "fp16" : "fp32");
    r->steps_s = (double)n / took;
    r->all_steps_s = r->steps_s * comm_size(b->comm);
    r->bytes = (double)(after.tx_bytes - before.tx_bytes) / (double)n;
    r->wait = (double)(after.wait_ns - before.wait_ns) / 1e9 / took;
    free(g);
    return ST_OK;
}
#endif

static void print_rows(const Bench *b) {
    const Row *base = &b->row[0];
    if (json) printf("[\n");
    else
        printf("%-22s %9s %7s %11s %13s %6s %12s\n", "algorithm", "steps/s", "ratio", "all ranks/s",
               "MB sent/step", "wait", "exchanges/s");
    for (int i = 0; i < b->n_rows; i++) {
        const Row *r = &b->row[i];
        double ratio = r->steps_s / base->steps_s;
        if (json)
            printf("{\"room\":\"comm\",\"name\":\"%s\",\"unit\":\"steps/s\",\"median\":%.4f,"
                   "\"ratio_ref\":%.3f,\"all\":%.3f,\"mb_per_step\":%.4f,\"wait\":%.3f,"
                   "\"exchanges\":%.3f}%s\n",
                   r->name, r->steps_s, ratio, r->all_steps_s, r->bytes / 1e6, r->wait,
                   r->exchanges_s, i + 1 < b->n_rows ? "," : "");
        else
            printf("%-22s %9.3f %7.2f %11.2f %13.3f %5.0f%% %12.2f\n", r->name, r->steps_s, ratio,
                   r->all_steps_s, r->bytes / 1e6, r->wait * 100, r->exchanges_s);
    }
    if (json) printf("]\n");
    fflush(stdout);
}

static void bench_rank(void *arg) {
    Bench *b = arg;
    char list[1024], *rest = list, *text;
    b->rank = comm_rank(b->comm);
    snprintf(list, sizeof list, "%s", algos);
    while (b->status == ST_OK && (text = strsep(&rest, ",")) && b->n_rows < ROWS - 2)
        if (*text) b->status = bench_algo(b, text);
#ifdef DIZHU_MPI
    for (int half = 0; half < 2 && b->status == ST_OK && transport == MPI; half++)
        b->status = bench_native(b, half);
#endif
    if (b->status == ST_OK && b->rank == 0) print_rows(b);
    else if (b->status != ST_OK) log_error("rank %d: %s", b->rank, status_text(b->status));
    comm_free(b->comm);
}

static Status in_one_process(World *w) {
    static Bench bench[64];
    Comm *comms[64];
    Task *tasks[64];
    SimNet net = {.bytes_per_s = link_mbit * 1e6 / 8, .latency_s = latency_ms / 1e3};
    TRY(transport == SIM ? comm_sim_new(w, ranks, &net, comms) : comm_local_new(w, ranks, comms));
    for (int i = 0; i < ranks; i++) {
        bench[i] = (Bench){.comm = comms[i], .world = w};
        TRY(world_spawn(w, bench_rank, &bench[i], &tasks[i]));
    }
    for (int i = 0; i < ranks; i++) world_join(tasks[i]);
    for (int i = 0; i < ranks; i++) TRY(bench[i].status);
    return ST_OK;
}

static Status sum_on_gpus(Comm *c) {
#ifdef DIZHU_NCCL
    return comm_nccl_over(c, comm_rank(c));
#else
    (void)c;
    log_error("built without NCCL");
    return ST_UNSUPPORTED;
#endif
}

static Status own_process(World *w, int *argc, char ***argv) {
    static Bench bench;
    bench.world = w;
    if (transport == MPI) {
#ifdef DIZHU_MPI
        TRY(comm_mpi_new(w, argc, argv, &bench.comm));
#else
        (void)argc, (void)argv;
        log_error("built without MPI");
        return ST_UNSUPPORTED;
#endif
    } else {
        LinkKeys pair;
        TRY(link_keys_load(keys, &pair));
        ZmqConfig c = {pair.public_key, pair.secret_key, founder, listen_on,
                       ranks,           my_rank,         ranks,   60};
        TRY(comm_zmq_new(w, &c, &bench.comm));
    }
    comm_timeout(bench.comm, 60);
    if (by_nccl) TRY(sum_on_gpus(bench.comm));
    bench_rank(&bench);
    return bench.status;
}

int main(int argc, char **argv) {
    static const Command command = {
        "dizhu bench comm [options]",
        "Times the exchange algorithms of the distributed learner side by side.", options, 0, 0};
    int n_args;
    World *w;
    // mpirun's own arguments are taken off by MPI_Init, ours are not
    if (options_parse(&command, argc, argv, &n_args, &help_needed) != ST_OK) return 2;
    if (help_needed) return 0;
    if (world_new(transport == SIM, &w) != ST_OK) return 1;
    Status st =
        transport == LOCAL || transport == SIM ? in_one_process(w) : own_process(w, &argc, &argv);
    world_free(w);
    return st == ST_OK ? 0 : 1;
}
