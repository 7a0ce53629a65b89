/* metrics.c - /metrics: the server's counters as Prometheus text. */
#include "server/server.h"
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static void line(JsonOut *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void line(JsonOut *o, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    jsonout_bytes(o, text, (size_t)n);
}

static void metric(JsonOut *o, const char *type, const char *name, const char *help, double v) {
    line(o, "# HELP dizhu_%s %s\n# TYPE dizhu_%s %s\n", name, help, name, type);
    line(o, "dizhu_%s %.17g\n", name, v);
}
#define COUNTER(name, help, v) metric(&o, "counter", name, help, (double)(v))
#define GAUGE(name, help, v)   metric(&o, "gauge", name, help, (double)(v))

static double resident_bytes(void) {
    long pages = 0, unused;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &unused, &pages) != 2) pages = 0;
    fclose(f);
    return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

char *metrics_text(Server *s, size_t *n) {
    JsonOut o;
    StoreStats store;
    BotsStats bots;
    const Counters *c = &s->count;
    const Lobby *l = s->lobby;
    store_stats(s->store, &store);
    bots_stats(s->bots, &bots);
    jsonout_init(&o);
    GAUGE("connections", "WebSockets that are open", s->n_conns);
    GAUGE("sessions", "people known to the lobby", l->n_sessions);
    GAUGE("rooms", "rooms that are open", l->n_rooms);
    GAUGE("games_running", "games in progress", l->n_playing);
    COUNTER("games_total", "games finished", l->n_games);
    COUNTER("actions_total", "bids and plays, bots' included", l->n_moves);
    COUNTER("commands_total", "messages carried out or refused by the lobby", l->n_commands);
    COUNTER("errors_total", "errors answered", l->n_refused);
    COUNTER("connections_total", "WebSockets accepted", c->connections);
    COUNTER("refused_origin_total", "WebSockets refused for their Origin", c->refused_origin);
    COUNTER("refused_address_total", "connections refused by address", c->refused_address);
    COUNTER("messages_in_total", "messages received", c->messages_in);
    COUNTER("messages_out_total", "messages sent", c->messages_out);
    COUNTER("bytes_out_total", "bytes of messages sent", c->bytes_out);
    COUNTER("bad_messages_total", "messages that did not decode", c->bad_messages);
    COUNTER("rate_limited_total", "messages over the rate", c->rate_limited);
    COUNTER("resyncs_total", "queues dropped because a client did not read", c->resyncs);
    COUNTER("http_requests_total", "HTTP requests", c->http_requests);
    COUNTER("store_writes_total", "writes committed", store.writes);
    COUNTER("store_commits_total", "transactions", store.commits);
    COUNTER("store_commit_seconds_total", "time in transactions", store.commit_s);
    COUNTER("store_failures_total", "transactions that failed", store.failures);
    GAUGE("store_commit_slowest_seconds", "slowest since the last look", store.slowest_s);
    GAUGE("store_waiting", "writes not yet committed",
          store_last(s->store) - store_committed(s->store));
    COUNTER("bot_jobs_total", "decisions, advices and reviews answered", bots.jobs);
    COUNTER("bot_batches_total", "batches they were answered in", bots.batches);
    COUNTER("bot_busy_seconds_total", "time in them", bots.busy_s);
    COUNTER("bot_nets_loaded_total", "weights files loaded", bots.loads);
    GAUGE("bot_waiting", "jobs not yet begun", bots.waiting);
    GAUGE("resident_bytes", "memory of the process", resident_bytes());
    GAUGE("uptime_seconds", "since the start", (double)(l->wall_ms() - s->started_ms) / 1000);
    return jsonout_take(&o, n);
}
