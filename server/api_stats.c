/* api_stats.c - one's own figures, and the ranking. */
#include "server/api.h"
#include "server/jsonout.h"
#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <time.h>

enum { POINTS_MAX = 100, BOARD_ROWS = 50, BOARD_LEAST = 20, WEEK_MS = 7 * 86400 * 1000 };

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = NULL;
    sqlite3_prepare_v2(db, sql, -1, &q, NULL); // a statement that fails steps to SQLITE_MISUSE
    return q;
}

static void answer(ApiJob *j, JsonOut *o) {
    j->body = jsonout_take(o, &j->n);
    j->status = 200;
}

static void write_maybe(JsonOut *o, const char *key, sqlite3_stmt *q, int column) {
    if (sqlite3_column_type(q, column) == SQLITE_NULL) jsonout_null(o, key);
    else jsonout_real(o, key, sqlite3_column_double(q, column));
}

/* The last n games of a user, newest first, as a table of their own. */
#define LAST                                                                                       \
    "WITH last AS (SELECT * FROM seat WHERE user = ?1 ORDER BY at DESC, game DESC LIMIT ?2) "

static void write_totals(JsonOut *o, sqlite3_stmt *q) {
    sqlite3_step(q);
    jsonout_int(o, "games", sqlite3_column_int64(q, 0));
    write_maybe(o, "ppg", q, 1);
    jsonout_open(o, "bids", '[');
    for (int i = 0; i < 4; i++) jsonout_int(o, NULL, sqlite3_column_int64(q, 2 + i));
    jsonout_close(o, ']');
    jsonout_int(o, "bombs", sqlite3_column_int64(q, 6));
    jsonout_int(o, "springs", sqlite3_column_int64(q, 7));
    sqlite3_finalize(q);
}

static void write_roles(JsonOut *o, sqlite3_stmt *q) {
    static const char *const names[] = {"landlord", "down", "up"};
    int role = 0;
    jsonout_open(o, "roles", '{');
    bool row = sqlite3_step(q) == SQLITE_ROW;
    for (; role < 3; role++) {
        bool here = row && sqlite3_column_int(q, 0) == role;
        jsonout_open(o, names[role], '{');
        jsonout_int(o, "games", here ? sqlite3_column_int64(q, 1) : 0);
        jsonout_int(o, "won", here ? sqlite3_column_int64(q, 2) : 0);
        if (here) write_maybe(o, "ppg", q, 3);
        else jsonout_null(o, "ppg");
        if (here) write_maybe(o, "loss", q, 4);
        else jsonout_null(o, "loss");
        jsonout_close(o, '}');
        if (here) row = sqlite3_step(q) == SQLITE_ROW;
    }
    jsonout_close(o, '}');
    sqlite3_finalize(q);
}

static sqlite3_stmt *bound(sqlite3 *db, const char *sql, uint64_t user, int64_t n) {
    sqlite3_stmt *q = prepare(db, sql);
    sqlite3_bind_int64(q, 1, (int64_t)user);
    sqlite3_bind_int64(q, 2, n);
    return q;
}

void api_stats(ApiJob *j, sqlite3 *db) {
    if (!j->user) {
        api_error(j, 401, "token");
        return;
    }
    int64_t last = api_arg_int(j, "last", 100, 0, 1000000000);
    if (last == 0) last = -1; // SQLite: no limit
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    write_totals(&o, bound(db,
                           LAST "SELECT count(*), avg(points), sum(bid = 0), sum(bid = 1), sum(bid "
                                "= 2), sum(bid = 3), sum(bombs), sum(spring) FROM last",
                           j->user, last));
    write_roles(&o, bound(db,
                          LAST "SELECT role, count(*), sum(won), avg(points), avg(loss) FROM last "
                               "GROUP BY role ORDER BY role",
                          j->user, last));
    int64_t shown = last < 0 || last > POINTS_MAX ? POINTS_MAX : last;
    sqlite3_stmt *q = bound(db, LAST "SELECT points FROM last ORDER BY at, game", j->user, shown);
    jsonout_open(&o, "points", '[');
    while (sqlite3_step(q) == SQLITE_ROW) jsonout_real(&o, NULL, sqlite3_column_double(q, 0));
    jsonout_close(&o, ']');
    sqlite3_finalize(q);
    jsonout_close(&o, '}');
    answer(j, &o);
}

/* user, name, bot, games, mean, mean of squares, rating, deviation; of rated games. */
static const char board_sql[] =
    "SELECT u.id, u.name, u.bot, count(*) AS n, avg(s.points), avg(s.points * s.points), u.rating, "
    "u.deviation FROM seat s JOIN user u ON u.id = s.user WHERE s.rated AND s.at >= ?1 GROUP BY "
    "u.id "
    "HAVING n >= ?2 OR u.id = ?3 ORDER BY u.rating - 2 * u.deviation DESC, u.id";

static void write_row(JsonOut *o, sqlite3_stmt *q, int place, bool me) {
    double n = sqlite3_column_double(q, 3), mean = sqlite3_column_double(q, 4);
    double var = fmax(0, sqlite3_column_double(q, 5) - mean * mean);
    jsonout_open(o, NULL, '{');
    if (place > 0) jsonout_int(o, "place", place);
    else jsonout_null(o, "place");
    jsonout_str(o, "name", (const char *)sqlite3_column_text(q, 1));
    jsonout_bool(o, "bot", sqlite3_column_int(q, 2));
    jsonout_int(o, "games", (int64_t)n);
    jsonout_real(o, "ppg", mean);
    if (n > 1) jsonout_real(o, "ppg_ci", 1.96 * sqrt(var * n / (n - 1) / n));
    else jsonout_null(o, "ppg_ci");
    jsonout_real(o, "rating", round(sqlite3_column_double(q, 6)));
    jsonout_real(o, "rating_ci", round(1.96 * sqlite3_column_double(q, 7)));
    jsonout_bool(o, "me", me);
    jsonout_close(o, '}');
}

/* Places are for those with enough games; one's own row is there in any case. */
void api_board(ApiJob *j, sqlite3 *db) {
    char span[64];
    bool week = api_arg(j, "span", span) && strcmp(span, "week") == 0;
    int64_t now = (int64_t)time(NULL) * 1000;
    sqlite3_stmt *q = prepare(db, board_sql);
    sqlite3_bind_int64(q, 1, week ? now - WEEK_MS : 0);
    sqlite3_bind_int64(q, 2, BOARD_LEAST);
    sqlite3_bind_int64(q, 3, (int64_t)j->user);
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_open(&o, "rows", '[');
    for (int place = 0; sqlite3_step(q) == SQLITE_ROW;) {
        bool enough = sqlite3_column_int64(q, 3) >= BOARD_LEAST;
        bool me = j->user && (uint64_t)sqlite3_column_int64(q, 0) == j->user;
        place += enough;
        if ((enough && place <= BOARD_ROWS) || me) write_row(&o, q, enough ? place : 0, me);
    }
    sqlite3_finalize(q);
    jsonout_close(&o, ']');
    jsonout_close(&o, '}');
    answer(j, &o);
}
