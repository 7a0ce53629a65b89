/* The table of algorithms, and what is common to them: hooks, agreement at the start, state. */
#include "learner/algo/algo.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "learner/algo/algo_ops.h"
#include "learner/algo/background.h"

static const AlgoOps *const table[] = {
    &algo_local, &algo_allreduce, &algo_bytegrad, &algo_squeeze, &algo_onebit,  &algo_qadam,
    &algo_dpsgd, &algo_dcd,       &algo_d2,       &algo_adpsgd,  &algo_average, &algo_server,
};
enum { N_ALGOS = sizeof table / sizeof table[0] };

const char *algo_name(int index) {
    return index >= 0 && index < N_ALGOS ? table[index]->name : NULL;
}
const char *algo_help(int index) {
    return index >= 0 && index < N_ALGOS ? table[index]->help : NULL;
}

static const AlgoOps *named(const char *name) {
    for (int i = 0; i < N_ALGOS; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

bool algo_elastic(const char *name) { return named(name) && named(name)->elastic; }
bool algo_apart(const char *name) { return named(name) && named(name)->apart; }
bool algo_own_rule(const char *name) { return named(name) && named(name)->own_rule; }

static const AlgoOps *find(const char *name) {
    const AlgoOps *ops = named(name);
    if (ops) return ops;
    char all[200] = "";
    for (int i = 0; i < N_ALGOS; i++) {
        strcat(all, " ");
        strcat(all, table[i]->name);
    }
    log_error("no algorithm \"%s\"; there are%s", name, all);
    return NULL;
}

Status algo_defaults(const char *name, AlgoConfig *out) {
    const AlgoOps *ops = find(name);
    if (!ops) return ST_INVALID;
    *out = (AlgoConfig){
        .name = ops->name,
        .up = codec_none(),
        .down = codec_none(),
        .momentum = {.beta1 = .9, .beta2 = .999, .eps = 1e-8},
        .staleness = -1,
        .aggregate = 1,
    };
    if (ops->defaults) ops->defaults(out);
    return ST_OK;
}

// What must be alike everywhere, as bytes without pointers.
typedef struct {
    uint64_t n, bucket, seed, warmup, refresh_every, refresh_steps;
    double fraction[2], weight, momentum[5], period;
    int32_t name, codec[2], bits[2], block[2], group, topology[2], staleness, aggregate;
    uint8_t flags[8];
} Settings;

static int codec_index(const Codec *c) {
    int i = 0;
    while (codec_ops(i) != c->ops) i++;
    return i;
}

static void settings_of(const Algo *a, Settings *s) {
    const AlgoConfig *c = &a->c;
    const Codec *codec[2] = {&c->up, &c->down};
    memset(s, 0, sizeof *s);
    s->n = c->n, s->bucket = c->bucket, s->seed = c->seed;
    s->warmup = c->momentum.warmup;
    s->refresh_every = c->momentum.refresh_every, s->refresh_steps = c->momentum.refresh_steps;
    while (table[s->name] != a->ops) s->name++;
    for (int i = 0; i < 2; i++) {
        s->codec[i] = codec_index(codec[i]);
        s->bits[i] = codec[i]->bits, s->block[i] = (int32_t)codec[i]->block;
        s->fraction[i] = codec[i]->fraction;
    }
    s->group = c->group;
    s->topology[0] = (int32_t)c->topology.kind, s->topology[1] = c->topology.lazy;
    s->weight = c->topology.weight;
    s->momentum[0] = c->momentum.beta1, s->momentum[1] = c->momentum.beta2;
    s->momentum[2] = c->momentum.eps, s->momentum[3] = c->momentum.decay;
    s->momentum[4] = c->momentum.refresh_part;
    s->period = c->period_s, s->staleness = c->staleness, s->aggregate = c->aggregate;
    const bool flags[8] = {c->feedback_up,      c->feedback_down, c->by_server, c->adapt_first,
                           c->momentum.rmsprop, c->damp,          c->pipeline,  c->momentum.plain};
    for (int i = 0; i < 8; i++) s->flags[i] = flags[i];
}

_Static_assert(sizeof(Settings) <= ALGO_SETTINGS, "settings fit");

void algo_settings(const Algo *a, uint8_t out[ALGO_SETTINGS]) {
    Settings s;
    settings_of(a, &s);
    memset(out, 0, ALGO_SETTINGS);
    memcpy(out, &s, sizeof s);
}

static Status agree(void *ctx, int arg) {
    (void)arg;
    Algo *a = ctx;
    Settings mine, root;
    bool same, all = false;
    settings_of(a, &mine);
    root = mine;
    TRY(comm_broadcast(a->comm, 0, &root, sizeof root));
    same = memcmp(&mine, &root, sizeof mine) == 0;
    if (!same) log_error("rank %d has other settings for %s than rank 0", a->rank, a->ops->name);
    TRY(comm_vote(a->comm, same, &all));
    if (!all) return ST_MISMATCH;
    return comm_broadcast(a->comm, 0, a->c.x, a->c.n * sizeof *a->c.x);
}

static Status check(const AlgoOps *ops, const AlgoConfig *c) {
    const char *wrong = NULL;
    if (!c->engine || (c->n > 0 && (!c->x || !c->g))) wrong = "engine, x and g are needed";
    else if (c->group < 0 || c->group > 15) wrong = "group is not 0..15";
    else if (!c->up.ops || !c->down.ops) wrong = "a codec is not set";
    else if (c->join && !ops->elastic) wrong = "its ranks must all start together";
    if (!wrong) return ST_OK;
    log_error("%s: %s", c->name, wrong);
    return ST_INVALID;
}

Status algo_new(const AlgoConfig *c, Algo **out) {
    const AlgoOps *ops = find(c->name);
    Status st;
    if (!ops) return ST_INVALID;
    TRY(check(ops, c));
    Algo *a = calloc(1, ops->size);
    if (!a) return ST_NOMEM;
    a->ops = ops;
    a->c = *c;
    a->comm = engine_comm(c->engine);
    a->world = engine_world(c->engine);
    a->rank = comm_rank(a->comm);
    a->ranks = comm_size(a->comm);
    plan_init(a);
    plan_begin(a);
    if (!c->join) TRY_TO(st, engine_call(c->engine, "agree", agree, a, 0), fail);
    else TRY_TO(st, engine_call(c->engine, "join", background_fetch, a, 0), fail);
    if (ops->start) TRY_TO(st, ops->start(a), stop);
    *out = a;
    return ST_OK;
stop:
    if (ops->stop) ops->stop(a);
fail:
    free(a);
    return st;
}

void algo_free(Algo *a) {
    if (!a) return;
    if (a->ops->stop) a->ops->stop(a);
    free(a);
}

Status algo_before_forward(Algo *a, double lr) {
    a->lr = lr;
    plan_begin(a);
    return a->ops->before_forward ? a->ops->before_forward(a) : ST_OK;
}

void algo_bucket_ready(Algo *a, size_t offset, size_t n) {
    if (a->ops->exchange && offset <= a->c.n && n <= a->c.n - offset) plan_ready(a, offset, n);
}

Status algo_after_backward(Algo *a) {
    if (a->ops->exchange) TRY(plan_finish(a));
    TRY(a->ops->after_backward(a));
    a->t++;
    a->flushed = false;
    a->stats.steps++;
    return ST_OK;
}

Status algo_flush(Algo *a) {
    if (a->ops->flush) TRY(a->ops->flush(a));
    a->flushed = true;
    return ST_OK;
}

Status algo_rule(Algo *a, Real *x, const Real *g) { return algo_rule_at(a, x, g, a->lr); }

Status algo_rule_at(Algo *a, Real *x, const Real *g, double lr) {
    Status st = a->c.rule.apply(a->c.rule.ctx, x, g, a->c.n, lr);
    if (st != ST_CORRUPT) return st;
    a->stats.skipped++;
    return ST_OK;
}

typedef struct {
    Algo *a;
    Real *x;
} MeanJob;

static Status mean_job(void *ctx, int arg) {
    (void)arg;
    MeanJob *job = ctx;
    Algo *a = job->a;
    TRY(comm_allreduce(a->comm, job->x, a->c.n));
    for (size_t i = 0; i < a->c.n; i++) job->x[i] /= (Real)a->ranks;
    return ST_OK;
}

Status algo_mean(Algo *a, Real *x) {
    MeanJob job = {a, x};
    return engine_call(a->c.engine, "mean", mean_job, &job, 0);
}

Status algo_consensus(Algo *a, double *distance) {
    if (a->ops->elastic) return ST_UNSUPPORTED;
    Real *mean = malloc((a->c.n + 1) * sizeof *mean);
    if (!mean) return ST_NOMEM;
    memcpy(mean, a->c.x, a->c.n * sizeof *mean);
    Status st = algo_mean(a, mean);
    double sum = 0;
    for (size_t i = 0; i < a->c.n; i++) {
        double d = (double)a->c.x[i] - (double)mean[i];
        sum += d * d;
    }
    free(mean);
    if (st == ST_OK) *distance = sqrt(sum);
    return st;
}

Status algo_make_squeeze(Algo *a, Squeeze **out) {
    SqueezeConfig c = {.comm = a->comm,
                       .n = a->c.n,
                       .bucket = a->c.bucket,
                       .up = a->c.up,
                       .down = a->c.down,
                       .feedback_up = a->c.feedback_up,
                       .feedback_down = a->c.feedback_down,
                       .server = a->c.by_server,
                       .group = a->c.group,
                       .seed = a->c.seed};
    TRY(squeeze_new(&c, out));
    static const char *const names[3] = {"worker", "server", "carry"};
    static const char *const rates[3] = {"worker rate", "server rate", "carry rate"};
    Feedback *f[3] = {squeeze_worker(*out), squeeze_server(*out), squeeze_carry(*out)};
    for (int i = 0; i < 3; i++) {
        algo_keep(a, names[i], f[i]->e, f[i]->e ? f[i]->n * sizeof *f[i]->e : 0, i < 2);
        algo_keep(a, rates[i], &f[i]->rate, sizeof f[i]->rate, false);
    }
    return ST_OK;
}

static Status drain_job(void *ctx, int arg) {
    (void)arg;
    return squeeze_drain(ctx);
}

Status algo_drain(Algo *a, Squeeze *s) {
    return engine_call(a->c.engine, "flush", drain_job, s, 0);
}

Codec algo_codec(const char *name) {
    Codec c = codec_none();
    (void)codec_parse(name, &c);
    return c;
}

void algo_stale(AlgoStats *s, uint64_t age) {
    s->staleness[age < ALGO_STALENESS ? age : ALGO_STALENESS - 1]++;
}

void algo_stats(Algo *a, AlgoStats *out) {
    *out = a->stats;
    if (a->ops->stats) a->ops->stats(a, out);
}

uint64_t algo_steps(const Algo *a) { return a->t; }
const char *algo_name_of(const Algo *a) { return a->ops->name; }
