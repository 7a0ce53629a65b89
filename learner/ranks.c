#include "learner/ranks.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/link.h"
#include "engine/base/log.h"
#include "learner/algo/probe.h"
#include "learner/comm/comm_zmq.h"
#include "learner/ranksettings.h"
#include "learner/runfolder.h"
#ifdef DIZHU_MPI
#include "learner/comm/comm_mpi.h"
#endif

enum { SPANS = 1 << 16, NUMBER = 4 /* bytes of one */ };
static const double silence_s = 9, meet_s = 50, join_s = 30, note_s = 2;
static const double sample_s = 40e-6; // what one core needs to learn from a sample, about
/* The founder's incarnation is its second of birth, and the others must have missed the rank. */
enum { JOIN_PAUSE_MS = 1300, LEAVE_LOOK_MS = 200 };
static const double leave_s = 4;

typedef struct {
    const void *mine;
    void *all;
    size_t bytes;
} Gather;

struct Ranks {
    const Settings *s;
    NetLearner *const *net;
    World *world;
    Comm *comm;
    Engine *engine;
    Timeline *timeline;
    AlgoConfig config[N_ROLES];
    Algo *algo[N_ROLES];
    const char *name; // of the algorithm, when `auto` has chosen
    size_t bucket;
    int rank, size;
    bool failed, abandoned;
    pthread_t leaver;
    atomic_bool has_left;
    Gather gather;
    pthread_mutex_t lock; // what follows
    RanksState state;
    double noted_at[N_ROLES];
};

bool ranks_have_mpi(void) {
#ifdef DIZHU_MPI
    return true;
#else
    return false;
#endif
}

int ranks_rank(const Ranks *r) { return r->rank; }
int ranks_size(const Ranks *r) { return r->size; }
bool ranks_synchronous(const Ranks *r) { return !algo_elastic(r->name); }

Status ranks_explain(Ranks *r, Status st) {
    if (st == ST_OK || r->failed) return st;
    r->failed = true;
    int lost = st == ST_PEER ? comm_failed(r->comm) : -1;
    if (lost >= 0) log_error("rank %d cannot go on without rank %d", r->rank, lost);
    else log_error("the exchange between ranks failed: %s", status_text(st));
    return st;
}

/* ---- meeting ---- */

static Status meet_zmq(Ranks *r) {
    const Settings *s = r->s;
    LinkKeys keys;
    char listen[LINK_ENDPOINT_BYTES];
    TRY(link_keys_load(s->ranks_key, &keys));
    snprintf(listen, sizeof listen, "tcp://%s:*", s->reach);
    if (s->join) clock_sleep_ms(JOIN_PAUSE_MS);
    ZmqConfig c = {.public_key = keys.public_key,
                   .secret_key = keys.secret_key,
                   .founder = s->founder,
                   .listen = listen,
                   .size = s->learners,
                   .rank = s->rank,
                   .wait_for = s->join ? 2 : s->learners,
                   .wait_s = s->join ? join_s : meet_s};
    Status st = comm_zmq_new(r->world, &c, &r->comm);
    if (st != ST_OK) log_error("the other ranks are not there: %s", status_text(st));
    return st;
}

static Status meet_mpi(Ranks *r) {
#ifdef DIZHU_MPI
    TRY(comm_mpi_new(r->world, NULL, NULL, &r->comm));
    if (comm_size(r->comm) == r->s->learners && comm_rank(r->comm) == r->s->rank) return ST_OK;
    log_error("mpirun started %d ranks, this one is number %d; --learners says %d, --rank %d",
              comm_size(r->comm), comm_rank(r->comm), r->s->learners, r->s->rank);
    return ST_MISMATCH;
#else
    (void)r;
    return ST_UNSUPPORTED;
#endif
}

static Status meet(Ranks *r) {
    TRY(world_new(false, &r->world));
    TRY(ranksettings_transport(r->s) == TRANSPORT_MPI ? meet_mpi(r) : meet_zmq(r));
    r->rank = comm_rank(r->comm);
    r->size = comm_size(r->comm);
    comm_timeout(r->comm, silence_s);
    comm_elastic(r->comm, algo_elastic(r->s->algo));
    if (r->s->timeline) TRY(timeline_new(r->rank, SPANS, &r->timeline));
    return engine_new(r->comm, true, r->timeline, &r->engine);
}

/* ---- agreeing ---- */

static Status choose_algo(Ranks *r) {
    Probe found;
    ProbeConfig c = {.n = net_layout(ROLE_LANDLORD)->n_params, .compute_s = sample_s * r->s->batch};
    r->name = r->s->algo;
    r->bucket = (size_t)(r->s->bucket_kb * 1024 / NUMBER);
    if (strcmp(r->name, "auto") != 0) return ST_OK;
    TRY(probe_run(r->engine, &c, &found));
    r->name = found.result[found.best].algo;
    r->bucket = found.result[found.best].bucket;
    return ST_OK;
}

static bool given(const char *text) { return text && *text; }

