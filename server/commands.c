/* commands.c - what each message of a client does: a table of handlers.
 *
 * A handler returns NULL when it has answered (or an answer will come), `done` to have `ok` sent,
 * or one of the protocol's error codes. It checks before it changes anything.               */
#include "server/room.h"
#include "server/view.h"
#include <stdlib.h>
#include <string.h>

static const char done[] = "ok";

static const float rooms_burst = 10, rooms_per_s = 5 / 60.0f;
static const float phrases_burst = 3, phrases_per_s = 0.5f;
enum { ASKING_MAX = 4 };

typedef const char *(*Handler)(Session *s, const ClientMessage *c);

/* ---- oneself ---- */

static const char *do_ping(Session *s, const ClientMessage *c) {
    JsonOut o;
    msg_begin(&o, "pong");
    jsonout_int(&o, "c", c->c);
    jsonout_int(&o, "now", s->lobby->wall_ms());
    session_send(s, msg_end(&o));
    return NULL;
}

static const char *do_rename(Session *s, const ClientMessage *c) {
    memcpy(s->name, c->name, sizeof s->name);
    session_save(s);
    if (s->room) room_tell(s->room);
    return done;
}

static const char *do_lobby(Session *s, const ClientMessage *c) {
    s->wants_lobby = c->on;
    session_ok(s, c->id);
    if (c->on) lobby_send_list(s);
    return NULL;
}

/* ---- entering rooms ---- */

static const char *may_open_room(Session *s) {
    Lobby *l = s->lobby;
    if (l->n_rooms >= l->config.max_rooms || store_full(l->store)) return "full";
    if (!bucket_take(&s->rooms, l->now_us, rooms_burst, rooms_per_s)) return "rate";
    return NULL;
}

static void set_think(Room *r, int think_ms) {
    if (think_ms >= 0) r->think_ms = think_ms;
}

/* Where without bidding seat 0 is the landlord, the seat follows from the wish. */
static int quick_seat(Lobby *l, int rules, int wish) {
    if (ruleset_get((RulesetId)rules)->bidding || wish == WISH_BID) return (int)l->below(N_SEATS);
    return wish == WISH_LANDLORD ? 0 : 1 + (int)l->below(2);
}

static const char *do_quick(Session *s, const ClientMessage *c) {
    const char *code = may_open_room(s);
    if (code) return code;
    Room *r = room_new(s->lobby, MODE_QUICK);
    memcpy(r->name, s->name, sizeof r->name);
    r->rules = (uint8_t)c->rules;
    r->wish = (uint8_t)c->role;
    r->time_s = c->time;
    r->help = c->help;
    r->private_ = true;
    set_think(r, c->think);
    int seat = quick_seat(s->lobby, c->rules, c->role);
    for (int i = 0; i < N_SEATS; i++) room_seat_bot(r, i, c->strength);
    session_ok_room(s, c->id, r, seat);
    room_enter(r, s, seat);
    play_start(r);
    return NULL;
}

static const char *do_room_new(Session *s, const ClientMessage *c) {
    const char *code = may_open_room(s);
    if (code) return code;
    Room *r = room_new(s->lobby, MODE_ROOM);
    memcpy(r->name, *c->name ? c->name : s->name, sizeof r->name);
    r->rules = (uint8_t)c->rules;
    r->time_s = c->time;
    r->help = c->help;
    r->allpass = (uint8_t)c->allpass;
    r->private_ = c->private_;
    set_think(r, c->think);
    session_ok_room(s, c->id, r, 0);
    room_enter(r, s, 0);
    return NULL;
}

static const char *do_room_join(Session *s, const ClientMessage *c) {
    Room *r = lobby_room(s->lobby, c->room);
    if (!r) return "gone";
    int seat = s->seat;
    if (s->room != r) {
        seat = -1;
        for (int i = N_SEATS - 1; i >= 0 && r->state != ROOM_PLAY; i--)
            if (r->seat[i].kind == SEAT_EMPTY) seat = i;
    }
    session_ok_room(s, c->id, r, seat);
    if (s->room != r) room_enter(r, s, seat);
    return NULL;
}

