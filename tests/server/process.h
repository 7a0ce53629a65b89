/* process.h - a real `dizhu-serve` for the tests: its own folder, a free port, killed in the end.
 */
#ifndef DIZHU_TESTS_SERVER_PROCESS_H
#define DIZHU_TESTS_SERVER_PROCESS_H
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "nets/weights.h"
#include "server/auth.h"
#include "server/wsclient.h"
#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* after what it needs */
#include <cmocka.h>

enum { WAIT_MS = 60000 }; /* for an answer, however slow the machine is */

typedef struct {
    char dir[64];
    pid_t pid;
    int port;
    const char *extra[12]; /* options beside the usual ones, NULL-ended */
} Process;

static inline void process_start(Process *p) {
    char db[96], log[96], model[96], page[96], line[128] = "";
    const char *args[32] = {PROGRAM_DIR "/dizhu-serve",
                            "--port",
                            "0",
                            "--db",
                            db,
                            "--log",
                            log,
                            "--think",
                            "0",
                            "--web",
                            page,
                            "--with-parent"}; // a test that fails leaves none behind
    int n = 12, fds[2];
    snprintf(page, sizeof page, "%s/page", p->dir);
    snprintf(db, sizeof db, "%s/db.sqlite", p->dir);
    snprintf(log, sizeof log, "%s/log.txt", p->dir);
    snprintf(model, sizeof model, "%s/net.safetensors", p->dir);
    if (access(model, R_OK) == 0) {
        args[n++] = "--model";
        args[n++] = model;
    }
    for (int i = 0; p->extra[i]; i++) args[n++] = p->extra[i];
    assert_int_equal(pipe(fds), 0);
    p->pid = fork();
    if (p->pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDERR_FILENO);
        dup2(fds[1], STDOUT_FILENO);
        execv(args[0], (char **)args);
        _exit(127);
    }
    close(fds[1]);
    FILE *f = fdopen(fds[0], "r");
    if (!f || !fgets(line, sizeof line, f)) fail_msg("the server did not start: see %s", log);
    fclose(f);
    const char *colon = strrchr(line, ':');
    p->port = atoi(colon + 1);
    assert_in_range(p->port, 1, 65535);
}

/* A page of one file, so that `GET /` has an answer that a refusal can be told from. */
static inline void process_page(const Process *p) {
    char path[96];
    snprintf(path, sizeof path, "%s/page", p->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/page/index.html", p->dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("<!doctype html><title>page</title>", f);
    fclose(f);
}

/* A folder with a page and, if wanted, a random net in it. */
static inline void process_new(Process *p, bool net) {
    char path[96];
    memset(p, 0, sizeof *p);
    log_level(LOG_ERROR);
    move_init();
    snprintf(p->dir, sizeof p->dir, "/tmp/dizhu-test-XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    process_page(p);
    if (!net) return;
    Weights w;
    memset(&w, 0, sizeof w);
    assert_int_equal(weights_new(&w), ST_OK);
    for (int r = 0; r < N_ROLES; r++) net_init((Role)r, 9, w.params[r]);
    w.info = (WeightsInfo){.ruleset = RULES_DOUZERO, .objective = OBJECTIVE_WP, .version = 1};
    snprintf(path, sizeof path, "%s/net.safetensors", p->dir);
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);
    weights_free(&w);
}

/* Its exit code, or -signal. */
static inline int process_stop(Process *p, int sig) {
    int status;
    kill(p->pid, sig);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    p->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline bool process_alive(const Process *p) { return waitpid(p->pid, NULL, WNOHANG) == 0; }

static inline void process_free(Process *p) {
    char command[128];
    if (p->pid) process_stop(p, SIGKILL);
    snprintf(command, sizeof command, "rm -rf '%s'", p->dir);
    assert_int_equal(system(command), 0);
}

static inline char *process_read(const Process *p, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", p->dir, name);
    FILE *f = fopen(path, "r");
    if (!f) return strdup("");
    char *text = calloc(1, 1 << 20);
    size_t n = fread(text, 1, (1 << 20) - 1, f);
    text[n] = '\0';
    fclose(f);
    return text;
}

/* ---- HTTP ---- */

/* Sends bytes, reads until the server closes or the answer is whole; *body points into the result,
 * which the caller frees. The status, 0 if there was none.                                   */
static inline int http_raw(int port, const void *request, size_t n, char **answer, char **body) {
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), status = 0;
    struct timeval wait = {WAIT_MS / 1000, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    for (size_t at = 0; at < n;) {
        ssize_t sent = send(fd, (const char *)request + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0) break;
        at += (size_t)sent;
    }
    size_t cap = 8 << 20, got = 0;
    char *text = malloc(cap), *end = NULL;
    assert_non_null(text);
    for (ssize_t more; got < cap - 1 && (more = recv(fd, text + got, cap - 1 - got, 0)) > 0;) {
        got += (size_t)more;
        text[got] = '\0';
        end = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "\r\ncontent-length:");
        if (end && length && got >= (size_t)(end + 4 - text) + (size_t)atol(length + 17)) break;
    }
    close(fd);
    text[got] = '\0';
    sscanf(text, "HTTP/%*s %d", &status);
    if (body) *body = end ? end + 4 : text + got;
    if (answer) *answer = text;
    else free(text);
    return status;
}

static inline int http_get(int port, const char *path, const char *headers, char **answer,
                           char **body) {
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sConnection: close\r\n\r\n", path,
                     port, headers ? headers : "");
    return http_raw(port, text, (size_t)n, answer, body);
}

