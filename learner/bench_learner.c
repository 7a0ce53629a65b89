/* The crew learns from samples that a feeding thread keeps the buffers full of. Rates are by the
 * clock, as a user sees them; beside them samples a processor second, which other programs on the
 * machine hardly change.                                                                     */
#include "learner/bench_learner.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "learner/checkpoint.h"
#include "learner/config.h"
#include "learner/learner_costs.h"
#include "learner/material.h"
#include "learner/publish.h"
#include "learner/runfolder.h"
#include "learner/step.h"

enum { SEED = 1, REF_BATCH = 8 };

/* Operations in products of one sample: forward, and twice as much back; the square layers,
 * dense1's LSTM part, four recurrent steps. */
static const double flop_per_sample =
    3 * (2.0 * NET_HIDDEN * NET_HIDDEN * (NET_DENSE - 2) + 2.0 * NET_HIDDEN * NET_LSTM * OBS_STEPS);

typedef struct {
    Material *material; /* borrowed */
    NetLearner *net[N_ROLES];
    Buffers *buffers;
    Publisher *publisher;
    Crew *crew;
    pthread_t feeder;
    bool feeding;
    uint64_t seen; /* samples learned from at the last look */
    int batch;
} Bed;

static void *feed(void *arg) {
    Bed *b = arg;
    const Sample *samples;
    int n;
    for (size_t i = 0;; i++) {
        material_game(b->material, i, &samples, &n);
        if (!buffers_put(b->buffers, samples, n)) return NULL;
    }
}

static void publish(void *ctx, NetLearner *net, Role role, uint64_t steps) {
    publisher_step(ctx, net, role, steps);
}

static Status make_nets(Bed *b, const KernelTable *k, Precision p, int threads) {
    for (int r = 0; r < N_ROLES; r++) {
        int parts = crew_parts(threads, (Role)r);
        NetLearnerConfig c = {.role = (Role)r,
                              .seed = SEED,
                              .batch = b->batch,
                              .parts = parts < b->batch ? parts : b->batch,
                              .precision = p,
                              .optim = optim_defaults(OPTIM_RMSPROP)};
        c.optim.ema = 0.999;
        TRY(netlearner_new(&c, k, &b->net[r]));
    }
    return ST_OK;
}

static Status bed_start(Bed *b, const KernelTable *k, Precision p, int threads) {
    TRY(make_nets(b, k, p, threads));
    PublisherConfig c = {.run = (uint64_t)getpid(), .every = 2, .nets = b->net};
    TRY(publisher_new(&c, &b->publisher));
    BuffersConfig rings = {.batch = b->batch, .advance = b->batch, .capacity = 4 * b->batch};
    TRY(buffers_new(&rings, &b->buffers));
    TRY(crew_start(threads, b->batch, b->net, b->buffers, publish, b->publisher, &b->crew));
    b->feeding = pthread_create(&b->feeder, NULL, feed, b) == 0;
    return b->feeding ? ST_OK : ST_NOMEM;
}

static void bed_stop(Bed *b) {
    if (b->buffers) buffers_close(b->buffers);
    if (b->feeding) pthread_join(b->feeder, NULL);
    crew_join(b->crew);
    publisher_free(b->publisher);
    buffers_free(b->buffers);
    for (int r = 0; r < N_ROLES; r++) netlearner_free(b->net[r]);
}

static void totals(const Bed *b, uint64_t *samples, double *busy_s) {
    *samples = 0;
    *busy_s = 0;
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerState s;
        netlearner_state(b->net[r], &s);
        *samples += s.samples;
        *busy_s += s.busy_s;
    }
}

/* Waits for about one step of each net. */
static double learn_on(void *ctx) {
    Bed *b = ctx;
    uint64_t samples;
    double busy;
    do {
        clock_sleep_ms(1);
        totals(b, &samples, &busy);
    } while (samples < b->seen + (uint64_t)(N_ROLES * b->batch));
    uint64_t done = samples - b->seen;
    b->seen = samples;
    return (double)done;
}

static Status bench_steps(Bench *out, Material *m, const KernelTable *k, Precision p, int batch,
                          int threads, double ref) {
    char name[64];
    Bed b = {.material = m, .batch = batch};
    Status st = bed_start(&b, k, p, threads);
    if (st == ST_OK) {
        uint64_t from, to;
        double busy_from, busy_to, start = clock_thread_s();
        double roof = k->peak((int)p, 200000) / (clock_thread_s() - start) / flop_per_sample;
        learn_on(&b);
        totals(&b, &from, &busy_from);
        snprintf(name, sizeof name, "learning %s %s, batch %d, %d threads", k->name,
                 precision_name(p), batch, threads);
        bench_time(out, name, "samples/s", learn_on, &b, ref, ref > 0 ? roof * threads : 0);
        totals(&b, &to, &busy_to);
        snprintf(name, sizeof name, "  by processor time");
        bench_value(out, name, "samples/cpu s", (double)(to - from) / (busy_to - busy_from), 0,
                    ref > 0 ? roof : 0);
    }
    bed_stop(&b);
    return st;
}

