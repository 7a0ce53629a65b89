#include "learner/runfolder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/log.h"

enum { LONGEST_RUN = RUN_PATH_BYTES - 80, LOCK_POLL_MS = 50 };

void runfolder_path(const char *run, const char *name, char out[RUN_PATH_BYTES]) {
    int n = snprintf(out, RUN_PATH_BYTES, "%s/%s", run, name);
    assert(n < RUN_PATH_BYTES);
    (void)n;
}

bool runfolder_exists(const char *run) {
    char path[RUN_PATH_BYTES];
    if (strlen(run) > LONGEST_RUN) return false;
    runfolder_path(run, "config.txt", path);
    return access(path, F_OK) == 0;
}

static Status make_dir(const char *path) {
    if (mkdir(path, 0777) == 0 || errno == EEXIST) return ST_OK;
    log_error("%s: %s", path, strerror(errno));
    return ST_IO;
}

static Status make_parents(const char *path) {
    char part[RUN_PATH_BYTES];
    for (const char *p = strchr(path + 1, '/'); p != NULL; p = strchr(p + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        TRY(make_dir(part));
    }
    return make_dir(path);
}

typedef struct {
    uint64_t id;
    uint32_t next_actor;
} RunFile;

static Status run_save(const char *run, const RunFile *r) {
    char path[RUN_PATH_BYTES], text[128];
    runfolder_path(run, "run.txt", path);
    int n = snprintf(text, sizeof text, "id = %016" PRIx64 "\nnext-actor = %" PRIu32 "\n", r->id,
                     r->next_actor);
    return file_save(path, (const uint8_t *)text, (size_t)n);
}

static Status run_load(const char *run, RunFile *out) {
    char path[RUN_PATH_BYTES], text[256];
    runfolder_path(run, "run.txt", path);
    uint8_t *p;
    size_t n;
    TRY(file_read(path, sizeof text - 1, &p, &n));
    memcpy(text, p, n);
    text[n] = '\0';
    free(p);
    RunFile r;
    if (sscanf(text, "id = %" SCNx64 " next-actor = %" SCNu32, &r.id, &r.next_actor) != 2 ||
        r.id == 0 || r.next_actor == 0) {
        log_error("%s: not a run's id and counter", path);
        return ST_PARSE;
    }
    *out = r;
    return ST_OK;
}

Status runfolder_make(const char *run) {
    static const char *const folders[] = {"checkpoints", "records"};
    char path[RUN_PATH_BYTES];
    if (strlen(run) > LONGEST_RUN) {
        log_error("the run folder's name is longer than %d characters", LONGEST_RUN);
        return ST_INVALID;
    }
    TRY(make_parents(run));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        runfolder_path(run, folders[i], path);
        TRY(make_dir(path));
        if (access(path, W_OK) != 0) {
            log_error("%s: %s", path, strerror(errno));
            return ST_IO;
        }
    }
    runfolder_path(run, "run.txt", path);
    if (access(path, F_OK) == 0) return ST_OK;
    RunFile r = {.next_actor = 1};
    while (r.id == 0)
        if (getrandom(&r.id, sizeof r.id, 0) != sizeof r.id) r.id = (uint64_t)clock_ns();
    return run_save(run, &r);
}

static void log_owner(const char *run, int fd) {
    char text[32] = "";
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    if (n > 0) text[n] = '\0';
    log_error("%s is in use by process %s", run, *text ? text : "?");
}

Status runfolder_lock(const char *run, double wait_s, int *out) {
    char path[RUN_PATH_BYTES], text[32];
    runfolder_path(run, "lock", path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) {
        log_error("%s: %s", path, strerror(errno));
        return ST_IO;
    }
    double end = clock_s() + wait_s;
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (clock_s() >= end) {
            log_owner(run, fd);
            close(fd);
            return ST_MISMATCH;
        }
        clock_sleep_ms(LOCK_POLL_MS);
    }
    int n = snprintf(text, sizeof text, "%d", (int)getpid());
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        log_warn("%s: %s", path, strerror(errno)); // a full disk: the lock holds all the same
    *out = fd;
    return ST_OK;
}

Status runfolder_id(const char *run, uint64_t *id) {
    RunFile r;
    TRY(run_load(run, &r));
    *id = r.id;
    return ST_OK;
}

Status runfolder_take_actors(const char *run, uint32_t n, uint32_t *first) {
    RunFile r;
    TRY(run_load(run, &r));
    uint32_t mine = r.next_actor;
    if (mine > UINT32_MAX - n) {
        log_error("%s has had four thousand million actors", run);
        return ST_INVALID;
    }
    r.next_actor += n;
    TRY(run_save(run, &r));
    *first = mine;
    return ST_OK;
}