static Room *room_of_bots(Session *s, const char **code) {
    Lobby *l = s->lobby;
    for (size_t i = 0; i < l->n_buckets; i++)
        for (Room *r = l->rooms[i]; r; r = r->hash_next)
            if (r->mode == MODE_BOTS) return r;
    *code = may_open_room(s);
    if (*code) return NULL;
    Room *r = room_new(l, MODE_BOTS);
    for (int i = 0; i < N_SEATS; i++) room_seat_bot(r, i, STRENGTH_BEST);
    if (r->think_ms > 0 && r->think_ms < 1200) r->think_ms = 1200; // to be followed by eye
    return r;
}

static const char *do_watch(Session *s, const ClientMessage *c) {
    const char *code = "gone";
    Room *r = *c->room ? lobby_room(s->lobby, c->room) : room_of_bots(s, &code);
    if (!r) return code;
    session_ok_room(s, c->id, r, s->room == r ? s->seat : -1);
    if (s->room != r) room_enter(r, s, -1);
    if (r->mode == MODE_BOTS && r->state == ROOM_WAIT) play_start(r);
    return NULL;
}

static const char *do_room_leave(Session *s, const ClientMessage *c) {
    (void)c;
    if (s->room) room_leave(s);
    return done;
}

/* A finished game as a table again. */
static const char *finished_table(Lobby *l, const char *text, Table *t) {
    StoreGame g;
    uint64_t number = auth_game_parse(text);
    if (number == 0 || reader_game(l->reader, number, &g) != ST_OK) return "gone";
    return table_from_game(&g, t) == ST_OK ? NULL : "server";
}

static const char *do_resume_at(Session *s, const ClientMessage *c) {
    Table t;
    const char *code = finished_table(s->lobby, c->game, &t);
    if (code) return code;
    if (c->ply >= table_ply(&t)) return "bad_state";
    code = may_open_room(s);
    if (code) return code;
    table_cut(&t, (int)c->ply);
    t.setup.number = auth_game_number();
    auth_game_text(t.setup.number, t.id);
    Room *r = room_new(s->lobby, MODE_RESUME);
    memcpy(r->name, s->name, sizeof r->name);
    r->rules = t.setup.rules;
    r->help = true;
    r->private_ = true;
    for (int i = 0; i < N_SEATS; i++) room_seat_bot(r, i, c->strength);
    session_ok_room(s, c->id, r, c->seat);
    room_enter(r, s, c->seat);
    play_start_from(r, &t);
    return NULL;
}

/* ---- a room before its game ---- */

static const char *host_only(const Session *s) {
    if (!s->room || s->room->mode != MODE_ROOM) return "bad_state";
    if (s->seat < 0 || s->room->host != s->seat) return "not_host";
    return s->room->state == ROOM_PLAY ? "bad_state" : NULL;
}

static const char *do_room_set(Session *s, const ClientMessage *c) {
    const char *code = host_only(s);
    if (code) return code;
    Room *r = s->room;
    if (c->rules >= 0) r->rules = (uint8_t)c->rules;
    if (c->time >= 0) r->time_s = c->time;
    if (c->help >= 0) r->help = c->help;
    if (c->allpass >= 0) r->allpass = (uint8_t)c->allpass;
    if (c->private_ >= 0) r->private_ = c->private_;
    set_think(r, c->think);
    for (int i = 0; i < N_SEATS; i++)
        if (r->seat[i].kind == SEAT_HUMAN && i != r->host) r->seat[i].ready = false;
    lobby_list_changed(s->lobby);
    room_tell(r);
    return done;
}

static const char *do_sit(Session *s, const ClientMessage *c) {
    Room *r = s->room;
    if (!r || r->mode == MODE_BOTS) return "bad_state";
    Seat *e = &r->seat[c->seat];
    if (s->seat == c->seat) return done;
    if (e->kind == SEAT_HUMAN || e->next) return "full";
    if (r->state != ROOM_PLAY) {
        room_sit(r, c->seat, s);
        room_tell(r);
        return done;
    }
    if (s->seat >= 0) return "bad_state";
    for (int i = 0; i < N_SEATS; i++)
        if (r->seat[i].next == s) r->seat[i].next = NULL;
    e->next = s; // from the next deal on
    return done;
}

