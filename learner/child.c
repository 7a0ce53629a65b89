#include "learner/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"

enum { REPORT_FD = 3, MAX_QUICK_DEATHS = 5 };
static const double quick_s = 5, longest_wait_s = 8;

void child_init(Child *c, const char *name) {
    *c = (Child){.err = -1, .out = -1, .report = -1};
    snprintf(c->name, sizeof c->name, "%s", name);
}

static bool make_pipe(int p[2]) {
    p[0] = p[1] = -1;
    return pipe2(p, O_CLOEXEC) == 0 && fcntl(p[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* In the child: from here to exec only what is safe after fork. */
static void become(const ChildSpec *s, pid_t parent, int err, int out, int report) {
    char *argv[CHILD_MAX_ARGS + 2] = {(char *)(uintptr_t)s->program};
    for (int i = 0; i < CHILD_MAX_ARGS && s->args[i]; i++)
        argv[i + 1] = (char *)(uintptr_t)s->args[i];
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, s->death_signal);
    if (getppid() != parent) _exit(1); // it died before the line above
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (s->cpus) sched_setaffinity(0, sizeof *s->cpus, s->cpus);
    if (s->niceness) setpriority(PRIO_PROCESS, 0, s->niceness);
    if (s->keep_fd >= 0) fcntl(s->keep_fd, F_SETFD, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    // The report pipe last: its number may be one of those that dup2 closes.
    if (report >= 0) report = fcntl(report, F_DUPFD_CLOEXEC, 10);
    dup2(null, STDIN_FILENO);
    dup2(out >= 0 ? out : null, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    if (report >= 0) dup2(report, REPORT_FD);
    execv(s->program, argv);
    dprintf(STDERR_FILENO, "cannot run %s: %s\n", s->program, strerror(errno));
    _exit(127);
}

Status child_start(Child *c, const ChildSpec *s) {
    int err[2], out[2] = {-1, -1}, report[2] = {-1, -1};
    bool ok = make_pipe(err) && (!s->want_out || make_pipe(out)) &&
              (!s->want_report || make_pipe(report));
    pid_t parent = getpid(), pid = ok ? fork() : -1;
    if (pid == 0) become(s, parent, err[1], out[1], report[1]);
    int e = errno;
    close_fd(&err[1]);
    close_fd(&out[1]);
    close_fd(&report[1]);
    if (pid < 0) {
        log_error("cannot start %s: %s", c->name, strerror(e));
        close_fd(&err[0]);
        close_fd(&out[0]);
        close_fd(&report[0]);
        return ST_IO;
    }
    c->pid = c->last_pid = pid;
    c->err = err[0];
    c->out = out[0];
    c->report = report[0];
    c->n_line = c->n_answer = 0;
    c->last[0] = '\0';
    c->killed = false;
    c->started = c->heard = clock_s();
    return ST_OK;
}

static void take_line(Child *c, void (*line)(void *, const Child *, const char *), void *ctx) {
    c->line[c->n_line] = '\0';
    memcpy(c->last, c->line, (size_t)c->n_line + 1);
    c->n_line = 0;
    line(ctx, c, c->last);
}

void child_read(Child *c, void (*line)(void *, const Child *, const char *), void *ctx) {
    char buf[4096];
    ssize_t n;
    while (c->err >= 0 && (n = read(c->err, buf, sizeof buf)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (buf[i] == '\n' || c->n_line == CHILD_LINE_BYTES - 1) take_line(c, line, ctx);
            if (buf[i] != '\n') c->line[c->n_line++] = buf[i];
        }
    while (c->out >= 0 && (n = read(c->out, buf, sizeof buf)) > 0)
        for (ssize_t i = 0; i < n && c->n_answer < CHILD_ANSWER_BYTES - 1; i++)
            c->answer[c->n_answer++] = buf[i];
    c->answer[c->n_answer] = '\0';
}

void child_signal(const Child *c, int number) {
    if (c->pid > 0) kill(c->pid, number);
}

void child_kill(Child *c) {
    child_signal(c, SIGKILL);
    c->killed = true;
}

char child_state(const Child *c, long *ticks) {
    char path[64], text[512], state = 0;
    long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)c->pid);
    FILE *f = fopen(path, "re");
    if (f != NULL) {
        size_t n = fread(text, 1, sizeof text - 1, f);
        fclose(f);
        text[n] = '\0';
        const char *after = strrchr(text, ')'); // the name may hold anything
        if (after)
            sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &state, &user,
                   &system);
    }
    *ticks = user + system;
    return state;
}

const char *child_state_text(char state) {
    switch (state) {
    case 'R': return "running, or waiting for a processor";
    case 'D': return "waiting for the disk";
    case 'S': return "asleep";
    case 'T':
    case 't': return "stopped";
    default: return "in a state unknown";
    }
}

bool child_ended(Child *c, int *status, void (*line)(void *, const Child *, const char *),
                 void *ctx) {
    if (c->pid <= 0 || waitpid(c->pid, status, WNOHANG) != c->pid) return false;
    child_read(c, line, ctx);
    if (c->n_line > 0) take_line(c, line, ctx);
    close_fd(&c->err);
    close_fd(&c->out);
    close_fd(&c->report);
    c->pid = 0;
    return true;
}

const char *child_death(int status, char *out, int cap) {
    if (WIFSIGNALED(status))
        snprintf(out, (size_t)cap, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else snprintf(out, (size_t)cap, "exit code %d", WEXITSTATUS(status));
    return out;
}

bool child_back_off(Child *c, int status, bool at_work) {
    double now = clock_s(), wait = 0.25;
    bool from_outside = at_work && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    bool quick = now - c->started < quick_s && !from_outside;
    c->quick_deaths = quick ? c->quick_deaths + 1 : 0;
    for (int i = 1; i < c->quick_deaths && wait < longest_wait_s; i++) wait *= 2;
    c->start_at = now + (c->quick_deaths ? wait : 0);
    return c->quick_deaths >= MAX_QUICK_DEATHS;
}
