#include "actors/nethub.h"
#include <pthread.h>
#include <stdlib.h>

typedef struct {
    PackedNet *net;
    uint32_t version;
    int holders;
} Place;

typedef struct {
    Place place[2];
    int current; /* -1: no weights yet */
} Slot;

struct NetHub {
    pthread_mutex_t lock; /* guards all but the contents of a place that nobody holds */
    Slot role[N_ROLES];
};

Status nethub_new(Precision precision, const KernelTable *k, NetHub **out) {
    NetHub *h = calloc(1, sizeof *h);
    if (!h) return ST_NOMEM;
    pthread_mutex_init(&h->lock, NULL);
    Status st = ST_OK;
    for (Role r = 0; r < N_ROLES; r++) {
        h->role[r].current = -1;
        for (int i = 0; i < 2 && st == ST_OK; i++)
            st = packednet_new(r, precision, k, &h->role[r].place[i].net);
    }
    if (st == ST_OK) *out = h;
    else nethub_free(h);
    return st;
}

void nethub_free(NetHub *h) {
    if (!h) return;
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; i < 2; i++) packednet_free(h->role[r].place[i].net);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

bool nethub_put(NetHub *h, Role role, uint32_t version, const float *params) {
    Slot *s = &h->role[role];
    pthread_mutex_lock(&h->lock);
    int spare = s->current == 0 ? 1 : 0;
    bool held = s->place[spare].holders > 0;
    pthread_mutex_unlock(&h->lock);
    if (held) return false;
    /* Not current, so nobody can take hold of it meanwhile. */
    packednet_set(s->place[spare].net, params);
    pthread_mutex_lock(&h->lock);
    s->place[spare].version = version;
    s->current = spare;
    pthread_mutex_unlock(&h->lock);
    return true;
}

bool nethub_has(NetHub *h, Role role, uint32_t version) {
    pthread_mutex_lock(&h->lock);
    const Slot *s = &h->role[role];
    bool has = s->current >= 0 && s->place[s->current].version == version;
    pthread_mutex_unlock(&h->lock);
    return has;
}

uint32_t nethub_version(NetHub *h) {
    uint32_t sum = 0;
    pthread_mutex_lock(&h->lock);
    for (int r = 0; r < N_ROLES; r++)
        if (h->role[r].current >= 0) sum += h->role[r].place[h->role[r].current].version;
    pthread_mutex_unlock(&h->lock);
    return sum;
}

bool nethub_hold(NetHub *h, NetHold *out) {
    pthread_mutex_lock(&h->lock);
    bool all = true;
    for (int r = 0; r < N_ROLES; r++) all = all && h->role[r].current >= 0;
    for (int r = 0; all && r < N_ROLES; r++) {
        int at = h->role[r].current;
        Place *p = &h->role[r].place[at];
        p->holders++;
        out->net[r] = p->net;
        out->version[r] = p->version;
        out->place[r] = at;
    }
    pthread_mutex_unlock(&h->lock);
    return all;
}

void nethub_release(NetHub *h, const NetHold *hold) {
    pthread_mutex_lock(&h->lock);
    for (int r = 0; r < N_ROLES; r++) h->role[r].place[hold->place[r]].holders--;
    pthread_mutex_unlock(&h->lock);
}
