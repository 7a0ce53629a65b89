#include "learner/supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/ruleset.h"
#include "learner/child.h"
#include "learner/metrics.h"
#include "learner/progress.h"
#include "learner/runfolder.h"
#include "nets/sharedweights.h"

enum { POLL_MS = 100, PATH_BYTES = 1024 };
static const double actor_silent_s = 8, learner_silent_s = 9, grace_s = 10, stop_actors_s = 3;

typedef struct {
    const Settings *s;
    int lock_fd;
    atomic_bool *stop;
    char learner_program[PATH_BYTES], actor_program[PATH_BYTES];
    Child learner, eval, *actor;
    int n_actors;
    bool ready; // the learner listens, on:
    char endpoint[3][LINK_ENDPOINT_BYTES];
    double start, ready_at;
    bool ending;         // the learner was told to stop, or has ended
    bool learner_ending; // its limits are reached: it needs no more actors
    bool interrupted;    // ... because the user says so
    double ending_since;
    int exit_code;
    Metrics *metrics;
    Progress progress;
    ProgressLine line;
    // evaluation
    bool saved; // there are weights
    uint64_t saved_frames, eval_frames;
    double eval_at;
    char opponents[256], *opponent, *rest; // of the evaluation under way; opponent NULL: none
    char wins[160];
} Supervisor;

/* ---- what is said ---- */

static void say(Supervisor *v, LogLevel level, const char *text) {
    progressline_clear(&v->line);
    log_line(level, "%s", text);
}

/* A child's line goes to the terminal and the run's log as it is: it has its time and name. */
static void child_line(void *ctx, const Child *c, const char *text) {
    Supervisor *v = ctx;
    (void)c;
    progressline_clear(&v->line);
    log_copy(text);
}

/* A match's own progress is of no interest; its last words are kept all the same. */
static void match_line(void *ctx, const Child *c, const char *text) {
    (void)ctx, (void)c, (void)text;
}

