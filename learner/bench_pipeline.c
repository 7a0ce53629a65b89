/* A learner and actors are started as `train` starts them; the learner's reports and the processor
 * time of all processes are read each second. A temporary run folder holds each run.        */
#include "learner/bench_pipeline.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/ceilings.h"
#include "learner/launch.h"
#include "learner/report.h"
#include "learner/runfolder.h"
#include "learner/scaling.h"

enum { MAX_ACTORS = 1024, MAX_SECONDS = 4096, POLL_MS = 50, GAMES = 384 };
static const double warm_up_s = 5, start_limit_s = 60, stop_limit_s = 20;

typedef struct {
    Programs programs;
    Settings settings;
    char run[64];
    Child learner, actor[MAX_ACTORS];
    int n_actors;
    char endpoint[3][LINK_ENDPOINT_BYTES];
    bool ready;
    Progress progress; /* the newest report */
    double reported;   /* when it came; 0: not yet */
} Bed;

/* What was measured of one configuration. */
typedef struct {
    double frames_s[MAX_SECONDS]; /* of each second */
    int n;
    double frames, actor_cpu_s, learner_cpu_s;
    double samples; /* a decision */
    Progress last;
} Measured;

static void keep_last(void *ctx, const Child *c, const char *text) {
    (void)ctx, (void)c;
    if (strstr(text, " error ") || strstr(text, " warn ")) fprintf(stderr, "%s\n", text);
}

static void listen_to_learner(Bed *b) {
    struct pollfd p = {.fd = b->learner.report, .events = POLLIN};
    Report r;
    bool closed = false;
    poll(&p, 1, POLL_MS);
    child_read(&b->learner, keep_last, NULL);
    for (int i = 0; i < b->n_actors; i++) child_read(&b->actor[i], keep_last, NULL);
    while (report_read(b->learner.report, &r, &closed)) {
        if (r.kind == REPORT_READY) {
            memcpy(b->endpoint, r.u.endpoint, sizeof b->endpoint);
            b->ready = true;
        } else if (r.kind == REPORT_PROGRESS) {
            b->progress = r.u.progress;
            b->reported = clock_s();
        }
    }
}

static Status bed_start(Bed *b) {
    strcpy(b->run, "/tmp/dizhu-bench-XXXXXX");
    if (mkdtemp(b->run) == NULL) return ST_IO;
    b->settings.run = b->run;
    TRY(runfolder_make(b->run));
    TRY(settings_save(&b->settings, b->run));
    child_init(&b->learner, "learner");
    TRY(launch_learner(&b->learner, &b->programs, &b->settings, b->endpoint, 0, false, -1));
    double end = clock_s() + start_limit_s;
    while (!b->ready) {
        int status;
        listen_to_learner(b);
        if (child_ended(&b->learner, &status, keep_last, NULL)) return ST_PEER;
        if (clock_s() > end) return ST_TIMEOUT;
    }
    for (int n = settings_actors(&b->settings); b->n_actors < n && n <= MAX_ACTORS; b->n_actors++) {
        child_init(&b->actor[b->n_actors], "actor");
        TRY(launch_actor(&b->actor[b->n_actors], &b->programs, &b->settings, b->endpoint[0], NULL));
    }
    return ST_OK;
}

static void end_child(Child *c) {
    int status;
    double end = clock_s() + stop_limit_s;
    child_signal(c, SIGTERM);
    while (c->pid > 0 && !child_ended(c, &status, keep_last, NULL)) {
        if (clock_s() > end) child_signal(c, SIGKILL);
        clock_sleep_ms(10);
    }
}

static Status bed_stop(Bed *b) {
    char command[96];
    for (int i = 0; i < b->n_actors; i++) end_child(&b->actor[i]);
    end_child(&b->learner);
    snprintf(command, sizeof command, "rm -rf '%s'", b->run);
    return b->run[0] == '\0' || system(command) == 0 ? ST_OK : ST_IO;
}

/* Processor seconds of a process so far. */
static double cpu_of(pid_t pid) {
    char path[64], text[1024];
    unsigned long long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f == NULL) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *after = strrchr(text, ')'); // the name may hold anything
    if (after)
        sscanf(after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &user, &kernel);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