static const char *usual_topology(const Ranks *r) {
    if (strcmp(r->name, "adpsgd") == 0) return "bipartite";
    if (r->size < 3) return "complete";
    if (strcmp(r->name, "dpsgd") == 0 && r->size % 2 == 0) return "matching";
    return strcmp(r->name, "d2") == 0 ? "ring:0.25" : "ring";
}

static Status configure(Ranks *r, int role, const NetBlock *block) {
    const Settings *s = r->s;
    AlgoConfig *c = &r->config[role];
    TRY(algo_defaults(r->name, c));
    c->n = block->n, c->x = block->x, c->g = block->g, c->rule = block->rule;
    c->engine = r->engine;
    c->group = role;
    c->bucket = r->bucket;
    c->seed = 1; // of codecs: the same on all ranks
    c->join = s->join;
    c->staleness = s->staleness;
    c->aggregate = s->aggregate;
    if (s->period_ms > 0) c->period_s = s->period_ms / 1e3;
    if (given(s->codec)) {
        TRY(codec_parse(s->codec, &c->up));
        if (strcmp(r->name, "dpsgd") != 0 && strcmp(r->name, "d2") != 0) c->down = c->up;
    }
    OptimConfig o = optim_defaults((OptimKind)s->optimizer);
    c->momentum.rmsprop = o.kind == OPTIM_RMSPROP;
    c->momentum.beta1 = o.beta1;
    c->momentum.beta2 = o.kind == OPTIM_RMSPROP ? o.alpha : o.beta2;
    c->momentum.eps = o.eps;
    c->momentum.warmup = s->onebit_warmup;
    return topology_parse(given(s->topology) ? s->topology : usual_topology(r), r->size,
                          &c->topology);
}

/* Rank 0's optimizers and algorithms, for all. */
typedef struct {
    uint64_t steps[N_ROLES], n_optim[N_ROLES], n_algo[N_ROLES];
} Sizes;
typedef struct {
    Ranks *r;
    Checkpoint shared; // of rank 0: what it has, borrowed; of others: becomes that
} Share;

static Status share_block(Comm *c, uint8_t **block, size_t n) {
    if (comm_rank(c) != 0 && (*block = malloc(n + 1)) == NULL) return ST_NOMEM;
    return n > 0 ? comm_broadcast(c, 0, *block, n) : ST_OK;
}

static Status share_job(void *ctx, int arg) {
    (void)arg;
    Share *share = ctx;
    Checkpoint *c = &share->shared;
    Sizes sizes = {0};
    for (int i = 0; i < N_ROLES; i++) {
        sizes.steps[i] = c->steps[i];
        sizes.n_optim[i] = c->n_optim[i];
        sizes.n_algo[i] = c->algo[i] ? c->n_algo[i] : 0;
    }
    TRY(comm_broadcast(share->r->comm, 0, &sizes, sizeof sizes));
    for (int i = 0; i < N_ROLES; i++) {
        c->steps[i] = sizes.steps[i];
        c->n_optim[i] = sizes.n_optim[i];
        c->n_algo[i] = sizes.n_algo[i];
        TRY(share_block(share->r->comm, &c->optim[i], c->n_optim[i]));
        TRY(share_block(share->r->comm, &c->algo[i], c->n_algo[i]));
    }
    return ST_OK;
}

static Status adopt(Ranks *r, int role, const Checkpoint *c) {
    enum { NAME_AT = 8, NAME = 16 };
    if (c->n_optim[role] > 0) TRY(netlearner_adopt(r->net[role], c->optim[role], c->n_optim[role]));
    if (c->n_algo[role] < NAME_AT + NAME) return ST_OK;
    const char *of = (const char *)c->algo[role] + NAME_AT;
    if (strncmp(of, r->name, NAME) == 0)
        return algo_load(r->algo[role], c->algo[role], c->n_algo[role]);
    log_info("the run went on with %.*s until now: %s begins anew", NAME, of, r->name);
    return ST_OK;
}

static Status share_state(Ranks *r, const Checkpoint *resumed, uint64_t steps[N_ROLES]) {
    Share share = {.r = r};
    if (r->rank == 0) share.shared = *resumed;
    Status st = engine_call(r->engine, "share", share_job, &share, 0);
    for (int i = 0; i < N_ROLES && st == ST_OK; i++) {
        st = adopt(r, i, &share.shared);
        steps[i] = share.shared.steps[i];
    }
    if (r->rank != 0) checkpoint_free(&share.shared);
    return st;
}

static Status agree(Ranks *r, const Checkpoint *resumed) {
    NetBlock block[N_ROLES];
    uint64_t steps[N_ROLES];
    TRY(choose_algo(r));
    for (int i = 0; i < N_ROLES; i++) {
        TRY(netlearner_block(r->net[i], &block[i]));
        TRY(configure(r, i, &block[i]));
        TRY(algo_new(&r->config[i], &r->algo[i]));
        steps[i] = resumed->steps[i];
    }
    if (ranks_synchronous(r)) TRY(share_state(r, resumed, steps));
    for (int i = 0; i < N_ROLES; i++) {
        netlearner_join(r->net[i], r->algo[i], steps[i], r->timeline);
        netlearner_follow(r->net[i]);
    }
    return ST_OK;
}

