/* play.c - the course of games in a room: deals, turns, clocks, bots (ending.c: the end).
 *
 * An action goes: the table accepts it, the store is given it, then everybody is told - and hears
 * it only once it is durable, because the store's number goes with each message.            */
#include "engine/base/log.h"
#include "server/room.h"
#include "server/view.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void next_turn(Room *r);

static Viewer viewer_of(const Room *r, const Session *s) {
    return (Viewer){s->seat, r->mode == MODE_BOTS || (r->opened && s->seat >= 0)};
}

/* What people hear from now on waits for this write. */
void play_hold(Room *r, uint64_t write) {
    for (Session *s = r->people; s; s = s->room_next) s->hold = write;
}

/* Takes the reference. */
static void tell_all(Room *r, Msg *m) {
    for (Session *s = r->people; s; s = s->room_next) session_event(s, msg_ref(m));
    msg_unref(m);
}

int64_t play_left_ms(const Room *r) {
    if (r->deadline_us == 0 || r->state != ROOM_PLAY) return -1;
    int64_t left = (r->deadline_us - r->lobby->now_us) / 1000;
    return left < 0 ? 0 : left;
}

/* ---- players ---- */

void play_release(Room *r) {
    for (int s = 0; s < N_SEATS; s++) {
        Session *who = r->player[s];
        r->player[s] = NULL;
        if (!who) continue;
        who->holds--;
        session_release(who);
    }
}

static void take_players(Room *r) {
    play_release(r);
    for (int s = 0; s < N_SEATS; s++) {
        Seat *e = &r->seat[s];
        r->player[s] = e->kind == SEAT_HUMAN ? e->who : NULL;
        r->player_user[s] = r->player[s] ? e->who->user : bot_user(e->strength);
        if (r->player[s]) r->player[s]->holds++;
    }
}

void play_unrate(Room *r) {
    if (!r->rated) return;
    r->rated = false;
    if (r->durable) play_hold(r, store_put_rated(r->lobby->store, r->table->setup.number, false));
    for (Session *s = r->people; s; s = s->room_next) room_tell_one(r, s);
}

/* ---- beginning ---- */

static StoreLive live_of(const Room *r) {
    const TableSetup *u = &r->table->setup;
    StoreLive l = {.game = u->number,
                   .rules = u->rules,
                   .first = u->first,
                   .allpass = u->allpass,
                   .rated = r->rated,
                   .chosen = u->chosen,
                   .deal = u->deal};
    memcpy(l.room, r->code, sizeof l.room);
    memcpy(l.user, r->player_user, sizeof l.user);
    return l;
}

static void store_live(Room *r) {
    if (!r->durable) return;
    StoreLive l = live_of(r);
    uint64_t write = store_put_live(r->lobby->store, &l);
    for (int ply = 0; ply < table_ply(r->table); ply++) {
        StoreAct a = table_act(r->table, ply);
        write = store_put_act(r->lobby->store, l.game, ply, &a);
    }
    play_hold(r, write);
}

void play_set_state(Room *r, RoomState state) {
    r->lobby->n_playing += (state == ROOM_PLAY) - (r->state == ROOM_PLAY);
    r->state = (uint8_t)state;
}

static void new_table(Room *r) {
    if (!r->table) r->table = malloc(sizeof *r->table);
    if (!r->table) abort();
    for (int i = 0; i <= N_SEATS; i++) {
        msg_unref(r->end[i]);
        r->end[i] = NULL;
    }
    timers_cancel(&r->lobby->timers, &r->pause);
    for (int s = 0; s < N_SEATS; s++) {
        Seat *e = &r->seat[s];
        e->rematch = false;
        e->timeouts = 0;
        e->hosted = e->is_away && e->away.place == 0;
    }
    r->opened = false;
}

static void begin(Room *r, bool resumed) {
    take_players(r);
    int people = room_humans(r);
    r->rated = people > 0 && !resumed && !(people > 1 && r->help);
    play_set_state(r, ROOM_PLAY);
    room_tell(r);
    store_live(r);
}

