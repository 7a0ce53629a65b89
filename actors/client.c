#include "actors/client.h"
#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS_HIGH_WATER = 2, LINGER_MS = 1000, STATE_BYTES = 512 };
/* The learner repeats VERSION every 0.5 s: this long without a word and it is asked for. */
static const double silence_s = 3, hello_every_s = 1;

struct Client {
    ClientConfig config;
    char host[128];
    LinkContext *context;
    Link *control, *records, *weights;
    Welcome welcome;
    bool joined, silent;
    uint64_t sequence;
    double heard, hello_at; /* last word from the learner; when to say HELLO next */
};

Status client_new(const ClientConfig *config, Client **out) {
    Client *c = calloc(1, sizeof *c);
    if (!c) return ST_NOMEM;
    c->config = *config;
    gethostname(c->host, sizeof c->host - 1);
    Status st = link_context_new(&c->context);
    LinkOptions o = {.kind = LINK_DEALER, .linger_ms = 100, .server_key = config->server_key};
    if (st == ST_OK) st = link_open(c->context, &o, config->endpoint, &c->control);
    if (st == ST_OK) *out = c;
    else client_free(c);
    return st;
}

void client_free(Client *c) {
    if (!c) return;
    link_close(c->records);
    link_close(c->weights);
    link_close(c->control);
    if (c->context) link_context_free(c->context);
    free(c);
}

/* ---- speaking ---- */

static void say(Client *c, FrameKind kind, json_t *body) {
    char text[STATE_BYTES];
    size_t n = json_dumpb(body, text, sizeof text, JSON_COMPACT);
    json_decref(body);
    if (n == 0 || n > sizeof text) return;
    Frame f = {.kind = (uint16_t)kind,
               .run = c->joined ? c->welcome.run : 0,
               .sender = c->joined ? c->welcome.actor : 0,
               .length = (uint32_t)n};
    /* A full queue to a learner that is away: it will be asked again. */
    link_send(c->control, &f, text, 0);
}

static void say_hello(Client *c, const char *want) {
    json_t *rules = c->config.rules < 0
                        ? json_null()
                        : json_string(ruleset_get((RulesetId)c->config.rules)->name);
    say(c, FRAME_HELLO,
        json_pack("{s:s,s:s,s:i,s:o,s:s}", "program", "dizhu actor", "host", c->host, "pid",
                  (int)getpid(), "ruleset", rules, "want", want));
}

void client_want_weights(Client *c) { say_hello(c, "weights"); }

void client_heartbeat(Client *c, const CrewStats *s, double age, bool shared) {
    say(c, FRAME_HEARTBEAT,
        json_pack("{s:s,s:i,s:I,s:I,s:I,s:f,s:f,s:f,s:b}", "host", c->host, "pid", (int)getpid(),
                  "games", (json_int_t)s->pool.games, "decisions", (json_int_t)s->pool.decisions,
                  "scored", (json_int_t)s->pool.scored, "busy_s", s->busy_s, "wait_s", s->wait_s,
                  "weights_age_s", age, "shared", shared));
}

static Status send_frame(Client *c, uint64_t sequence, const uint8_t *p, size_t n, uint32_t version,
                         int timeout_ms) {
    Frame f = {.kind = FRAME_RECORDS,
               .ruleset = (uint8_t)c->welcome.rules,
               .objective = (uint8_t)c->welcome.objective,
               .weights_version = version,
               .run = c->welcome.run,
               .sender = c->welcome.actor,
               .sequence = sequence,
               .length = (uint32_t)n};
    return link_send(c->records, &f, p, timeout_ms);
}

Status client_send_records(Client *c, const uint8_t *p, size_t n, uint32_t version,
                           int timeout_ms) {
    Status st = send_frame(c, c->sequence + 1, p, n, version, timeout_ms);
    if (st == ST_OK) c->sequence++;
    return st;
}

Status client_resend_records(Client *c, const uint8_t *p, size_t n, uint32_t version) {
    return send_frame(c, c->sequence, p, n, version, 0);
}

uint64_t client_sequence(const Client *c) { return c->sequence; }

