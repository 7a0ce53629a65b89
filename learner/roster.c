#include "learner/roster.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"

struct Roster {
    pthread_mutex_t lock;
    int n;
    Actor actor[ROSTER_MAX];
    uint64_t refused, lost; // totals, of those forgotten too
};

Status roster_new(Roster **out) {
    Roster *r = calloc(1, sizeof *r);
    if (r == NULL) return ST_NOMEM;
    pthread_mutex_init(&r->lock, NULL);
    *out = r;
    return ST_OK;
}

void roster_free(Roster *r) {
    if (r == NULL) return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

/* The place for a newcomer: a new one, or that of the actor not heard of for longest. */
static Actor *place(Roster *r) {
    if (r->n < ROSTER_MAX) return &r->actor[r->n++];
    Actor *oldest = &r->actor[0];
    for (int i = 1; i < r->n; i++)
        if (r->actor[i].heard_s < oldest->heard_s) oldest = &r->actor[i];
    return oldest;
}

/* The entry of an actor, made if there is none: it may have joined before this learner began. */
static Actor *heard(Roster *r, uint64_t number) {
    Actor *a = NULL;
    for (int i = 0; i < r->n && a == NULL; i++)
        if (r->actor[i].number == number) a = &r->actor[i];
    if (a == NULL) {
        a = place(r);
        *a = (Actor){.number = number};
    }
    if (a->silent) log_info("actor %llu is back", (unsigned long long)number);
    a->silent = false;
    a->heard_s = clock_s();
    return a;
}

void roster_met(Roster *r, uint64_t number, int pid, const char *host, bool here) {
    pthread_mutex_lock(&r->lock);
    Actor *a = heard(r, number);
    a->pid = pid;
    a->here = here;
    snprintf(a->host, sizeof a->host, "%s", host);
    pthread_mutex_unlock(&r->lock);
}

void roster_beat(Roster *r, uint64_t number, bool framed, double busy_s, double wait_s) {
    pthread_mutex_lock(&r->lock);
    Actor *a = heard(r, number);
    a->framed = framed;
    a->busy_s = busy_s;
    a->wait_s = wait_s;
    pthread_mutex_unlock(&r->lock);
}

void roster_frame(Roster *r, uint64_t number, uint64_t sequence) {
    pthread_mutex_lock(&r->lock);
    Actor *a = heard(r, number);
    uint64_t gap = a->sequence != 0 && sequence > a->sequence ? sequence - a->sequence - 1 : 0;
    a->lost += gap;
    r->lost += gap;
    a->sequence = sequence;
    pthread_mutex_unlock(&r->lock);
    if (gap)
        log_warn("actor %llu: %llu frames were lost", (unsigned long long)number,
                 (unsigned long long)gap);
}

void roster_games(Roster *r, uint64_t number, uint64_t games, uint64_t decisions) {
    pthread_mutex_lock(&r->lock);
    Actor *a = heard(r, number);
    a->games += games;
    a->decisions += decisions;
    pthread_mutex_unlock(&r->lock);
}

bool roster_refuse(Roster *r, uint64_t number) {
    pthread_mutex_lock(&r->lock);
    Actor *a = heard(r, number);
    uint64_t n = ++a->refused;
    r->refused++;
    pthread_mutex_unlock(&r->lock);
    return (n & (n - 1)) == 0; // 1, 2, 4, 8, ...
}

void roster_look(Roster *r, double limit_s) {
    double now = clock_s();
    pthread_mutex_lock(&r->lock);
    for (int i = 0; i < r->n; i++) {
        Actor *a = &r->actor[i];
        if (a->silent || now - a->heard_s < limit_s) continue;
        a->silent = true;
        log_warn("actor %llu (process %d on %s) is silent for %.0f s",
                 (unsigned long long)a->number, a->pid, *a->host ? a->host : "?", now - a->heard_s);
    }
    pthread_mutex_unlock(&r->lock);
}

void roster_totals(Roster *r, RosterTotals *out) {
    pthread_mutex_lock(&r->lock);
    *out = (RosterTotals){.refused = r->refused, .lost = r->lost};
    for (int i = 0; i < r->n; i++) {
        const Actor *a = &r->actor[i];
        out->live += !a->silent;
        out->remote += !a->silent && !a->here;
        out->framed += !a->silent && a->framed;
        out->busy_s += a->busy_s;
        out->wait_s += a->wait_s;
    }
    pthread_mutex_unlock(&r->lock);
}

int roster_pids(Roster *r, double limit_s, int *from, int32_t *pids, int max) {
    int n = 0;
    double now = clock_s();
    pthread_mutex_lock(&r->lock);
    for (; *from < r->n && n < max; ++*from) {
        const Actor *a = &r->actor[*from];
        if (a->here && a->pid > 0 && now - a->heard_s < limit_s) pids[n++] = a->pid;
    }
    pthread_mutex_unlock(&r->lock);
    return n;
}
