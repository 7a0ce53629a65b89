/* api_train.c - a training run for the dashboard, out of RUN/metrics.sqlite.
 *
 * The folder given is a run itself, or holds runs. Only ever read; a run that is not there, or a
 * file that is not (yet) a database, is an empty answer.                                    */
#include "server/api.h"
#include "server/jsonout.h"
#include <dirent.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { POINTS_MAX = 1500, STALE_MS = 30000, DONE_MS = 600000, RUNS_MAX = 50 };

typedef struct {
    char name[64], path[600]; /* of the folder */
    int64_t at_ms;            /* last figures; 0: none */
    bool ended;
} Run;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* NULL: no figures there. */
static sqlite3 *open_metrics(const char *run) {
    char path[640];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/metrics.sqlite", run);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_busy_timeout(db, 500);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    return q;
}

static double one_number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = prepare(db, sql);
    double v = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_double(q, 0) : 0;
    sqlite3_finalize(q);
    return v;
}

static bool look_at(const char *path, const char *name, Run *out) {
    struct stat st;
    char file[700];
    snprintf(file, sizeof file, "%s/metrics.sqlite", path);
    if (stat(file, &st) != 0 || !S_ISREG(st.st_mode)) return false;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%s", name);
    snprintf(out->path, sizeof out->path, "%s", path);
    sqlite3 *db = open_metrics(path);
    if (!db) return false;
    out->at_ms = (int64_t)(1000 * one_number(db, "SELECT max(time) FROM progress"));
    out->ended = one_number(db, "SELECT EXISTS (SELECT 1 FROM event WHERE text LIKE 'the run has "
                                "ended%' AND time >= (SELECT max(time) FROM progress))") != 0;
    sqlite3_close(db);
    return true;
}

static int newest_first(const void *a, const void *b) {
    const Run *x = a, *y = b;
    return (x->at_ms < y->at_ms) - (x->at_ms > y->at_ms);
}

/* The folder's own run, or those in it; newest figures first. */
static int find_runs(const char *dir, Run out[RUNS_MAX]) {
    int n = 0;
    if (!dir) return 0;
    const char *slash = strrchr(dir, '/');
    if (look_at(dir, slash && slash[1] ? slash + 1 : dir, &out[0])) return 1;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && n < RUNS_MAX && (e = readdir(d)) != NULL;) {
        char path[600];
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof out->name) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        n += look_at(path, e->d_name, &out[n]);
    }
    if (d) closedir(d);
    qsort(out, (size_t)n, sizeof *out, newest_first);
    return n;
}

static const char *state_of(const Run *r) {
    int64_t age = now_ms() - r->at_ms;
    if (r->ended) return "done";
    if (r->at_ms == 0 || age < STALE_MS) return "running";
    return age > DONE_MS ? "done" : "stale";
}

static void answer(ApiJob *j, JsonOut *o) {
    j->body = jsonout_take(o, &j->n);
    j->status = 200;
}

void api_runs(ApiJob *j, const char *run_dir) {
    Run *runs = calloc(RUNS_MAX, sizeof *runs);
    if (!runs) abort();
    int n = find_runs(run_dir, runs);
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_open(&o, "runs", '[');
    for (int i = 0; i < n; i++) {
        jsonout_open(&o, NULL, '{');
        jsonout_str(&o, "run", runs[i].name);
        jsonout_int(&o, "at", runs[i].at_ms);
        jsonout_str(&o, "state", state_of(&runs[i]));
        jsonout_close(&o, '}');
    }
    jsonout_close(&o, ']');
    jsonout_close(&o, '}');
    free(runs);
    answer(j, &o);
}

/* ---- series ---- */

/* Where the dashboard's series come from: x, y and, if banded, the half width of y's interval. ?1
 * is the least frame count (exclusive), ?2 the opponent; every k-th row is taken so that no series
 * has more than POINTS_MAX points: that is ?3.                                              */
typedef struct {
    const char *name, *sql;
    bool banded;
} Series;

#define EVALUATION(column)                                                                         \
    "SELECT frames, " column ", " column                                                           \
    "_ci95 FROM evaluation WHERE frames > ?1 AND opponent = ?2 "                                   \
    "AND ?3 = ?3 ORDER BY time"
