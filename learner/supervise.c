/* One thread that polls the pipes of its children. Who dies is started again here; how they are
 * started is in launch.c, what is said in voice.c, evaluations in examine.c.                */
#include "learner/supervise.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "engine/base/clock.h"
#include "learner/examine.h"
#include "learner/ranksettings.h"
#include "learner/runfolder.h"
#include "nets/sharedweights.h"

enum { POLL_MS = 100 };
static const double actor_silent_s = 8, learner_silent_s = 9, grace_s = 10, grace_ranks_s = 30,
                    stop_actors_s = 3;
/* Before it first reports, the learner reads its checkpoint: a disk may be slow. */
static const double learner_start_s = 60, busy_silent_s = 60;

typedef struct {
    const Settings *s;
    int lock_fd;
    atomic_bool *stop;
    Programs programs;
    Machine machine;
    Child learner, *actor;
    int n_actors;
    bool ready; // the learner listens, on:
    char endpoint[3][LINK_ENDPOINT_BYTES];
    double start, ready_at;
    bool ending;         // the learner was told to stop, or has ended
    bool learner_ending; // its limits are reached: it needs no more actors
    bool interrupted;    // ... because the user says so
    double ending_since;
    int exit_code;
    Voice voice;
    Examiner examiner;
    Progress progress;
} Supervisor;

static void child_line(void *ctx, const Child *c, const char *text) {
    Supervisor *v = ctx;
    (void)c;
    voice_pass(&v->voice, text);
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
    double left = 0;
    if (v->s->minutes > 0) {
        left = v->s->minutes - (clock_s() - v->start) / 60;
        if (left < 1e-6) left = 1e-6;
    }
    bool again = v->learner.started > 0 && v->s->learners > 1; // the other ranks go on
    v->ready = v->learner_ending = false;
    if (launch_learner(&v->learner, &v->programs, v->s, v->endpoint, left, v->s->join || again,
                       v->lock_fd) != ST_OK)
        end_run(v, 1);
}

static void start_actor(Supervisor *v, int i) {
    cpu_set_t cpus;
    bool pinned = machine_actor(&v->machine, (Pin)v->s->pin, i, &cpus);
    if (launch_actor(&v->actor[i], &v->programs, v->s, v->endpoint[0], pinned ? &cpus : NULL) !=
        ST_OK)
        end_run(v, 1);
}

static void start_what_is_due(Supervisor *v) {
    double now = clock_s();
    if (v->ending) return;
    if (v->learner.pid == 0 && now >= v->learner.start_at) start_learner(v);
    for (int i = 0; v->ready && !v->learner_ending && i < v->n_actors; i++)
        if (v->actor[i].pid == 0 && now >= v->actor[i].start_at) start_actor(v, i);
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
        case REPORT_SAVED: examiner_saved(&v->examiner, r.u.frames); break;
        case REPORT_PROGRESS:
            v->progress = r.u.progress;
            v->progress.seconds = v->learner.heard - v->start;
            progressline_show(&v->voice.line, &v->progress);
            break;
        default: break;
        }
    }
}

/* ---- deaths ---- */

static const char *last_words(const Child *c) { return c->last[0] ? c->last : "it said nothing"; }

/* Somebody else may have taken the ports of a learner that died: then others do as well. */
static bool lost_its_ports(const Supervisor *v) {
    return !v->ready && v->endpoint[0][0] && v->s->listen == NULL;
}

/* Its place among the ranks cannot be taken again. */
static bool must_stay(const Settings *s) {
    return s->learners > 1 &&
           (ranksettings_synchronous(s) || ranksettings_transport(s) == TRANSPORT_MPI);
}

