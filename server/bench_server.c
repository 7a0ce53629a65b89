/* dizhu-bench-server - `dizhu bench server`: many games against bots at once, over loopback.
 *
 * Starts a server of its own (in a temporary folder, bots without thinking time) or uses one that
 * runs. First it opens connections that do nothing and takes the server's memory for each; then as
 * many clients play, each making one random legal move a second, and the time is taken from a move
 * to the first bot's answer, and to the move's own acknowledgement. Every move is committed to disk
 * before either. One thread, epoll; JSON is scanned, not parsed, to leave the processor to the
 * server.                                                                                   */
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/options.h"
#include "engine/base/rng.h"
#include "engine/game.h"
#include "server/wsclient.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SEATS = 3, CARDS_MAX = 20, SCAN_MS = 2, EVENTS = 256, LATENCIES_MAX = 4 << 20 };

typedef struct {
    WsClient *ws;
    Hand hand;
    uint64_t cards; /* the cards of hand */
    Hand beat;      /* 0: leads */
    int seat, ply, id;
    bool my_turn, bot_due, ack_due;
    double next_s, sent_s; /* when to move; when the last move was sent */
} Client;

typedef struct {
    float *ms;
    size_t n;
} Latencies;

typedef struct {
    int clients, idle, seconds, warm, pace_ms, precision, commit_ms, workers;
    const char *connect, *model, *host;
    bool json;
    int port;
    pid_t server; /* 0: not ours */
    char dir[64];
    Client *client;
    Latencies bot, ack;
    bool measuring;
    uint64_t moves, games, errors;
    Rng rng;
} BenchRun;

/* ---- the server ---- */

static void own_path(const char *name, char out[4200]) {
    ssize_t n = readlink("/proc/self/exe", out, 4096);
    while (n > 0 && out[n - 1] != '/') n--;
    snprintf(out + (n < 0 ? 0 : n), 100, "%s", name);
}

static void run_server(const BenchRun *b, int out) {
    char path[4200], db[96], clients[16], commit[16], workers[16], log[96];
    static const char *const precisions[] = {"auto", "fp32", "bf16", "int8"};
    own_path("dizhu-serve", path);
    snprintf(db, sizeof db, "%s/db.sqlite", b->dir);
    snprintf(log, sizeof log, "%s/log.txt", b->dir);
    snprintf(clients, sizeof clients, "%d", 2 * (b->clients + b->idle) + 100);
    snprintf(commit, sizeof commit, "%d", b->commit_ms);
    snprintf(workers, sizeof workers, "%d", b->workers);
    dup2(out, STDOUT_FILENO);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDERR_FILENO);
    execl(path, path, "--port", "0", "--db", db, "--log", log, "--think", "0", "--max-clients",
          clients, "--per-address", clients, "--commit", commit, "--workers", workers,
          "--precision", precisions[b->precision], b->model ? "--model" : NULL, b->model, NULL);
    _exit(1);
}

static Status start_server(BenchRun *b) {
    int fds[2];
    char line[128] = "";
    const char *tmp = getenv("TMPDIR"); // the disk that is measured
    snprintf(b->dir, sizeof b->dir, "%.40s/dizhu-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(b->dir) || pipe(fds) != 0) return ST_IO;
    b->server = fork();
    if (b->server == 0) run_server(b, fds[1]);
    close(fds[1]);
    FILE *f = fdopen(fds[0], "r");
    if (!f || !fgets(line, sizeof line, f) || sscanf(line, "http://127.0.0.1:%d/", &b->port) != 1) {
        fprintf(stderr, "dizhu: dizhu-serve did not start; see %s/log.txt\n", b->dir);
        if (f) fclose(f);
        return ST_PEER;
    }
    fclose(f);
    b->host = "127.0.0.1";
    return ST_OK;
}

static void stop_server(BenchRun *b) {
    char command[128];
    if (b->server <= 0) return;
    kill(b->server, SIGTERM);
    waitpid(b->server, NULL, 0);
    snprintf(command, sizeof command, "rm -rf '%s'", b->dir);
    if (system(command) != 0) fprintf(stderr, "dizhu: %s was left behind\n", b->dir);
}

/* A figure of the server's process: field of /proc/PID/status in kB, or its seconds of processor.
 */
static double server_kb(const BenchRun *b, const char *field) {
    char path[64], line[256];
    double kb = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)b->server);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, field, strlen(field)) == 0) kb = atof(line + strlen(field) + 1);
    if (f) fclose(f);
    return kb;
}