static void event(Supervisor *v, LogLevel level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void event(Supervisor *v, LogLevel level, const char *fmt, ...) {
    char text[1400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    say(v, level, text);
    metrics_event(v->metrics, text);
}

/* Lets the learner store its last checkpoint; the loop ends when it is gone. */
static void end_run(Supervisor *v, int code) {
    if (code) v->exit_code = code;
    if (v->ending) return;
    v->ending = true;
    v->ending_since = clock_s();
    child_signal(&v->learner, SIGTERM);
}

/* ---- starting ---- */

static void start_learner(Supervisor *v) {
    ChildSpec s = {.program = v->learner_program,
                   .args = {"learner", "--run", v->s->run, "--report-fd", "3"},
                   .death_signal = SIGTERM, // it stores a checkpoint then
                   .want_report = true,
                   .keep_fd = v->lock_fd};
    static const char *const names[3] = {"--control", "--records", "--weights"};
    int n = 5;
    for (int i = 0; i < 3 && v->endpoint[i][0]; i++) { // where its actors look for it
        s.args[n++] = names[i];
        s.args[n++] = v->endpoint[i];
    }
    char minutes[32];
    double left = v->s->minutes - (clock_s() - v->start) / 60;
    if (v->s->minutes > 0) {
        snprintf(minutes, sizeof minutes, "%.9g", left > 1e-6 ? left : 1e-6);
        s.args[n++] = "--minutes";
        s.args[n++] = minutes;
    }
    v->ready = v->learner_ending = false;
    if (child_start(&v->learner, &s) != ST_OK) end_run(v, 1);
}

static void start_actor(Supervisor *v, Child *a) {
    static const char *const precisions[] = {"auto", "fp32", "bf16", "int8"};
    char games[24], connect[LINK_ENDPOINT_BYTES], key[RUN_PATH_BYTES];
    if (link_resolve("tcp://127.0.0.1:1", v->endpoint[0], connect) != ST_OK) return;
    ChildSpec s = {
        .program = v->actor_program,
        .args = {"actor", "--connect", connect, "--precision", precisions[v->s->act_precision]},
        .death_signal = SIGKILL, // it has nothing to lose
        .keep_fd = -1};
    int n = 5;
    if (v->s->games) {
        snprintf(games, sizeof games, "%d", v->s->games);
        s.args[n++] = "--games";
        s.args[n++] = games;
    }
    if (v->s->listen) {
        runfolder_path(v->s->run, "server.key", key);
        s.args[n++] = "--server-key";
        s.args[n++] = key;
    }
    if (child_start(a, &s) != ST_OK) end_run(v, 1);
}

static void start_what_is_due(Supervisor *v) {
    double now = clock_s();
    if (v->ending) return;
    if (v->learner.pid == 0 && now >= v->learner.start_at) start_learner(v);
    for (int i = 0; v->ready && !v->learner_ending && i < v->n_actors; i++)
        if (v->actor[i].pid == 0 && now >= v->actor[i].start_at) start_actor(v, &v->actor[i]);
}

/* ---- what the learner reports ---- */

static void learner_ready(Supervisor *v, const Report *r) {
    bool moved = v->endpoint[0][0] && strcmp(v->endpoint[0], r->u.endpoint[0]) != 0;
    memcpy(v->endpoint, r->u.endpoint, sizeof v->endpoint);
    v->ready = true;
    v->ready_at = clock_s();
    for (int i = 0; moved && i < v->n_actors; i++) child_signal(&v->actor[i], SIGKILL);
}

static void actors_alive(Supervisor *v, const Report *r) {
    double now = clock_s();
    for (uint32_t p = 0; p < r->n_pids && p < REPORT_MAX_PIDS; p++)
        for (int i = 0; i < v->n_actors; i++)
            if (v->actor[i].pid == r->u.pid[p]) v->actor[i].heard = now;
}

static void read_reports(Supervisor *v) {
    Report r;
    bool closed = false;
    while (v->learner.report >= 0 && report_read(v->learner.report, &r, &closed)) {
        v->learner.heard = clock_s();
        switch (r.kind) {
        case REPORT_READY: learner_ready(v, &r); break;
        case REPORT_ALIVE: actors_alive(v, &r); break;
        case REPORT_ENDING: v->learner_ending = true; break;
        case REPORT_SAVED:
            v->saved = true;
            v->saved_frames = r.u.frames;
            break;
        case REPORT_PROGRESS:
            v->progress = r.u.progress;
            v->progress.seconds = v->learner.heard - v->start;
            snprintf(v->line.wins, sizeof v->line.wins, "%s", v->wins);
            progressline_show(&v->line, &v->progress);
            break;
        default: break;
        }
    }
}

/* ---- deaths ---- */

static const char *last_words(const Child *c) { return c->last[0] ? c->last : "it said nothing"; }

static void learner_died(Supervisor *v, int status) {
    char how[64];
    bool crashed = WIFSIGNALED(status);
    child_death(status, how, sizeof how);
    read_reports(v);
    if (!crashed || v->ending) {
        if (crashed) event(v, LOG_ERROR, "the learner was %s while it ended", how);
        end_run(v, crashed ? 1 : WEXITSTATUS(status));
        return;
    }
    bool hopeless = child_back_off(&v->learner);
    event(v, LOG_WARN, "the learner was %s; starting it again", how);
    if (v->learner.quick_deaths == 3 && v->s->listen == NULL) // perhaps its ports: take others
        memset(v->endpoint, 0, sizeof v->endpoint);
    v->ready = false;
    if (!hopeless) return;
    event(v, LOG_ERROR, "the learner died %d times at once: %s; last: %s", v->learner.quick_deaths,
          how, last_words(&v->learner));
    end_run(v, 1);
}

static void actor_died(Supervisor *v, Child *a, int status) {
    char how[64];
    child_death(status, how, sizeof how);
    if (v->ending || v->learner_ending) return;
    bool hopeless = child_back_off(a);
    if (!hopeless) {
        event(v, LOG_WARN, "an actor (process %d) ended: %s; starting another", a->last_pid, how);
        return;
    }
    event(v, LOG_ERROR, "actors die at once: %s; last: %s", how, last_words(a));
    end_run(v, 1);
}

static void reap(Supervisor *v) {
    int status;
    if (child_ended(&v->learner, &status, child_line, v)) learner_died(v, status);
    for (int i = 0; i < v->n_actors; i++)
        if (child_ended(&v->actor[i], &status, child_line, v)) actor_died(v, &v->actor[i], status);
}

static double latest(double a, double b) { return a > b ? a : b; }

/* A stopped or hung process does not die by itself. */
static void look_for_blocked(Supervisor *v) {
    double now = clock_s();
    if (v->ending) {
        if (now - v->ending_since > grace_s) child_signal(&v->learner, SIGKILL);
        return;
    }
    if (v->learner.pid > 0 && now - v->learner.heard > learner_silent_s) {
        event(v, LOG_WARN, "the learner has been silent for %.0f s: killing it",
              now - v->learner.heard);
        child_signal(&v->learner, SIGKILL);
        v->learner.heard = now;
    }
    if (!v->ready || now - v->learner.heard > 3) return; // then nobody could be heard
    for (int i = 0; i < v->n_actors; i++) {
        Child *a = &v->actor[i];
        double silent = now - latest(a->heard, v->ready_at);
        if (a->pid <= 0 || silent < actor_silent_s) continue;
        event(v, LOG_WARN, "actor process %d is blocked, silent for %.0f s: killing it",
              (int)a->pid, silent);
        child_signal(a, SIGKILL);
        a->heard = now;
    }
}

/* ---- evaluation ---- */

static void start_match(Supervisor *v) {
    char net[RUN_PATH_BYTES + 8], decks[24];
    snprintf(net, sizeof net, "net:%s/weights.safetensors", v->s->run);
    snprintf(decks, sizeof decks, "%d", v->s->eval_decks);
    ChildSpec s = {.program = v->actor_program,
                   .args = {"eval", net, v->opponent, "--rules",
                            ruleset_get((RulesetId)v->s->ruleset)->name, "--decks", decks,
                            "--threads", "1", "--json"},
                   .death_signal = SIGKILL,
                   .niceness = 5,
                   .want_out = true,
                   .keep_fd = -1};
    if (child_start(&v->eval, &s) != ST_OK) v->opponent = NULL;
}

static void next_match(Supervisor *v) {
    v->opponent = strtok_r(NULL, ",", &v->rest);
    if (v->opponent) start_match(v);
}

static void begin_evaluation(Supervisor *v) {
    snprintf(v->opponents, sizeof v->opponents, "%s", v->s->eval_against ? v->s->eval_against : "");
    v->eval_frames = v->saved_frames;
    v->wins[0] = '\0';
    v->opponent = strtok_r(v->opponents, ",", &v->rest);
    if (v->opponent) start_match(v);
}

static void match_ended(Supervisor *v, int status) {
    Evaluation e;
    char how[64];
    if (status != 0 || evaluation_parse(v->eval.answer, &e) != ST_OK) {
        event(v, LOG_WARN, "no evaluation against %s: %s: %s", v->opponent,
              child_death(status, how, sizeof how), last_words(&v->eval));
    } else {
        char text[256];
        metrics_evaluation(v->metrics, v->eval_frames, &e);
        snprintf(text, sizeof text,
                 "at %llu frames against %s: wins %.1f%% +- %.1f as landlord, %.1f%% +- %.1f as "
                 "peasants, adp %+.3f",
                 (unsigned long long)v->eval_frames, e.opponent, 100 * e.wp_landlord,
                 100 * e.wp_landlord_ci95, 100 * e.wp_peasants, 100 * e.wp_peasants_ci95, e.adp);
        say(v, LOG_INFO, text);
        size_t n = strlen(v->wins);
        snprintf(v->wins + n, sizeof v->wins - n, "%s%s %.0f%%/%.0f%%", n ? " " : "wins ",
                 e.opponent, 100 * e.wp_landlord, 100 * e.wp_peasants);
    }
    next_match(v);
}

static void evaluate(Supervisor *v) {
    int status;
    if (child_ended(&v->eval, &status, match_line, v)) match_ended(v, status);
    if (v->opponent || !v->saved || v->s->eval_minutes <= 0 || v->ending) return;
    double now = clock_s();
    if (now < v->eval_at) return;
    v->eval_at = now + 60 * v->s->eval_minutes;
    begin_evaluation(v);
}

/* ---- the loop ---- */

static int add_poll(struct pollfd *p, int n, const Child *c) {
    const int fds[3] = {c->err, c->out, c->report};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0) p[n++] = (struct pollfd){.fd = fds[i], .events = POLLIN};
    return n;
}

/* Waits for something to be said, then passes it on. */
static void listen_to_all(Supervisor *v, struct pollfd *p) {
    int n = add_poll(p, add_poll(p, 0, &v->learner), &v->eval);
    for (int i = 0; i < v->n_actors; i++) n = add_poll(p, n, &v->actor[i]);
    poll(p, (nfds_t)n, POLL_MS);
    child_read(&v->learner, child_line, v);
    child_read(&v->eval, match_line, v);
    for (int i = 0; i < v->n_actors; i++) child_read(&v->actor[i], child_line, v);
    read_reports(v);
}

static bool anyone(const Supervisor *v) {
    for (int i = 0; i < v->n_actors; i++)
        if (v->actor[i].pid > 0) return true;
    return false;
}

/* The actors have been told BYE; whoever stays is killed. */
static void stop_actors(Supervisor *v, struct pollfd *p) {
    double end = clock_s() + stop_actors_s;
    bool killed = false;
    while (anyone(v)) {
        if (!killed && clock_s() > end) {
            for (int i = 0; i < v->n_actors; i++) child_signal(&v->actor[i], SIGKILL);
            killed = true;
        }
        listen_to_all(v, p);
        reap(v);
    }
}

/* After the last frame: how good it has become. Another Ctrl-C ends that too. */
static void last_evaluation(Supervisor *v, struct pollfd *p) {
    bool wanted = !v->interrupted && v->exit_code == 0 && v->s->eval_minutes > 0 && v->saved;
    while (v->eval.pid > 0 || (wanted && v->saved_frames != v->eval_frames)) {
        int status;
        if (v->eval.pid == 0) begin_evaluation(v);
        if (!wanted || atomic_load(v->stop)) {
            wanted = false;
            child_signal(&v->eval, SIGKILL);
        }
        listen_to_all(v, p);
        if (child_ended(&v->eval, &status, match_line, v) && wanted) match_ended(v, status);
    }
}

static void run(Supervisor *v, struct pollfd *p) {
    start_what_is_due(v);
    while (!v->ending || v->learner.pid > 0) {
        listen_to_all(v, p);
        reap(v);
        look_for_blocked(v);
        evaluate(v);
        start_what_is_due(v);
        if (atomic_load(v->stop) && !v->interrupted) {
            v->interrupted = true;
            say(v, LOG_INFO, "stopping: storing a checkpoint");
            end_run(v, 0);
        }
    }
    stop_actors(v, p);
    last_evaluation(v, p);
}

/* The folder of this program: the others lie beside it. */
static Status find_programs(Supervisor *v) {
    char self[PATH_BYTES - 16];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        log_error("cannot tell where this program is: %s", strerror(errno));
        return ST_IO;
    }
    self[n] = '\0';
    snprintf(v->learner_program, sizeof v->learner_program, "%s", self);
    char *slash = strrchr(self, '/');
    if (slash) slash[1] = '\0';
    snprintf(v->actor_program, sizeof v->actor_program, "%sdizhu", self);
    if (access(v->actor_program, X_OK) == 0) return ST_OK;
    log_error("%s: %s", v->actor_program, strerror(errno));
    return ST_IO;
}

