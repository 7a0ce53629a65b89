/* server.c - opens the parts in order, runs the service thread, closes them in reverse. */
#include "server/server.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SWEEP_MS = 1000, FORGET_MS = 60000, CLOSING_MS = 500, FDS_BESIDE = 64 };

static const struct lws_protocols protocols_template[] = {
    {"http", http_callback, 0, 0, 0, NULL, 0},
    {"ddz.v1", socket_callback, 0, 1024, 0, NULL, 64 << 10},
    {NULL, NULL, 0, 0, 0, NULL, 0},
};

static int64_t now_us(void) { return clock_ns() / 1000; }

/* ---- threads knock, timers ring ---- */

static void wake(void *ctx) {
    Server *s = ctx;
    struct lws_context *lws = __atomic_load_n(&s->lws, __ATOMIC_ACQUIRE);
    if (lws) lws_cancel_service(lws);
}

static void ring(struct lws_sorted_usec_list *sul);

/* The lobby's earliest timer becomes the loop's. */
static void set_alarm(Server *s) {
    int64_t due = timers_next(&s->lobby->timers);
    if (due == s->alarm_us) return;
    s->alarm_us = due;
    lws_sul_cancel(&s->alarm);
    if (due == INT64_MAX) return;
    int64_t in = due - now_us();
    lws_sul_schedule(s->lws, 0, &s->alarm, ring, in > 0 ? in : 1);
}

static void ring(struct lws_sorted_usec_list *sul) {
    Server *s = (Server *)((char *)sul - offsetof(Server, alarm));
    s->alarm_us = 0;
    s->lobby->now_us = now_us();
    lobby_tick(s->lobby);
}

void server_woken(Server *s) {
    s->lobby->now_us = now_us();
    lobby_jobs(s->lobby);
    socket_committed(s);
    http_api_done(s);
}

static void sweep(struct lws_sorted_usec_list *sul) {
    Server *s = (Server *)((char *)sul - offsetof(Server, sweeper));
    s->lobby->now_us = now_us();
    socket_sweep(s);
    if (++s->sweeps % (FORGET_MS / SWEEP_MS) == 0) addresses_sweep(s->addresses, s->lobby->now_us);
    lws_sul_schedule(s->lws, 0, &s->sweeper, sweep, SWEEP_MS * 1000);
}

/* ---- opening ---- */

static void lws_line(int level, const char *text) {
    size_t n = strcspn(text, "\n");
    if (level & LLL_ERR) log_warn("lws: %.*s", (int)n, text);
    else log_debug("lws: %.*s", (int)n, text);
}

/* As many files as the system lets us have; returns how many. */
static int raise_files(int want) {
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0) return 1024;
    if (r.rlim_cur < (rlim_t)want) {
        r.rlim_cur = r.rlim_max < (rlim_t)want ? r.rlim_max : (rlim_t)want;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    return (int)r.rlim_cur;
}

static Status open_socket(Server *s) {
    const ServerOptions *o = &s->options;
    struct lws_context_creation_info info;
    memset(&info, 0, sizeof info);
    memcpy(s->protocols, protocols_template, sizeof protocols_template);
    s->protocols[0].per_session_data_size = http_conn_bytes;
    s->protocols[1].per_session_data_size = socket_conn_bytes;
    int files = raise_files(o->max_clients + FDS_BESIDE);
    if (files < o->max_clients + FDS_BESIDE)
        log_warn("only %d files may be open: fewer clients than %d fit", files, o->max_clients);
    info.port = o->port;
    info.iface = strcmp(o->bind, "0.0.0.0") == 0 ? NULL : o->bind;
    info.protocols = s->protocols;
    info.user = s;
    info.gid = info.uid = (int)-1;
    info.fd_limit_per_thread = (unsigned)files;
    info.max_http_header_pool = 256;
    info.max_http_header_data = 2048;
    info.keepalive_timeout = 15;
    info.timeout_secs = 10;
    info.alpn = "http/1.1"; // a WebSocket needs its own connection
    info.options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_VALIDATE_UTF8;
    if (strchr(o->bind, ':') == NULL) info.options |= LWS_SERVER_OPTION_DISABLE_IPV6;
    if (o->tls_cert) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = o->tls_cert;
        info.ssl_private_key_filepath = o->tls_key;
    }
    lws_set_log_level(LLL_ERR | LLL_WARN, lws_line);
    struct lws_context *lws = lws_create_context(&info);
    if (!lws && o->any_port) {
        log_info("port %d is taken", o->port);
        info.port = 0;
        lws = lws_create_context(&info);
    }
    if (!lws) {
        log_error("cannot listen on %s:%d%s", o->bind, o->port,
                  o->tls_cert ? " with this certificate and key" : "");
        return ST_IO;
    }
    __atomic_store_n(&s->lws, lws, __ATOMIC_RELEASE);
    return ST_OK;
}

