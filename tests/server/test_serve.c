/* The program over real sockets: a whole game, its record and figures over HTTP, the page and its
 * encodings, the training figures, a clean end.                                             */
#include "engine/record.h"
#include "process.h"
#include <sqlite3.h>

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void make_page(Process *p, char web[96]) {
    char path[160];
    snprintf(web, 96, "%s/web", p->dir);
    mkdir(web, 0777);
    snprintf(path, sizeof path, "%s/assets", web);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/index.html", web);
    write_file(path, "<!doctype html>the page");
    snprintf(path, sizeof path, "%s/assets/a-1.js", web);
    write_file(path, "let plain");
    snprintf(path, sizeof path, "%s/assets/a-1.js.gz", web);
    write_file(path, "gzipped");
    snprintf(path, sizeof path, "%s/assets/a-1.js.br", web);
    write_file(path, "brotli");
    snprintf(path, sizeof path, "%s/engine.wasm", web);
    write_file(path, "wasm");
    snprintf(path, sizeof path, "%s/secret.txt", p->dir);
    write_file(path, "SECRET");
    snprintf(path, sizeof path, "%s/link.txt", web);
    assert_int_equal(symlink("../secret.txt", path), 0);
}

static void expect_page(int port, const char *path, const char *headers, int status,
                        const char *content, const char *header) {
    char *answer, *body;
    int got = http_get(port, path, headers, &answer, &body);
    if (got != status) fail_msg("%s: %d instead of %d", path, got, status);
    if (content) assert_string_equal(body, content);
    if (header && !strcasestr(answer, header)) fail_msg("%s: no '%s' in\n%s", path, header, answer);
    assert_null(strstr(answer, "SECRET"));
    free(answer);
}

static void test_page(void **state) {
    (void)state;
    Process p;
    char web[96];
    process_new(&p, false);
    make_page(&p, web);
    p.extra[0] = "--web";
    p.extra[1] = web;
    process_start(&p);
    static const char page[] = "<!doctype html>the page";
    expect_page(p.port, "/", NULL, 200, page, "cache-control: no-cache");
    expect_page(p.port, "/r/7KQ2-M9XA", NULL, 200, page, "content-type: text/html");
    expect_page(p.port, "/g/abc", NULL, 200, page, "content-security-policy: default-src 'self'");
    expect_page(p.port, "/assets/a-1.js", NULL, 200, "let plain", "immutable");
    expect_page(p.port, "/assets/a-1.js", "Accept-Encoding: gzip\r\n", 200, "gzipped",
                "content-encoding: gzip");
    expect_page(p.port, "/assets/a-1.js", "Accept-Encoding: gzip, br\r\n", 200, "brotli",
                "content-encoding: br");
    expect_page(p.port, "/engine.wasm", NULL, 200, "wasm", "content-type: application/wasm");
    expect_page(p.port, "/engine.wasm", NULL, 200, "wasm", "x-content-type-options: nosniff");
    char *answer, *etag, condition[128];
    assert_int_equal(http_get(p.port, "/", NULL, &answer, NULL), 200);
    etag = strcasestr(answer, "etag: ") + 6;
    snprintf(condition, sizeof condition, "If-None-Match: %.*s\r\n", (int)strcspn(etag, "\r"),
             etag);
    free(answer);
    expect_page(p.port, "/", condition, 304, "", NULL);
    // nothing outside the folder, however it is asked for
    static const char *const out[] = {"/../secret.txt",
                                      "/assets/../../secret.txt",
                                      "/..%2fsecret.txt",
                                      "/%2e%2e/secret.txt",
                                      "/assets/%2e%2e/%2e%2e/secret.txt",
                                      "//secret.txt",
                                      "/link.txt",
                                      "/.../secret.txt",
                                      "/assets\\..\\..\\secret.txt",
                                      "/%00/../secret.txt",
                                      "/missing.js",
                                      "/etc/passwd.txt"};
    for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
        int status = http_get(p.port, out[i], NULL, &answer, NULL);
        if (status == 200 && !strstr(answer, page)) fail_msg("%s: served", out[i]);
        assert_null(strstr(answer, "SECRET"));
        free(answer);
    }
    expect_page(p.port, "/missing.js", NULL, 404, NULL, NULL);
    assert_int_equal(process_stop(&p, SIGTERM), 0);
    process_free(&p);
}

