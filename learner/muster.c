#include "learner/muster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/link.h"
#include "engine/base/log.h"
#include "learner/child.h"
#include "learner/launch.h"
#include "learner/ranksettings.h"
#include "learner/runfolder.h"

enum { MAX_MORE = 16, LOOK_MS = 50, MAX_RANKS = 256, AGAIN_MS = 500 };
static const double others_end_s = 15, stop_s = 40;

typedef struct {
    pid_t pid;
    double started;
    int quick_deaths;
    bool over; // it will not be started again
} RankProcess;

typedef struct {
    const Settings *s;
    int argc;
    char **argv;
    atomic_bool *stop;
    Programs programs;
    char founder[LINK_ENDPOINT_BYTES];
    bool together; // ranks step together: none may be missing
    RankProcess rank[MAX_RANKS];
    int n, code;
    double start, end_at; // end_at: those that are left by then are killed; 0: nobody has to end
} Muster;

/* Starts before..., then this program's command line, then more...; NULL ends each. */
static pid_t start(const Muster *m, const char *const before[], const char *const more[]) {
    const char **args = calloc((size_t)m->argc + 3 * MAX_MORE, sizeof *args);
    int n = 0;
    if (args == NULL) return -1;
    for (int i = 0; before[i]; i++) args[n++] = before[i];
    args[n++] = m->programs.learner;
    args[n++] = "train";
    for (int i = 1; i < m->argc; i++) args[n++] = m->argv[i];
    for (int i = 0; more[i]; i++) args[n++] = more[i];
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        setpgid(0, 0); // Ctrl-C reaches this process alone, which tells the ranks
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);
        int null = open("/dev/null", O_RDONLY);
        if (null >= 0) dup2(null, STDIN_FILENO);
        execvp(args[0], (char *const *)(uintptr_t)args);
        dprintf(STDERR_FILENO, "dizhu: cannot run %s: %s\n", args[0], strerror(errno));
        _exit(127);
    }
    free(args);
    return pid;
}

/* ---- over mpi ---- */

