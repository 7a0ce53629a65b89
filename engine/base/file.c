/* file.c - see file.h. */
#include "engine/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"

static Status io_error(const char *path, const char *verb) {
    log_error("cannot %s %s: %s", verb, path, strerror(errno));
    return ST_IO;
}

/* Reads until n bytes or the end of the file; the number read, -1 on an error. */
static ssize_t read_full(int fd, uint8_t *p, size_t n) {
    size_t have = 0;
    while (have < n) {
        ssize_t got = read(fd, p + have, n - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static Status read_open(int fd, const char *path, size_t max, uint8_t **p, size_t *n) {
    struct stat s;
    if (fstat(fd, &s) != 0) return io_error(path, "read");
    if (!S_ISREG(s.st_mode)) {
        log_error("cannot read %s: not a regular file", path);
        return ST_IO;
    }
    if ((uintmax_t)s.st_size > max) {
        log_error("%s: %jd bytes, at most %zu are expected", path, (intmax_t)s.st_size, max);
        return ST_CORRUPT;
    }
    uint8_t *bytes = malloc((size_t)s.st_size + 1);
    if (!bytes) return ST_NOMEM;
    ssize_t have = read_full(fd, bytes, (size_t)s.st_size);
    if (have < 0) {
        free(bytes);
        return io_error(path, "read");
    }
    *p = bytes;
    *n = (size_t)have;
    return ST_OK;
}

Status file_read(const char *path, size_t max, uint8_t **p, size_t *n) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* not to wait for a pipe's writer */
    if (fd < 0) return io_error(path, "open");
    Status st = read_open(fd, path, max, p, n);
    close(fd);
    return st;
}

static int write_full(int fd, const uint8_t *p, size_t n) {
    while (n > 0) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return -1;
        p += put;
        n -= (size_t)put;
    }
    return 0;
}

/* Creates the temporary file with all bytes on disk; -1 and errno, and no file, on failure. */
static int write_temporary(const char *name, const uint8_t *p, size_t n) {
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return -1;
    int bad = write_full(fd, p, n) != 0 || fsync(fd) != 0;
    int why = errno;
    if (close(fd) != 0 && !bad) bad = 1, why = errno;
    if (!bad) return 0;
    unlink(name);
    errno = why;
    return -1;
}

/* Makes the rename durable. Some file systems cannot sync a directory: then there is no more to do.
 */
static void sync_directory(const char *path) {
    char dir[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;
    if (fsync(fd) != 0) log_debug("cannot sync directory %s: %s", dir, strerror(errno));
    close(fd);
}

Status file_save(const char *path, const uint8_t *p, size_t n) {
    char temporary[PATH_MAX];
    int length = snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary) {
        log_error("cannot write %.60s...: the path is too long", path);
        return ST_INVALID;
    }
    if (write_temporary(temporary, p, n) != 0) return io_error(path, "write");
    if (rename(temporary, path) != 0) {
        Status st = io_error(path, "replace");
        unlink(temporary);
        return st;
    }
    sync_directory(path);
    return ST_OK;
}