/* A landlord who is chosen: by the wish of the one person, where the rules have bidding. */
static int chosen_landlord(const Room *r) {
    if (r->wish == WISH_BID || !ruleset_get((RulesetId)r->rules)->bidding) return -1;
    int human = 0;
    while (human < N_SEATS - 1 && r->seat[human].kind != SEAT_HUMAN) human++;
    if (r->wish == WISH_LANDLORD) return human;
    return (human + 1 + (int)r->lobby->below(2)) % N_SEATS;
}

void play_start(Room *r) {
    for (int s = 0; s < N_SEATS; s++)
        if (r->seat[s].next) room_sit(r, s, r->seat[s].next);
    TableSetup setup = {.number = auth_game_number(),
                        .rules = r->rules,
                        .first = (uint8_t)r->lobby->below(N_SEATS),
                        .allpass = r->allpass,
                        .chosen = (int8_t)chosen_landlord(r)};
    r->lobby->deal(&setup.deal);
    if (setup.chosen >= 0) setup.first = (uint8_t)setup.chosen;
    new_table(r);
    table_init(r->table, &setup);
    begin(r, false);
    for (Session *s = r->people; s; s = s->room_next)
        session_event(s, view_deal(r->table, viewer_of(r, s)));
    if (r->table->game.phase == PHASE_PLAY) tell_all(r, view_landlord(r->table));
    next_turn(r);
}

void play_start_from(Room *r, Table *t) {
    new_table(r);
    *r->table = *t;
    begin(r, true);
    for (Session *s = r->people; s; s = s->room_next) play_snapshot(r, s, "join");
    next_turn(r);
}

void play_restore(Room *r, const StoreLive *l, int n_acts, const StoreAct *acts) {
    new_table(r);
    TableSetup setup = {l->game, l->rules, l->first, l->allpass, l->chosen, l->deal};
    table_init(r->table, &setup);
    for (int i = 0; i < n_acts; i++) {
        if (!table_redo(r->table, &acts[i])) continue;
        log_error("game %s does not replay beyond action %d", r->table->id, i);
        break;
    }
    take_players(r);
    for (int s = 0; s < N_SEATS; s++) {
        if (l->user[s] == r->player_user[s] || user_is_bot(l->user[s])) continue;
        StoreUser u; // left in the middle; the result is still his
        Session *who = session_by_user(r->lobby, l->user[s]);
        if (!who && reader_user(r->lobby->reader, l->user[s], &u) == ST_OK)
            who = session_new(r->lobby, &u, true);
        if (!who) continue;
        who->holds++;
        r->player[s] = who;
        r->player_user[s] = l->user[s];
    }
    r->rated = l->rated;
    play_set_state(r, ROOM_PLAY);
    next_turn(r);
}

void play_restore_ended(Room *r, const StoreGame *g) {
    new_table(r);
    if (table_from_game(g, r->table) != ST_OK) {
        free(r->table);
        r->table = NULL;
        return;
    }
    r->rated = g->rated;
    r->state = ROOM_OVER;
    for (int s = 0; s <= N_SEATS; s++) r->end[s] = view_end(r->table, g->rated, NULL, NULL);
}

void play_drop(Room *r) {
    if (r->state != ROOM_PLAY) return;
    if (r->durable) store_drop_live(r->lobby->store, r->table->setup.number);
    play_set_state(r, ROOM_OVER);
    play_release(r);
}

/* ---- turns ---- */

static void ask_bot(Room *r, Why why) {
    const Game *g = &r->table->game;
    const Seat *e = &r->seat[g->turn];
    Job *j = job_new(g->phase == PHASE_BID ? JOB_BID : JOB_MOVE);
    j->strength = e->kind == SEAT_BOT ? e->strength : STRENGTH_BEST;
    j->advice_too = r->opened || r->mode == MODE_BOTS;
    j->game = *g;
    j->owner = r;
    j->stamp = r->stamp;
    r->bot_why = (uint8_t)why;
    r->jobs++;
    bots_submit(r->lobby->bots, j);
}

