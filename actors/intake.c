#include "actors/intake.h"
#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "nets/sharedweights.h"
#include <stdlib.h>
#include <string.h>

struct Intake {
    NetHub *hub;
    uint64_t run;
    uint8_t ruleset;
    char shm[64];
    SharedWeights *shared;     /* or NULL */
    float *scratch;            /* the largest role's parameters */
    Weights framed;            /* the last WEIGHTS frame; params NULL: none */
    uint32_t version[N_ROLES]; /* of `framed` */
    bool waiting[N_ROLES];     /* of `framed`: not yet in the hub */
    double taken[N_ROLES], last;
};

Status intake_new(const Welcome *w, NetHub *hub, Intake **out) {
    Intake *i = calloc(1, sizeof *i);
    if (!i) return ST_NOMEM;
    i->hub = hub;
    i->run = w->run;
    i->ruleset = (uint8_t)w->rules;
    i->last = clock_s();
    size_t most = 0;
    for (Role r = 0; r < N_ROLES; r++)
        if (net_layout(r)->n_params > most) most = net_layout(r)->n_params;
    if (!(i->scratch = malloc(most * sizeof *i->scratch))) {
        intake_free(i);
        return ST_NOMEM;
    }
    memcpy(i->shm, w->shm, sizeof i->shm);
    intake_reopen(i);
    *out = i;
    return ST_OK;
}

void intake_reopen(Intake *i) {
    SharedWeights *again = NULL;
    if (!i->shm[0] || sharedweights_open(i->shm, i->run, &again) != ST_OK) return;
    sharedweights_close(i->shared);
    i->shared = again;
}

void intake_free(Intake *i) {
    if (!i) return;
    sharedweights_close(i->shared);
    weights_free(&i->framed);
    free(i->scratch);
    free(i);
}

bool intake_shared(const Intake *i) { return i->shared != NULL; }
double intake_age_s(const Intake *i) { return clock_s() - i->last; }

static void put(Intake *i, Role r, uint32_t version, const float *params, double now) {
    if (!nethub_put(i->hub, r, version, params)) return;
    i->taken[r] = i->last = now;
    i->waiting[r] = false;
}

void intake_refresh(Intake *i, int refresh_ms) {
    double now = clock_s();
    for (Role r = 0; r < N_ROLES; r++) {
        if (i->waiting[r]) put(i, r, i->version[r], i->framed.params[r], now);
        if (!i->shared || now - i->taken[r] < refresh_ms / 1000.0) continue;
        uint32_t version = sharedweights_version(i->shared, r);
        if (nethub_has(i->hub, r, version)) continue;
        if (sharedweights_read(i->shared, r, i->scratch, &version) == ST_OK)
            put(i, r, version, i->scratch, now);
    }
}

void intake_frame(Intake *i, const uint8_t *p, size_t n) {
    enum { VERSIONS_BYTES = 4 * N_ROLES };
    Weights w;
    if (n < VERSIONS_BYTES) {
        log_warn("a WEIGHTS frame of %zu bytes was dropped", n);
        return;
    }
    if (weights_decode(p + VERSIONS_BYTES, n - VERSIONS_BYTES, &w) != ST_OK) return;
    if (w.info.ruleset != i->ruleset || (w.info.run != 0 && w.info.run != i->run)) {
        log_warn("weights of another run or ruleset came and were dropped");
        weights_free(&w);
        return;
    }
    weights_free(&i->framed);
    i->framed = w;
    for (Role r = 0; r < N_ROLES; r++) {
        i->version[r] = get_u32(p + 4 * r);
        i->waiting[r] = w.params[r] != NULL;
    }
    intake_refresh(i, 0);
}