static double server_cpu_s(const BenchRun *b) {
    char path[64];
    unsigned long user = 0, system_time = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)b->server);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    if (fscanf(f, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system_time) != 2)
        user = system_time = 0;
    fclose(f);
    return (double)(user + system_time) / (double)sysconf(_SC_CLK_TCK);
}

/* ---- messages ---- */

static void say(Client *c, const char *text) {
    if (wsclient_send(c->ws, text, strlen(text)) != ST_OK) c->my_turn = false;
}

static const char *after(const char *text, const char *key) {
    const char *p = strstr(text, key);
    return p ? p + strlen(key) : NULL;
}

static int number(const char *text, const char *key) {
    const char *p = after(text, key);
    return p && *p != 'n' ? atoi(p) : -1;
}

static uint64_t card_set(const char *text, const char *key, Hand *hand) {
    const char *p = after(text, key);
    uint64_t set = 0;
    *hand = 0;
    while (p && *p >= '0' && *p <= '9') {
        char *end;
        long card = strtol(p, &end, 10);
        if (card < 0 || card >= N_CARDS) break;
        set |= 1ull << card;
        *hand += hand_of(card_rank((int)card), 1);
        p = *end == ',' ? end + 1 : NULL;
    }
    return set;
}

static void note(BenchRun *b, Latencies *l, double since_s) {
    if (b->measuring && l->n < LATENCIES_MAX) l->ms[l->n++] = (float)(1000 * (clock_s() - since_s));
}

static void on_turn(BenchRun *b, Client *c, const char *text) {
    c->my_turn = number(text, "\"seat\":") == c->seat;
    c->ply = number(text, "\"ply\":");
    c->beat = 0;
    if (strstr(text, "\"beat\":{")) card_set(text, "\"cards\":[", &c->beat);
    // as people are: without a common beat, or pauses of the server would herd the clients
    double pace = b->pace_ms / 1000.0 * (0.5 + (double)rng_float(&b->rng));
    double earliest = c->sent_s + pace, now = clock_s();
    if (c->my_turn) c->next_s = earliest > now ? earliest : now;
}

static void on_play(BenchRun *b, Client *c, const char *text) {
    bool own = number(text, "\"seat\":") == c->seat;
    if (own && c->ack_due) {
        note(b, &b->ack, c->sent_s);
        c->ack_due = false;
    } else if (!own && c->bot_due) {
        note(b, &b->bot, c->sent_s);
        c->bot_due = false;
    }
}

static void on_end(BenchRun *b, Client *c) {
    char text[64];
    b->games += b->measuring;
    c->my_turn = c->bot_due = c->ack_due = false;
    snprintf(text, sizeof text, "{\"t\":\"rematch\",\"id\":%d,\"yes\":true}", ++c->id);
    say(c, text);
}

static void on_message(BenchRun *b, Client *c, const char *text) {
    const char *type = after(text, "\"t\":\"");
    Hand kitty;
    if (!type) return;
    if (strncmp(type, "deal\"", 5) == 0) {
        c->seat = number(text, "\"me\":");
        c->cards = card_set(text, "\"hand\":[", &c->hand);
    } else if (strncmp(type, "landlord\"", 9) == 0) {
        uint64_t set = card_set(text, "\"kitty\":[", &kitty);
        if (number(text, "\"seat\":") != c->seat) return;
        c->cards |= set;
        c->hand += kitty;
    } else if (strncmp(type, "turn\"", 5) == 0) on_turn(b, c, text);
    else if (strncmp(type, "play\"", 5) == 0) on_play(b, c, text);
    else if (strncmp(type, "end\"", 4) == 0) on_end(b, c);
    else if (strncmp(type, "error\"", 6) == 0) b->errors++;
}

