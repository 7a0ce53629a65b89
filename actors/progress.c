#include "actors/progress.h"
#include "engine/base/clock.h"
#include <stdio.h>
#include <unistd.h>

enum { SECONDS_BETWEEN_LINES = 60 };

void progress_init(Progress *p, const char *unit) {
    double now = clock_s();
    *p = (Progress){.unit = unit, .terminal = isatty(2), .began = now, .last = now};
}

void progress_show(Progress *p, int64_t done, int64_t all) {
    double now = clock_s(), spent = now - p->began;
    if (!p->terminal && now - p->last < SECONDS_BETWEEN_LINES) return;
    p->last = now;
    double rate = spent > 0 ? (double)done / spent : 0;
    long left = rate > 0 ? (long)((double)(all - done) / rate + 0.5) : 0;
    fprintf(stderr, "%s%lld of %lld %s, %.0f a second, %ld:%02ld left%s", p->terminal ? "\r" : "",
            (long long)done, (long long)all, p->unit, rate, left / 60, left % 60,
            p->terminal ? "\033[K" : "\n");
}

void progress_clear(Progress *p) {
    if (p->terminal) fputs("\r\033[K", stderr);
}