static void time_over(void *owner) { ask_bot(owner, WHY_TIMEOUT); }

/* Sets going whoever is to act: a bot, or the clock of a person. */
static void set_going(Room *r) {
    Lobby *l = r->lobby;
    const Seat *e = &r->seat[r->table->game.turn];
    r->stamp = ++l->next_stamp;
    r->bot_ready = false;
    timers_cancel(&l->timers, &r->turn);
    timers_cancel(&l->timers, &r->bot);
    if (e->kind == SEAT_BOT) ask_bot(r, WHY_BOT);
    else if (e->hosted) ask_bot(r, WHY_HOST);
    else if (r->deadline_us)
        timers_set(&l->timers, &r->turn, r->deadline_us + GRACE_MS * 1000, time_over, r);
}

static void next_turn(Room *r) {
    const Game *g = &r->table->game;
    if (g->phase == PHASE_OVER) {
        play_ended(r);
        return;
    }
    if (g->phase == PHASE_VOID) {
        tell_all(r, view_void());
        if (r->n_people > 0) play_start(r);
        else room_close(r);
        return;
    }
    r->turn_us = r->lobby->now_us;
    r->deadline_us = r->time_s ? r->turn_us + (int64_t)r->time_s * 1000000 : 0;
    tell_all(r, view_turn(r->table, play_left_ms(r), r->time_s ? r->time_s * 1000 : -1));
    set_going(r);
}

static void tell_host(Room *r, int seat) {
    JsonOut o;
    msg_begin(&o, "host");
    jsonout_int(&o, "seat", seat);
    jsonout_bool(&o, "on", r->seat[seat].hosted);
    tell_all(r, msg_end(&o));
}

/* A person who lets time pass twice is hosted; one who acts is so no more. */
static void note_presence(Room *r, int seat, Why why) {
    Seat *e = &r->seat[seat];
    if (e->kind != SEAT_HUMAN) return;
    bool hosted = e->hosted;
    if (why == WHY_PLAYER) {
        e->timeouts = 0;
        hosted = false;
    } else if (why == WHY_TIMEOUT) {
        hosted = ++e->timeouts >= 2;
    }
    if (hosted == e->hosted) return;
    e->hosted = hosted;
    tell_host(r, seat);
}

static void store_last_act(Room *r) {
    r->lobby->n_moves++;
    if (!r->durable) return;
    int ply = table_ply(r->table) - 1;
    StoreAct a = table_act(r->table, ply);
    play_hold(r, store_put_act(r->lobby->store, r->table->setup.number, ply, &a));
}

typedef Msg *(*LastAct)(const Room *r, const Session *s, int64_t id);

static Msg *last_bid(const Room *r, const Session *s, int64_t id) {
    (void)s;
    return view_bid(r->table, id);
}

static Msg *last_play(const Room *r, const Session *s, int64_t id) {
    bool reasons = viewer_of(r, s).open && r->bot_ready && r->bot_advice.n > 0;
    return view_play(r->table, id, reasons ? &r->bot_advice : NULL);
}

/* Tells an action to all; the one who asked for it gets his id with it. */
static void tell_act(Room *r, int seat, int64_t id, LastAct act) {
    Msg *shared = NULL;
    for (Session *s = r->people; s; s = s->room_next) {
        bool mine = id >= 0 && s->seat == seat, open = viewer_of(r, s).open;
        if (!mine && !open) {
            if (!shared) shared = act(r, s, -1);
            session_event(s, msg_ref(shared));
            continue;
        }
        Msg *m = act(r, s, mine ? id : -1);
        if (mine) session_answer(s, id, m, s->seq + 1);
        session_event(s, m);
    }
    msg_unref(shared);
}