/* A random legal move. */
static void make_move(BenchRun *b, Client *c) {
    const Ruleset *rules = ruleset_get(RULES_DOUZERO);
    Hand legal[MOVEGEN_MAX];
    Move beat = move_classify(rules, c->beat);
    int n = c->beat ? movegen_answers(rules, c->hand, &beat, legal)
                    : movegen_leads(rules, c->hand, legal);
    if (c->beat) legal[n++] = 0;
    Hand move = legal[rng_below(&b->rng, (uint32_t)n)];
    char text[256], list[128] = "";
    int at = 0;
    c->hand -= move;
    for (int card = 0; card < N_CARDS; card++) {
        if (!(c->cards >> card & 1) || hand_count(move, card_rank(card)) == 0) continue;
        move -= hand_of(card_rank(card), 1);
        c->cards &= ~(1ull << card);
        at += snprintf(list + at, sizeof list - (size_t)at, "%s%d", at ? "," : "", card);
    }
    snprintf(text, sizeof text, "{\"t\":\"play\",\"id\":%d,\"ply\":%d,\"cards\":[%s]}", ++c->id,
             c->ply, list);
    c->my_turn = false;
    c->bot_due = c->ack_due = true;
    c->sent_s = clock_s();
    b->moves += b->measuring;
    say(c, text);
}

/* ---- the run ---- */

static Status connect_one(const BenchRun *b, WsClient **out) {
    static const char hello[] = "{\"t\":\"hello\",\"ver\":\"1.0\",\"lang\":\"en\"}";
    Status st = wsclient_open(b->host, b->port, NULL, out, NULL);
    if (st == ST_OK) st = wsclient_send(*out, hello, sizeof hello - 1);
    const char *text;
    size_t n;
    if (st == ST_OK) st = wsclient_recv(*out, 10000, &text, &n);
    if (st == ST_OK && !strstr(text, "\"welcome\"")) st = ST_PEER;
    if (st != ST_OK) fprintf(stderr, "dizhu: a connection failed: %s\n", status_text(st));
    return st;
}

/* Kilobytes of the server's memory for each connection that only said hello; < 0: failed. */
static double measure_idle(BenchRun *b) {
    WsClient **idle = calloc((size_t)b->idle + 1, sizeof *idle);
    int n = 0, warm = b->idle / 10;
    double before = 0;
    if (!idle) return -1;
    for (; n < b->idle; n++) {
        if (n == warm) before = server_kb(b, "VmRSS:"); // tables and pools are there by then
        if (connect_one(b, &idle[n]) != ST_OK) break;
    }
    clock_sleep_ms(200);
    double kb = n > warm ? (server_kb(b, "VmRSS:") - before) / (n - warm) : -1;
    for (int i = 0; i < n; i++) wsclient_close(idle[i]);
    free(idle);
    clock_sleep_ms(500);
    return n == b->idle ? kb : -1;
}

static Status open_clients(BenchRun *b, int epoll) {
    static const char quick[] =
        "{\"t\":\"quick\",\"id\":1,\"strength\":\"best\",\"role\":\"landlord\","
        "\"time\":0,\"rules\":\"douzero\",\"help\":false,\"think\":0}";
    double from = clock_s();
    for (int i = 0; i < b->clients; i++) {
        Client *c = &b->client[i];
        TRY(connect_one(b, &c->ws));
        c->id = 1;
        c->seat = -1;
        // spread over the first second, as people are
        c->sent_s = from + 1 - b->pace_ms / 1000.0 + b->pace_ms / 1000.0 * i / b->clients;
        TRY(wsclient_send(c->ws, quick, sizeof quick - 1));
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, wsclient_fd(c->ws), &e) != 0) return ST_IO;
    }
    return ST_OK;
}

