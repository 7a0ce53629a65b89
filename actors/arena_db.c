#include "actors/arena_db.h"
#include "engine/base/log.h"
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The games that are there, for arenadb_has: an open hash table of keys, 0 for an empty place. */
typedef struct {
    uint64_t *key;
    uint64_t mask, n;
} KeySet;

struct ArenaDb {
    sqlite3 *sql;
    sqlite3_stmt *insert;
    int n_agents;
    int64_t id[ARENA_MAX_AGENTS]; /* place in the config -> id */
    KeySet there;
};

static Status failed(sqlite3 *sql, const char *what) {
    log_error("arena database: %s: %s", what, sqlite3_errmsg(sql));
    return ST_IO;
}

static Status run(sqlite3 *sql, const char *text) {
    return sqlite3_exec(sql, text, NULL, NULL, NULL) == SQLITE_OK ? ST_OK : failed(sql, text);
}

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS agent(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
    " fingerprint TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS game(deal INTEGER, seat0 INTEGER REFERENCES agent(id),"
    " seat1 INTEGER REFERENCES agent(id), seat2 INTEGER REFERENCES agent(id),"
    " landlord INTEGER, landlord_won INTEGER, void INTEGER, score0 REAL, score1 REAL, score2 REAL,"
    " fault0 TEXT, fault1 TEXT, fault2 TEXT, moves INTEGER, seconds REAL, record BLOB,"
    " PRIMARY KEY(deal, seat0, seat1, seat2)) WITHOUT ROWID;";

static Status prepare(sqlite3 *sql, const char *text, sqlite3_stmt **out) {
    return sqlite3_prepare_v2(sql, text, -1, out, NULL) == SQLITE_OK ? ST_OK : failed(sql, text);
}

/* ---- the arena and its agents ---- */

static const char *const format_names[] = {"sides", "seats", "triples"};

/* Stores key = value, or checks that it is what is stored. */
static Status check_meta(sqlite3 *sql, const char *key, const char *value) {
    sqlite3_stmt *s;
    Status st = ST_OK;
    TRY(prepare(sql, "INSERT OR IGNORE INTO meta VALUES(?1, ?2)", &s));
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, value, -1, SQLITE_STATIC);
    if (sqlite3_step(s) != SQLITE_DONE) st = failed(sql, "meta");
    sqlite3_finalize(s);
    if (st != ST_OK) return st;
    TRY(prepare(sql, "SELECT value FROM meta WHERE key = ?1", &s));
    sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
    const char *found =
        sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : "";
    if (strcmp(found, value) != 0) {
        log_error("the arena database is of %s %s, not %s", key, found, value);
        st = ST_MISMATCH;
    }
    sqlite3_finalize(s);
    return st;
}

static Status check_arena(sqlite3 *sql, const ArenaConfig *c) {
    char seed[32];
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)c->seed);
    TRY(check_meta(sql, "version", "1"));
    TRY(check_meta(sql, "rules", ruleset_get(c->rules)->name));
    TRY(check_meta(sql, "format", format_names[c->format]));
    return check_meta(sql, "seed", seed);
}

static Status find_agent(sqlite3 *sql, const Agent *a, int64_t *id) {
    char fingerprint[32] = "";
    sqlite3_stmt *s;
    Status st = ST_OK;
    if (a->fingerprint)
        snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)a->fingerprint);
    TRY(prepare(sql, "INSERT OR IGNORE INTO agent(name, fingerprint) VALUES(?1, ?2)", &s));
    sqlite3_bind_text(s, 1, a->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, fingerprint, -1, SQLITE_STATIC);
    if (sqlite3_step(s) != SQLITE_DONE) st = failed(sql, "agent");
    sqlite3_finalize(s);
    if (st != ST_OK) return st;
    TRY(prepare(sql, "SELECT id, fingerprint FROM agent WHERE name = ?1", &s));
    sqlite3_bind_text(s, 1, a->name, -1, SQLITE_STATIC);
    if (sqlite3_step(s) != SQLITE_ROW) {
        st = failed(sql, "agent");
    } else if (strcmp((const char *)sqlite3_column_text(s, 1), fingerprint) != 0) {
        log_error("%s has other weights than those whose games are in the arena database", a->name);
        st = ST_MISMATCH;
    } else {
        *id = sqlite3_column_int64(s, 0);
    }
    sqlite3_finalize(s);
    return st;
}

