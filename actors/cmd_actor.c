/* dizhu actor: plays games for a learner. The main thread owns the sockets: it joins the run, sends
 * the crew's parcels, keeps the heart beating, and feeds new weights to the hub. It ends with the
 * run (BYE, exit 0), with its parent, at Ctrl-C, or when it is refused (exit 1); a learner that
 * dies is waited for.                                                                            */
#include "actors/client.h"
#include "actors/commands.h"
#include "actors/intake.h"
#include "actors/rules_option.h"
#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/interrupt.h"
#include "engine/base/log.h"
#include "engine/base/options.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { PRECISION_AUTO = N_PRECISIONS, POLL_MS = 5, GAME_NUMBER_BITS = 32, LAST_TRY_S = 1 };
static const double heartbeat_s = 1, ask_weights_s = 2;

typedef struct {
    const char *connect, *server_key;
    int threads, games, precision, rules, parent, refresh_ms;
} ActorOptions;

typedef enum { END_OK, END_FAILED, END_REJOIN } End;

/* One stay in one run. */
typedef struct {
    const ActorOptions *options;
    Client *client;
    Welcome run;
    NetHub *hub;
    Intake *intake;
    Crew *crew;
    double beat_at, ask_at;
    /* lockstep */
    bool round_played; /* a round was asked for and its parcel has not been answered */
    Parcel *unanswered;
} Session;

/* ---- one turn of the loop ---- */

static void beat(Session *s) {
    double now = clock_s();
    if (now < s->beat_at) return;
    s->beat_at = now + heartbeat_s;
    CrewStats stats;
    crew_stats(s->crew, &stats);
    client_heartbeat(s->client, &stats, intake_age_s(s->intake), intake_shared(s->intake));
}

/* Without shared memory the first weights have to be asked for, as long as none have come. */
static void ask_for_weights(Session *s) {
    double now = clock_s();
    NetHold hold;
    if (intake_shared(s->intake) || now < s->ask_at) return;
    if (nethub_hold(s->hub, &hold)) {
        nethub_release(s->hub, &hold);
        return;
    }
    client_want_weights(s->client);
    s->ask_at = now + ask_weights_s;
}

/* Sends parcels until there is none or no room. */
static void send_parcels(Session *s) {
    for (Parcel *p; (p = crew_take(s->crew, 0)) != NULL && p != s->unanswered;) {
        uint32_t version = nethub_version(s->hub);
        if (client_send_records(s->client, p->bytes, p->n, version, 0) != ST_OK) return;
        if (s->run.lockstep) s->unanswered = p;
        else crew_give_back(s->crew, p);
    }
}

/* Lockstep: the learner has taken our last frame into these weights; play the next round once they
 * are packed.                                                                               */
static void step_lockstep(Session *s, const ClientEvent *e) {
    if (e->back && s->unanswered)
        client_resend_records(s->client, s->unanswered->bytes, s->unanswered->n,
                              nethub_version(s->hub));
    bool first = !s->round_played;
    if (e->kind != CLIENT_VERSION || (!first && !s->unanswered)) return;
    if (!first && e->sequence != client_sequence(s->client)) return;
    for (Role r = 0; r < N_ROLES; r++)
        if (!nethub_has(s->hub, r, e->version[r])) return; /* VERSION is repeated */
    if (s->unanswered) crew_give_back(s->crew, s->unanswered);
    s->unanswered = NULL;
    s->round_played = true;
    crew_round(s->crew);
}

/* Returns false when the session is over, with *end set. */
static bool turn(Session *s, End *end) {
    ClientEvent e;
    client_poll(s->client, s->run.lockstep ? 1 : POLL_MS, &e);
    switch (e.kind) {
    case CLIENT_BYE:
        log_info("the run has ended");
        *end = END_OK;
        return false;
    case CLIENT_REFUSED: *end = END_FAILED; return false;
    case CLIENT_OTHER_RUN: *end = END_REJOIN; return false;
    case CLIENT_WEIGHTS: intake_frame(s->intake, e.body, e.n); break;
    case CLIENT_VERSION:
    case CLIENT_NOTHING: break;
    }
    if (e.back) intake_reopen(s->intake);
    intake_refresh(s->intake, s->run.lockstep ? 0 : s->options->refresh_ms);
    if (s->run.lockstep) step_lockstep(s, &e);
    ask_for_weights(s);
    send_parcels(s);
    beat(s);
    return true;
}

/* Hands the learner what the threads have, as far as it takes it within a second. */
static void send_rest(Session *s) {
    crew_stop(s->crew);
    double until = clock_s() + LAST_TRY_S;
    Parcel *p;
    while ((p = crew_take(s->crew, 50)) != NULL && p != s->unanswered && clock_s() < until) {
        int left_ms = (int)((until - clock_s()) * 1000);
        if (client_send_records(s->client, p->bytes, p->n, nethub_version(s->hub),
                                left_ms > 0 ? left_ms : 0) != ST_OK)
            return;
        crew_give_back(s->crew, p);
    }
}

/* ---- a session ---- */

/* int8 where there is one: it agrees with fp32 in nearly 99 of 100 choices, and is much faster. */
static Precision pick_precision(int option, const KernelTable *k) {
    if (option != PRECISION_AUTO) return (Precision)option;
    return precision_usable(k, PRECISION_INT8) ? PRECISION_INT8 : PRECISION_FP32;
}

