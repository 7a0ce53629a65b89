/* lobby.c - beginnings and endings: hello, lost lines, answers of bots, restart. */
#include "server/lobby.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "server/names.h"
#include "server/review.h"
#include "server/room.h"
#include "server/view.h"
#include <stdlib.h>
#include <string.h>

enum { LIST_EVERY_MS = 1000, LIST_MAX = 50 };

LobbyConfig lobby_defaults(void) {
    return (LobbyConfig){.max_sessions = 20000,
                         .max_rooms = 10000,
                         .think_ms = 800,
                         .away_ms = AWAY_MS,
                         .auto_review = true};
}

static int64_t wall_ms(void) { return (int64_t)(clock_wall_s() * 1000); }

/* ---- the list of rooms ---- */

static void write_room(JsonOut *o, const Room *r) {
    int people = 0, bots = 0;
    for (int s = 0; s < N_SEATS; s++) {
        people += r->seat[s].kind == SEAT_HUMAN;
        bots += r->seat[s].kind == SEAT_BOT;
    }
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "room", r->code);
    jsonout_str(o, "name", r->name);
    jsonout_int(o, "people", people);
    jsonout_int(o, "bots", bots);
    jsonout_int(o, "watchers", r->n_people - people);
    jsonout_str(o, "state", r->state == ROOM_PLAY ? "play" : "wait");
    jsonout_close(o, '}');
}

static Msg *list_message(const Lobby *l) {
    JsonOut o;
    int n = 0;
    msg_begin(&o, "lobby");
    jsonout_open(&o, "rooms", '[');
    for (size_t i = 0; i < l->n_buckets && n < LIST_MAX; i++)
        for (const Room *r = l->rooms[i]; r && n < LIST_MAX; r = r->hash_next)
            if (!r->private_) write_room(&o, r), n++;
    jsonout_close(&o, ']');
    jsonout_int(&o, "online", l->n_connected);
    return msg_end(&o);
}

static void list_time(void *owner) {
    Lobby *l = owner;
    if (!l->list_changed) return;
    l->list_changed = false;
    Msg *m = list_message(l);
    for (size_t i = 0; i < l->n_buckets; i++)
        for (Session *s = l->sessions[i]; s; s = s->hash_next)
            if (s->wants_lobby && s->conn) session_send(s, msg_ref(m));
    msg_unref(m);
    timers_set(&l->timers, &l->list_timer, l->now_us + LIST_EVERY_MS * 1000, list_time, l);
}

void lobby_list_changed(Lobby *l) {
    l->list_changed = true;
    if (l->list_timer.place == 0) timers_set(&l->timers, &l->list_timer, l->now_us, list_time, l);
}

void lobby_send_list(Session *s) { session_send(s, list_message(s->lobby)); }

/* ---- hello ---- */

/* The user of a token: in memory, or in the database. False: nobody's token. */
static Session *find_session(Lobby *l, const char *token) {
    TokenKey key;
    StoreUser u;
    if (!auth_token_key(token, &key)) return NULL;
    Session *s = session_by_user(l, key.user);
    if (s) return auth_hash_equal(s->key.hash, key.hash) ? s : NULL;
    if (reader_user(l->reader, key.user, &u) != ST_OK || !auth_hash_equal(u.key.hash, key.hash))
        return NULL;
    return session_new(l, &u, true);
}

uint64_t lobby_user_of_token(Lobby *l, const char *token) {
    Session *s = find_session(l, token);
    if (!s) return 0;
    uint64_t user = s->user;
    session_release(s); // found in the database alone
    return user;
}

static Session *new_guest(Lobby *l, int lang, char token[TOKEN_CHARS + 1]) {
    StoreUser u = {.rating = rating_new()}, other;
    do auth_token_new(token, &u.key);
    while (session_by_user(l, u.key.user) || reader_user(l->reader, u.key.user, &other) == ST_OK);
    name_guest((Lang)(lang == LANG_EN ? LANG_EN : LANG_ZH), u.name);
    return session_new(l, &u, false);
}

static void send_welcome(Session *s, const char *token, const Room *room, bool resumed) {
    JsonOut o;
    char net[96];
    bots_net_name(s->lobby->bots, net);
    msg_begin(&o, "welcome");
    jsonout_str(&o, "ver", PROTOCOL_VERSION);
    jsonout_str(&o, "token", token);
    jsonout_str(&o, "name", s->name);
    jsonout_int(&o, "now", s->lobby->wall_ms());
    jsonout_bool(&o, "resumed", resumed);
    jsonout_str(&o, "room", room ? room->code : NULL);
    jsonout_str(&o, "net", net);
    jsonout_int(&o, "last_id", s->last_id);
    session_send(s, msg_end(&o));
}

