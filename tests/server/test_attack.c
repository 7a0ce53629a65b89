/* Bad input and attacks on the running program. Each is answered by a clear error or a closed
 * socket, and somebody else's game goes on beside it.                                        */
#include "process.h"
#include <netinet/tcp.h>

typedef struct {
    Process server;
    WsClient *victim; /* plays throughout */
    char token[TOKEN_CHARS + 1];
    int id;
} Fixture;

static int setup(void **state) {
    Fixture *f = calloc(1, sizeof *f);
    process_new(&f->server, false);
    f->server.extra[0] = "--per-address";
    f->server.extra[1] = "60";
    process_start(&f->server);
    f->victim = ws_hello(&f->server, f->token);
    *state = f;
    return 0;
}

static int teardown(void **state) {
    Fixture *f = *state;
    wsclient_close(f->victim);
    assert_true(process_alive(&f->server));
    assert_int_equal(process_stop(&f->server, SIGTERM), 0);
    process_free(&f->server);
    free(f);
    return 0;
}

/* The victim plays a whole game by the bots, within some seconds. */
static void victim_plays(Fixture *f) {
    ws_say(f->victim,
           "{\"t\":\"quick\",\"id\":%d,\"strength\":\"best\",\"role\":\"landlord\",\"time\":20,"
           "\"rules\":\"classic\",\"help\":false}",
           ++f->id);
    ws_say(f->victim, "{\"t\":\"host\",\"id\":%d,\"on\":true}", ++f->id);
    json_t *o = ws_find(f->victim, "end");
    assert_non_null(o);
    json_decref(o);
}

static void expect_closed(WsClient *c) {
    const char *text;
    size_t n;
    Status st;
    while ((st = wsclient_recv(c, WAIT_MS, &text, &n)) == ST_OK) {}
    assert_int_equal(st, ST_PEER);
    wsclient_close(c);
}

static void test_malformed(void **state) {
    Fixture *f = *state;
    static const char *const bad[] = {"",
                                      "{",
                                      "null",
                                      "[]",
                                      "{\"t\":1}",
                                      "{\"t\":\"x\",\"id\":1}",
                                      "{\"t\":\"bid\",\"id\":1}",
                                      "\x01\x02",
                                      "{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[99]}",
                                      "{\"t\":\"hello\"}",
                                      "{\"t\":\"ping\",\"c\":1,\"x\":[[[[[[[[]]]]]]]]}"};
    WsClient *c = ws_open(&f->server);
    ws_say(c, "{\"t\":\"quick\",\"id\":1}");
    ws_expect_error(c, "bad_message");
    ws_say(c, "{\"t\":\"rename\",\"id\":1,\"name\":\"x\"}"); // before hello
    ws_expect_error(c, "bad_state");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ws_say(c, "%s", bad[i]);
        ws_expect_error(c, "bad_message");
    }
    // after all that the connection is still good
    ws_say(c, "{\"t\":\"hello\",\"ver\":\"1.0\"}");
    json_decref(ws_find(c, "welcome"));
    wsclient_close(c);
    victim_plays(f);
}

static void test_frames(void **state) {
    Fixture *f = *state;
    static char big[70000];
    memset(big, ' ', sizeof big);
    WsClient *c = ws_open(&f->server);
    wsclient_send(c, big, 5000);
    expect_closed(c);
    c = ws_open(&f->server);
    wsclient_send(c, big, sizeof big);
    expect_closed(c);
    c = ws_open(&f->server);
    for (int i = 0; i < 6; i++) wsclient_send_frame(c, i ? 0x00 : 0x01, big, 1000); // in pieces
    expect_closed(c);
    c = ws_open(&f->server);
    wsclient_send_frame(c, 0x82, "{}", 2); // binary
    expect_closed(c);
    c = ws_open(&f->server);
    wsclient_send(c, "{\"t\":\"\xff\xfe\"}", 10); // not UTF-8
    expect_closed(c);
    c = ws_open(&f->server);
    wsclient_send_raw(c, "\x81\x02{}", 4); // not masked
    wsclient_send_raw(c, big, 100);
    expect_closed(c);
    c = ws_open(&f->server);
    wsclient_send_raw(c, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 14);
    expect_closed(c);
    // a message in pieces that fits is one message
    c = ws_open(&f->server);
    const char *hello = "{\"t\":\"hello\",\"ver\":\"1.0\"}";
    wsclient_send_frame(c, 0x01, hello, 5);
    wsclient_send_frame(c, 0x89, "ping", 4);
    wsclient_send_frame(c, 0x00, hello + 5, 5);
    wsclient_send_frame(c, 0x80, hello + 10, strlen(hello) - 10);
    json_decref(ws_find(c, "welcome"));
    wsclient_close(c);
    victim_plays(f);
}

