/* room.c - who is in a room, and what a room tells about itself. */
#include "server/room.h"
#include "server/view.h"
#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const Lobby *l, const char *code) {
    size_t h = 5381;
    for (; *code; code++) h = h * 33 + (unsigned char)*code;
    return h & (l->n_buckets - 1);
}

Room *lobby_room(Lobby *l, const char *code) {
    Room *r = l->rooms[bucket_of(l, code)];
    while (r && strcmp(r->code, code) != 0) r = r->hash_next;
    return r;
}

Room *room_new(Lobby *l, RoomMode mode) {
    Room *r = calloc(1, sizeof *r);
    if (!r) abort();
    r->lobby = l;
    r->mode = (uint8_t)mode;
    r->durable = mode != MODE_BOTS;
    r->host = -1;
    r->think_ms = l->config.think_ms;
    r->rules = RULES_CLASSIC;
    for (int s = 0; s < N_SEATS; s++) r->seat[s].room = r;
    do auth_room_code(r->code);
    while (lobby_room(l, r->code));
    return r;
}

/* Into the table of rooms; the code is final. */
static void list_room(Room *r) {
    Lobby *l = r->lobby;
    Room **head = &l->rooms[bucket_of(l, r->code)];
    for (Room *o = *head; o; o = o->hash_next)
        if (o == r) return;
    r->hash_next = *head;
    *head = r;
    l->n_rooms++;
    lobby_list_changed(l);
}

StoreRoom room_to_store(const Room *r) {
    StoreRoom o = {.mode = r->mode,
                   .rules = r->rules,
                   .time = (uint8_t)r->time_s,
                   .help = r->help,
                   .allpass = r->allpass,
                   .private_ = r->private_,
                   .wish = r->wish,
                   .think = (uint16_t)r->think_ms,
                   .host = (int8_t)r->host};
    memcpy(o.code, r->code, sizeof o.code);
    memcpy(o.name, r->name, sizeof o.name);
    for (int s = 0; s < N_SEATS; s++) {
        if (r->seat[s].kind == SEAT_HUMAN) o.user[s] = r->seat[s].who->user;
        if (r->seat[s].kind == SEAT_BOT) o.user[s] = bot_user(r->seat[s].strength);
    }
    return o;
}

int room_humans(const Room *r) {
    int n = 0;
    for (int s = 0; s < N_SEATS; s++) n += r->seat[s].kind == SEAT_HUMAN;
    return n;
}

Session *room_alone(const Room *r) {
    Session *one = NULL;
    for (int s = 0; s < N_SEATS; s++) {
        const Seat *e = &r->seat[s];
        if (e->next) return NULL;
        // who left in the middle of a game still has its result: it is no practice
        if (r->state == ROOM_PLAY && r->player[s] && r->player[s] != e->who) return NULL;
        if (e->kind != SEAT_HUMAN) continue;
        if (one) return NULL;
        one = e->who;
    }
    return one;
}

static int watchers(const Room *r) {
    int n = 0;
    for (const Session *s = r->people; s; s = s->room_next) n += s->seat < 0;
    return n;
}

static const char *state_name(const Room *r) {
    static const char *const names[] = {"wait", "play", "over"};
    return names[r->state];
}

static void write_seat(JsonOut *o, const Seat *e) {
    static const char *const kinds[] = {"empty", "human", "bot"};
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "name", e->kind == SEAT_HUMAN ? e->who->name : "");
    jsonout_str(o, "kind", kinds[e->kind]);
    if (e->kind == SEAT_BOT) jsonout_str(o, "strength", strength_name((Strength)e->strength));
    jsonout_bool(o, "ready", e->kind == SEAT_BOT || e->ready);
    jsonout_bool(o, "away", e->is_away);
    jsonout_bool(o, "host", e->hosted);
    jsonout_close(o, '}');
}