static double cpu_of_actors(const Bed *b) {
    double s = 0;
    for (int i = 0; i < b->n_actors; i++) s += cpu_of(b->actor[i].pid);
    return s;
}

static uint64_t samples_in(const Progress *p) {
    return p->role[0].samples + p->role[1].samples + p->role[2].samples;
}

static Status watch(Bed *b, double seconds, Measured *m) {
    double begin = clock_s(), counted = 0, last_at = 0, actor_cpu = 0, learner_cpu = 0;
    uint64_t first = 0, last = 0, samples = 0;
    while (m->n < MAX_SECONDS && (counted == 0 || clock_s() - counted < seconds)) {
        int status;
        double before = b->reported;
        listen_to_learner(b);
        if (child_ended(&b->learner, &status, keep_last, NULL)) return ST_PEER;
        if (clock_s() - begin > start_limit_s && b->progress.frames == 0) return ST_TIMEOUT;
        bool warm = b->progress.seconds >= warm_up_s && b->progress.role[0].steps >= 2;
        if (b->reported == before || !warm) continue;
        if (counted == 0) {
            counted = last_at = b->reported;
            first = last = b->progress.frames;
            samples = samples_in(&b->progress);
            actor_cpu = cpu_of_actors(b);
            learner_cpu = cpu_of(b->learner.pid);
            continue;
        }
        if (b->reported - last_at < 0.9) continue;
        m->frames_s[m->n++] = (double)(b->progress.frames - last) / (b->reported - last_at);
        last = b->progress.frames;
        last_at = b->reported;
    }
    m->frames = (double)(last - first);
    m->samples = (double)(samples_in(&b->progress) - samples) / m->frames;
    m->actor_cpu_s = cpu_of_actors(b) - actor_cpu;
    m->learner_cpu_s = cpu_of(b->learner.pid) - learner_cpu;
    m->last = b->progress;
    return m->n > 0 ? ST_OK : ST_TIMEOUT;
}

/* ---- rows ---- */

typedef struct {
    const char *name;
    bool defaults;
    Precision act, learn;
    bool one_process; /* a thread for each core in it */
} Config;

static void add(Bench *out, const char *name, const char *what, const char *unit, double value) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", name, what);
    bench_value(out, text, unit, value, 0, 0);
}

static void tell(Bench *out, const char *name, Measured *m) {
    const Progress *p = &m->last;
    double cpu = m->actor_cpu_s + m->learner_cpu_s, stale = 0;
    for (int r = 0; r < N_ROLES; r++) stale += p->role[r].staleness / N_ROLES;
    bench_values(out, name, "frames/s", m->frames_s, (size_t)m->n, 0, 0);
    add(out, name, ", if all cores were ours", "frames/s", m->frames / cpu * settings_cores());
    add(out, name, ", a core's time, acting", "cpu us/frame", 1e6 * m->actor_cpu_s / m->frames);
    add(out, name, ", a core's time, learning", "cpu us/frame", 1e6 * m->learner_cpu_s / m->frames);
    add(out, name, ", learned from", "samples/frame", m->samples);
    add(out, name, ", records", "bytes/frame", p->record_bytes);
    add(out, name, ", learner threads without work", "share", p->learner_waits);
    add(out, name, ", games held up", "share", p->inbox_waits);
    add(out, name, ", staleness", "steps", stale);
}

static Status bench_config(Bench *out, Bed *b, const Config *c, const char *weights, Measured *m) {
    settings_defaults(&b->settings, PRESET_FAST);
    b->settings.init = weights;
    b->settings.eval_minutes = 0;
    b->settings.checkpoint_minutes = 60;
    if (c->one_process) b->settings.act_threads = settings_cores();
    if (!c->defaults) {
        b->settings.train_on = TRAIN_ON_ALL;
        b->settings.act_precision = PRECISION_ALWAYS_FP32 + (int)c->act;
        b->settings.precision = PRECISION_ALWAYS_FP32 + (int)c->learn;
    }
    Status st = bed_start(b);
    if (st == ST_OK) st = watch(b, 10 * out->seconds, m);
    Status stopped = bed_stop(b);
    if (st == ST_OK) tell(out, c->name, m);
    return st == ST_OK ? stopped : st;
}