/* Nothing of a game that is on can be had, by whomever. */
static void expect_secret(const Process *p, WsClient *c, const char *token) {
    static const char *const paths[] = {"/api/games/%s", "/api/games/%s/record"};
    char path[96], headers[128];
    ws_say(c, "{\"t\":\"quick\",\"id\":100,\"strength\":\"best\",\"role\":\"landlord\",\"time\":0,"
              "\"rules\":"
              "\"classic\",\"help\":true}");
    json_t *o = ws_find(c, "deal");
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof path, paths[i], str(o, "game"));
        assert_int_equal(http_get(p->port, path, headers, NULL, NULL), 404);
    }
    ws_say(c, "{\"t\":\"review\",\"id\":101,\"game\":\"%s\"}", str(o, "game"));
    ws_expect_error(c, "gone");
    ws_say(c,
           "{\"t\":\"resume_at\",\"id\":102,\"game\":\"%s\",\"ply\":0,\"seat\":1,\"strength\":"
           "\"best\"}",
           str(o, "game"));
    ws_expect_error(c, "gone");
    json_decref(o);
    ws_say(c, "{\"t\":\"room_leave\",\"id\":103}");
}

/* A game in which the person is hosted throughout; its id. */
static void hosted_game(WsClient *c, char game[GAME_ID_CHARS + 1]) {
    ws_say(c, "{\"t\":\"quick\",\"id\":1,\"strength\":\"best\",\"role\":\"landlord\",\"time\":20,"
              "\"rules\":"
              "\"classic\",\"help\":true}");
    ws_say(c, "{\"t\":\"host\",\"id\":2,\"on\":true}");
    json_t *o = ws_find(c, "end");
    snprintf(game, GAME_ID_CHARS + 1, "%s", str(o, "game"));
    json_decref(o);
}

static void test_game_and_api(void **state) {
    (void)state;
    Process p;
    char token[TOKEN_CHARS + 1] = "", game[GAME_ID_CHARS + 1], path[128], *answer, *body;
    process_new(&p, true);
    process_start(&p);
    WsClient *c = ws_hello(&p, token);
    hosted_game(c, game);

    json_t *o = http_json(p.port, "/api/games?n=5", token);
    json_t *row = json_array_get(json_object_get(o, "games"), 0);
    assert_string_equal(str(row, "game"), game);
    assert_string_equal(str(row, "role"), "landlord");
    assert_int_equal(json_array_size(json_object_get(row, "names")), 3);
    json_decref(o);
    assert_int_equal(http_get(p.port, "/api/games", NULL, NULL, NULL), 401);
    o = http_json(p.port, "/api/games/recent", NULL);
    assert_int_equal(json_array_size(json_object_get(o, "games")), 1);
    json_decref(o);

    snprintf(path, sizeof path, "/api/games/%s", game);
    o = http_json(p.port, path, token);
    assert_true(json_is_integer(json_object_get(o, "me")));
    assert_int_equal(json_array_size(json_object_get(o, "deal")), 3);
    assert_int_equal(json_array_size(json_object_get(o, "bids")), 0);
    assert_true(json_array_size(json_object_get(o, "plays")) > 3);
    assert_string_equal(str(json_object_get(o, "end"), "game"), game);
    json_decref(o);

    // the record: it replays, and can be sent in again
    snprintf(path, sizeof path, "/api/games/%s/record", game);
    assert_int_equal(http_get(p.port, path, NULL, &answer, &body), 200);
    assert_non_null(strcasestr(answer, "content-disposition: attachment"));
    size_t n = (size_t)atol(strcasestr(answer, "content-length:") + 15), used;
    Record r;
    Game end;
    assert_int_equal(record_read((uint8_t *)body, n, &r, &used), ST_OK);
    assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
    char request[1024];
    int head = snprintf(request, sizeof request,
                        "POST /api/records HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", n);
    memcpy(request + head, body, n);
    free(answer);
    assert_int_equal(http_raw(p.port, request, (size_t)head + n, &answer, &body), 200);
    o = json_loads(body, 0, NULL);
    snprintf(path, sizeof path, "/api/games/%s", str(o, "game"));
    json_decref(o);
    free(answer);
    o = http_json(p.port, path, token);
    assert_true(json_is_null(json_object_get(o, "me")));
    json_decref(o);
    request[head + 20] ^= 1; // damaged
    assert_int_equal(http_raw(p.port, request, (size_t)head + n, &answer, &body), 400);
    assert_non_null(strstr(body, "\"record\""));
    free(answer);

    o = http_json(p.port, "/api/stats?last=0", token);
    assert_int_equal(num(o, "games"), 1);
    assert_int_equal(num(json_object_get(json_object_get(o, "roles"), "landlord"), "games"), 1);
    json_decref(o);
    o = http_json(p.port, "/api/board?span=week", token);
    assert_true(json_is_true(json_object_get(json_array_get(json_object_get(o, "rows"), 0), "me")));
    json_decref(o);
    o = http_json(p.port, "/api/health", NULL);
    assert_true(json_is_true(json_object_get(o, "ok")));
    json_decref(o);
    assert_int_equal(http_get(p.port, "/metrics", NULL, &answer, NULL), 200);
    assert_non_null(strstr(answer, "\ndizhu_games_total 1\n"));
    free(answer);
    assert_int_equal(http_get(p.port, "/api/nothing", NULL, NULL, NULL), 404);
    assert_int_equal(http_get(p.port, "/api/games/zzzzzzzzzzz", NULL, NULL, NULL), 404);

    ws_say(c, "{\"t\":\"review\",\"id\":3,\"game\":\"%s\"}", game);
    for (bool done = false; !done; json_decref(o)) {
        o = ws_find(c, "review");
        done = json_is_true(json_object_get(o, "done"));
    }
    expect_secret(&p, c, token);
    // a clean end says goodbye
    kill(p.pid, SIGINT);
    o = ws_find(c, "bye");
    assert_string_equal(str(o, "reason"), "closing");
    json_decref(o);
    assert_null(ws_find(c, "x"));
    assert_int_equal(process_stop(&p, SIGINT), 0);
    wsclient_close(c);
    char *log = process_read(&p, "log.txt");
    assert_null(strstr(log, token)); // no secret in the log
    assert_null(strstr(log, token + 8));
    free(log);
    process_free(&p);
}