static void send_missed(Session *s, uint32_t seen) {
    const Out *out = &s->lobby->out;
    for (uint32_t seq = seen + 1; seq <= s->seq; seq++)
        out->send(out->ctx, s->conn, s->ring[seq % RING_EVENTS], seq, s->hold);
}

static void connect_session(Session *s, void *conn) {
    Lobby *l = s->lobby;
    if (s->conn && s->conn != conn) l->out.bye(l->out.ctx, s->conn, "moved");
    if (!s->conn) l->n_connected++;
    s->conn = conn;
    s->wants_lobby = false;
}

static int free_seat(const Room *r) {
    for (int s = 0; s < N_SEATS && r->state != ROOM_PLAY; s++)
        if (r->seat[s].kind == SEAT_EMPTY) return s;
    return -1;
}

Session *lobby_hello(Lobby *l, void *conn, const ClientMessage *c) {
    char fresh[TOKEN_CHARS + 1];
    const char *token = c->token;
    if (strncmp(c->ver, "1.", 2) != 0 && strcmp(c->ver, "1") != 0) {
        l->out.bye(l->out.ctx, conn, "version");
        return NULL;
    }
    Session *s = *token ? find_session(l, token) : NULL;
    if (!s && l->n_sessions >= l->config.max_sessions) {
        l->out.bye(l->out.ctx, conn, "full");
        return NULL;
    }
    if (!s) {
        s = new_guest(l, c->lang, fresh);
        token = fresh;
    }
    if (c->lang >= 0) s->lang = (uint8_t)c->lang;
    connect_session(s, conn);
    Room *wanted = *c->room ? lobby_room(l, c->room) : s->room, *old = s->room;
    bool gone = *c->room && !wanted;
    if (gone) wanted = s->room;
    bool resumed =
        wanted && wanted == old && c->seq >= 0 && c->seq <= s->seq && c->seq + 1 >= s->ring_from;
    send_welcome(s, token, wanted, resumed);
    if (gone) session_error(s, -1, "gone");
    if (!wanted) return s;
    if (wanted != old) {
        room_enter(wanted, s, free_seat(wanted));
        return s;
    }
    room_tell_one(wanted, s);
    if (resumed) send_missed(s, (uint32_t)c->seq);
    else if (wanted->table) play_snapshot(wanted, s, "join");
    room_line_back(wanted, s);
    return s;
}

void lobby_gone(Session *s) {
    s->conn = NULL;
    s->lobby->n_connected--;
    if (s->room) room_line_lost(s->room, s);
    session_release(s);
}

void lobby_resync(Session *s) {
    if (!s->room) return;
    room_tell_one(s->room, s);
    if (s->room->table) play_snapshot(s->room, s, "resync");
}

/* ---- answers of the bots ---- */

static void advice_back(Lobby *l, const Job *j) {
    Session *s = session_by_user(l, j->user);
    if (!s) return;
    s->asking--;
    Room *r = s->room;
    if (!r || r != j->owner || r->stamp != j->stamp) {
        session_error(s, j->id, "stale");
        return;
    }
    Msg *m = view_advice(r->table, j->id, &j->advice, (int)((clock_s() - j->asked_s) * 1000));
    session_answer(s, j->id, m, 0);
    session_send(s, m);
}

static void review_back(Lobby *l, const Job *j) {
    if (j->user) {
        Session *s = session_by_user(l, j->user);
        if (!s) return;
        s->asking--;
        review_send(s, j);
        return;
    }
    for (int s = 0; s < N_SEATS; s++)
        if (j->loss[s] >= 0) // not NaN
            store_put_review(l->store, j->table->setup.number, s, j->loss[s], j->agree[s]);
}

void lobby_jobs(Lobby *l) {
    for (Job *j = bots_take(l->bots), *next; j; j = next) {
        next = j->next;
        switch (j->kind) {
        case JOB_MOVE:
        case JOB_BID: play_job(j->owner, j); break;
        case JOB_ADVISE: advice_back(l, j); break;
        case JOB_REVIEW: review_back(l, j); break;
        }
        job_free(j);
    }
}

void lobby_tick(Lobby *l) { timers_run(&l->timers, l->now_us); }

/* ---- restart ---- */

