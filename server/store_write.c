/* store_write.c - each write as prepared SQL, on the writer thread. */
#include "server/store_impl.h"
#include <string.h>

enum {
    SQL_USER,
    SQL_ROOM,
    SQL_ROOM_SEATS_DROP,
    SQL_ROOM_SEAT,
    SQL_ROOM_DROP,
    SQL_LIVE_DROP_ROOM,
    SQL_LIVE,
    SQL_LIVE_DROP,
    SQL_ACT,
    SQL_ACT_CUT,
    SQL_RATED,
    SQL_GAME,
    SQL_ROOM_LAST,
    SQL_SEAT,
    SQL_RATING,
    SQL_REVIEW,
    N_SQL
};

static const char *const texts[N_SQL] = {
    [SQL_USER] = "INSERT INTO user (id, name, hash, created) VALUES (?1, ?2, ?3, "
                 "CAST(strftime('%s', 'now') AS INTEGER) * 1000) ON CONFLICT (id) DO UPDATE SET "
                 "name = ?2",
    [SQL_ROOM] =
        "INSERT INTO room (code, name, mode, rules, time, help, allpass, private, think, wish, "
        "host)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (code) DO UPDATE SET "
        "name = ?2, mode = ?3, rules = ?4, time = ?5, help = ?6, allpass = ?7, private = ?8, "
        "think = ?9, wish = ?10, host = ?11",
    [SQL_ROOM_SEATS_DROP] = "DELETE FROM room_seat WHERE room = ?1",
    [SQL_ROOM_SEAT] = "INSERT INTO room_seat (room, seat, user) VALUES (?1, ?2, ?3)",
    [SQL_ROOM_DROP] = "DELETE FROM room WHERE code = ?1",
    [SQL_LIVE_DROP_ROOM] = "DELETE FROM live WHERE room = ?1",
    [SQL_LIVE] = "INSERT INTO live (game, room, rules, first, allpass, chosen, deal, rated, user0, "
                 "user1, user2) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    [SQL_LIVE_DROP] = "DELETE FROM live WHERE game = ?1",
    [SQL_ACT] = "INSERT INTO act (game, ply, bid, cards, why) VALUES (?1, ?2, ?3, ?4, ?5)",
    [SQL_ACT_CUT] = "DELETE FROM act WHERE game = ?1 AND ply >= ?2",
    [SQL_RATED] = "UPDATE live SET rated = ?2 WHERE game = ?1",
    [SQL_GAME] = "INSERT INTO game (id, at, rules, how, landlord, plies, rated, record, cards, why)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    [SQL_ROOM_LAST] =
        "UPDATE room SET last = ?1 WHERE code = (SELECT room FROM live WHERE game = ?1)",
    [SQL_SEAT] = "INSERT INTO seat (game, seat, user, name, bot, at, rated, role, won, points, bid,"
                 " bombs, spring) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    [SQL_RATING] = "UPDATE user SET rating = ?2, deviation = ?3, volatility = ?4, rated_at = ?5 "
                   "WHERE id = ?1",
    [SQL_REVIEW] = "UPDATE seat SET loss = ?3, agree = ?4 WHERE game = ?1 AND seat = ?2",
};

Status store_write_prepare(Store *s) {
    _Static_assert((int)N_SQL <= (int)N_WRITE_SQL, "room for the statements");
    for (int i = 0; i < N_SQL; i++)
        if (sqlite3_prepare_v3(s->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &s->sql[i], NULL) !=
            SQLITE_OK)
            return store_sql_error(s->db, texts[i]);
    return ST_OK;
}

int store_step(sqlite3_stmt *q) {
    int code = sqlite3_step(q);
    sqlite3_reset(q);
    return code;
}

void store_bind_u64(sqlite3_stmt *q, int i, uint64_t v) {
    sqlite3_bind_int64(q, i, (sqlite3_int64)v);
}

static void bind_text(sqlite3_stmt *q, int i, const char *text) {
    sqlite3_bind_text(q, i, text, -1, SQLITE_STATIC);
}

