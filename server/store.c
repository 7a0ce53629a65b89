#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/schema.h"
#include "server/store_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One script per version, from the one before; user_version counts those that were run. */
static const char *const migrations[] = {schema_sql};
enum { N_MIGRATIONS = sizeof migrations / sizeof *migrations, RETRY_MS = 1000, BUSY_MS = 10000 };

Status store_sql_error(sqlite3 *db, const char *what) {
    log_error("database: %s: %s", what, sqlite3_errmsg(db));
    int code = sqlite3_errcode(db) & 0xff;
    return code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? ST_CORRUPT : ST_IO;
}

static Status run(sqlite3 *db, const char *sql) {
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK) return ST_OK;
    return store_sql_error(db, sql);
}

Status store_connect(const char *path, int flags, sqlite3 **out) {
    if (sqlite3_open_v2(path, out, flags, NULL) != SQLITE_OK) return store_sql_error(*out, path);
    sqlite3_busy_timeout(*out, BUSY_MS);
    TRY(run(*out, "PRAGMA journal_mode = WAL"));
    TRY(run(*out, "PRAGMA synchronous = FULL"));
    return run(*out, "PRAGMA foreign_keys = ON");
}

static Status user_version(sqlite3 *db, int *out) {
    sqlite3_stmt *q;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &q, NULL) != SQLITE_OK)
        return store_sql_error(db, "user_version");
    sqlite3_step(q);
    *out = sqlite3_column_int(q, 0);
    sqlite3_finalize(q);
    return ST_OK;
}

static Status migrate(sqlite3 *db, const char *path) {
    int version = 0;
    TRY(user_version(db, &version));
    if (version > N_MIGRATIONS) {
        log_error("%s: schema %d is newer than this program's %d", path, version, N_MIGRATIONS);
        return ST_VERSION;
    }
    for (; version < N_MIGRATIONS; version++) {
        char mark[64];
        snprintf(mark, sizeof mark, "PRAGMA user_version = %d; COMMIT", version + 1);
        TRY(run(db, "BEGIN IMMEDIATE"));
        Status st = run(db, migrations[version]);
        if (st == ST_OK) st = run(db, mark);
        if (st != ST_OK) {
            run(db, "ROLLBACK");
            return st;
        }
    }
    return ST_OK;
}

static void free_write(Write *w) {
    if (w->kind == WRITE_GAME) free(w->u.game);
    free(w);
}

/* A failure of this kind may pass (disk full, I/O error); others are our own bug. */
static bool may_pass(int code) {
    code &= 0xff;
    return code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_BUSY ||
           code == SQLITE_LOCKED || code == SQLITE_NOMEM || code == SQLITE_CANTOPEN ||
           code == SQLITE_READONLY;
}

static bool commit_list(Store *s, const Write *list) {
    int code = sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (const Write *w = list; w && !may_pass(code); w = w->next) {
        code = store_write_one(s, w);
        if (code != SQLITE_DONE && code != SQLITE_OK && !may_pass(code))
            log_error("database: write of kind %d: %s", w->kind, sqlite3_errmsg(s->db));
    }
    if (!may_pass(code)) code = sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
    if (code == SQLITE_OK) return true;
    log_error("database: commit: %s; trying again", sqlite3_errmsg(s->db));
    if (!sqlite3_get_autocommit(s->db)) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

static Write *take_all(Store *s) {
    pthread_mutex_lock(&s->lock);
    while (!s->head && !s->stop) pthread_cond_wait(&s->more, &s->lock);
    bool wait = !s->stop;
    pthread_mutex_unlock(&s->lock);
    if (wait && s->commit_ms > 0) clock_sleep_ms(s->commit_ms);
    pthread_mutex_lock(&s->lock);
    Write *list = s->head;
    s->head = s->tail = NULL;
    pthread_mutex_unlock(&s->lock);
    return list;
}

static void count(Store *s, uint64_t n, double seconds) {
    pthread_mutex_lock(&s->lock);
    s->queued -= n;
    s->stats.commits++;
    s->stats.writes += n;
    s->stats.commit_s += seconds;
    if (seconds > s->stats.slowest_s) s->stats.slowest_s = seconds;
    pthread_mutex_unlock(&s->lock);
}

static void *writer(void *arg) {
    Store *s = arg;
    for (Write *list; (list = take_all(s)) != NULL;) {
        double from = clock_s();
        while (!commit_list(s, list)) {
            pthread_mutex_lock(&s->lock);
            s->stats.failures++;
            bool give_up = s->stop;
            pthread_mutex_unlock(&s->lock);
            if (give_up) return NULL; // nothing of this was acknowledged
            clock_sleep_ms(RETRY_MS);
        }
        uint64_t n = 0;
        for (Write *next; list; list = next, n++) {
            next = list->next;
            free_write(list);
        }
        count(s, n, clock_s() - from);
        atomic_fetch_add_explicit(&s->committed, n, memory_order_release);
        if (s->wake) s->wake(s->wake_ctx);
    }
    return NULL;
}

Status store_open(const char *path, int commit_ms, StoreWake wake, void *ctx, Store **out) {
    Store *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->commit_ms = commit_ms;
    s->wake = wake;
    s->wake_ctx = ctx;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->more, NULL);
    Status st;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    TRY_TO(st, store_connect(path, flags, &s->db), close);
    TRY_TO(st, migrate(s->db, path), close);
    TRY_TO(st, store_write_prepare(s), close);
    st = ST_NOMEM;
    if (pthread_create(&s->thread, NULL, writer, s) != 0) goto close;
    s->started = true;
    *out = s;
    return ST_OK;
close:
    store_close(s);
    return st;
}