static void test_origin(void **state) {
    Fixture *f = *state;
    char own[64];
    int http;
    WsClient *c;
    static const char *const others[] = {"http://evil.example", "null", "http://127.0.0.1",
                                         "http://127.0.0.1:1", "http://127.0.0.1.evil.example"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(wsclient_open("127.0.0.1", f->server.port, others[i], &c, &http), ST_PEER);
        assert_int_equal(http, 403);
    }
    snprintf(own, sizeof own, "http://127.0.0.1:%d", f->server.port);
    assert_int_equal(wsclient_open("127.0.0.1", f->server.port, own, &c, &http), ST_OK);
    wsclient_close(c);
    char request[512], *answer;
    static const char *const wrong[] = {"GET /other", "GET /ws"};
    for (size_t i = 0; i < 2; i++) { // another path; no sub-protocol
        int n = snprintf(
            request, sizeof request,
            "%s HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
            wrong[i]);
        int status = http_raw(f->server.port, request, (size_t)n, &answer, NULL);
        assert_int_equal(status, i == 0 ? 404 : 400);
        free(answer);
    }
}

static void test_forged_tokens(void **state) {
    Fixture *f = *state;
    char token[TOKEN_CHARS + 1], headers[128];
    for (int i = 8; i < TOKEN_CHARS; i += 5) {
        memcpy(token, f->token, sizeof token);
        token[i] = token[i] == 'x' ? 'y' : 'x';
        WsClient *c = ws_open(&f->server);
        ws_say(c, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\"}", token);
        json_t *o = ws_find(c, "welcome");
        assert_string_not_equal(str(o, "token"), token);
        assert_string_not_equal(str(o, "token"), f->token);
        json_decref(o);
        wsclient_close(c);
        snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
        assert_int_equal(http_get(f->server.port, "/api/stats", headers, NULL, NULL), 401);
    }
    victim_plays(f); // was not thrown out
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", f->token);
    assert_int_equal(http_get(f->server.port, "/api/stats", headers, NULL, NULL), 200);
}

static void test_sql_names(void **state) {
    Fixture *f = *state;
    char token[TOKEN_CHARS + 1] = "";
    WsClient *c = ws_hello(&f->server, token);
    static const char *const names[] = {"'); --", "\\\"; DROP", "%s%n", "<script>", "x' OR '1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ws_say(c, "{\"t\":\"rename\",\"id\":%zu,\"name\":\"%s\"}", i + 1, names[i]);
        json_decref(ws_find(c, "ok"));
        wsclient_close(c);
        c = ws_open(&f->server);
        ws_say(c, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\"}", token);
        json_t *o = ws_find(c, "welcome");
        assert_string_equal(str(o, "name"), *names[i] == '\\' ? "\"; DROP" : names[i]);
        json_decref(o);
        wsclient_close(c);
        c = ws_hello(&f->server, token);
    }
    wsclient_close(c);
    static const char *const paths[] = {"/api/games/'%20OR%201=1",
                                        "/api/board?span=week';DROP%20TABLE%20user",
                                        "/api/games?before='%22;--&n=1e9", "/api/train?run='"};
    char headers[128];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        int status = http_get(f->server.port, paths[i], headers, NULL, NULL);
        assert_true(status == 200 || status == 404);
    }
    victim_plays(f);
}

static void test_rates(void **state) {
    Fixture *f = *state;
    char token[TOKEN_CHARS + 1] = "";
    WsClient *c = ws_hello(&f->server, token);
    // 40 at once, then 20 a second: so many that a busy machine is not slow enough to allow them
    // all
    for (int i = 0; i < 120; i++) ws_say(c, "{\"t\":\"ping\",\"c\":%d}", i);
    ws_expect_error(c, "rate");
    clock_sleep_ms(2500);
    ws_say(c, "{\"t\":\"ping\",\"c\":999}");
    for (int64_t seen = 0; seen != 999;) { // all that was refused lies behind
        json_t *o = ws_find(c, "pong");
        seen = num(o, "c");
        json_decref(o);
    }
    int opened = 0;
    double from = clock_s();
    for (int i = 0; i < 14; i++) { // rooms: 10 at once, 5 a minute
        ws_say(c,
               "{\"t\":\"room_new\",\"id\":%d,\"rules\":\"classic\",\"time\":0,\"help\":false,"
               "\"allpass\":\"first\",\"private\":true}",
               i + 1);
        for (;;) {
            const char *text;
            size_t n;
            assert_int_equal(wsclient_recv(c, WAIT_MS, &text, &n), ST_OK);
            if (strstr(text, "\"t\":\"ok\"")) opened++;
            if (strstr(text, "\"t\":\"ok\"") || strstr(text, "\"rate\"")) break;
        }
    }
    assert_in_range(opened, 10, 10 + (int)((clock_s() - from) / 12));
    victim_plays(f);               // before the flood bans our address
    for (int i = 0; i < 4000; i++) // a flood
        if (wsclient_send(c, "{\"t\":\"ping\",\"c\":1}", 18) != ST_OK) break;
    json_t *o = ws_find(c, "bye");
    if (o) assert_string_equal(str(o, "reason"), "banned");
    json_decref(o);
    wsclient_close(c);
    int http;
    assert_int_not_equal(wsclient_open("127.0.0.1", f->server.port, NULL, &c, &http), ST_OK);
    // the victim's connection lives on, although it comes from the same address
    ws_say(f->victim, "{\"t\":\"ping\",\"c\":77}");
    json_decref(ws_find(f->victim, "pong"));
}

