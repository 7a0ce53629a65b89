/* store_read.c - a reader's connection and its prepared statements. */
#include "engine/base/log.h"
#include "server/store_impl.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQL_USER, SQL_GAME, SQL_SEATS, SQL_ROOMS, SQL_ROOM_SEATS, SQL_LIVES, SQL_ACTS, N_SQL };

static const char *const texts[N_SQL] = {
    [SQL_USER] = "SELECT name, hash, rating, deviation, volatility, rated_at FROM user "
                 "WHERE id = ?1",
    [SQL_GAME] =
        "SELECT at, rules, how, landlord, plies, rated, record, cards, why FROM game WHERE id = ?1",
    [SQL_SEATS] = "SELECT seat, user, name, bot, role, won, points, bid, bombs, spring FROM seat "
                  "WHERE game = ?1",
    [SQL_ROOMS] =
        "SELECT code, name, mode, rules, time, help, allpass, private, think, wish, host, "
        "last FROM room",
    [SQL_ROOM_SEATS] = "SELECT seat, user FROM room_seat WHERE room = ?1",
    [SQL_LIVES] = "SELECT game, room, rules, first, allpass, chosen, deal, rated, user0, user1, "
                  "user2 FROM live",
    [SQL_ACTS] = "SELECT bid, cards, why FROM act WHERE game = ?1 ORDER BY ply",
};

struct Reader {
    sqlite3 *db;
    sqlite3_stmt *sql[N_SQL];
};

Status reader_open(const char *path, Reader **out) {
    Reader *r = calloc(1, sizeof *r);
    if (!r) return ST_NOMEM;
    Status st = store_connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, &r->db);
    for (int i = 0; i < N_SQL && st == ST_OK; i++)
        if (sqlite3_prepare_v3(r->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &r->sql[i], NULL) !=
            SQLITE_OK)
            st = store_sql_error(r->db, texts[i]);
    if (st != ST_OK) {
        reader_close(r);
        return st;
    }
    *out = r;
    return ST_OK;
}

void reader_close(Reader *r) {
    if (!r) return;
    for (int i = 0; i < N_SQL; i++) sqlite3_finalize(r->sql[i]);
    sqlite3_close(r->db);
    free(r);
}

sqlite3 *reader_db(Reader *r) { return r->db; }

static void copy_text(sqlite3_stmt *q, int column, char *to, size_t cap) {
    const char *text = (const char *)sqlite3_column_text(q, column);
    snprintf(to, cap, "%s", text ? text : "");
}

/* Copies at most cap bytes; the length, or -1 if the blob is longer. */
static int copy_blob(sqlite3_stmt *q, int column, void *to, size_t cap) {
    const void *p = sqlite3_column_blob(q, column);
    int n = sqlite3_column_bytes(q, column);
    if ((size_t)n > cap) return -1;
    if (n) memcpy(to, p, (size_t)n);
    return n;
}

static int int_or(sqlite3_stmt *q, int column, int if_null) {
    if (sqlite3_column_type(q, column) == SQLITE_NULL) return if_null;
    return sqlite3_column_int(q, column);
}

/* Ends a query: its last step's code as a Status, `found` aside. */
static Status ended(Reader *r, sqlite3_stmt *q, int code, bool found) {
    Status st = ST_OK;
    if (code != SQLITE_ROW && code != SQLITE_DONE) st = store_sql_error(r->db, "read");
    else if (!found) st = ST_MISMATCH;
    sqlite3_reset(q);
    return st;
}

Status reader_user(Reader *r, uint64_t id, StoreUser *out) {
    sqlite3_stmt *q = r->sql[SQL_USER];
    store_bind_u64(q, 1, id);
    int code = sqlite3_step(q);
    if (code == SQLITE_ROW) {
        memset(out, 0, sizeof *out);
        out->key.user = id;
        copy_text(q, 0, out->name, sizeof out->name);
        copy_blob(q, 1, out->key.hash, sizeof out->key.hash);
        out->rating = (Rating){sqlite3_column_double(q, 2), sqlite3_column_double(q, 3),
                               sqlite3_column_double(q, 4), sqlite3_column_int64(q, 5)};
    }
    return ended(r, q, code, code == SQLITE_ROW);
}

static void read_seat(sqlite3_stmt *q, StoreGame *g) {
    int seat = sqlite3_column_int(q, 0);
    if (seat < 0 || seat >= N_SEATS) return;
    StoreSeat *e = &g->seat[seat];
    e->user = (uint64_t)sqlite3_column_int64(q, 1);
    copy_text(q, 2, e->name, sizeof e->name);
    e->bot = sqlite3_column_int(q, 3);
    e->role = (uint8_t)sqlite3_column_int(q, 4);
    e->won = sqlite3_column_int(q, 5);
    e->points = sqlite3_column_double(q, 6);
    e->bid = (int8_t)int_or(q, 7, -1);
    e->bombs = (uint8_t)sqlite3_column_int(q, 8);
    e->spring = sqlite3_column_int(q, 9);
}