static Status pump(BenchRun *b, int epoll, double until_s) {
    struct epoll_event events[EVENTS];
    for (double now; (now = clock_s()) < until_s;) {
        int n = epoll_wait(epoll, events, EVENTS, SCAN_MS);
        for (int i = 0; i < n; i++) {
            Client *c = events[i].data.ptr;
            const char *text;
            size_t len;
            Status st;
            while ((st = wsclient_recv(c->ws, 0, &text, &len)) == ST_OK) on_message(b, c, text);
            if (st != ST_TIMEOUT) {
                fprintf(stderr, "dizhu: the server closed a connection\n");
                return ST_PEER;
            }
        }
        for (int i = 0; i < b->clients; i++)
            if (b->client[i].my_turn && b->client[i].next_s <= now) make_move(b, &b->client[i]);
    }
    return ST_OK;
}

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double quantile(const Latencies *l, double q) {
    if (l->n == 0) return 0;
    size_t i = (size_t)(q * (double)(l->n - 1) + 0.5);
    return (double)l->ms[i];
}

static void print_latency(const BenchRun *b, const char *name, Latencies *l) {
    static const double q[] = {0.5, 0.9, 0.99, 0.999, 1};
    static const char *const names[] = {"p50", "p90", "p99", "p99.9", "max"};
    qsort(l->ms, l->n, sizeof *l->ms, by_size);
    printf(b->json ? ", \"%s_ms\": {\"n\": %zu" : "%s: %zu\n ", name, l->n);
    for (int i = 0; i < 5; i++)
        printf(b->json ? ", \"%s\": %.2f" : "  %s %.1f ms", names[i], quantile(l, q[i]));
    puts(b->json ? "}" : "");
}

static void report(BenchRun *b, double idle_kb, double cpu_s, double bench_s, double playing_kb) {
    if (b->json) {
        printf(
            "{\"clients\": %d, \"pace_ms\": %d, \"seconds\": %d, \"moves_per_s\": %.1f, \"games\": "
            "%llu, \"errors\": %llu, \"server_cores\": %.3f, \"bench_cores\": %.3f, "
            "\"idle_kb_per_connection\": %.2f, \"playing_kb_per_client\": %.2f",
            b->clients, b->pace_ms, b->seconds, (double)b->moves / b->seconds,
            (unsigned long long)b->games, (unsigned long long)b->errors, cpu_s / b->seconds,
            bench_s / b->seconds, idle_kb, playing_kb);
    } else {
        printf(
            "%d clients, a move every %d ms, %d s: %.1f moves/s, %llu games ended, %llu errors\n",
            b->clients, b->pace_ms, b->seconds, (double)b->moves / b->seconds,
            (unsigned long long)b->games, (unsigned long long)b->errors);
        printf("server: %.2f cores, this bench: %.2f cores\n", cpu_s / b->seconds,
               bench_s / b->seconds);
        printf("memory: %.1f kB per idle connection, %.1f kB per client that plays\n", idle_kb,
               playing_kb);
    }
    print_latency(b, b->json ? "bot_answer" : "from a move to the first bot's answer", &b->bot);
    print_latency(b, b->json ? "acknowledged" : "from a move to its own acknowledgement", &b->ack);
    if (b->json) puts("}");
}

