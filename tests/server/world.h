/* world.h - a lobby without sockets for the tests: a database in a temporary folder, real bots, a
 * clock that the test moves, connections that remember what they were sent.                 */
#ifndef DIZHU_TESTS_SERVER_WORLD_H
#define DIZHU_TESTS_SERVER_WORLD_H
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "nets/weights.h"
#include "server/room.h"
#include <assert.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* after what it needs */
#include <cmocka.h>

typedef struct World World;
typedef struct {
    World *world;
    Session *session;
    char *text; /* every message sent, one a line */
    size_t n, cap, at;
    char bye[16];
    char token[TOKEN_CHARS + 1];
    int64_t id;
    uint32_t seq; /* last number seen */
} Peer;

struct World {
    char dir[64], db[96], model[96];
    Store *store;
    Reader *reader;
    Bots *bots;
    Lobby *lobby;
    bool check_commits; /* what is sent must be committed: send waits for it, as a socket does */
};

static inline void world_send(void *ctx, void *conn, Msg *m, uint32_t seq, uint64_t after) {
    World *w = ctx;
    Peer *p = conn;
    while (w->check_commits && store_committed(w->store) < after) clock_sleep_ms(1);
    if (p->n + m->len + 64 > p->cap) {
        p->cap = 2 * (p->cap + m->len + 64);
        p->text = realloc(p->text, p->cap);
        assert(p->text);
    }
    p->n +=
        (size_t)(seq ? sprintf(p->text + p->n, "{\"seq\":%u,", seq) : sprintf(p->text + p->n, "{"));
    memcpy(p->text + p->n, m->text, m->len);
    p->n += m->len;
    p->text[p->n++] = '\n';
    p->text[p->n] = '\0';
}

static inline void world_bye(void *ctx, void *conn, const char *reason) {
    (void)ctx;
    Peer *p = conn;
    snprintf(p->bye, sizeof p->bye, "%s", reason);
    p->session = NULL;
}

/* A small random net would do as well, but there is one size only. Written once per process. */
static inline void world_model(const char *path, uint64_t seed) {
    Weights w;
    memset(&w, 0, sizeof w);
    assert(weights_new(&w) == ST_OK);
    for (int r = 0; r < N_ROLES; r++) net_init((Role)r, seed + (uint64_t)r, w.params[r]);
    w.info = (WeightsInfo){.ruleset = RULES_DOUZERO, .objective = OBJECTIVE_WP, .version = 1};
    assert(weights_save(&w, DTYPE_F32, path) == ST_OK);
    weights_free(&w);
}

static inline void world_start(World *w) {
    LobbyConfig c = lobby_defaults();
    Out out = {w, world_send, world_bye};
    BotsConfig b = {.workers = 1, .model = w->model};
    c.think_ms = 0;
    c.auto_review = false;
    assert_int_equal(store_open(w->db, 0, NULL, NULL, &w->store), ST_OK);
    assert_int_equal(reader_open(w->db, &w->reader), ST_OK);
    assert_int_equal(bots_new(&b, &w->bots), ST_OK);
    assert_int_equal(lobby_new(&c, w->store, w->reader, w->bots, &out, 1000000, &w->lobby), ST_OK);
}

static inline void world_stop(World *w) {
    store_close(w->store);
    bots_free(w->bots);
    lobby_free(w->lobby);
    reader_close(w->reader);
}

/* with_net false: bots play the first legal move. */
static inline World *world_new(bool with_net) {
    World *w = calloc(1, sizeof *w);
    assert(w);
    log_level(LOG_ERROR);
    move_init();
    assert(auth_init() == ST_OK);
    // syncing to memory costs nothing; what a disk does is tested with whole processes
    bool memory = access("/dev/shm", W_OK) == 0;
    snprintf(w->dir, sizeof w->dir, "%s/dizhu-test-XXXXXX", memory ? "/dev/shm" : "/tmp");
    assert(mkdtemp(w->dir));
    snprintf(w->db, sizeof w->db, "%s/db.sqlite", w->dir);
    snprintf(w->model, sizeof w->model, "%s/net.safetensors", w->dir);
    if (with_net) world_model(w->model, 5);
    w->check_commits = true;
    world_start(w);
    return w;
}