static void bind_maybe(sqlite3_stmt *q, int i, int v) { // -1: NULL
    if (v < 0) sqlite3_bind_null(q, i);
    else sqlite3_bind_int(q, i, v);
}

static int put_user(Store *s, const StoreUser *u) {
    sqlite3_stmt *q = s->sql[SQL_USER];
    store_bind_u64(q, 1, u->key.user);
    bind_text(q, 2, u->name);
    sqlite3_bind_blob(q, 3, u->key.hash, AUTH_HASH_BYTES, SQLITE_STATIC);
    return store_step(q);
}

static int put_room(Store *s, const StoreRoom *r) {
    sqlite3_stmt *q = s->sql[SQL_ROOM];
    const int values[] = {r->mode,    r->rules,    r->time,  r->help,
                          r->allpass, r->private_, r->think, r->wish};
    bind_text(q, 1, r->code);
    bind_text(q, 2, r->name);
    for (int i = 0; i < 8; i++) sqlite3_bind_int(q, 3 + i, values[i]);
    bind_maybe(q, 11, r->host);
    int code = store_step(q);
    if (code != SQLITE_DONE) return code;
    bind_text(s->sql[SQL_ROOM_SEATS_DROP], 1, r->code);
    code = store_step(s->sql[SQL_ROOM_SEATS_DROP]);
    for (int seat = 0; seat < N_SEATS && code == SQLITE_DONE; seat++) {
        if (!r->user[seat]) continue;
        q = s->sql[SQL_ROOM_SEAT];
        bind_text(q, 1, r->code);
        sqlite3_bind_int(q, 2, seat);
        store_bind_u64(q, 3, r->user[seat]);
        code = store_step(q);
    }
    return code;
}

static int drop_room(Store *s, const char *room) {
    bind_text(s->sql[SQL_ROOM_DROP], 1, room);
    return store_step(s->sql[SQL_ROOM_DROP]);
}

static int put_live(Store *s, const StoreLive *l) {
    bind_text(s->sql[SQL_LIVE_DROP_ROOM], 1, l->room);
    int code = store_step(s->sql[SQL_LIVE_DROP_ROOM]);
    if (code != SQLITE_DONE) return code;
    sqlite3_stmt *q = s->sql[SQL_LIVE];
    store_bind_u64(q, 1, l->game);
    bind_text(q, 2, l->room);
    sqlite3_bind_int(q, 3, l->rules);
    sqlite3_bind_int(q, 4, l->first);
    sqlite3_bind_int(q, 5, l->allpass);
    bind_maybe(q, 6, l->chosen);
    sqlite3_bind_blob(q, 7, l->deal.owner, N_CARDS, SQLITE_STATIC);
    sqlite3_bind_int(q, 8, l->rated);
    for (int i = 0; i < N_SEATS; i++) store_bind_u64(q, 9 + i, l->user[i]);
    return store_step(q);
}

static int put_act(Store *s, uint64_t game, int ply, const StoreAct *a) {
    sqlite3_stmt *q = s->sql[SQL_ACT];
    store_bind_u64(q, 1, game);
    sqlite3_bind_int(q, 2, ply);
    bind_maybe(q, 3, a->bid);
    if (a->bid >= 0) sqlite3_bind_null(q, 4);
    else sqlite3_bind_blob(q, 4, a->cards, a->n_cards, SQLITE_STATIC);
    sqlite3_bind_int(q, 5, a->why);
    return store_step(q);
}

/* A statement over a game's number and at most one small integer. */
static int by_game(Store *s, int sql, uint64_t game, int n) {
    sqlite3_stmt *q = s->sql[sql];
    store_bind_u64(q, 1, game);
    if (sqlite3_bind_parameter_count(q) > 1) sqlite3_bind_int(q, 2, n);
    return store_step(q);
}

