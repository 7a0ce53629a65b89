/* train.h - `dizhu train` as a process under test: started, watched through what it says, stopped.
 *
 * Runs are small (few games at once, small batches, checkpoints every second) and lie in a
 * temporary folder each; what the processes say goes to FOLDER/said.txt. Limits of time are
 * generous where they only guard against hanging: the machine may be busy. */
#ifndef DIZHU_TESTS_E2E_TRAIN_H
#define DIZHU_TESTS_E2E_TRAIN_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"

enum { LONG_S = 120, MAX_ARGS = 60, FOLDER_BYTES = 64, PATH_BYTES = 256 };

typedef struct {
    char folder[FOLDER_BYTES];
    char run[96], said[96]; /* FOLDER/run, FOLDER/said.txt */
} Place;

typedef struct {
    const Place *place;
    pid_t pid;
    void (*before)(void); /* in the child, before it becomes the program; NULL: nothing */
} Train;

static inline void place_make(Place *p) {
    strcpy(p->folder, "/tmp/dizhu-e2e-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    snprintf(p->run, sizeof p->run, "%s/run", p->folder);
    snprintf(p->said, sizeof p->said, "%s/said.txt", p->folder);
}

static inline void place_remove(const Place *p) {
    char command[PATH_BYTES];
    snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
    assert_int_equal(system(command), 0);
}

/* Becomes the program; does not return. */
static inline void become(const char *const args[], const char *said) {
    int fd = open(said, O_WRONLY | O_CREAT | O_APPEND, 0666);
    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that fails leaves nobody behind
    execv(args[0], (char *const *)(uintptr_t)args);
    _exit(127);
}

/* Starts `dizhu ARGS...`; its words are appended to `said`. */
static inline pid_t start_program(const char *const args[], const char *said,
                                  void (*before)(void)) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (before) before();
        become(args, said);
    }
    return pid;
}

/* `dizhu train` on the place's run with small settings, and more of them. */
static inline void train_start(Train *t, const Place *p, const char *const more[]) {
    const char *args[MAX_ARGS] = {PROGRAM_DIR "/dizhu",
                                  "train",
                                  "--run",
                                  p->run,
                                  "--actors",
                                  "2",
                                  "--games",
                                  "8",
                                  "--batch",
                                  "32",
                                  "--threads",
                                  "2",
                                  "--ema",
                                  "0",
                                  "--eval-minutes",
                                  "0",
                                  "--records-mb",
                                  "64",
                                  "--checkpoint-minutes",
                                  "0.015"};
    int n = 0;
    while (args[n]) n++;
    for (int i = 0; more && more[i]; i++) args[n++] = more[i];
    t->place = p;
    t->pid = start_program(args, p->said, t->before);
}

/* Everything said so far; the caller frees. */
static inline char *said(const Place *p) {
    FILE *f = fopen(p->said, "r");
    char *text = NULL;
    size_t cap = 0;
    if (f == NULL) return strdup("");
    if (getdelim(&text, &cap, '\0', f) < 0) {
        free(text);
        text = strdup("");
    }
    fclose(f);
    return text;
}

static inline int times_said(const Place *p, const char *what) {
    char *text = said(p);
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what)) n++;
    free(text);
    return n;
}

static inline void fail_with_words(const Place *p, const char *what) {
    char *text = said(p);
    size_t n = strlen(text), tail = n > 4000 ? n - 4000 : 0;
    print_message("%s\n", text + tail);
    free(text);
    fail_msg("%s", what);
}

/* Waits until `what` has been said at least n times. */
static inline void wait_said(const Place *p, const char *what, int n) {
    double end = clock_s() + LONG_S;
    while (times_said(p, what) < n) {
        if (clock_s() > end) fail_with_words(p, what);
        clock_sleep_ms(20);
    }
}

/* Was it said? Else the test fails and shows what was. */
static inline void expect_said(const Place *p, const char *what) {
    if (times_said(p, what) == 0) fail_with_words(p, what);
}

/* The exit code, or 128 + the signal; the test fails after limit_s. */
static inline int wait_end(const Place *p, pid_t pid, double limit_s) {
    double end = clock_s() + limit_s;
    int status;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        if (clock_s() > end) {
            kill(pid, SIGKILL);
            waitpid(pid, NULL, 0);
            fail_with_words(p, "it did not end in time");
        }
        clock_sleep_ms(5);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int train_end(Train *t, double limit_s) {
    int code = wait_end(t->place, t->pid, limit_s);
    t->pid = 0;
    return code;
}

/* ---- processes ---- */

static inline bool read_proc(int pid, const char *name, char *out, size_t cap) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    FILE *f = fopen(path, "r");
    if (f == NULL) return false;
    size_t n = fread(out, 1, cap - 1, f);
    fclose(f);
    out[n] = '\0';
    return n > 0;
}

/* Living children of a process whose command (argv[1]) is this; returns how many of up to max. */
static inline int children(pid_t parent, const char *command, pid_t *out, int max) {
    DIR *dir = opendir("/proc");
    int n = 0;
    assert_non_null(dir);
    for (struct dirent *e; n < max && (e = readdir(dir)) != NULL;) {
        char text[4096], state;
        int pid = atoi(e->d_name), ppid;
        if (pid <= 0 || !read_proc(pid, "stat", text, sizeof text)) continue;
        const char *after = strrchr(text, ')');
        if (after == NULL || sscanf(after + 1, " %c %d", &state, &ppid) != 2) continue;
        if (ppid != parent || state == 'Z' || !read_proc(pid, "cmdline", text, sizeof text))
            continue;
        if (strcmp(text + strlen(text) + 1, command) == 0) out[n++] = pid;
    }
    closedir(dir);
    return n;
}

/* Is there such a process (and is it no zombie)? */
static inline bool alive(pid_t pid) {
    char text[1024];
    if (!read_proc(pid, "stat", text, sizeof text)) return false;
    const char *after = strrchr(text, ')');
    return after && after[1] == ' ' && after[2] != 'Z';
}

static inline void wait_gone(const Place *p, const pid_t *pids, int n, double limit_s) {
    double end = clock_s() + limit_s;
    for (int i = 0; i < n; i++)
        while (alive(pids[i])) {
            if (clock_s() > end) fail_with_words(p, "a child is still there");
            clock_sleep_ms(10);
        }
}

/* ---- checkpoints, by what the learner says of them ---- */

typedef struct {
    unsigned long long number, frames;
} Stored;

/* The n-th "checkpoint N: F frames" that was said (0: the first); false: not yet. */
static inline bool stored_at(const Place *p, int n, Stored *out) {
    char *text = said(p), *at = text;
    bool found = false;
    while ((at = strstr(at, "info  checkpoint ")) != NULL) {
        at += strlen("info  checkpoint ");
        if (n-- == 0) {
            found = sscanf(at, "%llu: %llu", &out->number, &out->frames) == 2;
            break;
        }
    }
    free(text);
    return found;
}

#endif
