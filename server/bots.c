#include "server/bots.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/pick.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    BATCH_JOBS = 128,
    BUSY_JOBS = 512,
    BACKGROUND_MAX = 256, /* reviews waiting */
    MAX_WORKERS = 64,
    LOOK_MS = 2000 /* between looks at the weights file */
};

typedef struct {
    Job *head, *tail;
    int n;
} Queue;

struct Bots {
    BotsConfig config;
    pthread_mutex_t lock;
    pthread_cond_t more, changed; /* work has come; stop was set */
    Queue urgent, background, done;
    bool stop;
    NetSet *nets;
    BotsStats stats;
    int n_threads;
    pthread_t thread[MAX_WORKERS], watcher;
    bool watching;
    /* the watcher's */
    Pick pick;
    char path[PICK_PATH_BYTES];
    struct timespec seen;
    off_t seen_size;
};

static void push(Queue *q, Job *j) {
    j->next = NULL;
    if (q->tail) q->tail->next = j;
    else q->head = j;
    q->tail = j;
    q->n++;
}

static Job *pop(Queue *q) {
    Job *j = q->head;
    if (!j) return NULL;
    q->head = j->next;
    if (!q->head) q->tail = NULL;
    q->n--;
    return j;
}

/* Waits for work; 0: stop. */
static int take_batch(Bots *b, Job *jobs[BATCH_JOBS], NetSet **nets) {
    int n = 0;
    pthread_mutex_lock(&b->lock);
    while (!b->stop && !b->urgent.head && !b->background.head)
        pthread_cond_wait(&b->more, &b->lock);
    if (!b->stop) {
        while (n < BATCH_JOBS && b->urgent.head) jobs[n++] = pop(&b->urgent);
        if (n == 0) jobs[n++] = pop(&b->background);
        *nets = netset_ref(b->nets);
    }
    pthread_mutex_unlock(&b->lock);
    return n;
}

static void *worker(void *arg) {
    Bots *b = arg;
    Thinker *t;
    if (thinker_new((uint64_t)clock_ns(), &t) != ST_OK) {
        log_error("a bot's thread cannot start");
        abort();
    }
    Job *jobs[BATCH_JOBS];
    NetSet *nets = NULL;
    for (int n; (n = take_batch(b, jobs, &nets)) > 0;) {
        double from = clock_s();
        thinker_run(t, nets, jobs, n);
        netset_unref(nets);
        pthread_mutex_lock(&b->lock);
        bool wake = b->done.head == NULL;
        for (int i = 0; i < n; i++) push(&b->done, jobs[i]);
        b->stats.jobs += (uint64_t)n;
        b->stats.batches++;
        b->stats.busy_s += clock_s() - from;
        pthread_mutex_unlock(&b->lock);
        if (wake && b->config.wake) b->config.wake(b->config.ctx);
    }
    thinker_free(t);
    return NULL;
}

/* Loads `path` if it is not what was loaded last. */
static void look(Bots *b, const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return;
    if (strcmp(path, b->path) == 0 && st.st_mtim.tv_sec == b->seen.tv_sec &&
        st.st_mtim.tv_nsec == b->seen.tv_nsec && st.st_size == b->seen_size)
        return;
    snprintf(b->path, sizeof b->path, "%s", path);
    b->seen = st.st_mtim;
    b->seen_size = st.st_size;
    NetSet *fresh, *old;
    if (netset_load(path, b->config.precision, &fresh) != ST_OK) {
        pthread_mutex_lock(&b->lock);
        b->stats.refused++;
        pthread_mutex_unlock(&b->lock);
        return;
    }
    log_info("bots play with %s (%s, %s)", fresh->name,
             ruleset_get((RulesetId)fresh->info.ruleset)->name,
             objective_name((Objective)fresh->info.objective));
    pthread_mutex_lock(&b->lock);
    old = b->nets;
    b->nets = fresh;
    b->stats.loads++;
    pthread_mutex_unlock(&b->lock);
    netset_unref(old);
}

static void look_again(Bots *b) {
    char path[PICK_PATH_BYTES];
    pick_weights(&b->pick, path);
    if (*path) look(b, path);
}

static void *watch(void *arg) {
    Bots *b = arg;
    pthread_mutex_lock(&b->lock);
    while (!b->stop) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += LOOK_MS / 1000;
        pthread_cond_timedwait(&b->changed, &b->lock, &until);
        if (b->stop) break;
        pthread_mutex_unlock(&b->lock);
        look_again(b);
        pthread_mutex_lock(&b->lock);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

Status bots_new(const BotsConfig *c, Bots **out) {
    Bots *b = calloc(1, sizeof *b);
    if (!b) return ST_NOMEM;
    b->config = *c;
    pick_init(&b->pick, c->model, c->run);
    pthread_mutex_init(&b->lock, NULL);
    pthread_cond_init(&b->more, NULL);
    pthread_cond_init(&b->changed, NULL);
    look_again(b);
    if (!b->nets)
        log_warn("no net to play with (%s): bots play the first legal move",
                 c->model ? c->model : "no model given");
    int n = c->workers < 1 ? 1 : c->workers > MAX_WORKERS ? MAX_WORKERS : c->workers;
    for (; b->n_threads < n; b->n_threads++)
        if (pthread_create(&b->thread[b->n_threads], NULL, worker, b) != 0) goto fail;
    if (c->run || c->model) {
        if (pthread_create(&b->watcher, NULL, watch, b) != 0) goto fail;
        b->watching = true;
    }
    *out = b;
    return ST_OK;
fail:
    bots_free(b);
    return ST_NOMEM;
}

static void drop_all(Queue *q) {
    for (Job *j; (j = pop(q)) != NULL;) job_free(j);
}

void bots_free(Bots *b) {
    if (!b) return;
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_cond_broadcast(&b->more);
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->lock);
    for (int i = 0; i < b->n_threads; i++) pthread_join(b->thread[i], NULL);
    if (b->watching) pthread_join(b->watcher, NULL);
    drop_all(&b->urgent);
    drop_all(&b->background);
    drop_all(&b->done);
    netset_unref(b->nets);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->more);
    pthread_cond_destroy(&b->changed);
    free(b);
}

void bots_submit(Bots *b, Job *j) {
    j->asked_s = clock_s();
    pthread_mutex_lock(&b->lock);
    push(j->kind == JOB_REVIEW ? &b->background : &b->urgent, j);
    b->stats.asked++;
    pthread_cond_signal(&b->more);
    pthread_mutex_unlock(&b->lock);
}

Job *bots_take(Bots *b) {
    pthread_mutex_lock(&b->lock);
    Job *list = b->done.head;
    b->stats.taken += (uint64_t)b->done.n;
    b->done = (Queue){0};
    pthread_mutex_unlock(&b->lock);
    return list;
}

bool bots_busy(Bots *b) {
    pthread_mutex_lock(&b->lock);
    bool busy = b->urgent.n > BUSY_JOBS || b->background.n > BACKGROUND_MAX;
    pthread_mutex_unlock(&b->lock);
    return busy;
}

void bots_net_name(Bots *b, char out[96]) {
    pthread_mutex_lock(&b->lock);
    snprintf(out, 96, "%s", b->nets ? b->nets->name : "");
    pthread_mutex_unlock(&b->lock);
}

void bots_stats(Bots *b, BotsStats *out) {
    pthread_mutex_lock(&b->lock);
    *out = b->stats;
    out->waiting = b->urgent.n;
    pthread_mutex_unlock(&b->lock);
}