static const char *do_bot(Session *s, const ClientMessage *c) {
    const char *code = host_only(s);
    if (code) return code;
    if (s->room->seat[c->seat].kind == SEAT_HUMAN) return "full";
    room_seat_bot(s->room, c->seat, c->strength);
    room_tell(s->room);
    return done;
}

static const char *do_remove(Session *s, const ClientMessage *c) {
    const char *code = host_only(s);
    if (code) return code;
    Seat *e = &s->room->seat[c->seat];
    if (e->who == s) return "bad_state";
    if (e->kind == SEAT_HUMAN) {
        Session *who = e->who;
        who->seat = -1;
        room_seat_empty(s->room, c->seat);
        if (!who->conn) {
            room_leave(who);
            session_release(who);
        }
    } else {
        room_seat_empty(s->room, c->seat);
    }
    room_tell(s->room);
    return done;
}

static const char *do_swap(Session *s, const ClientMessage *c) {
    const char *code = host_only(s);
    if (code) return code;
    Room *r = s->room;
    Seat *a = &r->seat[c->a], *b = &r->seat[c->b], old;
    if (a->is_away || b->is_away) return "bad_state"; // their timers stay where they are
    old = *a;
    *a = *b;
    *b = old;
    if (a->who) a->who->seat = (int8_t)c->a;
    if (b->who) b->who->seat = (int8_t)c->b;
    r->host = s->seat;
    room_tell(r);
    return done;
}

static const char *do_ready(Session *s, const ClientMessage *c) {
    if (!s->room || s->seat < 0 || s->room->state == ROOM_PLAY) return "bad_state";
    s->room->seat[s->seat].ready = c->on;
    room_tell(s->room);
    return done;
}

static const char *do_start(Session *s, const ClientMessage *c) {
    const char *code = host_only(s);
    if (code) return code;
    Room *r = s->room;
    for (int i = 0; i < N_SEATS; i++) {
        const Seat *e = &r->seat[i];
        if (e->kind == SEAT_EMPTY) return "bad_state";
        if (e->kind == SEAT_HUMAN && !e->ready && i != r->host) return "bad_state";
    }
    if (store_full(s->lobby->store)) return "busy";
    session_ok(s, c->id);
    play_start(r);
    return NULL;
}

/* ---- the game ---- */

/* Has the session a seat in a game that is on, where `ply` is now? */
static const char *at_table(const Session *s, int64_t ply) {
    if (!s->room || s->seat < 0 || s->room->state != ROOM_PLAY) return "bad_state";
    if (store_full(s->lobby->store)) return "busy";
    if (ply >= 0 && ply != table_ply(s->room->table)) return "stale";
    return NULL;
}

static const char *do_bid(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, c->ply);
    return code ? code : play_bid(s->room, s->seat, c->points, WHY_PLAYER, c->id);
}

static const char *do_play(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, c->ply);
    return code ? code : play_cards(s->room, s->seat, c->cards, c->n_cards, WHY_PLAYER, c->id);
}

static const char *do_host(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, -1);
    if (code) return code;
    session_ok(s, c->id);
    play_host(s->room, s->seat, c->on);
    return NULL;
}

static const char *do_open(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, -1);
    if (code) return code;
    if (room_alone(s->room) != s) return "no_help";
    session_ok(s, c->id);
    play_open(s->room, s, c->on);
    return NULL;
}

static const char *do_undo(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, c->ply);
    if (code) return code;
    Room *r = s->room;
    if (room_alone(r) != s) return "no_help";
    int ply = table_ply(r->table) - 1;
    while (ply >= 0 && table_seat_at(r->table, ply) != s->seat) ply--;
    if (ply < 0) return "bad_state";
    session_ok(s, c->id);
    play_undo(r, ply);
    return NULL;
}

static const char *do_advise(Session *s, const ClientMessage *c) {
    const char *code = at_table(s, c->ply);
    if (code) return code;
    Room *r = s->room;
    if (!r->help) return "no_help";
    if (r->table->game.turn != s->seat) return "not_turn";
    if (s->asking >= ASKING_MAX || bots_busy(s->lobby->bots)) return "busy";
    play_unrate(r);
    Job *j = job_new(JOB_ADVISE);
    j->strength = STRENGTH_BEST;
    j->game = r->table->game;
    j->owner = r;
    j->stamp = r->stamp;
    j->user = s->user;
    j->id = c->id;
    s->asking++;
    bots_submit(s->lobby->bots, j);
    return NULL;
}

