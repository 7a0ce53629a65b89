#include "engine/base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 1024 };

static LogLevel max_level = LOG_INFO;
static char process_name[32] = "dizhu";
static int file = -1;

void log_level(LogLevel max) { max_level = max; }

void log_name(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(process_name, sizeof process_name, fmt, ap);
    va_end(ap);
}

int log_file(const char *path) {
    if (file >= 0) close(file);
    file = -1;
    if (path == NULL) return 0;
    file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    return file < 0 ? -1 : 0;
}

/* One write per line and sink, so that lines of several processes never mix. */
static void emit(int fd, const char *line, size_t n) {
    while (n > 0) {
        ssize_t done = write(fd, line, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return; // a log that cannot be written is no reason to stop
        line += done;
        n -= (size_t)done;
    }
}

void log_line(LogLevel level, const char *fmt, ...) {
    static const char *const names[] = {"error", "warn ", "info ", "debug"};
    if (level > max_level) return;
    int saved_errno = errno;
    char line[LINE_MAX_BYTES];
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &tm);
    int n = snprintf(line, sizeof line, "%02d:%02d:%02d.%03ld %s %s ", tm.tm_hour, tm.tm_min,
                     tm.tm_sec, t.tv_nsec / 1000000, process_name, names[level]);
    va_list ap;
    va_start(ap, fmt);
    int m = vsnprintf(line + n, sizeof line - (size_t)n - 1, fmt, ap);
    va_end(ap);
    size_t len = strlen(line);
    if (m >= (int)(sizeof line - (size_t)n - 1)) memcpy(line + len - 3, "...", 3);
    line[len++] = '\n';
    emit(STDERR_FILENO, line, len);
    if (file >= 0) emit(file, line, len);
    errno = saved_errno;
}

void log_copy(const char *line)
{
    char copy[LINE_MAX_BYTES];
    int n = snprintf(copy, sizeof copy, "%s\n", line);
    if (n >= (int)sizeof copy) copy[(n = (int)sizeof copy - 1) - 1] = '\n';
    emit(STDERR_FILENO, copy, (size_t)n);
    if (file >= 0) emit(file, copy, (size_t)n);
}
