/* child.h - a process that `train` started: its pipes, its end, when to start it again.
 *
 * A child is in a process group of its own (Ctrl-C at the terminal reaches the supervisor alone),
 * and the kernel signals it when the supervisor dies, however that dies. What it says on stderr
 * comes line by line through the supervisor.                                                */
#ifndef DIZHU_LEARNER_CHILD_H
#define DIZHU_LEARNER_CHILD_H
#include "engine/base/status.h"
#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CHILD_MAX_ARGS = 24, CHILD_LINE_BYTES = 1024, CHILD_ANSWER_BYTES = 4096 };

typedef struct {
    char name[32];               /* "learner", "actor", "eval" */
    pid_t pid, last_pid;         /* pid 0: not running */
    int err, out, report;        /* read ends, non-blocking; -1: closed or none */
    char line[CHILD_LINE_BYTES]; /* stderr so far of the line that is not yet whole */
    int n_line;
    char last[CHILD_LINE_BYTES];     /* its last line: the likely cause of a death */
    char answer[CHILD_ANSWER_BYTES]; /* stdout */
    int n_answer;
    double started, heard; /* clock_s: of its start; of its last sign of life */
    long ticks;            /* of child_state when it had been silent for a while; 0: it was not */
    double start_at;       /* not to be started again before this */
    int quick_deaths;      /* in a row, each soon after its start */
    bool killed;           /* by child_kill; its end may take a while yet */
} Child;

typedef struct {
    const char *program;
    const char *args[CHILD_MAX_ARGS]; /* NULL ends; args[0] is the first after the name */
    int death_signal;                 /* what it gets when the supervisor dies */
    int niceness;
    const cpu_set_t *cpus;      /* where it may run; NULL: anywhere */
    bool want_out, want_report; /* stdout to answer; a report pipe as its descriptor 3 */
    int keep_fd;                /* a descriptor that it inherits (the run's lock); -1: none */
} ChildSpec;

void child_init(Child *c, const char *name);
/* ST_IO: the log says why. */
Status child_start(Child *c, const ChildSpec *s);
/* Reads what stderr and stdout have; each whole line of stderr goes to `line`. */
void child_read(Child *c, void (*line)(void *ctx, const Child *c, const char *text), void *ctx);
void child_signal(const Child *c, int number);
/* SIGKILL, once. */
void child_kill(Child *c);
/* What its main thread does, as /proc says: 'R' runs or waits for a processor, 'D' for the disk,
 * 'S' sleeps, 'T' is stopped; 0: cannot be told. *ticks: processor time of all its threads so far,
 * in ticks of the kernel. */
char child_state(const Child *c, long *ticks);
const char *child_state_text(char state);
/* Has it ended? Then the rest is read, the pipes are closed, pid is 0 and *status its wait status.
 */
bool child_ended(Child *c, int *status, void (*line)(void *, const Child *, const char *),
                 void *ctx);
/* "exit code 1", "killed by signal 9 (Killed)". */
const char *child_death(int status, char *out, int cap);
/* After an end that was not wanted: sets start_at; true: it has died at once too often, give up. An
 * end from outside (SIGKILL of one that was at work) is no reason ever to give up.          */
bool child_back_off(Child *c, int status, bool at_work);

#endif