#define NET(role, column)                                                                          \
    "SELECT frames, " column " FROM net_progress WHERE frames > ?1 AND role = '" role              \
    "' AND steps > 0 AND ?2 = ?2 "                                                                 \
    "AND (rowid - 1) / 3 % ?3 = 0 ORDER BY time"

static const Series series[] = {
    {"wp", EVALUATION("wp"), true},
    {"wp_landlord", EVALUATION("wp_landlord"), true},
    {"wp_farmers", EVALUATION("wp_peasants"), true},
    {"adp", EVALUATION("adp"), true},
    {"loss_landlord", NET("landlord", "loss"), false},
    {"loss_down", NET("landlord_down", "loss"), false},
    {"loss_up", NET("landlord_up", "loss"), false},
    {"fps",
     "SELECT CAST(time * 1000 AS INTEGER), fps FROM progress WHERE frames > ?1 AND ?2 = ?2 AND "
     "rowid "
     "% ?3 = 0 ORDER BY time",
     false},
    {"sps",
     "SELECT CAST(time * 1000 AS INTEGER), (samples - lag(samples) OVER w) / (time - lag(time) "
     "OVER "
     "w) FROM (SELECT time, max(frames) AS frames, sum(samples) AS samples FROM net_progress GROUP "
     "BY time) WHERE frames > ?1 AND ?2 = ?2 AND ?3 = ?3 WINDOW w AS (ORDER BY time)",
     false},
    {"staleness",
     "SELECT max(frames), avg(staleness) FROM net_progress WHERE frames > ?1 AND ?2 = ?2 AND "
     "(rowid "
     "- 1) / 3 % ?3 = 0 GROUP BY time ORDER BY time",
     false},
};
enum { N_SERIES = sizeof series / sizeof *series };

/* A missing value is null; SQLite keeps NaN as NULL, which a loss is never otherwise once a net has
 * made a step. */
static void write_value(JsonOut *o, const double *v, bool missing, bool nan_text) {
    if (!missing) jsonout_real(o, NULL, *v);
    else if (nan_text) jsonout_str(o, NULL, "nan");
    else jsonout_null(o, NULL);
}

typedef struct {
    double x[2 * POINTS_MAX], y[2 * POINTS_MAX], half[2 * POINTS_MAX];
    bool missing[2 * POINTS_MAX];
    int n;
} Points;

static void write_array(JsonOut *o, const char *key, const Points *p, int side, bool loss) {
    jsonout_open(o, key, '[');
    for (int i = 0; i < p->n; i++) {
        double v = p->y[i] + side * p->half[i];
        write_value(o, &v, p->missing[i], loss);
    }
    jsonout_close(o, ']');
}

static void write_series(JsonOut *o, sqlite3 *db, const Series *s, int64_t since,
                         const char *opponent, int every, Points *p) {
    sqlite3_stmt *q = prepare(db, s->sql);
    sqlite3_bind_int64(q, 1, since);
    sqlite3_bind_text(q, 2, opponent, -1, SQLITE_STATIC);
    sqlite3_bind_int(q, 3, every);
    for (p->n = 0; sqlite3_step(q) == SQLITE_ROW && p->n < 2 * POINTS_MAX; p->n++) {
        p->x[p->n] = sqlite3_column_double(q, 0);
        p->y[p->n] = sqlite3_column_double(q, 1);
        p->missing[p->n] = sqlite3_column_type(q, 1) == SQLITE_NULL;
        p->half[p->n] = s->banded ? sqlite3_column_double(q, 2) : 0;
    }
    sqlite3_finalize(q);
    jsonout_open(o, s->name, '{');
    jsonout_open(o, "x", '[');
    for (int i = 0; i < p->n; i++) jsonout_int(o, NULL, (int64_t)p->x[i]);
    jsonout_close(o, ']');
    write_array(o, "y", p, 0, strncmp(s->name, "loss", 4) == 0);
    if (s->banded) {
        write_array(o, "lo", p, -1, false);
        write_array(o, "hi", p, 1, false);
    }
    jsonout_close(o, '}');
}

/* The opponent that was met most; of equals `rule` before others. */
static void find_baseline(sqlite3 *db, char out[128]) {
    sqlite3_stmt *q = prepare(db, "SELECT opponent FROM evaluation GROUP BY opponent ORDER BY "
                                  "opponent = 'rule' DESC, count(*) DESC LIMIT 1");
    const char *text =
        sqlite3_step(q) == SQLITE_ROW ? (const char *)sqlite3_column_text(q, 0) : NULL;
    snprintf(out, 128, "%s", text ? text : "");
    sqlite3_finalize(q);
}