static Msg *room_message(const Room *r, const Session *s) {
    JsonOut o;
    msg_begin(&o, "room");
    jsonout_str(&o, "room", r->code);
    jsonout_str(&o, "name", r->name);
    jsonout_str(&o, "rules", rules_name(r->rules));
    jsonout_int(&o, "time", r->time_s);
    jsonout_bool(&o, "help", r->help);
    jsonout_str(&o, "allpass", allpass_name((AllPass)r->allpass));
    jsonout_bool(&o, "private", r->private_);
    jsonout_int(&o, "think", r->think_ms);
    if (r->host >= 0) jsonout_int(&o, "host", r->host);
    else jsonout_null(&o, "host");
    if (s->seat >= 0) jsonout_int(&o, "me", s->seat);
    else jsonout_null(&o, "me");
    jsonout_int(&o, "watchers", watchers(r));
    jsonout_bool(&o, "rated", r->rated);
    jsonout_str(&o, "state", state_name(r));
    jsonout_open(&o, "seats", '[');
    for (int i = 0; i < N_SEATS; i++) write_seat(&o, &r->seat[i]);
    jsonout_close(&o, ']');
    return msg_end(&o);
}

void room_tell_one(Room *r, Session *s) { session_send(s, room_message(r, s)); }

void room_tell(Room *r) {
    Lobby *l = r->lobby;
    uint64_t write = 0;
    list_room(r);
    if (r->durable) {
        StoreRoom o = room_to_store(r);
        write = store_put_room(l->store, &o);
    }
    for (Session *s = r->people; s; s = s->room_next) {
        if (write) s->hold = write;
        room_tell_one(r, s);
    }
    if (!r->private_) lobby_list_changed(l);
}

void room_seat_empty(Room *r, int seat) {
    Seat *e = &r->seat[seat];
    timers_cancel(&r->lobby->timers, &e->away);
    Session *next = e->next;
    *e = (Seat){.room = r, .next = next};
}

void room_seat_bot(Room *r, int seat, int strength) {
    room_seat_empty(r, seat);
    r->seat[seat].kind = SEAT_BOT;
    r->seat[seat].strength = (uint8_t)strength;
    r->seat[seat].ready = true;
}

/* The host's chair goes to the first person left. */
static void find_host(Room *r) {
    if (r->host >= 0 && r->seat[r->host].kind == SEAT_HUMAN) return;
    r->host = -1;
    for (int s = N_SEATS - 1; s >= 0; s--)
        if (r->seat[s].kind == SEAT_HUMAN) r->host = s;
}

void room_sit(Room *r, int seat, Session *s) {
    if (s->seat >= 0) {
        room_seat_empty(r, s->seat);
        s->seat = -1;
    }
    room_seat_empty(r, seat);
    Seat *e = &r->seat[seat];
    e->next = NULL;
    e->kind = SEAT_HUMAN;
    e->who = s;
    s->seat = (int8_t)seat;
    if (!s->saved) session_save(s);
    find_host(r);
}

void room_enter(Room *r, Session *s, int seat) {
    if (s->room) room_leave(s);
    s->room = r;
    s->seat = -1;
    s->room_next = r->people;
    r->people = s;
    r->n_people++;
    session_forget_events(s, 0);
    if (seat >= 0) room_sit(r, seat, s);
    room_tell(r);
    if (r->table) play_snapshot(r, s, "join");
}

static void unlink_person(Room *r, Session *s) {
    Session **p = &r->people;
    while (*p != s) p = &(*p)->room_next;
    *p = s->room_next;
    s->room_next = NULL;
    r->n_people--;
    for (int i = 0; i < N_SEATS; i++)
        if (r->seat[i].next == s) r->seat[i].next = NULL;
    s->room = NULL;
    s->seat = -1;
    session_forget_events(s, 0);
}

void room_leave(Session *s) {
    Room *r = s->room;
    int seat = s->seat;
    unlink_person(r, s);
    if (seat >= 0) {
        bool playing = r->state == ROOM_PLAY;
        if (playing || r->mode != MODE_ROOM) room_seat_bot(r, seat, STRENGTH_BEST);
        else room_seat_empty(r, seat);
        if (r->host == seat) r->host = -1;
        find_host(r);
        if (room_close_if_empty(r)) return;
        if (playing) play_seat_changed(r, seat);
        room_tell(r);
    } else if (!room_close_if_empty(r)) {
        room_tell(r);
    }
}

/* ---- lost lines ---- */

static void away_over(void *owner) {
    Seat *e = owner;
    Room *r = e->room;
    int seat = (int)(e - r->seat);
    if (r->state == ROOM_PLAY) {
        play_host(r, seat, true);
        return;
    }
    Session *s = e->who;
    room_leave(s);
    session_release(s);
}

