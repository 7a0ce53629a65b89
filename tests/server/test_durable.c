/* kill -9 at random moments: after each restart every move that any client was told of is there,
 * and the games go on.                                                                          */
#include "engine/base/rng.h"
#include "process.h"
#include <poll.h>

enum { N_CLIENTS = 12, N_KILLS = 8 };

typedef struct {
    WsClient *ws;
    char token[TOKEN_CHARS + 1], game[GAME_ID_CHARS + 1], room[ROOM_CODE_CHARS + 1];
    char told[8192];                  /* the plays and bids he was told, as text, in order */
    char over[40][GAME_ID_CHARS + 1]; /* games he was told the end of */
    int n_over, id, plies;
} Player;

static void note_act(Player *p, const json_t *o) {
    char *cards = json_dumps(json_object_get(o, "cards"), JSON_COMPACT | JSON_ENCODE_ANY);
    size_t n = strlen(p->told);
    if (strcmp(str(o, "t"), "bid") == 0)
        snprintf(p->told + n, sizeof p->told - n, "b%d:%d ", (int)num(o, "seat"),
                 (int)num(o, "points"));
    else snprintf(p->told + n, sizeof p->told - n, "p%d:%s ", (int)num(o, "seat"), cards);
    p->plies++;
    free(cards);
}

/* What a snapshot says has happened, in the same words. */
static void history_of(const json_t *o, char *out, size_t cap) {
    size_t n = 0, i;
    json_t *e;
    out[0] = '\0';
    json_array_foreach(json_object_get(o, "bids"), i, e) n +=
        (size_t)snprintf(out + n, cap - n, "b%d:%d ", (int)json_integer_value(json_array_get(e, 0)),
                         (int)json_integer_value(json_array_get(e, 1)));
    json_array_foreach(json_object_get(o, "history"), i, e) {
        char *cards = json_dumps(json_array_get(e, 1), JSON_COMPACT | JSON_ENCODE_ANY);
        n += (size_t)snprintf(out + n, cap - n, "p%d:%s ",
                              (int)json_integer_value(json_array_get(e, 0)), cards);
        free(cards);
    }
}

static void host_on(Player *p) { ws_say(p->ws, "{\"t\":\"host\",\"id\":%d,\"on\":true}", ++p->id); }

static void on_message(Player *p, const json_t *o) {
    const char *t = str(o, "t");
    if (strcmp(t, "deal") == 0) {
        snprintf(p->game, sizeof p->game, "%s", str(o, "game"));
        p->told[0] = '\0';
        p->plies = 0;
        host_on(p);
    } else if (strcmp(t, "bid") == 0 || strcmp(t, "play") == 0) {
        note_act(p, o);
    } else if (strcmp(t, "end") == 0) {
        if (p->n_over < 40) memcpy(p->over[p->n_over++], p->game, sizeof p->game);
        p->game[0] = '\0';
        ws_say(p->ws, "{\"t\":\"rematch\",\"id\":%d,\"yes\":true}", ++p->id);
    }
}

static void read_all(Player *players, int ms) {
    for (double end = clock_s() + ms / 1000.0; clock_s() < end;) {
        struct pollfd fds[N_CLIENTS];
        for (int i = 0; i < N_CLIENTS; i++)
            fds[i] = (struct pollfd){wsclient_fd(players[i].ws), POLLIN, 0};
        poll(fds, N_CLIENTS, 5);
        for (int i = 0; i < N_CLIENTS; i++) {
            const char *text;
            size_t n;
            while (wsclient_recv(players[i].ws, 0, &text, &n) == ST_OK) {
                json_t *o = json_loadb(text, n, 0, NULL);
                on_message(&players[i], o);
                json_decref(o);
            }
        }
    }
}