Status reader_game(Reader *r, uint64_t id, StoreGame *out) {
    sqlite3_stmt *q = r->sql[SQL_GAME];
    store_bind_u64(q, 1, id);
    memset(out, 0, sizeof *out);
    int code = sqlite3_step(q), n_record = -1, n_cards = 0, n_why = 0;
    bool found = code == SQLITE_ROW;
    if (found) {
        out->id = id;
        out->at_ms = sqlite3_column_int64(q, 0);
        out->rules = (uint8_t)sqlite3_column_int(q, 1);
        out->how = (uint8_t)sqlite3_column_int(q, 2);
        out->landlord = (uint8_t)sqlite3_column_int(q, 3);
        out->plies = (uint16_t)sqlite3_column_int(q, 4);
        out->rated = (uint8_t)sqlite3_column_int(q, 5);
        n_record = copy_blob(q, 6, out->record, sizeof out->record);
        n_cards = copy_blob(q, 7, out->cards, sizeof out->cards);
        n_why = copy_blob(q, 8, out->why, sizeof out->why);
    }
    TRY(ended(r, q, code, found));
    if (n_record < 0 || n_cards < 0 || n_why < 0) {
        log_error("database: game %llu is damaged", (unsigned long long)id);
        return ST_CORRUPT;
    }
    out->n_record = (uint16_t)n_record;
    out->n_cards = (uint16_t)n_cards;
    out->n_why = (uint16_t)n_why;
    q = r->sql[SQL_SEATS];
    store_bind_u64(q, 1, id);
    while ((code = sqlite3_step(q)) == SQLITE_ROW) read_seat(q, out);
    return ended(r, q, code, true);
}

static Status read_room_seats(Reader *r, StoreRoom *room) {
    sqlite3_stmt *q = r->sql[SQL_ROOM_SEATS];
    int code;
    sqlite3_bind_text(q, 1, room->code, -1, SQLITE_STATIC);
    while ((code = sqlite3_step(q)) == SQLITE_ROW) {
        int seat = sqlite3_column_int(q, 0);
        if (seat >= 0 && seat < N_SEATS) room->user[seat] = (uint64_t)sqlite3_column_int64(q, 1);
    }
    return ended(r, q, code, true);
}

static Status restore_rooms(Reader *r, const StoreRestore *to) {
    sqlite3_stmt *q = r->sql[SQL_ROOMS];
    int code;
    Status st = ST_OK;
    while (st == ST_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        StoreRoom o = {0};
        uint8_t *values[] = {&o.mode, &o.rules, &o.time, &o.help, &o.allpass, &o.private_};
        copy_text(q, 0, o.code, sizeof o.code);
        copy_text(q, 1, o.name, sizeof o.name);
        for (int i = 0; i < 6; i++) *values[i] = (uint8_t)sqlite3_column_int(q, 2 + i);
        o.think = (uint16_t)sqlite3_column_int(q, 8);
        o.wish = (uint8_t)sqlite3_column_int(q, 9);
        o.host = (int8_t)int_or(q, 10, -1);
        o.last = (uint64_t)sqlite3_column_int64(q, 11);
        st = read_room_seats(r, &o);
        if (st == ST_OK) to->room(to->ctx, &o);
    }
    if (st != ST_OK) {
        sqlite3_reset(q);
        return st;
    }
    return ended(r, q, code, true);
}

static Status read_acts(Reader *r, uint64_t game, StoreAct acts[MAX_ACTS], int *n) {
    sqlite3_stmt *q = r->sql[SQL_ACTS];
    int code;
    store_bind_u64(q, 1, game);
    for (*n = 0; (code = sqlite3_step(q)) == SQLITE_ROW && *n < MAX_ACTS; ++*n) {
        StoreAct *a = &acts[*n];
        memset(a, 0, sizeof *a);
        a->bid = (int8_t)int_or(q, 0, -1);
        int n_cards = copy_blob(q, 1, a->cards, sizeof a->cards);
        a->n_cards = (uint8_t)(n_cards < 0 ? 0 : n_cards);
        a->why = (uint8_t)sqlite3_column_int(q, 2);
    }
    return ended(r, q, code, true);
}

Status reader_restore(Reader *r, const StoreRestore *to) {
    sqlite3_stmt *q = r->sql[SQL_LIVES];
    int code;
    Status st = restore_rooms(r, to);
    while (st == ST_OK && (code = sqlite3_step(q)) == SQLITE_ROW) {
        StoreLive l = {0};
        StoreAct acts[MAX_ACTS];
        int n_acts;
        l.game = (uint64_t)sqlite3_column_int64(q, 0);
        copy_text(q, 1, l.room, sizeof l.room);
        l.rules = (uint8_t)sqlite3_column_int(q, 2);
        l.first = (uint8_t)sqlite3_column_int(q, 3);
        l.allpass = (uint8_t)sqlite3_column_int(q, 4);
        l.chosen = (int8_t)int_or(q, 5, -1);
        bool whole = copy_blob(q, 6, l.deal.owner, N_CARDS) == N_CARDS;
        l.rated = (uint8_t)sqlite3_column_int(q, 7);
        for (int i = 0; i < N_SEATS; i++) l.user[i] = (uint64_t)sqlite3_column_int64(q, 8 + i);
        st = read_acts(r, l.game, acts, &n_acts);
        if (st == ST_OK && whole) to->live(to->ctx, &l, n_acts, acts);
    }
    if (st != ST_OK) {
        sqlite3_reset(q);
        return st;
    }
    return ended(r, q, code, true);
}