/* ---- larger machines ---- */

static Status predict(Bench *out, const char *name, const Measured *m, Precision p, int batch,
                      const Ceilings *ceilings) {
    static const int cores[] = {2, 16, 64, 128};
    const KernelTable *k = kernels_get();
    double params = (double)net_layout(ROLE_LANDLORD_UP)->n_params, size = p ? 2 : 4;
    ScalingInputs in = {.act_s = m->actor_cpu_s / m->frames,
                        .samples = m->samples,
                        .batch = batch,
                        .bytes = m->last.record_bytes,
                        .socket_bytes_s = ceilings->socket_bytes_s,
                        // All weights once a tick, in which about half the games have a choice.
                        .act_bytes = N_ROLES * params * size / (0.5 * GAMES),
                        // The optimizer's blocks in and out, packing, publication; a further
                        // thread's gradient out and in, and its packing.
                        .step_bytes = params * (8 * 4 + 4 + 2 * size + 3 * 4),
                        .thread_bytes = params * (3 * 4 + 4 + 2 * size),
                        .core_bytes_s = ceilings->memory_bytes_s};
    TRY(learner_costs(k, p, batch, out->seconds, &in.learner));
    for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
        char text[64];
        ScalingPrediction r = scaling_predict(&in, cores[i]);
        snprintf(text, sizeof text, "%s, predicted, %d cores: %s", name, cores[i],
                 bound_name(r.bound));
        bench_value(out, text, "frames/s", r.frames_s, 0, 0);
    }
    return ST_OK;
}

static Status bench_all(Bench *out, Bed *b, const char *weights, Measured *m) {
    static const Config configs[] = {
        {"act fp32, learn fp32", false, PRECISION_FP32, PRECISION_FP32},
        {"act bf16, learn fp32", false, PRECISION_BF16, PRECISION_FP32},
        {"act int8, learn fp32", false, PRECISION_INT8, PRECISION_FP32},
        {"act bf16, learn bf16", false, PRECISION_BF16, PRECISION_BF16},
        {"act int8, learn bf16", false, PRECISION_INT8, PRECISION_BF16},
        {"the same, one process", false, PRECISION_BF16, PRECISION_BF16, true},
        {"the defaults", true, PRECISION_INT8, PRECISION_BF16},
    };
    const KernelTable *k = kernels_get();
    Ceilings ceilings;
    TRY(ceilings_measure(out->seconds, &ceilings));
    bench_value(out, "memory bandwidth, a core", "bytes/s", ceilings.memory_bytes_s, 0, 0);
    bench_value(out, "records through one socket", "bytes/s", ceilings.socket_bytes_s, 0, 0);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        const Config *c = &configs[i];
        bool usable = precision_usable(k, c->act) && precision_usable(k, c->learn);
        if (!usable && !c->defaults) continue;
        Programs programs = b->programs;
        *b = (Bed){.programs = programs};
        *m = (Measured){0};
        TRY(bench_config(out, b, c, weights, m));
        if (!c->defaults) continue;
        Precision p = precision_usable(k, PRECISION_BF16) ? PRECISION_BF16 : PRECISION_FP32;
        TRY(predict(out, "batch 512", m, p, b->settings.batch, &ceilings));
        TRY(predict(out, "batch 4096", m, p, 4096, &ceilings));
    }
    return ST_OK;
}

Status bench_pipeline(Bench *b, const char *weights) {
    Bed *bed = calloc(1, sizeof *bed);
    Measured *m = calloc(1, sizeof *m);
    Status st = bed && m ? programs_find(&bed->programs) : ST_NOMEM;
    if (st == ST_OK && kernels_get() == NULL) st = ST_UNSUPPORTED;
    if (st == ST_OK) st = bench_all(b, bed, weights, m);
    free(bed);
    free(m);
    return st;
}