const char *play_bid(Room *r, int seat, int points, Why why, int64_t id) {
    if (r->state != ROOM_PLAY) return "bad_state";
    const char *code = table_bid(r->table, seat, points, why);
    if (code) return code;
    store_last_act(r);
    tell_act(r, seat, id, last_bid);
    note_presence(r, seat, why);
    if (r->table->game.phase == PHASE_PLAY) tell_all(r, view_landlord(r->table));
    next_turn(r);
    return NULL;
}

const char *play_cards(Room *r, int seat, const uint8_t *cards, int n, Why why, int64_t id) {
    if (r->state != ROOM_PLAY) return "bad_state";
    const char *code = table_play(r->table, seat, cards, n, why);
    if (code) return code;
    store_last_act(r);
    tell_act(r, seat, id, last_play);
    note_presence(r, seat, why);
    next_turn(r);
    return NULL;
}

/* ---- bots ---- */

static void play_choice(Room *r) {
    int seat = r->table->game.turn;
    const Choice *c = &r->bot_choice;
    Why why = (Why)r->bot_why;
    if (c->points >= 0) {
        play_bid(r, seat, c->points, why, -1);
        return;
    }
    uint8_t cards[PLAY_CARDS_MAX];
    int n = table_pick(r->table, c->cards, cards);
    play_cards(r, seat, cards, n, why, -1);
}

static void bot_time(void *owner) { play_choice(owner); }

/* How long a bot seems to think: about the room's time, half of it for a pass. */
static int64_t think_us(const Room *r) {
    if (r->think_ms == 0 || r->bot_why == WHY_TIMEOUT) return 0;
    int64_t us = (int64_t)r->think_ms * (750 + r->lobby->below(500));
    bool pass = r->bot_choice.points < 0 && r->bot_choice.cards == 0;
    return pass ? us / 2 : us;
}

void play_job(Room *r, Job *j) {
    if (!r->closed && r->state == ROOM_PLAY && j->stamp == r->stamp) {
        r->bot_choice = j->choice;
        r->bot_advice = j->advice;
        r->bot_ready = true;
        int64_t due = r->turn_us + think_us(r);
        if (due <= r->lobby->now_us) play_choice(r);
        else timers_set(&r->lobby->timers, &r->bot, due, bot_time, r);
    }
    room_job_back(r);
}

void play_seat_changed(Room *r, int seat) {
    if (r->state == ROOM_PLAY && r->table->game.turn == seat) set_going(r);
}

void play_host(Room *r, int seat, bool on) {
    Seat *e = &r->seat[seat];
    if (r->state != ROOM_PLAY || e->kind != SEAT_HUMAN || e->hosted == on) return;
    e->hosted = on;
    e->timeouts = 0;
    tell_host(r, seat);
    play_seat_changed(r, seat);
}

/* ---- practice ---- */

void play_undo(Room *r, int ply) {
    table_cut(r->table, ply);
    if (r->durable) play_hold(r, store_cut_acts(r->lobby->store, r->table->setup.number, ply));
    play_unrate(r);
    Seat *e = &r->seat[r->table->game.turn];
    e->hosted = false;
    e->timeouts = 0;
    for (Session *s = r->people; s; s = s->room_next) play_snapshot(r, s, "undo");
    next_turn(r);
}

void play_open(Room *r, Session *s, bool on) {
    r->opened = on;
    if (on) play_unrate(r);
    session_event(s, view_open(r->table, viewer_of(r, s)));
}

void play_snapshot(Room *r, Session *s, const char *why) {
    ViewState v = {.left_ms = play_left_ms(r),
                   .total_ms = r->time_s ? r->time_s * 1000 : -1,
                   .rated = r->rated,
                   .end = r->end[s->seat < 0 ? N_SEATS : s->seat],
                   .why = why};
    for (int i = 0; i < N_SEATS; i++) {
        v.hosted[i] = r->seat[i].hosted;
        v.away[i] = r->seat[i].is_away;
    }
    session_event(s, view_snapshot(r->table, viewer_of(r, s), &v));
}