/* ---- which games are there ---- */

static uint64_t key_of(int64_t deal, const Lineup *l) {
    uint64_t k = (uint64_t)deal + 1;
    for (int s = 0; s < N_SEATS; s++) k = k << 6 | l->agent[s];
    return k;
}

static uint64_t *place_of(const KeySet *t, uint64_t key) {
    uint64_t i = key * 0x9e3779b97f4a7c15ull >> 20 & t->mask;
    while (t->key[i] != 0 && t->key[i] != key) i = (i + 1) & t->mask;
    return &t->key[i];
}

static Status keyset_grow(KeySet *t) {
    KeySet larger = {.mask = t->mask ? 2 * t->mask + 1 : 4095, .n = t->n};
    larger.key = calloc(larger.mask + 1, sizeof *larger.key);
    if (!larger.key) return ST_NOMEM;
    for (uint64_t i = 0; t->key && i <= t->mask; i++)
        if (t->key[i]) *place_of(&larger, t->key[i]) = t->key[i];
    free(t->key);
    *t = larger;
    return ST_OK;
}

static Status keyset_add(KeySet *t, uint64_t key) {
    if (2 * t->n >= t->mask) TRY(keyset_grow(t));
    uint64_t *p = place_of(t, key);
    t->n += *p == 0;
    *p = key;
    return ST_OK;
}

bool arenadb_has(const ArenaDb *db, int64_t deal, const Lineup *l) {
    return db->there.key && *place_of(&db->there, key_of(deal, l)) != 0;
}

/* ---- reading ---- */

static bool read_row(const ArenaDb *db, sqlite3_stmt *s, ArenaRow *r) {
    memset(r, 0, sizeof *r);
    r->deal = sqlite3_column_int64(s, 0);
    for (int seat = 0; seat < N_SEATS; seat++) {
        int64_t id = sqlite3_column_int64(s, 1 + seat);
        int a = 0;
        while (a < db->n_agents && db->id[a] != id) a++;
        if (a == db->n_agents) return false;
        r->agent[seat] = (uint8_t)a;
        r->score[seat] = (float)sqlite3_column_double(s, 7 + seat);
        if (sqlite3_column_type(s, 10 + seat) != SQLITE_NULL) r->faults |= (uint8_t)(1 << seat);
    }
    bool none = sqlite3_column_type(s, 4) == SQLITE_NULL;
    r->landlord = none ? SEAT_NONE : (uint8_t)sqlite3_column_int(s, 4);
    r->landlord_won = sqlite3_column_int(s, 5) != 0;
    r->void_deal = sqlite3_column_int(s, 6) != 0;
    return r->landlord <= SEAT_NONE;
}

Status arenadb_rows(ArenaDb *db, int64_t deals, ArenaRow **rows, int64_t *n) {
    sqlite3_stmt *s;
    TRY(prepare(db->sql,
                "SELECT deal, seat0, seat1, seat2, landlord, landlord_won, void, score0, score1,"
                " score2, fault0, fault1, fault2 FROM game WHERE deal < ?1 ORDER BY deal",
                &s));
    sqlite3_bind_int64(s, 1, deals);
    int64_t cap = 0, used = 0;
    ArenaRow *list = NULL;
    Status st = ST_OK;
    int rc;
    while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
        if (used == cap) {
            cap = cap ? 2 * cap : 4096;
            ArenaRow *larger = realloc(list, (size_t)cap * sizeof *list);
            if (!larger) st = ST_NOMEM;
            if (!larger) break;
            list = larger;
        }
        used += read_row(db, s, &list[used]);
    }
    if (st == ST_OK && rc != SQLITE_DONE) st = failed(db->sql, "game");
    sqlite3_finalize(s);
    if (st == ST_OK) {
        *rows = list;
        *n = used;
    } else {
        free(list);
    }
    return st;
}