static void test_training(void **state) {
    (void)state;
    Process p;
    char run[96], path[128], sql[1024];
    process_new(&p, false);
    snprintf(run, sizeof run, "%s/runs", p.dir);
    mkdir(run, 0777);
    p.extra[0] = "--run";
    p.extra[1] = run;
    process_start(&p);
    json_t *o = http_json(p.port, "/api/train", NULL);
    assert_string_equal(str(o, "state"), "none");
    json_decref(o);
    snprintf(path, sizeof path, "%s/first", run);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/first/metrics.sqlite", run);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    snprintf(
        sql, sizeof sql,
        "CREATE TABLE progress(time REAL, seconds REAL, frames INTEGER, games INTEGER, fps REAL, "
        "landlord_wins REAL, act REAL, learn REAL, learner_waits REAL, inbox_waits REAL, "
        "record_bytes REAL, actors INTEGER, remote INTEGER, refused INTEGER, lost INTEGER);"
        "CREATE TABLE net_progress(time REAL, frames INTEGER, role TEXT, steps INTEGER, samples "
        "INTEGER, fps REAL, loss REAL, norm REAL, staleness REAL, waiting INTEGER);"
        "CREATE TABLE evaluation(time REAL, frames INTEGER, opponent TEXT, decks INTEGER, games "
        "INTEGER, wp_landlord REAL, wp_landlord_ci95 REAL, wp_peasants REAL, wp_peasants_ci95 "
        "REAL, wp REAL, wp_ci95 REAL, adp REAL, adp_ci95 REAL);"
        "CREATE TABLE event(time REAL, text TEXT);");
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    double start = clock_wall_s() - 10;
    for (int i = 1; i <= 3; i++) {
        double now = start + i;
        snprintf(
            sql, sizeof sql,
            "INSERT INTO progress VALUES(%f, %d, %d, %d, 5000, .5, .6, .3, 0, 0, 3, 2, 1, 0, 0);"
            "INSERT INTO net_progress VALUES(%f, %d, 'landlord', 1, %d, 1, %s, 1, 3, 0), (%f, %d, "
            "'landlord_down', 1, %d, 1, .7, 1, 3, 0), (%f, %d, 'landlord_up', 1, %d, 1, .8, 1, 3, "
            "0);"
            "INSERT INTO evaluation VALUES(%f, %d, 'rule', 10, 20, .4, .1, .6, .1, .5, .07, -.1, "
            ".2)",
            now, i, 1000 * i, 20 * i, now, 1000 * i, 500 * i, i == 2 ? "NULL" : ".6", now, 1000 * i,
            500 * i, now, 1000 * i, 500 * i, now, 1000 * i);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    }
    // before a net's first step there is no loss, which is no alarm
    snprintf(sql, sizeof sql,
             "INSERT INTO net_progress VALUES(%f, 500, 'landlord', 0, 0, 0, NULL, NULL, NULL, 0)",
             start);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    o = http_json(p.port, "/api/runs", NULL);
    assert_string_equal(str(json_array_get(json_object_get(o, "runs"), 0), "run"), "first");
    json_decref(o);
    o = http_json(p.port, "/api/train", NULL);
    assert_string_equal(str(o, "run"), "first");
    assert_string_equal(str(o, "state"), "running");
    assert_int_equal(num(o, "frames"), 3000);
    assert_string_equal(str(o, "baseline"), "rule");
    const json_t *series = json_object_get(o, "series"), *wp = json_object_get(series, "wp");
    assert_int_equal(json_array_size(json_object_get(wp, "x")), 3);
    assert_true(json_number_value(json_array_get(json_object_get(wp, "lo"), 0)) > 0.42);
    const json_t *loss = json_object_get(json_object_get(series, "loss_landlord"), "y");
    assert_int_equal(json_array_size(loss), 3);
    assert_string_equal(json_string_value(json_array_get(loss, 1)), "nan");
    const json_t *sps = json_object_get(json_object_get(series, "sps"), "y");
    double rate = json_number_value(json_array_get(sps, 2)); // 1500 more samples in a second
    assert_true(rate > 1499 && rate < 1501);
    assert_int_equal(json_array_size(json_object_get(o, "nodes")), 4);
    json_decref(o);
    o = http_json(p.port, "/api/train?run=first&since=2000", NULL);
    wp = json_object_get(json_object_get(o, "series"), "wp");
    assert_int_equal(json_array_size(json_object_get(wp, "x")), 1);
    json_decref(o);
    snprintf(sql, sizeof sql, "INSERT INTO event VALUES(%f, 'the run has ended')", clock_wall_s());
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    o = http_json(p.port, "/api/train", NULL);
    assert_string_equal(str(o, "state"), "done");
    json_decref(o);
    o = http_json(p.port, "/api/train?run=..%2F..", NULL);
    assert_string_equal(str(o, "state"), "none");
    json_decref(o);
    assert_int_equal(process_stop(&p, SIGTERM), 0);
    process_free(&p);
}