static inline json_t *http_json(int port, const char *path, const char *token) {
    char headers[128] = "", *answer, *body;
    if (token) snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    int status = http_get(port, path, headers, &answer, &body);
    if (status != 200) fail_msg("%s: status %d", path, status);
    json_t *o = json_loads(body, 0, NULL);
    if (!o) fail_msg("%s: not JSON: %s", path, body);
    free(answer);
    return o;
}

/* ---- WebSocket ---- */

static inline void ws_say(WsClient *c, const char *fmt, ...) {
    char text[4097];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    assert_int_equal(wsclient_send(c, text, (size_t)n), ST_OK);
}

/* The next message of a type; NULL: the connection was closed first. Fails after a minute. */
static inline json_t *ws_find(WsClient *c, const char *type) {
    const char *text;
    size_t n;
    for (;;) {
        Status st = wsclient_recv(c, WAIT_MS, &text, &n);
        if (st == ST_PEER) return NULL;
        if (st != ST_OK) fail_msg("no message %s", type);
        json_t *o = json_loadb(text, n, 0, NULL);
        assert_non_null(o);
        if (strcmp(json_string_value(json_object_get(o, "t")), type) == 0) return o;
        json_decref(o);
    }
}

static inline void ws_expect_error(WsClient *c, const char *code) {
    json_t *o = ws_find(c, "error");
    if (!o) fail_msg("closed instead of error %s", code);
    assert_string_equal(json_string_value(json_object_get(o, "code")), code);
    json_decref(o);
}

static inline WsClient *ws_open(const Process *p) {
    WsClient *c = NULL;
    assert_int_equal(wsclient_open("127.0.0.1", p->port, NULL, &c, NULL), ST_OK);
    return c;
}

/* Says hello with a token, or "" for a new one, which is written to it. */
static inline WsClient *ws_hello(const Process *p, char token[TOKEN_CHARS + 1]) {
    WsClient *c = ws_open(p);
    if (*token) ws_say(c, "{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"%s\"}", token);
    else ws_say(c, "{\"t\":\"hello\",\"ver\":\"1.0\",\"lang\":\"zh\"}");
    json_t *o = ws_find(c, "welcome");
    assert_non_null(o);
    snprintf(token, TOKEN_CHARS + 1, "%s", json_string_value(json_object_get(o, "token")));
    json_decref(o);
    return c;
}

static inline const char *str(const json_t *o, const char *key) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}
static inline int64_t num(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

#endif