/* What was sent before the kill may still lie in the socket: it was told as well. */
static void read_rest(Player *p) {
    const char *text;
    size_t n;
    while (wsclient_recv(p->ws, 20, &text, &n) == ST_OK) {
        json_t *o = json_loadb(text, n, 0, NULL);
        const char *t = str(o, "t");
        if (strcmp(t, "bid") == 0 || strcmp(t, "play") == 0) note_act(p, o);
        if (strcmp(t, "deal") == 0) {
            snprintf(p->game, sizeof p->game, "%s", str(o, "game"));
            p->told[0] = '\0';
        }
        if (strcmp(t, "end") == 0) {
            if (p->n_over < 40) memcpy(p->over[p->n_over++], p->game, sizeof p->game);
            p->game[0] = '\0';
        }
        json_decref(o);
    }
    wsclient_close(p->ws);
}

/* Back after a restart: nothing that he was told is missing. Counts moves that were checked. */
static void come_back(const Process *server, Player *p, int *checked) {
    char now[8192];
    p->ws = ws_open(server);
    ws_say(p->ws, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\",\"room\":\"%s\",\"seq\":1}",
           p->token, p->room);
    json_t *o = ws_find(p->ws, "welcome");
    assert_string_equal(str(o, "token"), p->token); // not taken for somebody new
    assert_string_equal(str(o, "room"), p->room);
    json_decref(o);
    p->id = 0;
    if (p->game[0] == '\0') { // between games: the last is over or the next has begun
        ws_say(p->ws, "{\"t\":\"rematch\",\"id\":%d,\"yes\":true}", ++p->id);
        return;
    }
    o = ws_find(p->ws, "snapshot");
    history_of(o, now, sizeof now);
    if (strcmp(str(o, "game"), p->game) == 0) {
        if (strncmp(now, p->told, strlen(p->told)) != 0)
            fail_msg("told  %s\nfound %s", p->told, now);
        *checked += p->plies;
    } else {
        // it was over before it was told, or nobody had bid
        snprintf(p->game, sizeof p->game, "%s", str(o, "game"));
    }
    memcpy(p->told, now, sizeof now);
    bool over = strcmp(str(o, "phase"), "over") == 0; // it had ended before he was told
    json_decref(o);
    if (over) ws_say(p->ws, "{\"t\":\"rematch\",\"id\":%d,\"yes\":true}", ++p->id);
    else host_on(p);
}

static void test_kills(void **state) {
    (void)state;
    Process server;
    static Player players[N_CLIENTS];
    Rng r;
    int checked = 0, over = 0;
    rng_init(&r, (uint64_t)clock_ns(), 0);
    process_new(&server, false);
    process_start(&server);
    for (int i = 0; i < N_CLIENTS; i++) {
        Player *p = &players[i];
        p->ws = ws_hello(&server, p->token);
        ws_say(p->ws,
               "{\"t\":\"quick\",\"id\":%d,\"strength\":\"best\",\"role\":\"%s\",\"time\":20,"
               "\"rules\":\"classic\",\"help\":false,\"think\":%d}",
               ++p->id, i % 2 ? "bid" : "landlord", i < 4 ? 0 : 20);
        json_t *o = ws_find(p->ws, "ok");
        snprintf(p->room, sizeof p->room, "%s", str(o, "room"));
        json_decref(o);
    }
    for (int kill = 0; kill < N_KILLS; kill++) {
        read_all(players, 100 + (int)rng_below(&r, 500));
        assert_int_equal(process_stop(&server, SIGKILL), -SIGKILL);
        for (int i = 0; i < N_CLIENTS; i++) read_rest(&players[i]);
        process_start(&server);
        for (int i = 0; i < N_CLIENTS; i++) come_back(&server, &players[i], &checked);
    }
    read_all(players, 200);
    for (int i = 0; i < N_CLIENTS; i++) {
        wsclient_close(players[i].ws);
        for (int g = 0; g < players[i].n_over; g++, over++) {
            char path[64];
            snprintf(path, sizeof path, "/api/games/%s", players[i].over[g]);
            json_decref(http_json(server.port, path, players[i].token));
        }
    }
    print_message("%d kills, %d told moves and %d ended games found again\n", N_KILLS, checked,
                  over);
    assert_true(checked > 50 && over > 5);
    process_free(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