Status ranks_new(const Settings *s, NetLearner *const nets[N_ROLES], const Checkpoint *resumed,
                 Ranks **out) {
    Ranks *r = calloc(1, sizeof *r);
    if (r == NULL) return ST_NOMEM;
    r->s = s;
    r->net = nets;
    r->name = s->algo;
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < N_ROLES; i++) r->state.role[i].consensus = NAN;
    Status st = meet(r);
    if (st == ST_OK) st = ranks_explain(r, agree(r, resumed));
    if (st != ST_OK) {
        ranks_free(r);
        return st;
    }
    r->state.algo = r->name;
    r->state.ranks = r->size;
    log_info("rank %d of %d, %s over %s", r->rank, r->size, r->name, comm_transport(r->comm));
    *out = r;
    return ST_OK;
}

static void free_algos(Ranks *r) {
    for (int i = 0; i < N_ROLES; i++) {
        algo_free(r->algo[i]);
        r->algo[i] = NULL;
    }
}

static void *leave_main(void *arg) {
    Ranks *r = arg;
    free_algos(r);
    atomic_store(&r->has_left, true);
    return NULL;
}

void ranks_leave(Ranks *r, const atomic_bool *hurry, void (*alive)(void *), void *ctx) {
    double hurried = 0;
    if (pthread_create(&r->leaver, NULL, leave_main, r) != 0) return;
    while (!atomic_load(&r->has_left) && !r->abandoned) {
        alive(ctx);
        clock_sleep_ms(LEAVE_LOOK_MS);
        if (hurried == 0 && atomic_load(hurry)) hurried = clock_s();
        r->abandoned = hurried > 0 && clock_s() > hurried + leave_s;
    }
    if (r->abandoned) pthread_detach(r->leaver);
    else pthread_join(r->leaver, NULL);
}

void ranks_free(Ranks *r) {
    if (r == NULL || r->abandoned) return; // its threads still run: the process ends
    for (int i = 0; i < N_ROLES; i++) netlearner_join(r->net[i], NULL, 0, NULL);
    free_algos(r);
    engine_free(r->engine);
    comm_free(r->comm);
    world_free(r->world);
    timeline_free(r->timeline);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* ---- together ---- */

static Status gather_job(void *ctx, int arg) {
    (void)arg;
    Ranks *r = ctx;
    return comm_allgather(r->comm, r->gather.mine, r->gather.bytes, r->gather.all);
}

uint64_t ranks_gather_begin(Ranks *r, const void *mine, size_t bytes, void *all) {
    r->gather = (Gather){mine, all, bytes};
    return engine_post(r->engine, "turn", gather_job, r, 0);
}

Status ranks_gather_end(Ranks *r, uint64_t ticket) { return engine_wait(r->engine, ticket); }

Status ranks_flush(Ranks *r) {
    for (int i = 0; i < N_ROLES; i++) {
        TRY(algo_flush(r->algo[i]));
        netlearner_follow(r->net[i]);
    }
    return ST_OK;
}

Status ranks_save(Ranks *r, Checkpoint *out) {
    for (int i = 0; i < N_ROLES && ranks_synchronous(r); i++)
        TRY(algo_save(r->algo[i], &out->algo[i], &out->n_algo[i]));
    return ST_OK;
}

Status ranks_measure(Ranks *r) {
    for (int i = 0; i < N_ROLES && algo_apart(r->name); i++) {
        double apart;
        TRY(algo_consensus(r->algo[i], &apart));
        pthread_mutex_lock(&r->lock);
        r->state.role[i].consensus = apart;
        pthread_mutex_unlock(&r->lock);
    }
    return ST_OK;
}

/* ---- figures ---- */

void ranks_note(Ranks *r, int role) {
    AlgoStats stats;
    double now = clock_s();
    if (now < r->noted_at[role] + note_s) return; // the norms of residuals take a millisecond
    r->noted_at[role] = now;
    algo_stats(r->algo[role], &stats);
    pthread_mutex_lock(&r->lock);
    r->state.role[role].stats = stats;
    r->state.role[role].steps = stats.steps;
    if (!ranks_synchronous(r)) r->state.role[role].consensus = stats.distance;
    pthread_mutex_unlock(&r->lock);
}

void ranks_state(Ranks *r, RanksState *out) {
    CommStats c = engine_stats(r->engine);
    pthread_mutex_lock(&r->lock);
    *out = r->state;
    pthread_mutex_unlock(&r->lock);
    out->tx_bytes = c.tx_bytes;
    out->rx_bytes = c.rx_bytes;
    out->wait_s = (double)c.wait_ns / 1e9;
}

Status ranks_write_timeline(Ranks *r) {
    char path[RUN_PATH_BYTES];
    int n = 0;
    if (r->timeline == NULL) return ST_OK;
    runfolder_path(r->s->run, "timeline.json", path);
    FILE *f = fopen(path, "w");
    if (f == NULL) return ST_IO;
    fputs("[\n", f);
    Status st = timeline_write(r->timeline, f, &n);
    fputs("\n]\n", f);
    return fclose(f) == 0 ? st : ST_IO;
}
