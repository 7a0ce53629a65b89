#include "learner/metrics.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/runfolder.h"
#include "nets/net.h"

static const char schema[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "CREATE TABLE IF NOT EXISTS progress("
    " time REAL, seconds REAL, frames INTEGER, games INTEGER, fps REAL, landlord_wins REAL,"
    " act REAL, learn REAL, learner_waits REAL, inbox_waits REAL, record_bytes REAL,"
    " actors INTEGER, remote INTEGER, refused INTEGER, lost INTEGER);"
    "CREATE TABLE IF NOT EXISTS net_progress("
    " time REAL, frames INTEGER, role TEXT, steps INTEGER, samples INTEGER, fps REAL, loss REAL,"
    " norm REAL, staleness REAL, waiting INTEGER);"
    "CREATE TABLE IF NOT EXISTS evaluation("
    " time REAL, frames INTEGER, opponent TEXT, decks INTEGER, games INTEGER,"
    " wp_landlord REAL, wp_landlord_ci95 REAL, wp_peasants REAL, wp_peasants_ci95 REAL,"
    " wp REAL, wp_ci95 REAL, adp REAL, adp_ci95 REAL);"
    "CREATE TABLE IF NOT EXISTS exchange("
    " time REAL, frames INTEGER, rank INTEGER, ranks INTEGER, algo TEXT, role TEXT, steps INTEGER,"
    " skipped INTEGER, exchanges INTEGER, sent INTEGER, received INTEGER, sent_per_step REAL,"
    " waits REAL, staleness REAL, ages TEXT, apart REAL, error REAL, residual REAL, drift REAL);"
    "CREATE TABLE IF NOT EXISTS event(time REAL, text TEXT);";

enum { BUSY_MS = 2000 };

struct Metrics {
    sqlite3 *db;
    bool failed; // said so already
};

Status metrics_open(const char *run, Metrics **out) {
    char path[RUN_PATH_BYTES];
    runfolder_path(run, "metrics.sqlite", path);
    Metrics *m = calloc(1, sizeof *m);
    if (m == NULL) return ST_NOMEM;
    bool ok = sqlite3_open(path, &m->db) == SQLITE_OK;
    if (ok) sqlite3_busy_timeout(m->db, BUSY_MS);
    if (ok && sqlite3_exec(m->db, schema, NULL, NULL, NULL) == SQLITE_OK) {
        *out = m;
        return ST_OK;
    }
    log_error("%s: %s", path, m->db ? sqlite3_errmsg(m->db) : "out of memory");
    metrics_close(m);
    return ST_IO;
}

void metrics_close(Metrics *m) {
    if (m == NULL) return;
    sqlite3_close(m->db);
    free(m);
}

/* One row; values after the table's name: 'd' double, 'i' int64_t, 't' text. */
static void insert(Metrics *m, const char *table, const char *types, ...) {
    char sql[256];
    int n = snprintf(sql, sizeof sql, "INSERT INTO %s VALUES(", table);
    for (size_t i = 0; types[i]; i++)
        n += snprintf(sql + n, sizeof sql - (size_t)n, i ? ",?" : "?");
    snprintf(sql + n, sizeof sql - (size_t)n, ")");
    sqlite3_stmt *row = NULL;
    bool ok = sqlite3_prepare_v2(m->db, sql, -1, &row, NULL) == SQLITE_OK;
    va_list ap;
    va_start(ap, types);
    for (int i = 1; ok && types[i - 1]; i++) {
        if (types[i - 1] == 'd') sqlite3_bind_double(row, i, va_arg(ap, double));
        else if (types[i - 1] == 'i') sqlite3_bind_int64(row, i, va_arg(ap, int64_t));
        else sqlite3_bind_text(row, i, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
    }
    va_end(ap);
    ok = ok && sqlite3_step(row) == SQLITE_DONE;
    sqlite3_finalize(row);
    if (!ok && !m->failed) log_warn("metrics.sqlite: %s", sqlite3_errmsg(m->db));
    m->failed = !ok;
}

void metrics_progress(Metrics *m, const Progress *p) {
    if (m == NULL) return;
    double now = clock_wall_s();
    sqlite3_exec(m->db, "BEGIN", NULL, NULL, NULL);
    insert(m, "progress",
           "ddiiddddddd"
           "iiii",
           now, p->seconds, (int64_t)p->frames, (int64_t)p->games, p->fps, p->landlord_wins, p->act,
           p->learn, p->learner_waits, p->inbox_waits, p->record_bytes, (int64_t)p->actors,
           (int64_t)p->remote, (int64_t)p->refused, (int64_t)p->lost);
    for (int r = 0; r < N_ROLES; r++)
        insert(m, "net_progress", "ditiiddddi", now, (int64_t)p->frames, role_name((Role)r),
               (int64_t)p->role[r].steps, (int64_t)p->role[r].samples, p->role[r].fps,
               p->role[r].loss, p->role[r].norm, p->role[r].staleness, (int64_t)p->role[r].fill);
    sqlite3_exec(m->db, m->failed ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
}

void metrics_exchange(Metrics *m, const Exchange *x) {
    if (m == NULL) return;
    insert(m, "exchange",
           "dii"
           "ittiiiii"
           "ddd"
           "tdddd",
           clock_wall_s(), (int64_t)x->frames, (int64_t)x->rank, (int64_t)x->ranks, x->algo,
           role_name((Role)x->role), (int64_t)x->steps, (int64_t)x->skipped, (int64_t)x->exchanges,
           (int64_t)x->sent, (int64_t)x->received, x->sent_per_step, x->waits, x->staleness,
           x->ages, x->apart, x->error, x->residual, x->drift);
}

void metrics_evaluation(Metrics *m, uint64_t frames, const Evaluation *e) {
    if (m == NULL) return;
    insert(m, "evaluation",
           "dit"
           "ii"
           "dddddddd",
           clock_wall_s(), (int64_t)frames, e->opponent, e->decks, e->games, e->wp_landlord,
           e->wp_landlord_ci95, e->wp_peasants, e->wp_peasants_ci95, e->wp, e->wp_ci95, e->adp,
           e->adp_ci95);
}

void metrics_event(Metrics *m, const char *text) {
    if (m != NULL) insert(m, "event", "dt", clock_wall_s(), text);
}

Status evaluation_parse(const char *json, Evaluation *out) {
    json_t *o = json_loads(json, 0, NULL);
    Evaluation e = {0};
    json_int_t decks, games;
    const char *b;
    int bad = json_unpack(o, "{s:s,s:I,s:I,s:F,s:F,s:F,s:F,s:F,s:F,s:F,s:F}", "b", &b, "decks",
                          &decks, "games", &games, "wp_landlord", &e.wp_landlord,
                          "wp_landlord_ci95", &e.wp_landlord_ci95, "wp_peasants", &e.wp_peasants,
                          "wp_peasants_ci95", &e.wp_peasants_ci95, "wp", &e.wp, "wp_ci95",
                          &e.wp_ci95, "adp", &e.adp, "adp_ci95", &e.adp_ci95);
    if (bad == 0) {
        snprintf(e.opponent, sizeof e.opponent, "%s", b);
        e.decks = decks;
        e.games = games;
        *out = e;
    }
    json_decref(o);
    return bad == 0 ? ST_OK : ST_PARSE;
}