static void write_node(JsonOut *o, const char *name, const char *kind, double load, bool up) {
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "name", name);
    jsonout_str(o, "kind", kind);
    jsonout_real(o, "load", load);
    jsonout_str(o, "state", up ? "up" : "lost");
    jsonout_close(o, '}');
}

static void write_nodes(JsonOut *o, sqlite3 *db) {
    char name[64];
    sqlite3_stmt *q =
        prepare(db, "SELECT learn, act, actors, remote, frames, games, (SELECT min(time) FROM "
                    "progress) FROM progress ORDER BY time DESC LIMIT 1");
    if (sqlite3_step(q) != SQLITE_ROW) {
        sqlite3_finalize(q);
        return;
    }
    int actors = sqlite3_column_int(q, 2), remote = sqlite3_column_int(q, 3);
    jsonout_int(o, "frames", sqlite3_column_int64(q, 4));
    jsonout_int(o, "games", sqlite3_column_int64(q, 5));
    jsonout_int(o, "started", (int64_t)(1000 * sqlite3_column_double(q, 6)));
    jsonout_open(o, "nodes", '[');
    write_node(o, "learner", "learner", sqlite3_column_double(q, 0), true);
    for (int i = 0; i < actors && i < 64; i++) {
        snprintf(name, sizeof name, "actor %d", i + 1);
        write_node(o, name, "actor", sqlite3_column_double(q, 1) / actors, true);
    }
    for (int i = 0; i < remote && i < 64; i++) {
        snprintf(name, sizeof name, "remote %d", i + 1);
        write_node(o, name, "actor", NAN, true);
    }
    jsonout_close(o, ']');
    sqlite3_finalize(q);
}

/* Name of the newest file in RUN/checkpoints, "" if there is none. */
static void newest_checkpoint(const char *run, char out[64]) {
    char path[700];
    snprintf(path, sizeof path, "%s/checkpoints", run);
    DIR *d = opendir(path);
    out[0] = '\0';
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n < 6 || n >= 64 || strcmp(e->d_name + n - 5, ".ckpt") != 0) continue;
        if (strcmp(e->d_name, out) > 0) memcpy(out, e->d_name, n + 1);
    }
    if (d) closedir(d);
}

static void write_run(JsonOut *o, const Run *run, sqlite3 *db, int64_t since) {
    char baseline[128], checkpoint[64], command[700];
    newest_checkpoint(run->path, checkpoint);
    find_baseline(db, baseline);
    snprintf(command, sizeof command, "dizhu train --run %s", run->name);
    jsonout_str(o, "checkpoint", *checkpoint ? checkpoint : NULL);
    jsonout_str(o, "command", command);
    jsonout_str(o, "baseline", *baseline ? baseline : NULL);
    write_nodes(o, db);
    int every = 1 + (int)(one_number(db, "SELECT count(*) FROM progress") / POINTS_MAX);
    Points *p = malloc(sizeof *p);
    if (!p) abort();
    jsonout_open(o, "series", '{');
    for (int i = 0; i < N_SERIES; i++) write_series(o, db, &series[i], since, baseline, every, p);
    jsonout_close(o, '}');
    free(p);
}

void api_train(ApiJob *j, const char *run_dir) {
    char name[64];
    Run *runs = calloc(RUNS_MAX, sizeof *runs);
    if (!runs) abort();
    int n = find_runs(run_dir, runs), at = 0;
    if (api_arg(j, "run", name))
        while (at < n && strcmp(runs[at].name, name) != 0) at++;
    sqlite3 *db = at < n ? open_metrics(runs[at].path) : NULL;
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "run", db ? runs[at].name : NULL);
    jsonout_str(&o, "state", db ? state_of(&runs[at]) : "none");
    if (db) {
        if (runs[at].at_ms) jsonout_int(&o, "age_ms", now_ms() - runs[at].at_ms);
        else jsonout_null(&o, "age_ms");
        write_run(&o, &runs[at], db, api_arg_int(j, "since", -1, -1, INT64_MAX));
        sqlite3_close(db);
    }
    jsonout_close(&o, '}');
    free(runs);
    answer(j, &o);
}