static Session *restore_person(Lobby *l, uint64_t user) {
    StoreUser u;
    Session *s = session_by_user(l, user);
    if (s) return s->room ? NULL : s;
    if (reader_user(l->reader, user, &u) != ST_OK) return NULL;
    return session_new(l, &u, true);
}

static void restore_room(void *ctx, const StoreRoom *o) {
    Lobby *l = ctx;
    Room *r = room_new(l, (RoomMode)o->mode);
    memcpy(r->code, o->code, sizeof r->code);
    memcpy(r->name, o->name, sizeof r->name);
    r->rules = o->rules;
    r->time_s = o->time;
    r->help = o->help;
    r->allpass = o->allpass;
    r->private_ = o->private_;
    r->wish = o->wish;
    r->think_ms = o->think;
    r->state = o->mode == MODE_ROOM ? ROOM_WAIT : ROOM_OVER;
    for (int seat = 0; seat < N_SEATS; seat++) {
        if (user_is_bot(o->user[seat])) {
            room_seat_bot(r, seat, (int)o->user[seat] - 1);
        } else if (o->user[seat]) {
            Session *s = restore_person(l, o->user[seat]);
            if (s) room_restore_person(r, s, seat);
            else if (r->mode != MODE_ROOM) room_seat_bot(r, seat, STRENGTH_BEST);
        }
    }
    StoreGame last;
    if (o->last && reader_game(l->reader, o->last, &last) == ST_OK) play_restore_ended(r, &last);
    r->host = o->host >= 0 && r->seat[o->host].kind == SEAT_HUMAN ? o->host : -1;
    room_tell(r);
}

static void restore_live(void *ctx, const StoreLive *live, int n_acts, const StoreAct *acts) {
    Room *r = lobby_room(ctx, live->room);
    bool full = r != NULL;
    for (int s = 0; s < N_SEATS && full; s++) full = r->seat[s].kind != SEAT_EMPTY;
    if (full) play_restore(r, live, n_acts, acts);
}

/* Rooms that hold nobody and no game are not worth keeping. */
static void close_empty(Lobby *l) {
    for (size_t i = 0; i < l->n_buckets; i++)
        for (Room *r = l->rooms[i], *next; r; r = next) {
            next = r->hash_next;
            room_close_if_empty(r);
        }
}

static void load_bot_ratings(Lobby *l) {
    for (int s = 0; s < N_STRENGTHS; s++) {
        StoreUser u;
        l->bot_rating[s] = rating_new();
        if (reader_user(l->reader, bot_user(s), &u) == ST_OK) l->bot_rating[s] = u.rating;
    }
}

Status lobby_new(const LobbyConfig *c, Store *store, Reader *reader, Bots *bots, const Out *out,
                 int64_t now_us, Lobby **result) {
    Lobby *l = calloc(1, sizeof *l);
    if (!l) return ST_NOMEM;
    l->config = *c;
    l->store = store;
    l->reader = reader;
    l->bots = bots;
    l->out = *out;
    l->now_us = now_us;
    l->wall_ms = wall_ms;
    l->deal = auth_deal;
    l->below = auth_below;
    timers_init(&l->timers);
    for (l->n_buckets = 1024; l->n_buckets < (size_t)c->max_sessions;) l->n_buckets *= 2;
    l->sessions = calloc(l->n_buckets, sizeof *l->sessions);
    l->rooms = calloc(l->n_buckets, sizeof *l->rooms);
    if (!l->sessions || !l->rooms) {
        lobby_free(l);
        return ST_NOMEM;
    }
    load_bot_ratings(l);
    StoreRestore restore = {restore_room, restore_live, l};
    Status st = reader_restore(reader, &restore);
    if (st != ST_OK) {
        lobby_free(l);
        return st;
    }
    close_empty(l);
    if (l->n_rooms) log_info("restored %d rooms, %d games in progress", l->n_rooms, l->n_playing);
    *result = l;
    return ST_OK;
}

void lobby_free(Lobby *l) {
    if (!l) return;
    for (size_t i = 0; l->rooms && i < l->n_buckets; i++)
        while (l->rooms[i]) room_forget(l->rooms[i]);
    for (Room *r = l->closing, *next; r; r = next) {
        next = r->hash_next;
        room_free(r);
    }
    for (size_t i = 0; l->sessions && i < l->n_buckets; i++)
        while (l->sessions[i]) {
            Session *s = l->sessions[i];
            s->conn = NULL;
            s->holds = 0;
            session_release(s);
        }
    timers_deinit(&l->timers);
    free(l->sessions);
    free(l->rooms);
    free(l);
}
