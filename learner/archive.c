#include "learner/archive.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/recordfile.h"
#include "learner/runfolder.h"

enum { FILES = 8, LARGEST_FILE = 256 << 20, LOOK_EVERY = 1 << 20 };

struct Archive {
    pthread_mutex_t lock; // of all that follows
    char run[RUN_PATH_BYTES];
    uint64_t max_bytes;
    unsigned first, last; // numbers of the files there are
    RecordWriter *writer; // NULL: given up
    uint64_t added;       // raw bytes since the file's size was last looked at
};

static void path_of(const Archive *a, unsigned number, char out[RUN_PATH_BYTES]) {
    char name[40];
    snprintf(name, sizeof name, "records/%06u.dzr", number);
    runfolder_path(a->run, name, out);
}

static uint64_t size_of(const Archive *a, unsigned number) {
    char path[RUN_PATH_BYTES];
    struct stat info;
    path_of(a, number, path);
    return stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static Status find_files(Archive *a) {
    char path[RUN_PATH_BYTES];
    runfolder_path(a->run, "records", path);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return ST_IO;
    }
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        unsigned number;
        int end = 0;
        if (sscanf(e->d_name, "%6u.dzr%n", &number, &end) != 1 || end == 0 || e->d_name[end])
            continue;
        if (number > a->last) a->last = number;
        if (a->first == 0 || number < a->first) a->first = number;
    }
    closedir(dir);
    if (a->last == 0) a->first = a->last = 1;
    return ST_OK;
}

static Status open_writer(Archive *a) {
    char path[RUN_PATH_BYTES];
    path_of(a, a->last, path);
    return recordwriter_open(path, &a->writer);
}

Status archive_open(const char *run, uint64_t max_bytes, Archive **out) {
    Archive *a = calloc(1, sizeof *a);
    if (a == NULL) return ST_NOMEM;
    snprintf(a->run, sizeof a->run, "%s", run);
    a->max_bytes = max_bytes;
    Status st = find_files(a);
    if (st == ST_OK) st = open_writer(a);
    if (st == ST_CORRUPT) { // not ours, or damaged beyond its tail: leave it, begin another
        a->last++;
        st = open_writer(a);
    }
    if (st != ST_OK) {
        free(a);
        return st;
    }
    pthread_mutex_init(&a->lock, NULL);
    *out = a;
    return ST_OK;
}

static void give_up(Archive *a) {
    log_warn("no more game records are kept in %s/records", a->run);
    recordwriter_close(a->writer);
    a->writer = NULL;
}

static void drop_oldest(Archive *a) {
    uint64_t total = 0;
    char path[RUN_PATH_BYTES];
    for (unsigned i = a->first; i <= a->last; i++) total += size_of(a, i);
    while (total > a->max_bytes && a->first < a->last) {
        total -= size_of(a, a->first);
        path_of(a, a->first++, path);
        if (unlink(path) != 0 && errno != ENOENT) log_warn("%s: %s", path, strerror(errno));
    }
}

/* Begins a new file if this one is large. */
static void look(Archive *a) {
    uint64_t limit = a->max_bytes / FILES;
    if (limit > LARGEST_FILE) limit = LARGEST_FILE;
    a->added = 0;
    if (size_of(a, a->last) >= limit) {
        Status st = recordwriter_close(a->writer);
        a->writer = NULL;
        a->last++;
        if (st != ST_OK || open_writer(a) != ST_OK) give_up(a);
    }
    drop_oldest(a);
}

void archive_add(Archive *a, const uint8_t *record, size_t n) {
    if (a == NULL) return;
    pthread_mutex_lock(&a->lock);
    if (a->writer && recordwriter_add(a->writer, record, n) != ST_OK) give_up(a);
    a->added += n;
    if (a->writer && a->added >= LOOK_EVERY) look(a);
    pthread_mutex_unlock(&a->lock);
}

void archive_flush(Archive *a) {
    if (a == NULL) return;
    pthread_mutex_lock(&a->lock);
    if (a->writer && recordwriter_flush(a->writer) != ST_OK) give_up(a);
    pthread_mutex_unlock(&a->lock);
}

void archive_close(Archive *a) {
    if (a == NULL) return;
    recordwriter_close(a->writer);
    pthread_mutex_destroy(&a->lock);
    free(a);
}