static Status open_threads(Server *s) {
    const ServerOptions *o = &s->options;
    BotsConfig bots = {o->workers, o->model, o->run, (Precision)o->precision, wake, s};
    TRY(store_open(o->db, o->commit_ms, wake, s, &s->store));
    TRY(reader_open(o->db, &s->reader));
    TRY(bots_new(&bots, &s->bots));
    return api_new(o->db, o->run, wake, s, &s->api);
}

static Status open_lobby(Server *s) {
    const ServerOptions *o = &s->options;
    LobbyConfig c = lobby_defaults();
    c.max_sessions = 2 * o->max_clients;
    c.max_rooms = o->max_clients;
    c.think_ms = o->think_ms;
    c.away_ms = o->away_s * 1000;
    Out out = {s, socket_send, socket_bye};
    AddressLimits limits = {.connections = o->per_address,
                            .connects_burst = (float)(2 * o->per_address),
                            .connects_per_s = (float)o->per_address,
                            .requests_burst = 200 + 2 * (float)o->per_address,
                            .requests_per_s = 100,
                            .guests_burst = (float)o->per_address,
                            .guests_per_s = (float)o->per_address / 60};
    s->addresses = addresses_new(&limits);
    if (!s->addresses) return ST_NOMEM;
    return lobby_new(&c, s->store, s->reader, s->bots, &out, now_us(), &s->lobby);
}

Status server_start(const ServerOptions *o, Server **out) {
    Server *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->options = *o;
    Status st;
    TRY_TO(st, auth_init(), fail);
    if (o->web) TRY_TO(st, pages_load(o->web, &s->pages), fail);
    TRY_TO(st, open_threads(s), fail);
    TRY_TO(st, open_lobby(s), fail);
    TRY_TO(st, open_socket(s), fail);
    s->started_ms = s->lobby->wall_ms();
    lws_sul_schedule(s->lws, 0, &s->sweeper, sweep, SWEEP_MS * 1000);
    *out = s;
    return ST_OK;
fail:
    server_free(s);
    return st;
}

int server_port(const Server *s) {
    return lws_get_vhost_listen_port(lws_get_vhost_by_name(s->lws, "default"));
}

/* ---- running ---- */

void server_run(Server *s, volatile const int *stop) {
    server_woken(s); // answers that came before there was a loop to wake
    while (!*stop) {
        set_alarm(s);
        s->lobby->now_us = now_us();
        if (lws_service(s->lws, 0) < 0) break;
    }
    socket_close_all(s);
    for (int64_t end = now_us() + CLOSING_MS * 1000; s->n_conns > 0 && now_us() < end;) {
        lws_cancel_service(s->lws);
        lws_service(s->lws, 0);
    }
}

void server_free(Server *s) {
    if (!s) return;
    struct lws_context *lws = s->lws;
    store_close(s->store); // flushes; its wakes still find the loop
    bots_free(s->bots);
    api_free(s->api);
    Lobby *lobby = s->lobby;
    s->lobby = NULL; // connections that close now tell nobody
    if (lws) {
        lws_sul_cancel(&s->alarm);
        lws_sul_cancel(&s->sweeper);
        lws_context_destroy(lws);
    }
    lobby_free(lobby);
    for (ApiJob *j = s->api_waiting, *next; j; j = next) {
        next = j->next;
        api_job_free(j);
    }
    reader_close(s->reader);
    pages_free(s->pages);
    addresses_free(s->addresses);
    free(s);
}