static int put_seat(Store *s, const StoreGame *g, int seat) {
    const StoreSeat *e = &g->seat[seat];
    sqlite3_stmt *q = s->sql[SQL_SEAT];
    store_bind_u64(q, 1, g->id);
    sqlite3_bind_int(q, 2, seat);
    if (e->user) store_bind_u64(q, 3, e->user);
    else sqlite3_bind_null(q, 3);
    bind_text(q, 4, e->name);
    sqlite3_bind_int(q, 5, e->bot);
    sqlite3_bind_int64(q, 6, g->at_ms);
    sqlite3_bind_int(q, 7, g->rated);
    sqlite3_bind_int(q, 8, e->role);
    sqlite3_bind_int(q, 9, e->won);
    sqlite3_bind_double(q, 10, e->points);
    bind_maybe(q, 11, e->bid);
    sqlite3_bind_int(q, 12, e->bombs);
    sqlite3_bind_int(q, 13, e->spring);
    int code = store_step(q);
    if (code != SQLITE_DONE || !e->rate) return code;
    q = s->sql[SQL_RATING];
    store_bind_u64(q, 1, e->user);
    sqlite3_bind_double(q, 2, e->rating.rating);
    sqlite3_bind_double(q, 3, e->rating.deviation);
    sqlite3_bind_double(q, 4, e->rating.volatility);
    sqlite3_bind_int64(q, 5, e->rating.at_ms);
    return store_step(q);
}

static int put_game(Store *s, const StoreGame *g) {
    sqlite3_stmt *q = s->sql[SQL_GAME];
    store_bind_u64(q, 1, g->id);
    sqlite3_bind_int64(q, 2, g->at_ms);
    sqlite3_bind_int(q, 3, g->rules);
    sqlite3_bind_int(q, 4, g->how);
    sqlite3_bind_int(q, 5, g->landlord);
    sqlite3_bind_int(q, 6, g->plies);
    sqlite3_bind_int(q, 7, g->rated);
    sqlite3_bind_blob(q, 8, g->record, g->n_record, SQLITE_STATIC);
    sqlite3_bind_null(q, 9);
    sqlite3_bind_null(q, 10);
    if (g->n_cards) sqlite3_bind_blob(q, 9, g->cards, g->n_cards, SQLITE_STATIC);
    if (g->n_why) sqlite3_bind_blob(q, 10, g->why, g->n_why, SQLITE_STATIC);
    int code = store_step(q);
    for (int seat = 0; seat < N_SEATS && code == SQLITE_DONE; seat++) code = put_seat(s, g, seat);
    if (code == SQLITE_DONE) code = by_game(s, SQL_ROOM_LAST, g->id, 0);
    return code == SQLITE_DONE ? by_game(s, SQL_LIVE_DROP, g->id, 0) : code;
}

static int put_review(Store *s, uint64_t game, int seat, double loss, double agree) {
    sqlite3_stmt *q = s->sql[SQL_REVIEW];
    store_bind_u64(q, 1, game);
    sqlite3_bind_int(q, 2, seat);
    sqlite3_bind_double(q, 3, loss);
    sqlite3_bind_double(q, 4, agree);
    return store_step(q);
}

int store_write_one(Store *s, const Write *w) {
    switch (w->kind) {
    case WRITE_USER: return put_user(s, &w->u.user);
    case WRITE_ROOM: return put_room(s, &w->u.room);
    case WRITE_DROP_ROOM: return drop_room(s, w->u.code);
    case WRITE_LIVE: return put_live(s, &w->u.live);
    case WRITE_DROP_LIVE: return by_game(s, SQL_LIVE_DROP, w->u.other.game, 0);
    case WRITE_ACT: return put_act(s, w->u.act.game, w->u.act.ply, &w->u.act.act);
    case WRITE_CUT_ACTS: return by_game(s, SQL_ACT_CUT, w->u.other.game, w->u.other.n);
    case WRITE_RATED: return by_game(s, SQL_RATED, w->u.other.game, w->u.other.n);
    case WRITE_GAME: return put_game(s, w->u.game);
    case WRITE_REVIEW:
        return put_review(s, w->u.other.game, w->u.other.n, w->u.other.loss, w->u.other.agree);
    }
    return SQLITE_MISUSE;
}