static void forget_shared_memory(const Supervisor *v) {
    char name[SHAREDWEIGHTS_NAME_BYTES];
    uint64_t id;
    if (runfolder_id(v->s->run, &id) != ST_OK) return;
    sharedweights_name(id, name);
    sharedweights_unlink(name);
}

int supervise(const Settings *s, int lock_fd, atomic_bool *stop) {
    Supervisor *v = calloc(1, sizeof *v);
    if (v == NULL) return 1;
    v->s = s;
    v->lock_fd = lock_fd;
    v->stop = stop;
    v->n_actors = settings_actors(s);
    v->start = clock_s();
    v->eval_at = v->start + 60 * s->eval_minutes;
    v->actor = calloc((size_t)v->n_actors + 1, sizeof *v->actor);
    struct pollfd *p = calloc(3 * ((size_t)v->n_actors + 2), sizeof *p);
    v->exit_code = 1;
    if (v->actor && p && find_programs(v) == ST_OK && metrics_open(s->run, &v->metrics) == ST_OK) {
        v->exit_code = 0;
        child_init(&v->learner, "learner");
        child_init(&v->eval, "eval");
        for (int i = 0; i < v->n_actors; i++) child_init(&v->actor[i], "actor");
        progressline_init(&v->line, s->frames, 60 * s->minutes);
        run(v, p);
        if (v->progress.frames) progressline_last(&v->line, &v->progress);
        forget_shared_memory(v);
    }
    int code = v->exit_code;
    metrics_close(v->metrics);
    free(p);
    free(v->actor);
    free(v);
    return code;
}