static int over_mpi(Muster *m) {
    char ranks[24];
    snprintf(ranks, sizeof ranks, "%d", m->s->learners);
    // A rank gets time to store its checkpoint; waiting ranks leave the cores to the others.
    const char *const mpirun[] = {"mpirun",
                                  "-n",
                                  ranks,
                                  "--bind-to",
                                  "none",
                                  "--oversubscribe",
                                  "--mca",
                                  "odls_base_sigkill_timeout",
                                  "5",
                                  "--mca",
                                  "mpi_yield_when_idle",
                                  "1",
                                  NULL};
    static const char *const none[] = {NULL};
    if (geteuid() == 0) { // mpirun asks root to say this
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
    pid_t pid = start(m, mpirun, none);
    if (pid < 0) return 1;
    int status = 0;
    double told = 0;
    bool killed = false;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        double now = clock_s();
        if (atomic_load(m->stop) && told == 0) {
            told = now;
            kill(pid, SIGUSR1); // passed on to every rank
        }
        if (told > 0 && now > told + stop_s && !killed) {
            killed = true;
            kill(pid, SIGTERM);
        }
        clock_sleep_ms(LOOK_MS);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

/* ---- over zmq ---- */

static Status make_key(const Settings *s) {
    char path[RUN_PATH_BYTES];
    LinkKeys keys;
    TRY(runfolder_make(s->run));
    runfolder_path(s->run, "ranks.key", path);
    if (s->ranks_key || access(path, F_OK) == 0) return ST_OK;
    TRY(link_keys_new(&keys));
    return link_keys_save(&keys, path);
}

/* A port that is free now. */
static Status find_founder(Muster *m) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
              getsockname(fd, (struct sockaddr *)&at, &bytes) == 0;
    if (!ok) log_error("no port for the ranks to meet at: %s", strerror(errno));
    snprintf(m->founder, sizeof m->founder, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    if (fd >= 0) close(fd);
    return ok ? ST_OK : ST_IO;
}

static void start_rank(Muster *m, int i, bool join) {
    char number[24], minutes[32];
    double left = m->s->minutes - (clock_s() - m->start) / 60;
    snprintf(number, sizeof number, "%d", i);
    snprintf(minutes, sizeof minutes, "%.9g", left > 1e-6 ? left : 1e-6);
    const char *more[MAX_MORE] = {"--rank", number, "--founder", m->founder};
    static const char *const none[] = {NULL};
    int n = 4;
    if (join) more[n++] = "--join";
    if (m->s->minutes > 0) more[n++] = "--minutes", more[n++] = minutes;
    m->rank[i].pid = start(m, none, more);
    m->rank[i].started = clock_s();
    if (m->rank[i].pid > 0) return;
    m->rank[i].over = true;
    m->code = 1;
}

static void signal_all(const Muster *m, int number) {
    for (int i = 0; i < m->n; i++)
        if (m->rank[i].pid > 0) kill(m->rank[i].pid, number);
}

/* The others know by themselves whom they miss; this is for those that would not end. */
static void end_others(Muster *m, double within_s) {
    if (m->end_at == 0) m->end_at = clock_s() + within_s;
}

static void rank_ended(Muster *m, int i, int status) {
    enum { QUICK_S = 5, MOST = 5 };
    char how[64];
    RankProcess *r = &m->rank[i];
    r->pid = 0;
    bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (well || m->end_at > 0) {
        r->over = true;
        if (!well) m->code = 1;
        return;
    }
    child_death(status, how, sizeof how);
    r->quick_deaths = clock_s() - r->started < QUICK_S ? r->quick_deaths + 1 : 0;
    bool again = !m->together && WIFSIGNALED(status) && r->quick_deaths < MOST;
    if (again) {
        log_warn("rank %d ended: %s; starting it again", i, how);
        clock_sleep_ms(AGAIN_MS);
        start_rank(m, i, true);
        return;
    }
    log_error("rank %d ended: %s%s", i, how, m->together ? "; the run ends for all ranks" : "");
    r->over = true;
    m->code = 1;
    if (m->together) end_others(m, others_end_s);
}

static bool anyone(const Muster *m) {
    for (int i = 0; i < m->n; i++)
        if (!m->rank[i].over) return true;
    return false;
}

static int over_zmq(Muster *m) {
    bool told = false, killed = false;
    if (make_key(m->s) != ST_OK || find_founder(m) != ST_OK) return 1;
    for (int i = 0; i < m->n; i++) start_rank(m, i, false);
    while (anyone(m)) {
        int status;
        for (int i = 0; i < m->n; i++)
            if (m->rank[i].pid > 0 && waitpid(m->rank[i].pid, &status, WNOHANG) == m->rank[i].pid)
                rank_ended(m, i, status);
        if (atomic_load(m->stop) && !told) {
            told = true;
            signal_all(m, SIGTERM);
            end_others(m, stop_s);
        }
        if (m->end_at > 0 && clock_s() > m->end_at && !killed) {
            killed = true;
            signal_all(m, SIGKILL);
        }
        clock_sleep_ms(LOOK_MS);
    }
    return m->code;
}

int muster(const Settings *s, int argc, char **argv, atomic_bool *stop) {
    Muster *m = calloc(1, sizeof *m);
    if (m == NULL) return 1;
    log_name("train");
    *m = (Muster){.s = s,
                  .argc = argc,
                  .argv = argv,
                  .stop = stop,
                  .together = ranksettings_synchronous(s),
                  .n = s->learners,
                  .start = clock_s()};
    int code = 1;
    if (programs_find(&m->programs) == ST_OK)
        code = ranksettings_transport(s) == TRANSPORT_MPI ? over_mpi(m) : over_zmq(m);
    free(m);
    return code;
}
