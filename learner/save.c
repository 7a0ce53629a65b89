#include "learner/save.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "learner/publish.h"
#include "learner/runfolder.h"
#include "nets/weights.h"

enum { CONFIG_MAX = 1 << 16, POLL_MS = 5, LONG_MS = 1000 };

struct Saver {
    SaverConfig c;
    double seconds_before; // trained in earlier starts
    uint64_t samples_before[N_ROLES];
    // what is being stored
    bool busy;
    pthread_t thread;
    atomic_bool done;
    Checkpoint checkpoint;
    Weights weights;
    Status st;
};

Status saver_new(const SaverConfig *c, Saver **out) {
    Saver *s = calloc(1, sizeof *s);
    if (s == NULL) return ST_NOMEM;
    s->c = *c;
    *out = s;
    return ST_OK;
}

void saver_ranks(Saver *s, Ranks *ranks) { s->c.ranks = ranks; }

void saver_free(Saver *s) {
    uint64_t frames;
    Status st;
    if (s == NULL) return;
    while (s->busy) saver_end(s, LONG_MS, &frames, &st);
    free(s);
}

/* ---- out ---- */

static Status read_config(const char *run, char **out) {
    char path[RUN_PATH_BYTES];
    runfolder_path(run, "config.txt", path);
    uint8_t *p;
    size_t n;
    TRY(file_read(path, CONFIG_MAX, &p, &n));
    *out = malloc(n + 1);
    if (*out) {
        memcpy(*out, p, n);
        (*out)[n] = '\0';
    }
    free(p);
    return *out ? ST_OK : ST_NOMEM;
}

static Status copy_net(Saver *s, int r) {
    Checkpoint *c = &s->checkpoint;
    NetLearner *net = s->c.nets[r];
    NetLearnerState state;
    c->n_optim[r] = netlearner_optim_bytes(net);
    c->params[r] = malloc(net_layout((Role)r)->n_params * sizeof(float));
    c->optim[r] = malloc(c->n_optim[r]);
    if (c->params[r] == NULL || c->optim[r] == NULL) return ST_NOMEM;
    c->steps[r] = netlearner_save(net, c->params[r], c->optim[r]);
    netlearner_state(net, &state);
    c->samples[r] = s->samples_before[r] + state.samples;
    uint64_t steps = netlearner_copy_ema(net, s->weights.params[r]);
    s->weights.info.steps += steps;
    s->weights.info.version += publisher_version(steps);
    return ST_OK;
}

static Status copy_state(Saver *s, uint64_t frames, uint64_t games, double seconds) {
    const Settings *set = s->c.settings;
    s->checkpoint = (Checkpoint){.run = s->c.run,
                                 .ruleset = (uint8_t)set->ruleset,
                                 .objective = (uint8_t)set->objective,
                                 .optimizer = (uint8_t)set->optimizer,
                                 .seed = set->seed,
                                 .frames = frames,
                                 .games = games,
                                 .seconds = s->seconds_before + seconds};
    TRY(weights_new(&s->weights));
    WeightsInfo *w = &s->weights.info;
    *w = (WeightsInfo){.ruleset = (uint8_t)set->ruleset,
                       .objective = (uint8_t)set->objective,
                       .run = s->c.run,
                       .frames = frames};
    snprintf(w->command, sizeof w->command, "dizhu train --run %s", set->run);
    TRY(read_config(set->run, &s->checkpoint.config));
    for (int r = 0; r < N_ROLES; r++) TRY(copy_net(s, r));
    return s->c.ranks ? ranks_save(s->c.ranks, &s->checkpoint) : ST_OK;
}

static void drop_state(Saver *s) {
    checkpoint_free(&s->checkpoint);
    weights_free(&s->weights);
}

static Status store_snapshot(const Saver *s) {
    char path[RUN_PATH_BYTES], name[64];
    runfolder_path(s->c.settings->run, "snapshots", path);
    if (mkdir(path, 0777) != 0 && errno != EEXIST) log_warn("%s: %s", path, strerror(errno));
    snprintf(name, sizeof name, "snapshots/%012llu.safetensors",
             (unsigned long long)s->checkpoint.frames);
    runfolder_path(s->c.settings->run, name, path);
    return weights_save(&s->weights, DTYPE_BF16, path);
}