void store_close(Store *s) {
    if (!s) return;
    if (s->started) {
        pthread_mutex_lock(&s->lock);
        s->stop = true;
        pthread_cond_signal(&s->more);
        pthread_mutex_unlock(&s->lock);
        pthread_join(s->thread, NULL);
    }
    for (Write *next; s->head; s->head = next) {
        next = s->head->next;
        free_write(s->head);
    }
    for (int i = 0; i < N_WRITE_SQL; i++) sqlite3_finalize(s->sql[i]);
    sqlite3_close(s->db);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->more);
    free(s);
}

static Write *write_new(WriteKind kind) {
    Write *w = calloc(1, sizeof *w);
    if (!w) abort(); // a move that cannot be kept must not be acknowledged either
    w->kind = kind;
    return w;
}

static uint64_t queue(Store *s, Write *w) {
    pthread_mutex_lock(&s->lock);
    if (s->tail) s->tail->next = w;
    else s->head = w;
    s->tail = w;
    s->queued++;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&s->lock);
    return ++s->last;
}

uint64_t store_put_user(Store *s, const StoreUser *u) {
    Write *w = write_new(WRITE_USER);
    w->u.user = *u;
    return queue(s, w);
}

uint64_t store_put_room(Store *s, const StoreRoom *r) {
    Write *w = write_new(WRITE_ROOM);
    w->u.room = *r;
    return queue(s, w);
}

uint64_t store_drop_room(Store *s, const char *code) {
    Write *w = write_new(WRITE_DROP_ROOM);
    snprintf(w->u.code, sizeof w->u.code, "%s", code);
    return queue(s, w);
}

uint64_t store_put_live(Store *s, const StoreLive *l) {
    Write *w = write_new(WRITE_LIVE);
    w->u.live = *l;
    return queue(s, w);
}

uint64_t store_put_act(Store *s, uint64_t game, int ply, const StoreAct *a) {
    Write *w = write_new(WRITE_ACT);
    w->u.act.game = game;
    w->u.act.ply = ply;
    w->u.act.act = *a;
    return queue(s, w);
}

static uint64_t queue_other(Store *s, WriteKind kind, uint64_t game, int n, double a, double b) {
    Write *w = write_new(kind);
    w->u.other.game = game;
    w->u.other.n = n;
    w->u.other.loss = a;
    w->u.other.agree = b;
    return queue(s, w);
}

uint64_t store_drop_live(Store *s, uint64_t game) {
    return queue_other(s, WRITE_DROP_LIVE, game, 0, 0, 0);
}
uint64_t store_cut_acts(Store *s, uint64_t game, int from_ply) {
    return queue_other(s, WRITE_CUT_ACTS, game, from_ply, 0, 0);
}
uint64_t store_put_rated(Store *s, uint64_t game, bool rated) {
    return queue_other(s, WRITE_RATED, game, rated, 0, 0);
}
uint64_t store_put_review(Store *s, uint64_t game, int seat, double loss, double agree) {
    return queue_other(s, WRITE_REVIEW, game, seat, loss, agree);
}

uint64_t store_put_game(Store *s, const StoreGame *g) {
    Write *w = write_new(WRITE_GAME);
    w->u.game = malloc(sizeof *g);
    if (!w->u.game) abort();
    *w->u.game = *g;
    return queue(s, w);
}

uint64_t store_last(const Store *s) { return s->last; }

uint64_t store_committed(const Store *s) {
    return atomic_load_explicit(&s->committed, memory_order_acquire);
}

bool store_full(const Store *s) { return s->last - store_committed(s) > STORE_QUEUE_MAX; }

void store_stats(Store *s, StoreStats *out) {
    pthread_mutex_lock(&s->lock);
    *out = s->stats;
    s->stats.slowest_s = 0;
    pthread_mutex_unlock(&s->lock);
}