static double own_cpu_s(void) {
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           1e-6 * (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
}

static Status bench(BenchRun *b) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    b->client = calloc((size_t)b->clients, sizeof *b->client);
    b->bot.ms = malloc(LATENCIES_MAX * sizeof *b->bot.ms);
    b->ack.ms = malloc(LATENCIES_MAX * sizeof *b->ack.ms);
    if (epoll < 0 || !b->client || !b->bot.ms || !b->ack.ms) return ST_NOMEM;
    double idle_kb = b->server > 0 && b->idle > 0 ? measure_idle(b) : 0;
    double before_kb = b->server > 0 ? server_kb(b, "VmRSS:") : 0;
    fprintf(stderr, "connecting %d clients\n", b->clients);
    TRY(open_clients(b, epoll));
    fprintf(stderr, "warming up %d s, then measuring %d s\n", b->warm, b->seconds);
    TRY(pump(b, epoll, clock_s() + b->warm));
    b->measuring = true;
    double cpu = server_cpu_s(b), own = own_cpu_s();
    TRY(pump(b, epoll, clock_s() + b->seconds));
    b->measuring = false;
    double playing_kb = b->server > 0 ? (server_kb(b, "VmRSS:") - before_kb) / b->clients : 0;
    report(b, idle_kb, server_cpu_s(b) - cpu, own_cpu_s() - own, playing_kb);
    for (int i = 0; i < b->clients; i++) wsclient_close(b->client[i].ws);
    close(epoll);
    free(b->client);
    free(b->bot.ms);
    free(b->ack.ms);
    return ST_OK;
}

int main(int argc, char **argv) {
    BenchRun b = {
        .clients = 2000, .idle = 2000, .seconds = 30, .warm = 10, .pace_ms = 1000, .commit_ms = 2};
    const Option options[] = {
        {"clients", OPT_INT, &b.clients, "games at once", 1, 100000, NULL, false},
        {"idle", OPT_INT, &b.idle, "idle connections to measure memory with", 0, 100000, NULL,
         false},
        {"seconds", OPT_INT, &b.seconds, "to measure", 1, 3600, NULL, false},
        {"warm-up", OPT_INT, &b.warm, "seconds before", 0, 600, NULL, false},
        {"pace", OPT_INT, &b.pace_ms, "milliseconds between a client's moves", 0, 60000, NULL,
         false},
        {"connect", OPT_STR, &b.connect, "a server that runs, instead of one of its own", 0, 0,
         "ADDRESS:PORT", false},
        {"model", OPT_STR, &b.model, "weights that its bots play with", 0, 0, "FILE", false},
        {"precision", OPT_CHOICE, &b.precision, "of their arithmetic", 0, 0, "auto|fp32|bf16|int8",
         false},
        {"workers", OPT_INT, &b.workers, "its threads for bots, 0: its default", 0, 64, NULL,
         false},
        {"commit", OPT_INT, &b.commit_ms, "milliseconds that its commits wait for more", 0, 1000,
         NULL, false},
        {"json", OPT_FLAG, &b.json, "print one object", 0, 0, NULL, true},
        {NULL, OPT_FLAG, NULL, NULL, 0, 0, NULL, false}};
    const Command command = {"dizhu bench server [options]",
                             "Plays many games against bots at once over loopback; prints how long "
                             "moves take\nand what a connection costs.",
                             options, 0, 1};
    char host[64];
    bool help;
    int n_args;
    int skip = argc > 1 && strcmp(argv[1], "bench") == 0; // as `dizhu bench server` starts it
    if (options_parse(&command, argc - skip, argv + skip, &n_args, &help) != ST_OK) return 2;
    if (help) return 0;
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    signal(SIGPIPE, SIG_IGN);
    log_level(LOG_WARN);
    move_init();
    rng_init(&b.rng, 1, 0);
    if (b.connect) {
        if (sscanf(b.connect, "%63[^:]:%d", host, &b.port) != 2) {
            fprintf(stderr, "dizhu: --connect: '%s' is not ADDRESS:PORT\n", b.connect);
            return 2;
        }
        b.host = host;
    } else if (start_server(&b) != ST_OK) {
        stop_server(&b);
        return 1;
    }
    Status st = bench(&b);
    stop_server(&b);
    return st == ST_OK ? 0 : 1;
}