static Status store(Saver *s) {
    char path[RUN_PATH_BYTES];
    Checkpoint *c = &s->checkpoint;
    archive_flush(s->c.archive);
    TRY(checkpoint_store(s->c.settings->run, c, s->c.settings->keep));
    runfolder_path(s->c.settings->run, "weights.safetensors", path);
    TRY(weights_save(&s->weights, DTYPE_F32, path));
    if (s->c.settings->snapshots) TRY(store_snapshot(s));
    log_info("checkpoint %llu: %llu frames, steps %llu %llu %llu", (unsigned long long)c->number,
             (unsigned long long)c->frames, (unsigned long long)c->steps[0],
             (unsigned long long)c->steps[1], (unsigned long long)c->steps[2]);
    return ST_OK;
}

static void *store_main(void *arg) {
    Saver *s = arg;
    s->st = store(s);
    atomic_store(&s->done, true);
    return NULL;
}

Status saver_begin(Saver *s, uint64_t frames, uint64_t games, double seconds) {
    atomic_store(&s->done, false);
    Status st = copy_state(s, frames, games, seconds);
    if (st == ST_OK && pthread_create(&s->thread, NULL, store_main, s) != 0) st = ST_NOMEM;
    if (st != ST_OK) drop_state(s);
    else s->busy = true;
    return st;
}

bool saver_busy(const Saver *s) { return s->busy; }

bool saver_end(Saver *s, int wait_ms, uint64_t *frames, Status *st) {
    if (!s->busy) return false;
    for (; !atomic_load(&s->done); wait_ms -= POLL_MS) {
        if (wait_ms <= 0) return false;
        clock_sleep_ms(POLL_MS);
    }
    pthread_join(s->thread, NULL);
    *frames = s->checkpoint.frames;
    *st = s->st;
    drop_state(s);
    s->busy = false;
    return true;
}

/* ---- back ---- */

static const char *why_foreign(const Saver *s, const Checkpoint *c) {
    const Settings *set = s->c.settings;
    if (c->run != s->c.run) return "it is of another run";
    if (c->ruleset != set->ruleset) return "it was trained under another ruleset";
    if (c->objective != set->objective) return "it was trained for another objective";
    if (c->optimizer != set->optimizer) return "it has the state of another optimizer";
    if (c->seed != set->seed) return "it has another seed";
    return NULL;
}

Status saver_resume(Saver *s, Checkpoint *out, bool *found) {
    Checkpoint c;
    TRY(checkpoint_newest(s->c.settings->run, &c, found));
    if (!*found) return ST_OK;
    const char *why = why_foreign(s, &c);
    Status st = why ? ST_MISMATCH : ST_OK;
    for (int r = 0; r < N_ROLES && st == ST_OK; r++) {
        st = netlearner_load(s->c.nets[r], c.params[r], c.optim[r], c.n_optim[r]);
        if (st != ST_OK) why = "its optimizer state does not fit these settings";
        s->samples_before[r] = c.samples[r];
    }
    if (st != ST_OK) {
        log_error("checkpoint %llu of %s: %s", (unsigned long long)c.number, s->c.settings->run,
                  why);
        checkpoint_free(&c);
        return st;
    }
    s->seconds_before = c.seconds;
    *out = c;
    return ST_OK;
}

static const char *why_unfit(const Saver *s, const Weights *w) {
    if (w->info.ruleset != s->c.settings->ruleset) return "trained under another ruleset";
    if (w->info.objective != s->c.settings->objective) return "trained for another objective";
    for (int r = 0; r < N_ROLES; r++)
        if (w->params[r] == NULL) return "not of all three roles";
    return NULL;
}

Status saver_init_nets(Saver *s) {
    Weights w;
    TRY(weights_load(s->c.settings->init, &w));
    const char *why = why_unfit(s, &w);
    if (why) log_error("%s: cannot begin with these weights: %s", s->c.settings->init, why);
    for (int r = 0; why == NULL && r < N_ROLES; r++) netlearner_set(s->c.nets[r], w.params[r]);
    weights_free(&w);
    return why ? ST_MISMATCH : ST_OK;
}
