#include "learner/inbox.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"

enum { POLL_MS = 100 };

struct Inbox {
    InboxConfig c;
    pthread_t thread;
    atomic_bool stop, full;
    pthread_mutex_t lock; // state
    InboxState state;
    GameSamples samples; // of the game at hand
};

static void refuse(Inbox *in, uint64_t sender, const char *what, const char *why) {
    if (roster_refuse(in->c.roster, sender))
        log_warn("refused a %s of actor %llu: %s", what, (unsigned long long)sender, why);
}

/* The game's number says what its deal must be. */
static bool deal_fits(const Inbox *in, const Record *r) {
    Deal want;
    deal_random(in->c.seed, r->game, &want);
    return memcmp(want.owner, r->deal.owner, sizeof want.owner) == 0;
}

static void count_game(Inbox *in, const Record *r, const GameSamples *g, size_t bytes) {
    uint32_t newest[N_ROLES];
    for (int role = 0; role < N_ROLES; role++) newest[role] = in->c.version(in->c.ctx, role);
    pthread_mutex_lock(&in->lock);
    InboxState *s = &in->state;
    s->games++;
    s->landlord_wins += r->result > 0;
    s->bytes += bytes;
    for (int role = 0; role < N_ROLES; role++) {
        uint32_t version = r->version[g->seat[role]];
        s->frames += (uint64_t)g->n_decisions[role];
        s->decisions[role] += (uint64_t)g->n_decisions[role];
        // a resumed learner may be behind the weights that its actors still play with
        if (newest[role] > version) s->staleness_sum[role] += newest[role] - version;
    }
    for (int i = 0; i < g->n; i++) s->samples[g->sample[i].obs.role]++;
    if (in->c.max_frames && s->frames >= in->c.max_frames) atomic_store(&in->full, true);
    pthread_mutex_unlock(&in->lock);
}

/* false: the buffers were closed. */
static bool take_game(Inbox *in, uint64_t sender, const Record *r, const uint8_t *bytes, size_t n,
                      uint64_t *decisions) {
    const char *why = "not a game of this ruleset";
    Status st = samples_from_record(&in->c.rules, r, &in->samples, &why);
    if (st == ST_OK && !deal_fits(in, r)) {
        st = ST_ILLEGAL;
        why = "the deal is not that of the game's number";
    }
    if (st != ST_OK) {
        refuse(in, sender, "game", why);
        return true;
    }
    if (r->result == 0) return true; // void: nobody bid
    count_game(in, r, &in->samples, n);
    for (int role = 0; role < N_ROLES; role++)
        *decisions += (uint64_t)in->samples.n_decisions[role];
    archive_add(in->c.archive, bytes, n);
    return buffers_put(in->c.buffers, in->samples.sample, in->samples.n);
}

static bool take_frame(Inbox *in, const Frame *f, const uint8_t *body) {
    roster_frame(in->c.roster, f->sender, f->sequence);
    Record record;
    uint64_t games = 0, decisions = 0;
    bool open = true;
    for (size_t at = 0, used; open && at < f->length && !inbox_full(in); at += used) {
        Status st = record_read(body + at, f->length - at, &record, &used);
        if (st != ST_OK) {
            refuse(in, f->sender, "record", status_text(st));
            break;
        }
        uint64_t before = decisions;
        open = take_game(in, f->sender, &record, body + at, used, &decisions);
        games += decisions > before;
    }
    roster_games(in->c.roster, f->sender, games, decisions);
    return open;
}

static const char *why_foreign(const Inbox *in, const Frame *f) {
    if (f->kind != FRAME_RECORDS) return "not a frame of records";
    if (f->run != in->c.run) return "it is of another run";
    if (f->ruleset != in->c.rules.ruleset) return "it is of another ruleset";
    if (f->objective != in->c.rules.objective) return "it is for another objective";
    return NULL;
}

static void *inbox_main(void *arg) {
    Inbox *in = arg;
    while (!atomic_load(&in->stop) && !inbox_full(in)) {
        Frame f;
        const uint8_t *body;
        Status st = link_recv(in->c.pull, POLL_MS, &f, &body);
        if (st == ST_TIMEOUT || st == ST_INTERRUPTED) continue;
        const char *why = st == ST_OK ? why_foreign(in, &f) : status_text(st);
        if (why) {
            refuse(in, st == ST_OK ? f.sender : 0, "frame", why);
            continue;
        }
        if (!take_frame(in, &f, body)) break;
        pthread_mutex_lock(&in->lock);
        in->state.cpu_s = clock_thread_s();
        pthread_mutex_unlock(&in->lock);
        if (!in->c.lockstep) continue;
        if (!buffers_settle(in->c.buffers)) break;
        in->c.settled(in->c.ctx, f.sequence);
    }
    return NULL;
}

Status inbox_start(const InboxConfig *c, Inbox **out) {
    Inbox *in = calloc(1, sizeof *in);
    if (in == NULL) return ST_NOMEM;
    in->c = *c;
    in->state.frames = c->frames;
    in->state.games = c->games;
    atomic_init(&in->stop, false);
    atomic_init(&in->full, c->max_frames && c->frames >= c->max_frames);
    pthread_mutex_init(&in->lock, NULL);
    if (pthread_create(&in->thread, NULL, inbox_main, in) != 0) {
        pthread_mutex_destroy(&in->lock);
        free(in);
        return ST_NOMEM;
    }
    *out = in;
    return ST_OK;
}

bool inbox_full(const Inbox *in) { return atomic_load(&in->full); }

void inbox_state(Inbox *in, InboxState *out) {
    pthread_mutex_lock(&in->lock);
    *out = in->state;
    pthread_mutex_unlock(&in->lock);
}

void inbox_stop(Inbox *in) {
    if (in == NULL) return;
    atomic_store(&in->stop, true);
    pthread_join(in->thread, NULL);
    pthread_mutex_destroy(&in->lock);
    free(in);
}
