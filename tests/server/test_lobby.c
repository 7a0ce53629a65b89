/* Rooms and games as clients see them: whole games, clocks, hosting, undo, help, lost lines, rooms
 * of several people, repeated commands, a restart in the middle.                            */
#include "server/view.h"
#include "world.h"
#include <sqlite3.h>

static const char quick[] =
    "{\"t\":\"quick\",\"id\":%d,\"strength\":\"best\",\"role\":\"%s\",\"time\":%d,"
    "\"rules\":\"%s\",\"help\":true}";

static void drain(Peer *p) {
    for (json_t *o; (o = peer_next(p)) != NULL;) json_decref(o);
}

static Room *room_of(Peer *p) {
    assert_non_null(p->session->room);
    return p->session->room;
}

static Table *table_of(Peer *p) { return room_of(p)->table; }

static bool my_turn(Peer *p) {
    Room *r = p->session->room;
    return r && r->state == ROOM_PLAY && r->table->game.turn == p->session->seat;
}

/* The bots play until a person is to act, or the game is over. */
static void until_people(Peer *p) { world_settle(p->world); }

static void say_cards(Peer *p, int id, int ply, const uint8_t *cards, int n) {
    char text[256] = "";
    int at = 0;
    for (int i = 0; i < n; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", i ? "," : "", cards[i]);
    peer_say(p, "{\"t\":\"play\",\"id\":%d,\"ply\":%d,\"cards\":[%s]}", id, ply, text);
}

/* The first legal move, or no bid. */
static void act(Peer *p) {
    Table *t = table_of(p);
    int ply = table_ply(t), id = (int)++p->id;
    if (t->game.phase == PHASE_BID) {
        peer_say(p, "{\"t\":\"bid\",\"id\":%d,\"ply\":%d,\"points\":0}", id, ply);
        return;
    }
    Hand legal[MOVEGEN_MAX];
    uint8_t cards[PLAY_CARDS_MAX];
    game_legal(&t->game, legal);
    say_cards(p, id, ply, cards, table_pick(t, legal[0], cards));
}

static void play_to_end(Peer *p) {
    for (int i = 0; i < 400 && room_of(p)->state == ROOM_PLAY; i++) {
        until_people(p);
        if (my_turn(p)) act(p);
    }
    assert_int_equal(room_of(p)->state, ROOM_OVER);
}

static void start_quick(Peer *p, const char *role, int time, const char *rules) {
    peer_say(p, quick, (int)++p->id, role, time, rules);
}

static void test_whole_games(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    static const struct {
        const char *role, *rules;
    } kinds[] = {{"bid", "classic"},
                 {"landlord", "classic"},
                 {"farmer", "classic"},
                 {"landlord", "douzero"},
                 {"farmer", "douzero"}};
    for (size_t k = 0; k < 5; k++) {
        drain(p);
        start_quick(p, kinds[k].role, 0, kinds[k].rules);
        expect_ok(p);
        json_decref(peer_find(p, "room"));
        json_t *o = peer_find(p, "deal");
        assert_int_equal(json_array_size(json_object_get(o, "hand")), 17);
        assert_int_equal(json_is_true(json_object_get(o, "bidding")), k == 0);
        char game[GAME_ID_CHARS + 1];
        snprintf(game, sizeof game, "%s", str(o, "game"));
        json_decref(o);
        if (k > 0) {
            o = peer_find(p, "landlord");
            bool landlord = num(o, "seat") == p->session->seat;
            assert_int_equal(landlord, strcmp(kinds[k].role, "landlord") == 0);
            json_decref(o);
        }
        play_to_end(p);
        // nobody may have bid: the last deal counts
        for (; peer_has(p, "deal"); json_decref(o)) {
            o = peer_find(p, "deal");
            snprintf(game, sizeof game, "%s", str(o, "game"));
        }
        o = peer_find(p, "end");
        assert_string_equal(str(o, "game"), game);
        assert_int_equal(json_array_size(json_object_get(o, "points")), 3);
        assert_true(json_is_true(json_object_get(o, "rated")));
        json_decref(o);
        StoreGame g;
        Table t;
        while (store_committed(w->store) < store_last(w->store)) clock_sleep_ms(1);
        assert_int_equal(reader_game(w->reader, auth_game_parse(game), &g), ST_OK);
        assert_int_equal(table_from_game(&g, &t), ST_OK);
        assert_int_equal(g.seat[p->session->seat].user, p->session->user);
        peer_say(p, "{\"t\":\"rematch\",\"id\":%d,\"yes\":true}", (int)++p->id);
        assert_int_equal(room_of(p)->state, ROOM_PLAY);
        peer_say(p, "{\"t\":\"room_leave\",\"id\":%d}", (int)++p->id);
        world_settle(w);
        assert_int_equal(w->lobby->n_rooms, 0); // bots have finished what was left
    }
    StoreUser u;
    while (store_committed(w->store) < store_last(w->store)) clock_sleep_ms(1);
    assert_int_equal(reader_user(w->reader, p->session->user, &u), ST_OK);
    assert_true(u.rating.at_ms > 0 && u.rating.deviation < 350);
    peer_free(p);
}

static void test_clock(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    start_quick(p, "landlord", 10, "classic");
    json_t *o = peer_find(p, "turn");
    assert_int_equal(num(o, "left_ms"), 10000);
    json_decref(o);
    world_pass(w, 10200);
    world_settle(w);
    assert_int_equal(table_ply(table_of(p)), 0); // within the grace
    world_pass(w, 200);
    until_people(p);
    assert_true(table_ply(table_of(p)) >= 1);
    o = peer_find(p, "play");
    assert_string_equal(str(o, "why"), "timeout");
    json_decref(o);
    if (!my_turn(p)) goto end; // a short game
    world_pass(w, 10400);
    world_settle(w);
    o = peer_find(p, "host"); // the second time in a row
    assert_int_equal(num(o, "seat"), p->session->seat);
    assert_true(json_is_true(json_object_get(o, "on")));
    json_decref(o);
    assert_int_equal(room_of(p)->state, ROOM_OVER);
end:
    peer_free(p);
}

static void test_hosting(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    start_quick(p, "landlord", 0, "classic");
    peer_say(p, "{\"t\":\"host\",\"id\":%d,\"on\":true}", (int)++p->id);
    world_until(w, table_of(p)->n_plays >= 1);
    json_t *o = peer_find(p, "play");
    assert_string_equal(str(o, "why"), "host");
    json_decref(o);
    peer_say(p, "{\"t\":\"host\",\"id\":%d,\"on\":false}", (int)++p->id);
    until_people(p);
    if (room_of(p)->state == ROOM_PLAY) {
        int ply = table_ply(table_of(p));
        clock_sleep_ms(20);
        world_settle(w);
        assert_int_equal(table_ply(table_of(p)), ply); // waits for the person again
        assert_true(my_turn(p));
    }
    peer_free(p);
}

static void test_refusals(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    peer_say(p, "{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[]}");
    expect_error(p, "bad_state");
    peer_say(p, "{\"t\":\"room_join\",\"id\":2,\"room\":\"ABCD-EFGH\"}");
    expect_error(p, "gone");
    p->id = 2;
    start_quick(p, "landlord", 0, "classic");
    Table *t = table_of(p);
    peer_say(p, "{\"t\":\"bid\",\"id\":4,\"ply\":0,\"points\":3}");
    expect_error(p, "bad_state");
    peer_say(p, "{\"t\":\"play\",\"id\":5,\"ply\":1,\"cards\":[0]}");
    expect_error(p, "stale");
    peer_say(p, "{\"t\":\"play\",\"id\":6,\"ply\":0,\"cards\":[]}");
    expect_error(p, "illegal");
    int other = 0;
    while (t->owner[other] == p->session->seat) other++;
    peer_say(p, "{\"t\":\"play\",\"id\":7,\"ply\":0,\"cards\":[%d]}", other);
    expect_error(p, "not_yours");
    peer_say(p, "{\"t\":\"start\",\"id\":8}");
    expect_error(p, "bad_state");
    peer_say(p, "{\"t\":\"rematch\",\"id\":9,\"yes\":true}");
    expect_error(p, "bad_state");
    peer_say(p, "{\"t\":\"review\",\"id\":10,\"game\":\"00000000001\"}");
    expect_error(p, "gone");
    assert_int_equal(table_ply(t), 0);
    peer_free(p);
}

/* A command that is sent again is not carried out again, and gets the same answer. */
static void test_repeats(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    start_quick(p, "landlord", 0, "classic");
    act(p);
    int ply = table_ply(table_of(p)), rooms = w->lobby->n_rooms;
    json_t *first = peer_find(p, "play");
    assert_int_equal(num(first, "id"), p->id);
    drain(p);
    p->seq = 0; // the repeat has the old number
    peer_say(p, "{\"t\":\"play\",\"id\":2,\"ply\":0,\"cards\":[]}");
    json_t *again = peer_find(p, "play");
    assert_true(json_equal(first, again));
    json_decref(first);
    json_decref(again);
    drain(p);
    p->seq = 0;
    peer_say(p, quick, 1, "landlord", 0, "classic");
    json_t *o = peer_find(p, "ok");
    assert_int_equal(num(o, "id"), 1);
    json_decref(o);
    assert_int_equal(w->lobby->n_rooms, rooms);
    assert_int_equal(table_ply(table_of(p)), ply);
    peer_free(p);
}

static void test_help(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    start_quick(p, "landlord", 0, "classic");
    assert_true(room_of(p)->rated);
    peer_say(p, "{\"t\":\"advise\",\"id\":%d,\"ply\":0}", (int)++p->id);
    world_until(w, p->session->asking == 0);
    json_t *o = peer_find(p, "advice");
    const json_t *moves = json_object_get(o, "moves");
    assert_int_equal(json_array_size(moves), 3);
    double last = 2;
    for (size_t i = 0; i < 3; i++) {
        const json_t *m = json_array_get(moves, i);
        double win = json_number_value(json_object_get(m, "win"));
        assert_true(win >= 0 && win <= last);
        last = win;
        const json_t *cards = json_object_get(m, "cards");
        for (size_t c = 0; c < json_array_size(cards); c++) // his own
            assert_int_equal(table_of(p)->owner[json_integer_value(json_array_get(cards, c))],
                             p->session->seat);
    }
    json_decref(o);
    assert_false(room_of(p)->rated);
    peer_say(p, "{\"t\":\"advise\",\"id\":%d,\"ply\":9}", (int)++p->id);
    expect_error(p, "stale");
    peer_free(p);
    p = peer_new(w); // bids: never worth more to bid less than what stands
    for (int tries = 0; tries < 20; tries++) {
        start_quick(p, "bid", 0, "classic");
        until_people(p);
        if (my_turn(p) && table_of(p)->game.phase == PHASE_BID) break;
        peer_say(p, "{\"t\":\"room_leave\",\"id\":%d}", (int)++p->id);
        world_pass(w, 60000);
    }
    int ply = table_ply(table_of(p));
    peer_say(p, "{\"t\":\"advise\",\"id\":%d,\"ply\":%d}", (int)++p->id, ply);
    world_until(w, p->session->asking == 0);
    o = peer_find(p, "advice");
    assert_int_equal(json_array_size(json_object_get(o, "bids")), 4 - table_of(p)->game.bid);
    json_decref(o);
    peer_free(p);
}

static void test_undo_and_open(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    start_quick(p, "landlord", 0, "classic");
    peer_say(p, "{\"t\":\"undo\",\"id\":%d,\"ply\":0}", (int)++p->id);
    expect_error(p, "bad_state");
    int before = table_of(p)->game.left[p->session->seat];
    act(p);
    until_people(p);
    if (room_of(p)->state == ROOM_PLAY) {
        int ply = table_ply(table_of(p));
        peer_say(p, "{\"t\":\"undo\",\"id\":%d,\"ply\":%d}", (int)++p->id, ply);
        expect_ok(p);
        json_t *o = peer_find(p, "snapshot");
        assert_string_equal(str(o, "why"), "undo");
        assert_int_equal(num(o, "ply"), 0);
        assert_int_equal(json_array_size(json_object_get(o, "hand")), (size_t)before);
        assert_true(json_is_null(json_object_get(o, "hands")));
        json_decref(o);
        assert_false(room_of(p)->rated);
        peer_say(p, "{\"t\":\"open\",\"id\":%d,\"on\":true}", (int)++p->id);
        o = peer_find(p, "open");
        assert_int_equal(json_array_size(json_object_get(o, "hands")), 3);
        json_decref(o);
        act(p);
        until_people(p);
        for (bool bot = false; !bot; json_decref(o)) { // bots tell why
            o = peer_find(p, "play");
            bot = strcmp(str(o, "why"), "bot") == 0;
            if (bot) assert_non_null(json_object_get(o, "think"));
        }
    }
    play_to_end(p);
    json_t *o = peer_find(p, "end");
    assert_true(json_is_false(json_object_get(o, "rated")));
    json_decref(o);
    peer_free(p);
}

static void test_line_lost(void **state) {
    World *w = *state;
    Peer *p = peer_new(w), *q;
    start_quick(p, "landlord", 0, "classic");
    act(p);
    until_people(p);
    if (room_of(p)->state != ROOM_PLAY) {
        peer_free(p);
        return;
    }
    char code[ROOM_CODE_CHARS + 1], token[TOKEN_CHARS + 1];
    snprintf(code, sizeof code, "%s", room_of(p)->code);
    snprintf(token, sizeof token, "%s", p->token);
    while (peer_has(p, "turn")) json_decref(peer_find(p, "turn"));
    uint32_t seen = p->seq;
    peer_free(p); // the line is lost
    q = calloc(1, sizeof *q);
    q->world = w;
    peer_say(q, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\",\"room\":\"%s\",\"seq\":%u}",
             token, code, seen - 2);
    json_t *o = peer_find(q, "welcome");
    assert_true(json_is_true(json_object_get(o, "resumed")));
    assert_int_equal(num(o, "last_id"), 2);
    json_decref(o);
    json_decref(peer_find(q, "room"));
    o = peer_next(q);
    assert_int_equal(num(o, "seq"), seen - 1);
    json_decref(o);
    o = peer_next(q);
    assert_int_equal(num(o, "seq"), seen);
    json_decref(o);
    q->id = 2;
    // too old a number: a snapshot
    peer_say(q, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\",\"room\":\"%s\",\"seq\":%u}",
             token, code, seen + 500);
    o = peer_find(q, "welcome");
    assert_true(json_is_false(json_object_get(o, "resumed")));
    json_decref(o);
    json_decref(peer_find(q, "snapshot"));
    // elsewhere: the old connection is told
    Peer *r = calloc(1, sizeof *r);
    r->world = w;
    peer_say(r, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\"}", token);
    assert_string_equal(q->bye, "moved");
    json_decref(peer_find(r, "snapshot"));
    // gone for good: a bot plays on, the room closes after the game
    peer_free(q);
    peer_free(r);
    assert_int_equal(w->lobby->n_rooms, 1);
    world_pass(w, 61000);
    world_settle(w);
    assert_int_equal(w->lobby->n_rooms, 0);
    assert_int_equal(w->lobby->n_sessions, 0);
}

static void test_wrong_token(void **state) {
    World *w = *state;
    Peer *p = peer_new(w), *q = calloc(1, sizeof *q);
    char token[TOKEN_CHARS + 1];
    q->world = w;
    snprintf(token, sizeof token, "%s", p->token);
    token[20] = token[20] == 'A' ? 'B' : 'A'; // the right person, the wrong proof
    peer_say(q, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\"}", token);
    json_t *o = peer_find(q, "welcome");
    assert_true(q->session != p->session);
    assert_string_not_equal(str(o, "token"), token);
    json_decref(o);
    assert_string_equal(p->bye, "");
    peer_say(q, "{\"t\":\"hello\",\"ver\":\"2.0\"}");
    assert_string_equal(q->bye, "version");
    peer_free(p);
    peer_free(q);
}

static void test_room_of_three(void **state) {
    World *w = *state;
    Peer *a = peer_new(w), *b = peer_new(w), *c = peer_new(w), *d = peer_new(w);
    peer_say(d, "{\"t\":\"lobby\",\"id\":1,\"on\":true}");
    json_decref(peer_find(d, "lobby"));
    peer_say(a, "{\"t\":\"room_new\",\"id\":1,\"name\":\"Tea\",\"rules\":\"classic\",\"time\":20,"
                "\"help\":true,"
                "\"allpass\":\"first\",\"private\":false}");
    json_t *o = peer_find(a, "ok");
    char code[ROOM_CODE_CHARS + 1];
    snprintf(code, sizeof code, "%s", str(o, "room"));
    json_decref(o);
    world_pass(w, 1100);
    o = peer_find(d, "lobby");
    assert_int_equal(json_array_size(json_object_get(o, "rooms")), 1);
    json_decref(o);
    peer_say(b, "{\"t\":\"room_join\",\"id\":1,\"room\":\"%.4s-%.4s\"}", code, code + 4);
    o = peer_find(b, "ok");
    assert_int_equal(num(o, "seat"), 1);
    json_decref(o);
    peer_say(b, "{\"t\":\"start\",\"id\":2}");
    expect_error(b, "not_host");
    peer_say(a, "{\"t\":\"start\",\"id\":2}");
    expect_error(a, "bad_state"); // a seat is empty
    peer_say(a, "{\"t\":\"bot\",\"id\":3,\"seat\":2,\"strength\":\"easy\"}");
    expect_ok(a);
    peer_say(a, "{\"t\":\"start\",\"id\":4}");
    expect_error(a, "bad_state"); // b is not ready
    peer_say(c, "{\"t\":\"room_join\",\"id\":1,\"room\":\"%s\"}", code);
    o = peer_find(c, "ok");
    assert_true(json_is_null(json_object_get(o, "seat"))); // full: watches
    json_decref(o);
    peer_say(c, "{\"t\":\"sit\",\"id\":2,\"seat\":2}"); // a friend takes over a bot's seat
    expect_ok(c);
    peer_say(a, "{\"t\":\"swap\",\"id\":5,\"a\":0,\"b\":2}");
    expect_ok(a);
    assert_int_equal(a->session->seat, 2);
    assert_int_equal(room_of(a)->host, 2);
    peer_say(b, "{\"t\":\"ready\",\"id\":3,\"on\":true}");
    peer_say(c, "{\"t\":\"ready\",\"id\":3,\"on\":true}");
    peer_say(a, "{\"t\":\"start\",\"id\":6}");
    expect_ok(a);
    assert_int_equal(room_of(a)->state, ROOM_PLAY);
    assert_false(room_of(a)->rated); // help is on among people
    peer_say(d, "{\"t\":\"watch\",\"id\":2,\"room\":\"%s\"}", code);
    o = peer_find(d, "snapshot");
    assert_true(json_is_null(json_object_get(o, "hand")));
    assert_true(json_is_null(json_object_get(o, "hands")));
    json_decref(o);
    peer_say(a, "{\"t\":\"undo\",\"id\":7,\"ply\":0}");
    expect_error(a, "no_help");
    peer_say(a, "{\"t\":\"open\",\"id\":8,\"on\":true}");
    expect_error(a, "no_help");
    Peer *seats[3] = {c, b, a};
    for (int s = 0; s < 3; s++) seats[s]->id = 20;
    for (int i = 0; i < 400 && room_of(a)->state == ROOM_PLAY; i++)
        act(seats[table_of(a)->game.turn]);
    assert_int_equal(room_of(a)->state, ROOM_OVER);
    json_decref(peer_find(d, "end"));
    peer_say(a, "{\"t\":\"rematch\",\"id\":500,\"yes\":true}");
    o = peer_find(b, "rematch");
    json_decref(o);
    world_pass(w, 20100); // b and c do not answer: bots sit down, they watch
    assert_int_equal(room_of(a)->state, ROOM_PLAY);
    assert_int_equal(b->session->seat, -1);
    assert_int_equal(room_humans(room_of(a)), 1);
    Peer *all[4] = {a, b, c, d};
    for (int i = 0; i < 4; i++) peer_free(all[i]);
    world_pass(w, 61000);
    world_settle(w);
    assert_int_equal(w->lobby->n_rooms, 0);
    assert_int_equal(w->lobby->n_sessions, 0);
}

/* A person leaves in the middle: a bot takes over, the result is still his. */
static void test_leaving(void **state) {
    World *w = *state;
    Peer *p = peer_new(w), *q = peer_new(w);
    start_quick(p, "landlord", 0, "classic");
    uint64_t number = table_of(p)->setup.number, user = p->session->user;
    int seat = p->session->seat;
    peer_say(q, "{\"t\":\"watch\",\"id\":1,\"room\":\"%s\"}", room_of(p)->code);
    peer_say(p, "{\"t\":\"room_leave\",\"id\":%d}", (int)++p->id);
    world_settle(w);
    json_decref(peer_find(q, "end"));
    expect_error(q, "gone"); // nobody is left to play
    StoreGame g;
    while (store_committed(w->store) < store_last(w->store)) clock_sleep_ms(1);
    assert_int_equal(reader_game(w->reader, number, &g), ST_OK);
    assert_int_equal(g.seat[seat].user, user);
    assert_true(p->session->rating.at_ms > 0);
    peer_free(p);
    peer_free(q);
}

static void test_bots_alone(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    peer_say(p, "{\"t\":\"watch\",\"id\":1}");
    expect_ok(p);
    json_t *o = peer_find(p, "deal");
    assert_int_equal(json_array_size(json_object_get(o, "hands")), 3);
    json_decref(o);
    world_settle(w);
    json_decref(peer_find(p, "end"));
    world_pass(w, 5100);
    assert_int_equal(room_of(p)->state, ROOM_PLAY);
    peer_say(p, "{\"t\":\"sit\",\"id\":2,\"seat\":0}");
    expect_error(p, "bad_state");
    peer_free(p);
    assert_int_equal(w->lobby->n_rooms, 0); // without watchers there is no play
}

/* What the review after the game put beside the result; -1: nothing. */
static double stored_loss(World *w, uint64_t game, int seat) {
    sqlite3_stmt *q;
    sqlite3_prepare_v2(reader_db(w->reader),
                       "SELECT coalesce(loss, -1) FROM seat WHERE game = ? AND seat = ?", -1, &q,
                       NULL);
    sqlite3_bind_int64(q, 1, (sqlite3_int64)game);
    sqlite3_bind_int(q, 2, seat);
    double loss = sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_double(q, 0) : -1;
    sqlite3_finalize(q);
    return loss;
}

static void test_review_and_resume(void **state) {
    World *w = *state;
    Peer *p = peer_new(w);
    w->lobby->config.auto_review = true;
    start_quick(p, "bid", 0, "classic");
    play_to_end(p);
    world_settle(w);
    while (peer_has(p, "deal")) json_decref(peer_find(p, "deal"));
    json_t *o = peer_find(p, "end");
    char game[GAME_ID_CHARS + 1];
    snprintf(game, sizeof game, "%s", str(o, "game"));
    json_decref(o);
    int plies = table_ply(table_of(p)), ply = 0, choices = 0;
    while (store_committed(w->store) < store_last(w->store)) clock_sleep_ms(1);
    peer_say(p, "{\"t\":\"review\",\"id\":%d,\"game\":\"%s\"}", (int)++p->id, game);
    world_until(w, p->session->asking == 0);
    for (bool done = false; !done; json_decref(o)) {
        o = peer_find(p, "review");
        size_t i;
        json_t *e;
        json_array_foreach(json_object_get(o, "items"), i, e) {
            assert_int_equal(num(e, "ply"), ply++);
            double loss = json_number_value(json_object_get(e, "loss"));
            assert_true(loss >= 0 && loss <= 1);
            assert_true(num(e, "legal") >= 1);
            bool mine = num(e, "seat") == p->session->seat;
            choices +=
                mine && num(e, "legal") > 1 && json_array_size(json_object_get(e, "best")) != 1;
        }
        done = json_is_true(json_object_get(o, "done"));
    }
    assert_int_equal(ply, plies);
    while (store_committed(w->store) < store_last(w->store)) clock_sleep_ms(1);
    if (choices > 3) assert_true(stored_loss(w, auth_game_parse(game), p->session->seat) >= 0);
    peer_say(p,
             "{\"t\":\"resume_at\",\"id\":%d,\"game\":\"%s\",\"ply\":%d,\"seat\":1,\"strength\":"
             "\"mid\"}",
             (int)++p->id, game, plies - 1);
    json_decref(peer_find(p, "snapshot"));
    assert_false(room_of(p)->rated);
    assert_int_equal(p->session->seat, 1);
    assert_string_not_equal(table_of(p)->id, game);
    play_to_end(p);
    peer_free(p);
}

static void assert_same(const Table *a, const Table *b) {
    assert_string_equal(a->id, b->id);
    assert_int_equal(table_ply(a), table_ply(b));
    assert_memory_equal(a->owner, b->owner, sizeof a->owner);
    assert_memory_equal(a->game.hand, b->game.hand, sizeof a->game.hand);
    assert_int_equal(a->game.turn, b->game.turn);
    for (int ply = 0; ply < table_ply(a); ply++) {
        StoreAct x = table_act(a, ply), y = table_act(b, ply);
        assert_memory_equal(&x, &y, sizeof x);
    }
}

/* The server ends at any moment; another opens the same database. */
static void test_restart(void **state) {
    World *w = *state;
    for (int moves = 0; moves < 6; moves++) {
        Peer *p = peer_new(w);
        start_quick(p, moves % 2 ? "landlord" : "bid", 20, "classic");
        for (int i = 0; i < moves && room_of(p)->state == ROOM_PLAY; i++) {
            until_people(p);
            if (my_turn(p)) act(p);
        }
        until_people(p);
        if (room_of(p)->state != ROOM_PLAY) {
            peer_free(p);
            continue;
        }
        Table before = *table_of(p);
        char code[ROOM_CODE_CHARS + 1], token[TOKEN_CHARS + 1], name[NAME_BYTES];
        snprintf(code, sizeof code, "%s", room_of(p)->code);
        snprintf(token, sizeof token, "%s", p->token);
        snprintf(name, sizeof name, "%s", p->session->name);
        p->session = NULL;
        world_stop(w);
        world_start(w);
        peer_free(p);
        Peer *q = calloc(1, sizeof *q);
        q->world = w;
        peer_say(q, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\",\"room\":\"%s\",\"seq\":3}",
                 token, code);
        json_t *o = peer_find(q, "welcome");
        assert_string_equal(str(o, "name"), name);
        assert_string_equal(str(o, "room"), code);
        assert_true(json_is_false(json_object_get(o, "resumed")));
        json_decref(o);
        o = peer_find(q, "snapshot");
        assert_int_equal(num(o, "ply"), table_ply(&before));
        json_decref(o);
        assert_same(table_of(q), &before);
        play_to_end(q);
        peer_say(q, "{\"t\":\"room_leave\",\"id\":900}");
        peer_free(q);
    }
}

static int with_net(void **state) {
    *state = world_new(true);
    return 0;
}
static int without_net(void **state) {
    *state = world_new(false);
    return 0;
}
static int end(void **state) {
    world_free(*state);
    return 0;
}

#define NET(f)   cmocka_unit_test_setup_teardown(f, with_net, end)
#define PLAIN(f) cmocka_unit_test_setup_teardown(f, without_net, end)
int main(void) {
    const struct CMUnitTest tests[] = {
        NET(test_whole_games),       NET(test_clock),       PLAIN(test_hosting),
        PLAIN(test_refusals),        PLAIN(test_repeats),   NET(test_help),
        NET(test_undo_and_open),     PLAIN(test_line_lost), PLAIN(test_wrong_token),
        PLAIN(test_room_of_three),   PLAIN(test_leaving),   NET(test_bots_alone),
        NET(test_review_and_resume), PLAIN(test_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