static inline void world_free(World *w) {
    static const char *const files[] = {"db.sqlite", "db.sqlite-wal", "db.sqlite-shm",
                                        "net.safetensors"};
    char path[160];
    world_stop(w);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", w->dir, files[i]);
        unlink(path);
    }
    rmdir(w->dir);
    free(w);
}

static inline void peer_free(Peer *p) {
    if (p->session) lobby_gone(p->session);
    free(p->text);
    free(p);
}

/* A message as a socket would give it. */
static inline void peer_say(Peer *p, const char *fmt, ...) {
    char text[PROTOCOL_MAX_BYTES];
    ClientMessage m;
    const char *code, *why;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    Status st = protocol_decode(text, strlen(text), &m, &code, &why);
    if (st != ST_OK) fail_msg("%s: %s", text, why);
    if (m.kind == CMD_HELLO) p->session = lobby_hello(p->world->lobby, p, &m);
    else lobby_command(p->session, &m);
}

static inline json_t *parse(const char *line, size_t n) {
    json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    if (!o) fail_msg("not JSON: %.*s", (int)n, line);
    return o;
}

static inline const char *str(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}
static inline int64_t num(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

/* The next message, NULL if there is none. Checks that numbers have no gap. */
static inline json_t *peer_next(Peer *p) {
    if (p->at >= p->n) return NULL;
    char *line = p->text + p->at, *end = strchr(line, '\n');
    json_t *o = parse(line, (size_t)(end - line));
    p->at = (size_t)(end + 1 - p->text);
    json_t *seq = json_object_get(o, "seq");
    if (seq) {
        bool first = p->seq == 0 || strcmp(str(o, "t"), "snapshot") == 0 ||
                     json_integer_value(seq) == 1; // another room
        if (!first) assert_int_equal(json_integer_value(seq), p->seq + 1);
        p->seq = (uint32_t)json_integer_value(seq);
    }
    return o;
}

/* Skips to the next message of a type; fails if there is none. */
static inline json_t *peer_find(Peer *p, const char *type) {
    for (json_t *o; (o = peer_next(p)) != NULL; json_decref(o))
        if (strcmp(str(o, "t"), type) == 0) return o;
    fail_msg("no message %s", type);
    return NULL;
}

static inline bool peer_has(Peer *p, const char *type) {
    size_t at = p->at;
    uint32_t seq = p->seq;
    bool found = false;
    for (json_t *o; !found && (o = peer_next(p)) != NULL; json_decref(o))
        found = strcmp(str(o, "t"), type) == 0;
    p->at = at;
    p->seq = seq;
    return found;
}

static inline void expect_error(Peer *p, const char *code) {
    json_t *o = peer_find(p, "error");
    assert_string_equal(str(o, "code"), code);
    json_decref(o);
}

static inline void expect_ok(Peer *p) { json_decref(peer_find(p, "ok")); }

static inline Peer *peer_new(World *w) {
    Peer *p = calloc(1, sizeof *p);
    assert(p);
    p->world = w;
    peer_say(p, "{\"t\":\"hello\",\"ver\":\"1.0\",\"lang\":\"en\"}");
    json_t *o = peer_find(p, "welcome");
    snprintf(p->token, sizeof p->token, "%s", str(o, "token"));
    json_decref(o);
    return p;
}

/* Takes answers of the bots until a condition holds; however slow the machine is. */
#define world_until(w, condition)                                                                  \
    for (double end_ = clock_s() + 240;; clock_sleep_ms(1)) {                                      \
        lobby_jobs((w)->lobby);                                                                    \
        if (condition) break;                                                                      \
        if (clock_s() > end_) fail_msg("never: %s", #condition);                                   \
    }

/* Lets the bots go on until they are asked nothing more. */
static inline bool world_idle(const World *w) {
    BotsStats s;
    bots_stats(w->bots, &s);
    return s.asked == s.taken;
}
static inline void world_settle(World *w) { world_until(w, world_idle(w)); }

static inline void world_pass(World *w, int64_t ms) {
    w->lobby->now_us += ms * 1000;
    lobby_tick(w->lobby);
}

#endif
