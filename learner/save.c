#include "learner/save.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/file.h"
#include "engine/base/log.h"
#include "learner/publish.h"
#include "learner/runfolder.h"
#include "nets/weights.h"

enum { CONFIG_MAX = 1 << 16 };

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

Status saver_take(const Saver *s, uint64_t frames, uint64_t games, double seconds,
                  Checkpoint *out) {
    Checkpoint c = {.run = s->run,
                    .ruleset = (uint8_t)s->settings->ruleset,
                    .objective = (uint8_t)s->settings->objective,
                    .optimizer = (uint8_t)s->settings->optimizer,
                    .seed = s->settings->seed,
                    .frames = frames,
                    .games = games,
                    .seconds = s->seconds_before + seconds};
    Status st;
    TRY_TO(st, read_config(s->settings->run, &c.config), fail);
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerState state;
        c.n_optim[r] = netlearner_optim_bytes(s->nets[r]);
        c.params[r] = malloc(net_layout((Role)r)->n_params * sizeof(float));
        c.optim[r] = malloc(c.n_optim[r]);
        st = ST_NOMEM;
        if (c.params[r] == NULL || c.optim[r] == NULL) goto fail;
        c.steps[r] = netlearner_save(s->nets[r], c.params[r], c.optim[r]);
        netlearner_state(s->nets[r], &state);
        c.samples[r] = s->samples_before[r] + state.samples;
    }
    *out = c;
    return ST_OK;
fail:
    checkpoint_free(&c);
    return st;
}

/* The averaged weights as they are now: a moment newer than the checkpoint's, at most. */
static Status store_weights(const Saver *s, const Checkpoint *c) {
    Weights w;
    char path[RUN_PATH_BYTES], name[64];
    TRY(weights_new(&w));
    w.info = (WeightsInfo){
        .ruleset = c->ruleset, .objective = c->objective, .run = c->run, .frames = c->frames};
    snprintf(w.info.command, sizeof w.info.command, "dizhu train --run %s", s->settings->run);
    for (int r = 0; r < N_ROLES; r++) {
        uint64_t steps = netlearner_copy_ema(s->nets[r], w.params[r]);
        w.info.steps += steps;
        w.info.version += publisher_version(steps);
    }
    runfolder_path(s->settings->run, "weights.safetensors", path);
    Status st = weights_save(&w, DTYPE_F32, path);
    if (st == ST_OK && s->settings->snapshots) {
        runfolder_path(s->settings->run, "snapshots", path);
        if (mkdir(path, 0777) != 0 && errno != EEXIST) log_warn("%s: %s", path, strerror(errno));
        snprintf(name, sizeof name, "snapshots/%012llu.safetensors", (unsigned long long)c->frames);
        runfolder_path(s->settings->run, name, path);
        st = weights_save(&w, DTYPE_BF16, path);
    }
    weights_free(&w);
    return st;
}

Status saver_store(const Saver *s, Checkpoint *c) {
    TRY(checkpoint_store(s->settings->run, c, s->settings->keep));
    TRY(store_weights(s, c));
    log_info("checkpoint %llu: %llu frames, steps %llu %llu %llu", (unsigned long long)c->number,
             (unsigned long long)c->frames, (unsigned long long)c->steps[0],
             (unsigned long long)c->steps[1], (unsigned long long)c->steps[2]);
    return ST_OK;
}

static const char *why_foreign(const Saver *s, const Checkpoint *c) {
    if (c->run != s->run) return "it is of another run";
    if (c->ruleset != s->settings->ruleset) return "it was trained under another ruleset";
    if (c->objective != s->settings->objective) return "it was trained for another objective";
    if (c->optimizer != s->settings->optimizer) return "it has the state of another optimizer";
    if (c->seed != s->settings->seed) return "it has another seed";
    return NULL;
}

Status saver_resume(Saver *s, Checkpoint *out, bool *found) {
    Checkpoint c;
    TRY(checkpoint_newest(s->settings->run, &c, found));
    if (!*found) return ST_OK;
    const char *why = why_foreign(s, &c);
    Status st = why ? ST_MISMATCH : ST_OK;
    for (int r = 0; r < N_ROLES && st == ST_OK; r++) {
        st = netlearner_load(s->nets[r], c.params[r], c.optim[r], c.n_optim[r]);
        if (st != ST_OK) why = "its optimizer state does not fit these settings";
        s->samples_before[r] = c.samples[r];
    }
    if (st != ST_OK) {
        log_error("checkpoint %llu of %s: %s", (unsigned long long)c.number, s->settings->run, why);
        checkpoint_free(&c);
        return st;
    }
    s->seconds_before = c.seconds;
    *out = c;
    return ST_OK;
}