static void tell_away(Room *r, int seat, bool away) {
    for (Session *s = r->people; s; s = s->room_next) {
        if (s->seat == seat || !r->table) continue;
        JsonOut o;
        msg_begin(&o, away ? "away" : "back");
        jsonout_int(&o, "seat", seat);
        if (away) jsonout_int(&o, "left_ms", r->lobby->config.away_ms);
        session_event(s, msg_end(&o));
    }
}

void room_line_lost(Room *r, Session *s) {
    if (s->seat < 0) {
        room_leave(s);
        return;
    }
    Seat *e = &r->seat[s->seat];
    e->is_away = true;
    timers_set(&r->lobby->timers, &e->away,
               r->lobby->now_us + (int64_t)r->lobby->config.away_ms * 1000, away_over, e);
    tell_away(r, s->seat, true);
    for (Session *o = r->people; o; o = o->room_next) room_tell_one(r, o);
}

void room_line_back(Room *r, Session *s) {
    if (s->seat < 0) return;
    Seat *e = &r->seat[s->seat];
    if (!e->is_away) return;
    bool was_hosted = e->hosted && e->away.place == 0; // by the timer, not by choice
    e->is_away = false;
    timers_cancel(&r->lobby->timers, &e->away);
    tell_away(r, s->seat, false);
    if (was_hosted) play_host(r, s->seat, false);
    for (Session *o = r->people; o; o = o->room_next)
        if (o != s) room_tell_one(r, o);
}

/* ---- the end of a room ---- */

void room_free(Room *r) {
    free(r->table);
    for (int i = 0; i <= N_SEATS; i++) msg_unref(r->end[i]);
    free(r);
}

/* Out of the table of rooms, without people, timers and seats. */
static void dissolve(Room *r) {
    Lobby *l = r->lobby;
    timers_cancel(&l->timers, &r->turn);
    timers_cancel(&l->timers, &r->bot);
    timers_cancel(&l->timers, &r->pause);
    for (int s = 0; s < N_SEATS; s++) room_seat_empty(r, s);
    while (r->people) {
        Session *s = r->people;
        unlink_person(r, s);
        session_release(s);
    }
    for (Room **p = &l->rooms[bucket_of(l, r->code)]; *p; p = &(*p)->hash_next) {
        if (*p != r) continue;
        *p = r->hash_next;
        l->n_rooms--;
        break;
    }
    r->closed = true;
}

void room_close(Room *r) {
    play_drop(r);
    for (Session *s = r->people; s; s = s->room_next) session_error(s, -1, "gone");
    if (r->durable) store_drop_room(r->lobby->store, r->code);
    lobby_list_changed(r->lobby);
    dissolve(r);
    if (r->jobs == 0) {
        room_free(r);
        return;
    }
    r->hash_next = r->lobby->closing;
    r->lobby->closing = r;
}

/* Answers of bots that are still out will never be taken. */
void room_forget(Room *r) {
    dissolve(r);
    room_free(r);
}

bool room_close_if_empty(Room *r) {
    if (r->n_people > 0) return false;
    if (r->state == ROOM_PLAY && r->mode != MODE_BOTS) { // bots finish it, at once
        r->think_ms = 0;
        return false;
    }
    room_close(r);
    return true;
}

void room_job_back(Room *r) {
    if (--r->jobs > 0 || !r->closed) return;
    Room **p = &r->lobby->closing;
    while (*p != r) p = &(*p)->hash_next;
    *p = r->hash_next;
    room_free(r);
}

void room_restore_person(Room *r, Session *s, int seat) {
    s->room = r;
    s->seat = (int8_t)seat;
    s->room_next = r->people;
    r->people = s;
    r->n_people++;
    // numbers above all that any life of the server has given
    session_forget_events(s, (uint32_t)(r->lobby->wall_ms() / 1000) & 0x7fffffff);
    Seat *e = &r->seat[seat];
    e->kind = SEAT_HUMAN;
    e->who = s;
    e->is_away = true;
    timers_set(&r->lobby->timers, &e->away,
               r->lobby->now_us + (int64_t)r->lobby->config.away_ms * 1000, away_over, e);
}
