#include "learner/publish.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

struct Publisher {
    PublisherConfig c;
    SharedWeights *shared;
    char shm[SHAREDWEIGHTS_NAME_BYTES];
    float *copy[N_ROLES];               // of the role's thread, on the way to shared memory
    pthread_mutex_t role_lock[N_ROLES]; // copy and the writing of it
    _Atomic uint32_t version[N_ROLES];  // published
    pthread_mutex_t pub_lock;           // the socket and what follows
    uint64_t sequence;                  // the last announced
    double weights_at;
    uint32_t weights_version;
};

static void publish(Publisher *p, NetLearner *net, Role role) {
    pthread_mutex_lock(&p->role_lock[role]);
    uint64_t steps = p->c.ema ? netlearner_copy_ema(net, p->copy[role])
                              : netlearner_copy_params(net, p->copy[role]);
    uint32_t version = publisher_version(steps);
    sharedweights_write(p->shared, role, version, p->copy[role]);
    atomic_store(&p->version[role], version);
    pthread_mutex_unlock(&p->role_lock[role]);
}

Status publisher_new(const PublisherConfig *c, Publisher **out) {
    Publisher *p = calloc(1, sizeof *p);
    if (p == NULL) return ST_NOMEM;
    Status st = ST_NOMEM;
    p->c = *c;
    pthread_mutex_init(&p->pub_lock, NULL);
    for (int r = 0; r < N_ROLES; r++) pthread_mutex_init(&p->role_lock[r], NULL);
    for (int r = 0; r < N_ROLES; r++) {
        p->copy[r] = malloc(net_layout((Role)r)->n_params * sizeof(float));
        if (p->copy[r] == NULL) goto fail;
    }
    sharedweights_name(c->run, p->shm);
    TRY_TO(st, sharedweights_create(p->shm, c->run, &p->shared), fail);
    publisher_all(p);
    *out = p;
    return ST_OK;
fail:
    publisher_free(p);
    return st;
}

void publisher_free(Publisher *p) {
    if (p == NULL) return;
    if (p->shared) sharedweights_unlink(p->shm);
    sharedweights_close(p->shared);
    for (int r = 0; r < N_ROLES; r++) {
        free(p->copy[r]);
        pthread_mutex_destroy(&p->role_lock[r]);
    }
    pthread_mutex_destroy(&p->pub_lock);
    free(p);
}

const char *publisher_shm(const Publisher *p) { return p->shm; }

void publisher_step(void *ctx, NetLearner *net, Role role, uint64_t steps) {
    Publisher *p = ctx;
    if (steps % (uint64_t)p->c.every == 0) publish(p, net, role);
}

void publisher_all(Publisher *p) {
    for (int r = 0; r < N_ROLES; r++) publish(p, p->c.nets[r], (Role)r);
}

static Frame frame_of(const Publisher *p, FrameKind kind, uint32_t length) {
    Frame f = {.kind = kind,
               .ruleset = p->c.ruleset,
               .objective = p->c.objective,
               .run = p->c.run,
               .sequence = p->sequence,
               .length = length};
    for (int r = 0; r < N_ROLES; r++) f.weights_version += atomic_load(&p->version[r]);
    return f;
}

static void send(Publisher *p, const Frame *f, const void *body) {
    if (p->c.pub && link_send(p->c.pub, f, body, 0) == ST_IO) log_warn("cannot publish");
}

void publisher_announce(Publisher *p, uint64_t sequence) {
    uint8_t body[4 * N_ROLES];
    pthread_mutex_lock(&p->pub_lock);
    if (sequence) p->sequence = sequence;
    for (int r = 0; r < N_ROLES; r++) put_u32(body + 4 * r, atomic_load(&p->version[r]));
    Frame f = frame_of(p, FRAME_VERSION, sizeof body);
    send(p, &f, body);
    pthread_mutex_unlock(&p->pub_lock);
}

/* The nets of the moment; version[] is each one's own. */
static Status copy_nets(const Publisher *p, Weights *w, uint32_t version[N_ROLES]) {
    TRY(weights_new(w));
    w->info = (WeightsInfo){.ruleset = p->c.ruleset, .objective = p->c.objective, .run = p->c.run};
    for (int r = 0; r < N_ROLES; r++) {
        uint64_t steps = p->c.ema ? netlearner_copy_ema(p->c.nets[r], w->params[r])
                                  : netlearner_copy_params(p->c.nets[r], w->params[r]);
        version[r] = publisher_version(steps);
        w->info.steps += steps;
        w->info.version += version[r];
    }
    return ST_OK;
}

Status publisher_encode(Publisher *p, Frame *f, uint8_t **body) {
    Weights w;
    uint32_t version[N_ROLES];
    uint8_t *file, *both;
    size_t n;
    TRY(copy_nets(p, &w, version));
    Status st = weights_encode(&w, DTYPE_BF16, &file, &n);
    weights_free(&w);
    if (st != ST_OK) return st;
    both = malloc(sizeof version + n);
    if (both) {
        for (int r = 0; r < N_ROLES; r++) put_u32(both + 4 * r, version[r]);
        memcpy(both + sizeof version, file, n);
        *f = frame_of(p, FRAME_WEIGHTS, (uint32_t)(sizeof version + n));
        f->weights_version = w.info.version;
        *body = both;
    }
    free(file);
    return both ? ST_OK : ST_NOMEM;
}

void publisher_weights(Publisher *p) {
    double now = clock_s();
    Frame f;
    uint8_t *body;
    if (now - p->weights_at < p->c.weights_seconds || publisher_encode(p, &f, &body) != ST_OK)
        return;
    if (f.weights_version != p->weights_version) {
        pthread_mutex_lock(&p->pub_lock);
        send(p, &f, body);
        pthread_mutex_unlock(&p->pub_lock);
        p->weights_version = f.weights_version;
    }
    p->weights_at = now;
    free(body);
}

void publisher_bye(Publisher *p) {
    pthread_mutex_lock(&p->pub_lock);
    Frame f = frame_of(p, FRAME_BYE, 0);
    send(p, &f, NULL);
    pthread_mutex_unlock(&p->pub_lock);
}
