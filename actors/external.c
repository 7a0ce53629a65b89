#include "actors/external.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/confine.h"

enum { POLL_MS = 10, CHECK_MS = 50, READ_BYTES = 65536, MB = 1 << 20 };

struct External {
    ExternalConfig config;
    pid_t pid;    /* of the group; 0: nothing runs */
    int to, from; /* pipes */
    int listener; /* of forks, -1: none */
    char *out;    /* output_bytes + READ_BYTES */
    size_t n_out;
    size_t scanned; /* bytes of out in which no marker begins */
    bool ended;     /* the program itself has ended */
    int status;     /* once it is reaped: how, */
    long peak_kb;   /* and its peak of memory */
};

ExternalConfig external_defaults(const char *command, bool keep_running) {
    return (ExternalConfig){.command = command,
                            .keep_running = keep_running,
                            .time_ms = 1000,
                            .first_ms = 2000,
                            .memory_mb = 256,
                            .output_bytes = 1 << 20,
                            .processes = 32};
}

Status external_new(const ExternalConfig *c, External **out) {
    External *e = calloc(1, sizeof *e);
    if (!e) return ST_NOMEM;
    e->config = *c;
    e->to = e->from = e->listener = -1;
    e->out = malloc((size_t)c->output_bytes + READ_BYTES);
    if (!e->out) {
        free(e);
        return ST_NOMEM;
    }
    signal(SIGPIPE, SIG_IGN);
    *out = e;
    return ST_OK;
}

static void close_fd(int *fd) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
}

/* Ends the whole group and waits for the program itself; its children fall to init. Until then it
 * is not waited for, so that the group's number stays its own. */
static void reap(External *e) {
    struct rusage used = {0};
    kill(-e->pid, SIGKILL);
    while (wait4(e->pid, &e->status, 0, &used) < 0 && errno == EINTR) {}
    e->peak_kb = used.ru_maxrss;
    e->pid = 0;
}

static void end_group(External *e) {
    if (e->pid) reap(e);
    close_fd(&e->to);
    close_fd(&e->from);
    close_fd(&e->listener);
}

void external_free(External *e) {
    if (!e) return;
    end_group(e);
    free(e->out);
    free(e);
}

bool external_running(const External *e) { return e->pid != 0; }

/* ---- starting ---- */

enum { IN, OUT, TELL, N_CHANNELS };
/* To the program, from it, and for its listener; [0] is the child's end. */
typedef int Channels[N_CHANNELS][2];

static void close_channels(Channels c, int end) {
    for (int i = 0; i < N_CHANNELS; i++) close_fd(&c[i][end]);
}

static Status make_channels(Channels c) {
    for (int i = 0; i < N_CHANNELS; i++) c[i][0] = c[i][1] = -1;
    int out[2];
    if (pipe2(c[IN], O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0) {
        c[OUT][0] = out[1];
        c[OUT][1] = out[0];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, c[TELL]) == 0) return ST_OK;
    }
    close_channels(c, 0);
    close_channels(c, 1);
    return ST_IO;
}

/* In the child: only what is safe between fork and exec. */
static void become_program(const ExternalConfig *config, Channels c) {
    setpgid(0, 0);
    int null = open("/dev/null", O_WRONLY);
    dup2(c[IN][0], 0);
    dup2(c[OUT][0], 1);
    dup2(null, 2);
    signal(SIGPIPE, SIG_DFL);
    confine_self(config->memory_mb, config->processes, c[TELL][0]);
    execl("/bin/sh", "sh", "-c", config->command, (char *)NULL);
    _exit(127);
}

static Status start(External *e) {
    Channels c;
    if (make_channels(c) != ST_OK) {
        log_error("no pipes for %s: %s", e->config.command, strerror(errno));
        return ST_IO;
    }
    pid_t pid = fork();
    if (pid == 0) become_program(&e->config, c);
    close_channels(c, 0);
    if (pid < 0) {
        log_error("cannot start %s: %s", e->config.command, strerror(errno));
        close_channels(c, 1);
        return ST_IO;
    }
    e->to = c[IN][1];
    e->from = c[OUT][1];
    e->listener = confine_listener(c[TELL][1]);
    close_fd(&c[TELL][1]);
    setpgid(pid, pid); /* the child does it too: whoever comes first */
    e->pid = pid;
    e->ended = false;
    e->peak_kb = 0;
    fcntl(e->to, F_SETFL, O_NONBLOCK);
    fcntl(e->from, F_SETFL, O_NONBLOCK);
    return ST_OK;
}

/* ---- one turn ---- */

typedef struct {
    External *e;
    const char *line;
    size_t n, sent; /* of line, newline included */
    double deadline, next_check;
    bool closed; /* the program's stdout */
    Verdict verdict;
} Turn;

static char byte_of(const Turn *t, size_t i) { return i + 1 < t->n ? t->line[i] : '\n'; }

