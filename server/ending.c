/* ending.c - the end of a game in a room: result, ratings, record, then another or none. */
#include "server/room.h"
#include "server/view.h"
#include <stdio.h>
#include <stdlib.h>

static Rating *rating_of(Room *r, int seat) {
    if (r->player[seat]) return &r->player[seat]->rating;
    return &r->lobby->bot_rating[r->player_user[seat] - 1];
}

static void rate(Room *r, StoreGame *g, Rating before[N_SEATS]) {
    Rating after[N_SEATS];
    for (int s = 0; s < N_SEATS; s++) before[s] = after[s] = *rating_of(r, s);
    if (!r->rated) return;
    rating_game(after, r->table->game.landlord, game_landlord_won(&r->table->game), g->at_ms);
    for (int s = 0; s < N_SEATS; s++) {
        *rating_of(r, s) = after[s];
        g->seat[s].rate = true;
        g->seat[s].rating = after[s];
    }
}

static void name_seats(const Room *r, StoreGame *g) {
    for (int s = 0; s < N_SEATS; s++) {
        StoreSeat *e = &g->seat[s];
        e->user = r->player_user[s];
        e->bot = user_is_bot(e->user);
        const char *name = r->player[s] ? r->player[s]->name : "";
        if (e->bot) name = strength_name((Strength)(e->user - 1));
        snprintf(e->name, sizeof e->name, "%s", name);
    }
}

static void ask_review(Room *r) {
    bool people = false;
    for (int s = 0; s < N_SEATS; s++) people |= r->player[s] != NULL;
    if (!r->lobby->config.auto_review || !people || bots_busy(r->lobby->bots)) return;
    Job *j = job_new(JOB_REVIEW);
    j->id = -1;
    j->table = malloc(sizeof *j->table);
    if (!j->table) abort();
    *j->table = *r->table;
    bots_submit(r->lobby->bots, j);
}

static void pause_over(void *owner);

/* People whose line was lost for good make room; true: the room has closed. */
static bool clear_away(Room *r) {
    for (int s = 0; s < N_SEATS; s++) {
        Seat *e = &r->seat[s];
        if (e->kind != SEAT_HUMAN || !e->is_away || e->away.place != 0) continue;
        Session *who = e->who;
        bool closes = r->n_people == 1;
        room_leave(who);
        session_release(who);
        if (closes) return true;
    }
    return false;
}

static void after_end(Room *r) {
    if (room_close_if_empty(r) || clear_away(r)) return;
    if (r->mode != MODE_BOTS && room_humans(r) == 0) {
        room_close(r);
        return;
    }
    int64_t pause = r->mode == MODE_BOTS ? BOTS_PAUSE_MS : REMATCH_MS;
    if (r->mode == MODE_BOTS || room_humans(r) > 1)
        timers_set(&r->lobby->timers, &r->pause, r->lobby->now_us + pause * 1000, pause_over, r);
}

void play_ended(Room *r) {
    StoreGame g;
    Rating before[N_SEATS];
    table_to_game(r->table, &g);
    g.at_ms = r->lobby->wall_ms();
    g.rated = r->rated;
    name_seats(r, &g);
    rate(r, &g, before);
    play_hold(r, store_put_game(r->lobby->store, &g));
    r->lobby->n_games++;
    timers_cancel(&r->lobby->timers, &r->turn);
    timers_cancel(&r->lobby->timers, &r->bot);
    r->stamp = ++r->lobby->next_stamp;
    for (int s = 0; s <= N_SEATS; s++) {
        bool shown = s < N_SEATS && r->rated;
        r->end[s] = view_end(r->table, r->rated, shown ? &before[s] : NULL,
                             shown ? &g.seat[s].rating : NULL);
    }
    for (Session *s = r->people; s; s = s->room_next)
        session_event(s, msg_ref(r->end[s->seat < 0 ? N_SEATS : s->seat]));
    ask_review(r);
    play_set_state(r, ROOM_OVER);
    play_release(r);
    for (Session *s = r->people; s; s = s->room_next) room_tell_one(r, s);
    after_end(r);
}

static void tell_rematch(Room *r) {
    JsonOut o;
    msg_begin(&o, "rematch");
    jsonout_open(&o, "yes", '[');
    for (int s = 0; s < N_SEATS; s++)
        jsonout_bool(&o, NULL, r->seat[s].kind == SEAT_BOT || r->seat[s].rematch);
    jsonout_close(&o, ']');
    int64_t left = r->pause.place ? (r->pause.due_us - r->lobby->now_us) / 1000 : REMATCH_MS;
    jsonout_int(&o, "left_ms", left);
    Msg *m = msg_end(&o);
    for (Session *s = r->people; s; s = s->room_next) session_send(s, msg_ref(m));
    msg_unref(m);
}

static int wanting(const Room *r) {
    int n = 0;
    for (int s = 0; s < N_SEATS; s++) n += r->seat[s].kind == SEAT_HUMAN && r->seat[s].rematch;
    return n;
}

void play_rematch(Room *r, Session *s, bool yes) {
    if (!yes) {
        room_leave(s);
        return;
    }
    r->seat[s->seat].rematch = true;
    bool full = true;
    for (int i = 0; i < N_SEATS; i++) full &= r->seat[i].kind != SEAT_EMPTY;
    tell_rematch(r);
    if (full && wanting(r) == room_humans(r)) play_start(r);
}

static void back_to_waiting(Room *r) {
    play_set_state(r, ROOM_WAIT);
    for (int s = 0; s < N_SEATS; s++) r->seat[s].ready = r->seat[s].kind == SEAT_BOT;
    room_tell(r);
}

static void pause_over(void *owner) {
    Room *r = owner;
    if (r->mode != MODE_BOTS && wanting(r) == 0) {
        back_to_waiting(r);
        return;
    }
    for (int s = 0; s < N_SEATS; s++) {
        Seat *e = &r->seat[s];
        if (e->kind == SEAT_HUMAN && !e->rematch) e->who->seat = -1;
        if (e->kind != SEAT_BOT && !e->rematch) room_seat_bot(r, s, STRENGTH_BEST);
    }
    play_start(r);
}