static const char *do_phrase(Session *s, const ClientMessage *c) {
    if (!s->room || s->seat < 0) return "bad_state";
    if (!bucket_take(&s->phrases, s->lobby->now_us, phrases_burst, phrases_per_s)) return "rate";
    JsonOut o;
    msg_begin(&o, "phrase");
    jsonout_int(&o, "seat", s->seat);
    jsonout_int(&o, "n", c->n);
    Msg *m = msg_end(&o);
    for (Session *p = s->room->people; p; p = p->room_next) session_send(p, msg_ref(m));
    msg_unref(m);
    return done;
}

static const char *do_rematch(Session *s, const ClientMessage *c) {
    if (!s->room || s->seat < 0 || s->room->state != ROOM_OVER) return "bad_state";
    if (store_full(s->lobby->store)) return "busy";
    session_ok(s, c->id);
    play_rematch(s->room, s, c->yes);
    return NULL;
}

static const char *do_review(Session *s, const ClientMessage *c) {
    Table t;
    if (s->asking >= ASKING_MAX || bots_busy(s->lobby->bots)) return "busy";
    const char *code = finished_table(s->lobby, c->game, &t);
    if (code) return code;
    Job *j = job_new(JOB_REVIEW);
    j->table = malloc(sizeof t);
    if (!j->table) abort();
    *j->table = t;
    j->user = s->user;
    j->id = c->id;
    j->from = c->from;
    s->asking++;
    bots_submit(s->lobby->bots, j);
    return done;
}

static const char *do_hello(Session *s,
                            const ClientMessage *c) { // the socket calls lobby_hello itself
    (void)s;
    (void)c;
    return "bad_state";
}

static const Handler handlers[N_COMMANDS] = {
    [CMD_HELLO] = do_hello,         [CMD_PING] = do_ping,     [CMD_RENAME] = do_rename,
    [CMD_LOBBY] = do_lobby,         [CMD_QUICK] = do_quick,   [CMD_ROOM_NEW] = do_room_new,
    [CMD_ROOM_JOIN] = do_room_join, [CMD_WATCH] = do_watch,   [CMD_ROOM_LEAVE] = do_room_leave,
    [CMD_ROOM_SET] = do_room_set,   [CMD_SIT] = do_sit,       [CMD_BOT] = do_bot,
    [CMD_REMOVE] = do_remove,       [CMD_SWAP] = do_swap,     [CMD_READY] = do_ready,
    [CMD_START] = do_start,         [CMD_BID] = do_bid,       [CMD_PLAY] = do_play,
    [CMD_HOST] = do_host,           [CMD_OPEN] = do_open,     [CMD_UNDO] = do_undo,
    [CMD_ADVISE] = do_advise,       [CMD_PHRASE] = do_phrase, [CMD_REMATCH] = do_rematch,
    [CMD_RESUME_AT] = do_resume_at, [CMD_REVIEW] = do_review,
};

/* A repeated id gets its first answer again. True: c was one. */
static bool answered_before(Session *s, const ClientMessage *c) {
    if (c->id < 0 || c->id > s->last_id) return false;
    const Out *out = &s->lobby->out;
    for (int i = 0; i < ANSWERS_KEPT; i++) {
        const Answer *a = &s->answers[i];
        if (a->id != c->id || !a->msg) continue;
        out->send(out->ctx, s->conn, a->msg, a->seq, s->hold);
        return true;
    }
    if (s->asking == 0) session_error(s, c->id, "stale"); // else its answer is on its way
    return true;
}

void lobby_command(Session *s, const ClientMessage *c) {
    s->lobby->n_commands++;
    if (answered_before(s, c)) return;
    if (c->id >= 0) s->last_id = c->id;
    const char *code = handlers[c->kind](s, c);
    if (code == done) session_ok(s, c->id);
    else if (code) session_error(s, c->id, code);
}
