/* dizhu-serve - the web demo and training dashboard: options, signals, the printed address. */
#include "engine/base/log.h"
#include "engine/base/options.h"
#include "engine/move.h"
#include "server/server.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile int stop;
static Server *server;

/* An interrupted poll returns at once; that is all that is needed. */
static void on_signal(int sig) {
    (void)sig;
    stop = 1;
}

static void catch_signals(void) {
    struct sigaction a = {.sa_handler = on_signal};
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* The page that was built with this program, if it was: the folder `page` beside it. */
static const char *built_page(void) {
    static char path[4200];
    ssize_t n = readlink("/proc/self/exe", path, 4096);
    while (n > 0 && path[n - 1] != '/') n--;
    if (n <= 0) return NULL;
    snprintf(path + n, 100, "page/index.html");
    if (access(path, R_OK) != 0) return NULL;
    path[n + 4] = '\0';
    return path;
}

int main(int argc, char **argv) {
    ServerOptions o = {.port = 8080,
                       .bind = "127.0.0.1",
                       .db = "dizhu.sqlite",
                       .think_ms = 800,
                       .commit_ms = 2,
                       .max_clients = 10000,
                       .per_address = 200,
                       .away_s = 60};
    int level = LOG_INFO, precision = 0;
    bool with_parent = false;
    pid_t parent = getppid();
    const Option options[] = {
        {"port", OPT_INT, &o.port, "TCP port, 0: any free one", 0, 65535, NULL, false},
        {"any-port", OPT_FLAG, &o.any_port, "if the port is taken: any free one", 0, 0, NULL,
         false},
        {"with-parent", OPT_FLAG, &with_parent, "end when the process that started it ends", 0, 0,
         NULL, true},
        {"bind", OPT_STR, &o.bind, "address to listen on; 0.0.0.0: all", 0, 0, "ADDRESS", false},
        {"db", OPT_STR, &o.db, "database of games and people", 0, 0, "FILE", false},
        {"model", OPT_STR, &o.model, "weights that bots play with", 0, 0, "FILE", false},
        {"run", OPT_STR, &o.run,
         "run folder (or a folder of runs): its figures are shown, its weights play once better", 0,
         0, "DIR", false},
        {"web", OPT_STR, &o.web, "the built page [page, beside this program]", 0, 0, "DIR", false},
        {"tls-cert", OPT_STR, &o.tls_cert, "certificate chain (PEM): serve TLS", 0, 0, "FILE",
         false},
        {"tls-key", OPT_STR, &o.tls_key, "its private key (PEM)", 0, 0, "FILE", false},
        {"origin", OPT_STR, &o.origin,
         "also accept WebSockets of this origin, e.g. https://example.org", 0, 0, "URL", false},
        {"workers", OPT_INT, &o.workers, "threads for the bots, 0: one per core but one", 0, 64,
         NULL, false},
        {"precision", OPT_CHOICE, &precision,
         "of the bots' arithmetic; auto: bf16 if the processor has it", 0, 0, "auto|fp32|bf16|int8",
         false},
        {"think", OPT_INT, &o.think_ms, "milliseconds a bot seems to think", 0, 5000, NULL, false},
        {"commit", OPT_INT, &o.commit_ms, "milliseconds that a commit waits for more", 0, 1000,
         NULL, false},
        {"max-clients", OPT_INT, &o.max_clients, "WebSockets at once", 1, 1000000, NULL, false},
        {"per-address", OPT_INT, &o.per_address, "connections of one address at once", 1, 1000000,
         NULL, false},
        {"away", OPT_INT, &o.away_s, "seconds that a seat is kept for a lost line", 1, 86400, NULL,
         false},
        {"log", OPT_STR, &o.log, "also log to this file", 0, 0, "FILE", false},
        {"log-level", OPT_CHOICE, &level, "what is logged", 0, 0, "error|warn|info|debug", false},
        {NULL, OPT_FLAG, NULL, NULL, 0, 0, NULL, false}};
    const Command command = {
        "dizhu serve [options]",
        "Serves the game against the bots, replays and the training dashboard\n"
        "(WebSocket at /ws, JSON at /api, Prometheus text at /metrics).",
        options, 0, 0};
    bool help;
    int n_args, skip = argc > 1 && strcmp(argv[1], "serve") == 0;
    if (options_parse(&command, argc - skip, argv + skip, &n_args, &help) != ST_OK) return 2;
    if (help) return 0;
    if ((o.tls_cert == NULL) != (o.tls_key == NULL)) {
        fprintf(stderr, "dizhu: --tls-cert and --tls-key go together\n");
        return 2;
    }
    const KernelTable *kernels = kernels_get();
    if (!kernels) return 2;
    o.precision = precision > 0        ? precision - 1
                  : kernels->gemm_bf16 ? PRECISION_BF16
                                       : PRECISION_FP32;
    if (!o.web) o.web = built_page();
    if (o.workers == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        o.workers = cores > 2 ? (int)cores - 1 : 1;
    }
    log_name("serve");
    log_level((LogLevel)level);
    if (o.log && log_file(o.log) != 0) {
        fprintf(stderr, "dizhu: cannot write %s\n", o.log);
        return 1;
    }
    catch_signals();
    if (with_parent) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (with_parent && getppid() != parent) return 0; // it has ended already
    move_init();
    if (server_start(&o, &server) != ST_OK) return 1;
    printf("%s://%s:%d/\n", o.tls_cert ? "https" : "http",
           strcmp(o.bind, "0.0.0.0") == 0 ? "localhost" : o.bind, server_port(server));
    fflush(stdout);
    server_run(server, &stop);
    log_info("stopping");
    server_free(server);
    return 0;
}