/* ---- joining ---- */

static bool copy_text(const json_t *o, const char *key, char *out, size_t cap) {
    const char *s = json_string_value(json_object_get(o, key));
    if (!s || strlen(s) >= cap) return false;
    strcpy(out, s);
    return true;
}

static int find_in(const json_t *o, const char *key, int (*find)(const char *)) {
    const char *s = json_string_value(json_object_get(o, key));
    return s ? find(s) : -1;
}

/* Checks every field: the learner's word is not taken for it. */
static Status read_welcome(const Client *c, const Frame *f, const uint8_t *body, Welcome *out) {
    json_t *o = json_loadb((const char *)body, f->length, 0, NULL);
    Welcome w = {.run = f->run};
    char records[LINK_ENDPOINT_BYTES], weights[LINK_ENDPOINT_BYTES];
    json_int_t actor = json_integer_value(json_object_get(o, "actor"));
    json_int_t lockstep = json_integer_value(json_object_get(o, "lockstep"));
    int rules = find_in(o, "ruleset", ruleset_find);
    int objective = find_in(o, "objective", objective_find);
    const json_t *epsilon = json_object_get(o, "epsilon");
    const json_t *seed = json_object_get(o, "seed");
    bool ok = actor > 0 && actor <= UINT32_MAX && lockstep >= 0 && lockstep <= 1 << 20 &&
              rules >= 0 && objective >= 0 && json_is_number(epsilon) && json_is_integer(seed) &&
              copy_text(o, "records", records, sizeof records) &&
              copy_text(o, "weights", weights, sizeof weights);
    if (!copy_text(o, "shm", w.shm, sizeof w.shm)) w.shm[0] = '\0';
    w.actor = (uint32_t)actor;
    w.lockstep = (int)lockstep;
    w.rules = (RulesetId)rules;
    w.objective = (Objective)objective;
    w.epsilon = json_number_value(epsilon);
    w.seed = (uint64_t)json_integer_value(seed);
    ok = ok && w.epsilon >= 0 && w.epsilon <= 1 &&
         link_resolve(c->config.endpoint, records, w.records) == ST_OK &&
         link_resolve(c->config.endpoint, weights, w.weights) == ST_OK;
    json_decref(o);
    if (ok) *out = w;
    return ok ? ST_OK : ST_CORRUPT;
}

static Status open_links(Client *c) {
    LinkOptions push = {.kind = LINK_PUSH,
                        .high_water = RECORDS_HIGH_WATER,
                        .linger_ms = LINGER_MS,
                        .server_key = c->config.server_key};
    LinkOptions sub = {.kind = LINK_SUB, .server_key = c->config.server_key};
    link_close(c->records);
    link_close(c->weights);
    c->records = c->weights = NULL;
    TRY(link_open(c->context, &push, c->welcome.records, &c->records));
    return link_open(c->context, &sub, c->welcome.weights, &c->weights);
}

/* One line, whatever the peer sent. */
static void log_refusal(const uint8_t *body, size_t n) {
    char line[200];
    size_t k = 0;
    for (; k < n && k + 1 < sizeof line; k++)
        line[k] = body[k] >= ' ' && body[k] < 127 ? (char)body[k] : ' ';
    line[k] = '\0';
    log_error("the learner refused: %s", line);
}

static Status accept_welcome(Client *c, const Welcome *w) {
    if (c->config.rules >= 0 && w->rules != (RulesetId)c->config.rules) {
        log_error("the learner's run has ruleset %s, not %s", ruleset_get(w->rules)->name,
                  ruleset_get((RulesetId)c->config.rules)->name);
        return ST_MISMATCH;
    }
    c->welcome = *w;
    TRY(open_links(c));
    c->joined = true;
    c->silent = false;
    c->sequence = 0;
    c->heard = clock_s();
    return ST_OK;
}

