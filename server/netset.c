#include "server/netset.h"
#include "engine/base/log.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void set_name(NetSet *n, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t len = strcspn(name, ".");
    snprintf(n->name, sizeof n->name, "%.*s-%u", (int)(len > 60 ? 60 : len), name, n->info.version);
}

Status netset_load(const char *path, Precision p, NetSet **out) {
    const KernelTable *k = kernels_get();
    if (!k) return ST_UNSUPPORTED;
    Weights w;
    TRY(weights_load(path, &w));
    Status st = ST_NOMEM;
    NetSet *n = calloc(1, sizeof *n);
    if (!n) goto free_weights;
    atomic_init(&n->refs, 1);
    n->info = w.info;
    set_name(n, path);
    for (int role = 0; role < N_ROLES; role++) {
        if (!w.params[role]) {
            log_error("%s has no net for %s", path, role_name((Role)role));
            st = ST_MISMATCH;
            goto free_set;
        }
        TRY_TO(st, packednet_new((Role)role, p, k, &n->net[role]), free_set);
        packednet_set(n->net[role], w.params[role]);
    }
    weights_free(&w);
    *out = n;
    return ST_OK;
free_set:
    netset_unref(n);
free_weights:
    weights_free(&w);
    return st;
}

NetSet *netset_ref(NetSet *n) {
    if (n) atomic_fetch_add(&n->refs, 1);
    return n;
}

void netset_unref(NetSet *n) {
    if (!n || atomic_fetch_sub(&n->refs, 1) != 1) return;
    for (int role = 0; role < N_ROLES; role++) packednet_free(n->net[role]);
    free(n);
}

static float clamp(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }

/* From a mean over +-m to a chance: a steep sigmoid, since long games are decided late. */
static float chance(float q, float m) { return 1 / (1 + expf(-2 * q / m)); }

Opinion netset_opinion(const NetSet *n, float q, int role, int base, int bombs) {
    float share = (float)base * (role == ROLE_LANDLORD ? 2 : 1), now = ldexpf(1, bombs);
    Opinion o = {0.5f, 0};
    switch ((Objective)n->info.objective) {
    case OBJECTIVE_WP:
        o.win = clamp((q + 1) / 2, 0, 1);
        o.exp = (2 * o.win - 1) * now * share;
        break;
    case OBJECTIVE_ADP:
        o.win = chance(q, now);
        o.exp = q * share;
        break;
    case OBJECTIVE_LOGADP:
        o.win = chance(q, (float)bombs + 1);
        o.exp = (2 * o.win - 1) * fmaxf(now, exp2f(fabsf(q) - 1)) * share;
        break;
    default: // the ruleset's own score, of that seat, base included
        o.win = chance(q, now * share);
        o.exp = q;
    }
    return o;
}