static void test_many_connections(void **state) {
    Fixture *f = *state;
    enum { TRIES = 300 };
    static WsClient *c[TRIES];
    int open = 0;
    for (int i = 0; i < TRIES; i++)
        if (wsclient_open("127.0.0.1", f->server.port, NULL, &c[open], NULL) == ST_OK) open++;
    assert_in_range(open, 30, 60); // --per-address, less the victim's own
    victim_plays(f);
    for (int i = 0; i < open; i++) wsclient_close(c[i]);
    WsClient *again = NULL; // there is room for them again
    for (double end = clock_s() + 60; !again && clock_s() < end; clock_sleep_ms(100))
        wsclient_open("127.0.0.1", f->server.port, NULL, &again, NULL);
    assert_non_null(again);
    wsclient_close(again);
}

/* Connections that say nothing, and requests that never end, are closed. */
static void test_silence(void **state) {
    Fixture *f = *state;
    WsClient *c = ws_open(&f->server);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)f->server.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    assert_true(send(fd, "GET / HT", 8, MSG_NOSIGNAL) == 8);
    expect_closed(c); // no hello within ten seconds
    struct timeval wait = {WAIT_MS / 1000, 0};
    char byte;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
    ws_say(f->victim, "{\"t\":\"ping\",\"c\":1}");
    victim_plays(f);
}

/* Who asks much and reads nothing: his queue is dropped, not kept; once he reads he gets a
 * snapshot. The server's memory does not grow with him. */
static void test_slow_reader(void **state) {
    Fixture *f = *state;
    char token[TOKEN_CHARS + 1] = "", game[GAME_ID_CHARS + 1];
    WsClient *c = ws_hello(&f->server, token);
    setsockopt(wsclient_fd(c), SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
    ws_say(c, "{\"t\":\"quick\",\"id\":1,\"strength\":\"best\",\"role\":\"landlord\",\"time\":20,"
              "\"rules\":"
              "\"classic\",\"help\":false}");
    ws_say(c, "{\"t\":\"host\",\"id\":2,\"on\":true}");
    json_t *o = ws_find(c, "end");
    snprintf(game, sizeof game, "%s", str(o, "game"));
    json_decref(o);
    char *metrics = NULL;
    int id = 2;
    bool dropped = false;
    for (int round = 0; round < 60 && !dropped; round++) {
        for (int i = 0; i < 4; i++)
            ws_say(c, "{\"t\":\"review\",\"id\":%d,\"game\":\"%s\"}", ++id, game);
        clock_sleep_ms(250);
        assert_int_equal(http_get(f->server.port, "/metrics", NULL, &metrics, NULL), 200);
        dropped = strstr(metrics, "\ndizhu_resyncs_total 0\n") == NULL;
        free(metrics);
    }
    assert_true(dropped);
    victim_plays(f);
    o = ws_find(c, "snapshot");
    for (; o && strcmp(str(o, "why"), "resync") != 0; o = ws_find(c, "snapshot")) json_decref(o);
    assert_non_null(o);
    json_decref(o);
    ws_say(c, "{\"t\":\"ping\",\"c\":5}");
    json_decref(ws_find(c, "pong"));
    wsclient_close(c);
}

/* HTTP that is not HTTP. */
static void test_http_garbage(void **state) {
    Fixture *f = *state;
    static char big[20000];
    memset(big, 'a', sizeof big);
    static const char *const bad[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.\r\n\r\n",
        "GET /\r\n\r\n",
        "BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /api/records HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        "POST /api/records HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        "POST /api/records HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int status = http_raw(f->server.port, bad[i], strlen(bad[i]), NULL, NULL);
        // 0: closed without a word
        if (status != 0 && status < 400) fail_msg("answered with %d: %s", status, bad[i]);
    }
    static const char old[] = "GET / HTTP/1.0\r\n\r\n"; // the page is there for who asks well
    assert_int_equal(http_raw(f->server.port, old, sizeof old - 1, NULL, NULL), 200);
    memcpy(big, "GET /", 5);
    http_raw(f->server.port, big, sizeof big, NULL, NULL);
    victim_plays(f);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_malformed),        TEST(test_frames),    TEST(test_origin),
        TEST(test_forged_tokens),    TEST(test_sql_names), TEST(test_rates),
        TEST(test_many_connections), TEST(test_silence),   TEST(test_slow_reader),
        TEST(test_http_garbage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