Status client_join(Client *c, atomic_bool *stop, Welcome *out) {
    double begin = clock_s();
    bool told = false;
    c->joined = false;
    c->hello_at = 0;
    while (!atomic_load(stop)) {
        double now = clock_s();
        if (now >= c->hello_at) {
            say_hello(c, "join");
            c->hello_at = now + hello_every_s;
        }
        if (!told && now - begin > silence_s) {
            log_info("waiting for a learner at %s", c->config.endpoint);
            told = true;
        }
        Frame f;
        const uint8_t *body;
        Status st = link_recv(c->control, 100, &f, &body);
        if (st == ST_OK && f.kind == FRAME_REFUSED) {
            log_refusal(body, f.length);
            return ST_MISMATCH;
        }
        if (st != ST_OK || f.kind != FRAME_WELCOME) continue;
        Welcome w;
        if (read_welcome(c, &f, body, &w) != ST_OK) {
            log_warn("a welcome that makes no sense from %s", c->config.endpoint);
            continue;
        }
        TRY(accept_welcome(c, &w));
        *out = w;
        return ST_OK;
    }
    return ST_INTERRUPTED;
}

/* ---- listening ---- */

static void back(Client *c, ClientEvent *out) {
    if (!c->silent) return;
    c->silent = false;
    log_info("the learner is back");
    out->back = true;
}

/* A WELCOME in mid-run answers our HELLO after a silence. */
static void rejoin(Client *c, const Frame *f, const uint8_t *body, ClientEvent *out) {
    Welcome w;
    if (read_welcome(c, f, body, &w) != ST_OK) return;
    bool same = w.run == c->welcome.run && w.actor == c->welcome.actor &&
                w.seed == c->welcome.seed && w.rules == c->welcome.rules;
    if (!same) {
        out->kind = CLIENT_OTHER_RUN;
        return;
    }
    if (strcmp(w.records, c->welcome.records) != 0 || strcmp(w.weights, c->welcome.weights) != 0) {
        c->welcome = w;
        if (open_links(c) != ST_OK) out->kind = CLIENT_OTHER_RUN;
    }
    back(c, out);
}

static void hear_control(Client *c, ClientEvent *out) {
    Frame f;
    const uint8_t *body;
    if (link_recv(c->control, 0, &f, &body) != ST_OK) return;
    c->heard = clock_s();
    switch (f.kind) {
    case FRAME_WELCOME: rejoin(c, &f, body, out); break;
    case FRAME_REFUSED:
        log_refusal(body, f.length);
        out->kind = CLIENT_REFUSED;
        break;
    case FRAME_WEIGHTS:
        if (f.run != c->welcome.run) break;
        *out = (ClientEvent){.kind = CLIENT_WEIGHTS, .body = body, .n = f.length};
        break;
    case FRAME_BYE: out->kind = CLIENT_BYE; break;
    default: break;
    }
}

static void hear_weights(Client *c, ClientEvent *out) {
    Frame f;
    const uint8_t *body;
    if (link_recv(c->weights, 0, &f, &body) != ST_OK || f.run != c->welcome.run) return;
    c->heard = clock_s();
    if (f.kind == FRAME_BYE) {
        out->kind = CLIENT_BYE;
    } else if (f.kind == FRAME_WEIGHTS) {
        *out = (ClientEvent){.kind = CLIENT_WEIGHTS, .body = body, .n = f.length};
    } else if (f.kind == FRAME_VERSION && f.length == 4 * N_ROLES) {
        out->kind = CLIENT_VERSION;
        out->sequence = f.sequence;
        for (int r = 0; r < N_ROLES; r++) out->version[r] = get_u32(body + 4 * r);
    }
    back(c, out);
}

void client_poll(Client *c, int timeout_ms, ClientEvent *out) {
    *out = (ClientEvent){.kind = CLIENT_NOTHING};
    Link *links[2] = {c->control, c->weights};
    unsigned ready = link_wait(links, 2, timeout_ms);
    double now = clock_s();
    if (ready & 1) hear_control(c, out);
    else if (ready & 2) hear_weights(c, out);
    if (now - c->heard < silence_s) return;
    if (!c->silent) log_warn("no word from the learner for %.0f s; waiting for it", now - c->heard);
    c->silent = true;
    if (now < c->hello_at) return;
    say_hello(c, "join");
    c->hello_at = now + hello_every_s;
}