static void test_options(void **state) {
    (void)state;
    static const struct {
        const char *args;
        int code;
    } cases[] = {{"--help", 0},
                 {"--port 99999", 2},
                 {"--nothing", 2},
                 {"--tls-cert x", 2},
                 {"--db /nonexistent/x.sqlite", 1},
                 {"--web /nonexistent --db :memory:", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command, PROGRAM_DIR "/dizhu-serve serve %s >/dev/null 2>&1",
                 cases[i].args);
        int status = system(command);
        if (WEXITSTATUS(status) != cases[i].code)
            fail_msg("%s: exit code %d", cases[i].args, WEXITSTATUS(status));
    }
}

/* As `./run` starts it: on any port if the usual one is taken, and until its parent ends. */
static void test_with_parent(void **state) {
    (void)state;
    Process p;
    char command[1024];
    process_new(&p, false);
    process_start(&p);
    snprintf(command, sizeof command,
             "'%s/dizhu-serve' --port %d --any-port --with-parent --db '%s/other.sqlite' --web "
             "'%s/page' >'%s/address' 2>/dev/null & until [ -s '%s/address' ]; do sleep 0.02; done",
             PROGRAM_DIR, p.port, p.dir, p.dir, p.dir, p.dir);
    assert_int_equal(system(command), 0);
    char *address = process_read(&p, "address");
    int other = atoi(strrchr(address, ':') + 1);
    free(address);
    assert_int_not_equal(other, p.port);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)other),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool gone = false;
    for (double end = clock_s() + 60; !gone && clock_s() < end; clock_sleep_ms(20)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        gone = connect(fd, (struct sockaddr *)&to, sizeof to) != 0;
        close(fd);
    }
    assert_true(gone); // the shell that started it has ended
    assert_true(process_alive(&p));
    process_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_parent),  cmocka_unit_test(test_page),
        cmocka_unit_test(test_game_and_api), cmocka_unit_test(test_training),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