/* What fits into the pipe. In the plain mode the input ends after it. */
static void send_some(Turn *t) {
    char piece[4096];
    size_t n = 0;
    while (n < sizeof piece && t->sent + n < t->n) {
        piece[n] = byte_of(t, t->sent + n);
        n++;
    }
    ssize_t k = write(t->e->to, piece, n);
    if (k > 0) t->sent += (size_t)k;
    bool gone = k < 0 && errno != EAGAIN && errno != EINTR;
    if (gone || (t->sent == t->n && !t->e->config.keep_running)) close_fd(&t->e->to);
}

static void receive_some(Turn *t) {
    External *e = t->e;
    ssize_t k = read(e->from, e->out + e->n_out, READ_BYTES);
    if (k > 0) e->n_out += (size_t)k;
    else if (k == 0 || (errno != EAGAIN && errno != EINTR)) t->closed = true;
    if (e->n_out > (size_t)e->config.output_bytes) t->verdict = VERDICT_OLE;
}

static void look_whether_ended(External *e) {
    siginfo_t info = {.si_pid = 0};
    if (!e->ended && waitid(P_PID, (id_t)e->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
        e->ended = info.si_pid != 0;
}

static void check_limits(Turn *t) {
    double now = clock_s();
    const ExternalConfig *c = &t->e->config;
    if (now > t->deadline) {
        t->verdict = VERDICT_TLE;
    } else if (now > t->next_check) {
        t->next_check = now + CHECK_MS / 1e3;
        GroupUse use = confine_use(t->e->pid);
        if (use.memory_kb > c->memory_mb * 1024L) t->verdict = VERDICT_MLE;
        else if (use.processes > c->processes) t->verdict = VERDICT_RE;
    }
}

/* The marker on a line of its own: where the answer before it ends. */
static bool find_marker(External *e, size_t *end) {
    static const char marker[] = KEEP_RUNNING_MARKER;
    const size_t n = sizeof marker - 1;
    for (size_t i = e->scanned; i + n <= e->n_out; i++) {
        if (memcmp(e->out + i, marker, n) != 0 || (i > 0 && e->out[i - 1] != '\n')) continue;
        *end = i;
        return true;
    }
    e->scanned = e->n_out > n ? e->n_out - n : 0;
    return false;
}

static bool answered(const Turn *t, size_t *end) {
    if (t->e->config.keep_running && find_marker(t->e, end)) return true;
    *end = t->e->n_out;
    return t->e->ended;
}

static void wait_for_something(Turn *t) {
    External *e = t->e;
    struct pollfd fds[3] = {{t->closed ? -1 : e->from, POLLIN, 0},
                            {t->sent < t->n ? e->to : -1, POLLOUT, 0},
                            {e->listener, POLLIN, 0}};
    double left = (t->deadline - clock_s()) * 1e3;
    int ms = t->closed || left < 1 ? 1 : left < POLL_MS ? (int)left : POLL_MS; /* -1: for ever */
    poll(fds, 3, ms);
    if (fds[1].revents && e->to >= 0) send_some(t);
    if (fds[0].revents) receive_some(t);
    if (fds[2].revents & POLLIN && !confine_answer(e->listener, e->pid, e->config.processes))
        t->verdict = VERDICT_RE;
}

/* What is in the pipe of a program that has ended. */
static void drain(Turn *t) {
    for (size_t before = (size_t)-1; !t->closed && t->verdict == VERDICT_OK;) {
        before = t->e->n_out;
        receive_some(t);
        if (t->e->n_out == before) return;
    }
}

/* A program's peak counts from the fork on, when it was as large as this process: a peak that is no
 * larger than ours says nothing. */
static Verdict how_it_ended(const External *e) {
    struct rusage own;
    getrusage(RUSAGE_SELF, &own);
    if (e->peak_kb > e->config.memory_mb * 1024L && e->peak_kb > own.ru_maxrss) return VERDICT_MLE;
    bool clean = WIFEXITED(e->status) && WEXITSTATUS(e->status) == 0;
    return clean ? VERDICT_OK : VERDICT_RE;
}

static Verdict run_turn(Turn *t, size_t *end) {
    External *e = t->e;
    while (t->verdict == VERDICT_OK && !answered(t, end)) {
        wait_for_something(t);
        look_whether_ended(e);
        if (e->ended) drain(t);
        if (t->verdict == VERDICT_OK && !e->ended) check_limits(t);
    }
    if (t->verdict != VERDICT_OK || !e->ended) return t->verdict;
    reap(e);
    return how_it_ended(e);
}

Verdict external_ask(External *e, const char *line, const char **out, size_t *n) {
    int ms = e->pid ? e->config.time_ms : e->config.first_ms;
    if (e->pid) kill(-e->pid, SIGCONT);
    else if (start(e) != ST_OK) return VERDICT_RE;
    double now = clock_s();
    Turn t = {.e = e,
              .line = line,
              .n = strlen(line) + 1,
              .deadline = now + ms / 1e3,
              .next_check = now + CHECK_MS / 1e3};
    e->n_out = e->scanned = 0;
    size_t end = 0;
    Verdict v = run_turn(&t, &end);
    if (v != VERDICT_OK || e->ended) end_group(e);
    else kill(-e->pid, SIGSTOP);
    if (v != VERDICT_OK) return v;
    *out = e->out;
    *n = end;
    return VERDICT_OK;
}