static Status bench_learning(Bench *out, Material *m) {
    static const int batches[] = {512, 3200};
    const KernelTable *k = kernels_get();
    if (k == NULL) return ST_UNSUPPORTED;
    int cores = settings_cores();
    TRY(bench_steps(out, m, kernels_find("ref"), PRECISION_FP32, REF_BATCH, 1, 0));
    double ref = out->rows[out->n - 2].median;
    for (Precision p = PRECISION_FP32; p <= PRECISION_BF16; p++)
        for (int i = 0; precision_usable(k, p) && i < 2; i++) {
            TRY(bench_steps(out, m, k, p, batches[i], 1, ref));
            if (cores > 1) TRY(bench_steps(out, m, k, p, batches[i], cores, ref));
        }
    return ST_OK;
}

/* ---- records ---- */

static double decode(void *ctx) { return (double)material_decode(ctx); }

static void bench_records(Bench *out, Material *m) {
    static const char *const names[] = {"records into samples, all decisions",
                                        "records into samples, unforced decisions"};
    for (int unforced = 0; unforced < 2; unforced++) {
        material_unforced(m, unforced);
        bench_time(out, names[unforced], "decisions/s", decode, m, 0, 0);
    }
    bench_value(out, "samples among decisions", "share", material_share(m), 0, 0);
}

/* ---- checkpoints ---- */

typedef struct {
    Checkpoint c;
    char run[64];
    Status st;
} Storing;

static double store(void *ctx) {
    Storing *s = ctx;
    s->st = checkpoint_store(s->run, &s->c, 1);
    double bytes = 0;
    for (int r = 0; r < N_ROLES; r++)
        bytes += 4.0 * (double)net_layout((Role)r)->n_params + (double)s->c.n_optim[r];
    return bytes / 1e6;
}

static Status bench_checkpoints(Bench *out) {
    static char config[] = "";
    char command[96];
    Storing s = {.c = {.config = config}, .run = "/tmp/dizhu-bench-XXXXXX"};
    if (mkdtemp(s.run) == NULL) return ST_IO;
    Status st = runfolder_make(s.run);
    for (int r = 0; r < N_ROLES && st == ST_OK; r++) {
        size_t n = net_layout((Role)r)->n_params;
        s.c.n_optim[r] = 8 * n;
        s.c.params[r] = calloc(n, 4);
        s.c.optim[r] = calloc(n, 8);
        if (s.c.params[r] == NULL || s.c.optim[r] == NULL) st = ST_NOMEM;
    }
    if (st == ST_OK) bench_time(out, "checkpoints stored", "MB/s", store, &s, 0, 0);
    if (st == ST_OK) st = s.st;
    s.c.config = NULL;
    checkpoint_free(&s.c);
    snprintf(command, sizeof command, "rm -rf '%s'", s.run);
    return system(command) == 0 ? st : ST_IO;
}

/* ---- what a step costs ---- */

static Status bench_costs(Bench *out) {
    const KernelTable *k = kernels_get();
    for (Precision p = PRECISION_FP32; p <= PRECISION_BF16; p++) {
        LearnerCosts c;
        char name[64];
        if (!precision_usable(k, p)) continue;
        TRY(learner_costs(k, p, 512, out->seconds, &c));
        const struct {
            const char *what;
            double us;
        } rows[] = {{"a sample", c.sample_s},
                    {"a step beside its samples", c.step_s},
                    {"one more thread's gradient", c.gather_s},
                    {"a decision's record", c.record_s}};
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            snprintf(name, sizeof name, "cost %s, %s", precision_name(p), rows[i].what);
            bench_value(out, name, "cpu us", 1e6 * rows[i].us, 0, 0);
        }
    }
    return ST_OK;
}

Status bench_learner(Bench *b) {
    Material *m;
    TRY(material_new(400, &m));
    bench_records(b, m);
    Status st = bench_learning(b, m);
    if (st == ST_OK) st = bench_costs(b);
    if (st == ST_OK) st = bench_checkpoints(b);
    material_free(m);
    return st;
}