static Status make_hub(Session *s) {
    const KernelTable *k = kernels_get();
    if (!k) return ST_UNSUPPORTED;
    Precision p = pick_precision(s->options->precision, k);
    Status st = nethub_new(p, k, &s->hub);
    if (st == ST_UNSUPPORTED) log_error("the %s kernels have no %s", k->name, precision_name(p));
    else
        log_info("actor %u of run %016llx: %s, kernels %s, precision %s", s->run.actor,
                 (unsigned long long)s->run.run, ruleset_get(s->run.rules)->name, k->name,
                 precision_name(p));
    return st;
}

static Status session_begin(Session *s) {
    TRY(make_hub(s));
    TRY(intake_new(&s->run, s->hub, &s->intake));
    if (s->run.lockstep && s->options->threads > 1) log_info("lockstep: one thread plays");
    CrewConfig c = {.rules = s->run.rules,
                    .seed = s->run.seed,
                    .first = (uint64_t)s->run.actor << GAME_NUMBER_BITS,
                    .epsilon = s->run.epsilon,
                    .threads = s->run.lockstep ? 1 : s->options->threads,
                    .n_games = s->options->games,
                    .lockstep = s->run.lockstep,
                    .hub = s->hub};
    return crew_new(&c, &s->crew);
}

static End session(const ActorOptions *o, Client *client, atomic_bool *stop) {
    Session s = {.options = o, .client = client};
    End end = END_OK;
    Status st = client_join(client, stop, &s.run);
    if (st == ST_OK) {
        log_name("actor/%u", s.run.actor);
        st = session_begin(&s);
        if (st == ST_OK) {
            while (!atomic_load(stop) && turn(&s, &end)) {}
            if (atomic_load(stop)) send_rest(&s); // otherwise nobody is there to take it
        }
        crew_free(s.crew);
        intake_free(s.intake);
        nethub_free(s.hub);
    }
    if (st == ST_INTERRUPTED) return END_OK;
    if (st != ST_OK && st != ST_MISMATCH) log_error("actor: %s", status_text(st));
    return st == ST_OK ? end : END_FAILED;
}

/* ---- the command ---- */

/* Dies with the process that started it, even if that was killed before this line. */
static void follow_parent(int parent) {
    if (parent == 0) return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) raise(SIGTERM);
}

/* A key, or a file that begins with one. */
static Status read_key(const char *option, char out[LINK_KEY_CHARS + 1]) {
    if (link_key_valid(option)) {
        strcpy(out, option);
        return ST_OK;
    }
    FILE *f = fopen(option, "r");
    if (!f) {
        log_error("--server-key: '%s' is no key, and as a file: %s", option, strerror(errno));
        return ST_IO;
    }
    char text[LINK_KEY_CHARS + 1] = "";
    size_t n = fread(text, 1, LINK_KEY_CHARS, f);
    fclose(f);
    text[n] = '\0';
    if (!link_key_valid(text)) {
        log_error("--server-key: %s does not begin with a public key", option);
        return ST_PARSE;
    }
    strcpy(out, text);
    return ST_OK;
}

static int run_actor(const ActorOptions *o) {
    atomic_bool *stop = interrupt_watch(AGAIN_KILLS);
    follow_parent(o->parent);
    char key[LINK_KEY_CHARS + 1];
    if (o->server_key && read_key(o->server_key, key) != ST_OK) return 1;
    ClientConfig c = {.endpoint = o->connect,
                      .server_key = o->server_key ? key : NULL,
                      .rules = o->rules == N_RULESETS ? -1 : o->rules};
    Client *client;
    Status st = client_new(&c, &client);
    if (st != ST_OK) return st == ST_INVALID ? 2 : 1;
    End end;
    while ((end = session(o, client, stop)) == END_REJOIN)
        log_info("another run lives at %s now; joining it", o->connect);
    client_free(client);
    return end == END_OK ? 0 : 1;
}

int cmd_actor(int argc, char **argv) {
    ActorOptions o = {.threads = 1,
                      .games = 192,
                      .precision = PRECISION_AUTO,
                      .rules = N_RULESETS,
                      .refresh_ms = 200};
    const Option options[] = {
        {"connect", OPT_STR, &o.connect, "the learner's address", 0, 0, "tcp://HOST:PORT", false},
        {"server-key", OPT_STR, &o.server_key, "the learner's public key, or a file of it", 0, 0,
         "KEY|FILE", false},
        {"threads", OPT_INT, &o.threads, "playing threads", 1, 1024, NULL, false},
        {"games", OPT_INT, &o.games, "games at once in each thread", 1, 65536, NULL, false},
        {"precision", OPT_CHOICE, &o.precision, "of the nets", 0, 0, PRECISION_CHOICES "|auto",
         false},
        {"rules", OPT_CHOICE, &o.rules, "refuse a run under other rules", 0, 0,
         RULES_CHOICES "|any", false},
        {"refresh-ms", OPT_INT, &o.refresh_ms, "take new weights at most this often", 0, 60000,
         NULL, false},
        {"parent", OPT_INT, &o.parent, "end when this process does; it must be the parent", 0,
         1 << 30, NULL, false},
        {0}};
    const Command c = {.usage = "dizhu actor --connect tcp://HOST:PORT [options]",
                       .about =
                           "Plays games for a learner until its run ends. A learner that goes\n"
                           "away is waited for.",
                       .options = options};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (!o.connect) {
        fprintf(stderr, "dizhu: actor: --connect is missing\n");
        return 2;
    }
    return run_actor(&o);
}