static void learner_died(Supervisor *v, int status) {
    char how[64];
    bool crashed = WIFSIGNALED(status), again = crashed || (status != 0 && lost_its_ports(v));
    child_death(status, how, sizeof how);
    read_reports(v);
    if (crashed && !v->ending && must_stay(v->s)) {
        voice_event(&v->voice, LOG_ERROR, "rank %d: its learner was %s; the run ends for all ranks",
                    v->s->rank, how);
        end_run(v, 1);
        return;
    }
    if (!again || v->ending) {
        if (crashed) voice_event(&v->voice, LOG_ERROR, "the learner was %s while it ended", how);
        end_run(v, crashed ? 1 : WEXITSTATUS(status));
        return;
    }
    bool hopeless = child_back_off(&v->learner, status, v->ready);
    voice_event(&v->voice, LOG_WARN, "the learner ended: %s; starting it again", how);
    if (!crashed) memset(v->endpoint, 0, sizeof v->endpoint);
    v->ready = false;
    if (!hopeless) return;
    voice_event(&v->voice, LOG_ERROR, "the learner died %d times at once: %s; last: %s",
                v->learner.quick_deaths, how, last_words(&v->learner));
    end_run(v, 1);
}

static void actor_died(Supervisor *v, Child *a, int status) {
    char how[64];
    child_death(status, how, sizeof how);
    if (v->ending || v->learner_ending) return;
    if (!child_back_off(a, status, a->heard > a->started)) {
        voice_event(&v->voice, LOG_WARN, "an actor (process %d) ended: %s; starting another",
                    (int)a->last_pid, how);
        return;
    }
    voice_event(&v->voice, LOG_ERROR, "actors die at once: %s; last: %s", how, last_words(a));
    end_run(v, 1);
}

static void reap(Supervisor *v) {
    int status;
    if (child_ended(&v->learner, &status, child_line, v)) learner_died(v, status);
    for (int i = 0; i < v->n_actors; i++)
        if (child_ended(&v->actor[i], &status, child_line, v)) actor_died(v, &v->actor[i], status);
}

static double latest(double a, double b) { return a > b ? a : b; }

/* Silent for too long? Who works, or merely waits for a busy processor or disk, would not fare
 * better if he were started again: he gets a minute. */
static bool is_blocked(Child *c, double silent, double usual, char *state) {
    long ticks;
    if (c->pid <= 0 || c->killed) return false;
    if (silent < usual / 2) {
        c->ticks = 0;
        return false;
    }
    *state = child_state(c, &ticks);
    if (c->ticks == 0) c->ticks = ticks;
    bool busy = *state == 'R' || *state == 'D' || ticks > c->ticks;
    return silent >= (busy ? busy_silent_s : usual);
}

static void look_at_learner(Supervisor *v, double now) {
    Child *c = &v->learner;
    double silent = now - c->heard;
    char state;
    if (!is_blocked(c, silent, v->ready ? learner_silent_s : learner_start_s, &state)) return;
    voice_event(&v->voice, LOG_WARN, "the learner is blocked (%s), silent for %.0f s: killing it",
                child_state_text(state), silent);
    child_kill(c);
    v->ready = false;
}

static void look_at_actor(Supervisor *v, Child *a, double now) {
    double silent = now - latest(a->heard, v->ready_at);
    char state;
    if (!is_blocked(a, silent, actor_silent_s, &state)) return;
    voice_event(&v->voice, LOG_WARN,
                "actor process %d is blocked (%s), silent for %.0f s: killing it", (int)a->pid,
                child_state_text(state), silent);
    child_kill(a);
}