static Status note_games(ArenaDb *db) {
    ArenaRow *rows;
    int64_t n;
    TRY(arenadb_rows(db, INT64_MAX, &rows, &n));
    Status st = ST_OK;
    for (int64_t i = 0; st == ST_OK && i < n; i++) {
        Lineup l;
        memcpy(l.agent, rows[i].agent, sizeof l.agent);
        st = keyset_add(&db->there, key_of(rows[i].deal, &l));
    }
    free(rows);
    return st;
}

/* ---- opening, writing ---- */

static Status set_up(ArenaDb *db, const ArenaConfig *c) {
    sqlite3_busy_timeout(db->sql, 5000);
    TRY(run(db->sql, "PRAGMA journal_mode = WAL"));
    TRY(run(db->sql, "PRAGMA synchronous = NORMAL"));
    TRY(run(db->sql, schema));
    TRY(check_arena(db->sql, c));
    db->n_agents = c->n_agents;
    for (int i = 0; i < c->n_agents; i++) TRY(find_agent(db->sql, &c->agents[i], &db->id[i]));
    TRY(note_games(db));
    return prepare(
        db->sql, "INSERT INTO game VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16)",
        &db->insert);
}

Status arenadb_open(const char *path, const ArenaConfig *c, ArenaDb **out) {
    ArenaDb *db = calloc(1, sizeof *db);
    if (!db) return ST_NOMEM;
    Status st = ST_OK;
    if (sqlite3_open(path, &db->sql) != SQLITE_OK) st = failed(db->sql, path);
    if (st == ST_OK) st = set_up(db, c);
    if (st == ST_OK) *out = db;
    else arenadb_close(db);
    return st;
}

void arenadb_close(ArenaDb *db) {
    if (!db) return;
    sqlite3_finalize(db->insert);
    sqlite3_close(db->sql);
    free(db->there.key);
    free(db);
}

static Status insert(ArenaDb *db, const ArenaGame *g) {
    sqlite3_stmt *s = db->insert;
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    sqlite3_bind_int64(s, 1, g->deal);
    for (int seat = 0; seat < N_SEATS; seat++) {
        sqlite3_bind_int64(s, 2 + seat, db->id[g->lineup.agent[seat]]);
        sqlite3_bind_double(s, 8 + seat, g->score[seat]);
        if (g->verdict[seat] != VERDICT_OK)
            sqlite3_bind_text(s, 11 + seat, verdict_name((Verdict)g->verdict[seat]), -1,
                              SQLITE_STATIC);
    }
    if (g->landlord != SEAT_NONE) sqlite3_bind_int(s, 5, g->landlord);
    sqlite3_bind_int(s, 6, g->landlord_won);
    sqlite3_bind_int(s, 7, g->void_deal);
    sqlite3_bind_int(s, 14, g->n_moves);
    sqlite3_bind_double(s, 15, (double)g->seconds);
    if (g->n_record) sqlite3_bind_blob(s, 16, g->record, g->n_record, SQLITE_STATIC);
    int rc = sqlite3_step(s);
    sqlite3_reset(s);
    if (rc != SQLITE_DONE) return failed(db->sql, "game");
    return keyset_add(&db->there, key_of(g->deal, &g->lineup));
}

Status arenadb_add(ArenaDb *db, const ArenaGame *games, int n) {
    if (n == 0) return ST_OK;
    TRY(run(db->sql, "BEGIN"));
    Status st = ST_OK;
    for (int i = 0; st == ST_OK && i < n; i++) st = insert(db, &games[i]);
    if (st != ST_OK) {
        sqlite3_exec(db->sql, "ROLLBACK", NULL, NULL, NULL);
        return st;
    }
    return run(db->sql, "COMMIT");
}
