#include "learner/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

_Static_assert(sizeof(Report) <= PIPE_BUF, "one atomic write");

void report_init(int fd) {
    if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void report_send(int fd, const Report *r) {
    if (fd < 0) return;
    while (write(fd, r, sizeof *r) < 0 && errno == EINTR) {}
}

bool report_read(int fd, Report *out, bool *closed) {
    ssize_t n;
    while ((n = read(fd, out, sizeof *out)) < 0 && errno == EINTR) {}
    if (n == 0) *closed = true;
    return n == sizeof *out;
}