/* A stopped or hung process does not die by itself. */
static void look_for_blocked(Supervisor *v) {
    double now = clock_s();
    if (v->ending) {
        double grace = v->s->learners > 1 ? grace_ranks_s : grace_s;
        if (now - v->ending_since > grace) child_signal(&v->learner, SIGKILL);
        return;
    }
    look_at_learner(v, now);
    // While the learner is away, busy ending, or late itself, actors cannot be heard of.
    if (!v->ready || v->learner_ending || now - v->learner.heard > 3) return;
    for (int i = 0; i < v->n_actors; i++) look_at_actor(v, &v->actor[i], now);
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
    int n = add_poll(p, add_poll(p, 0, &v->learner), &v->examiner.match);
    for (int i = 0; i < v->n_actors; i++) n = add_poll(p, n, &v->actor[i]);
    poll(p, (nfds_t)n, POLL_MS);
    child_read(&v->learner, child_line, v);
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
    bool others_end = v->s->learners > 1 && v->exit_code; // at once, so that all ranks learn of it
    double end = clock_s() + (others_end ? 0 : stop_actors_s);
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

/* After the last frame: how good it has become. Ctrl-C ends that at once. */
static void evaluate_last(Supervisor *v, struct pollfd *p) {
    if (!v->interrupted && v->exit_code == 0)
        while (!atomic_load(v->stop) && examiner_last(&v->examiner)) listen_to_all(v, p);
    examiner_stop(&v->examiner);
    progressline_clear(&v->voice.line);
}

/* What is about to be started, and what it takes: better said now than found out in hours. */
static void say_plan(Supervisor *v) {
    int need = settings_memory_mb(v->s), most = machine_free_mb();
    voice_say(&v->voice, LOG_INFO, "cores %d, actors %d, learner threads %d; memory about %d MB",
              v->machine.n_cores, v->n_actors, settings_threads(v->s), need);
    if (most > 0 && most < need)
        voice_event(&v->voice, LOG_WARN, "only %d MB of memory are free", most);
}

static void run(Supervisor *v, struct pollfd *p) {
    say_plan(v);
    start_what_is_due(v);
    while (!v->ending || v->learner.pid > 0) {
        listen_to_all(v, p);
        reap(v);
        look_for_blocked(v);
        if (!v->ending) examiner_turn(&v->examiner);
        start_what_is_due(v);
        if (atomic_load(v->stop) && !v->interrupted) {
            v->interrupted = true;
            voice_say(&v->voice, LOG_INFO, "stopping: storing a checkpoint");
            end_run(v, 0);
        }
    }
    stop_actors(v, p);
    if (v->progress.frames) progressline_last(&v->voice.line, &v->progress);
    evaluate_last(v, p);
}

static void forget_shared_memory(const Supervisor *v) {
    char name[SHAREDWEIGHTS_NAME_BYTES];
    uint64_t id;
    if (runfolder_id(v->s->run, &id) != ST_OK) return;
    sharedweights_name(id, name);
    sharedweights_unlink(name);
}

static Status put_together(Supervisor *v) {
    v->actor = calloc((size_t)v->n_actors + 1, sizeof *v->actor);
    if (v->actor == NULL) return ST_NOMEM;
    TRY(programs_find(&v->programs));
    TRY(metrics_open(v->s->run, &v->voice.metrics));
    child_init(&v->learner, "learner");
    for (int i = 0; i < v->n_actors; i++) child_init(&v->actor[i], "actor");
    progressline_init(&v->voice.line, v->s->frames, 60 * v->s->minutes);
    v->voice.line.silent = v->s->rank > 0;
    examiner_init(&v->examiner, v->s, &v->programs, &v->voice);
    return ST_OK;
}

int supervise(const Settings *s, int lock_fd, atomic_bool *stop) {
    Supervisor *v = calloc(1, sizeof *v);
    if (v == NULL) return 1;
    *v = (Supervisor){.s = s,
                      .lock_fd = lock_fd,
                      .stop = stop,
                      .n_actors = settings_actors(s),
                      .start = clock_s()};
    machine_look(&v->machine);
    struct pollfd *p = calloc(3 * ((size_t)v->n_actors + 2), sizeof *p);
    v->exit_code = 1;
    if (p && put_together(v) == ST_OK) {
        v->exit_code = 0;
        run(v, p);
        metrics_event(v->voice.metrics,
                      v->exit_code ? "the run has ended: failed" : "the run has ended");
        forget_shared_memory(v);
    }
    int code = v->exit_code;
    metrics_close(v->voice.metrics);
    free(p);
    free(v->actor);
    free(v);
    return code;
}
