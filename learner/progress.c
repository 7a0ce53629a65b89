#include "learner/progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/clock.h"

enum { LINE_BYTES = 640, EVERY_S = 60 };

void progressline_init(ProgressLine *l, uint64_t max_frames, double max_seconds) {
    *l = (ProgressLine){.terminal = isatty(STDERR_FILENO) == 1,
                        .max_frames = max_frames,
                        .max_seconds = max_seconds};
}

/* 1234567 -> "1.23M" */
static const char *count(double v, char out[16]) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    int u = 0;
    for (; v >= 999.5 && u < 4; u++) v /= 1000;
    snprintf(out, 16, "%.*f%s", u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, units[u]);
    return out;
}

static int span(double s, char *out, int cap) {
    if (s < 60) return snprintf(out, (size_t)cap, "%.0fs", s);
    if (s < 3600)
        return snprintf(out, (size_t)cap, "%.0fm%02.0fs", (double)((int)s / 60),
                        (double)((int)s % 60));
    return snprintf(out, (size_t)cap, "%dh%02dm", (int)(s / 3600), (int)s / 60 % 60);
}

/* Time left to the nearer limit; negative: there is none. */
static double eta(const ProgressLine *l, const Progress *p) {
    double left = -1;
    if (l->max_seconds > 0) left = l->max_seconds - p->seconds;
    if (l->max_frames > 0 && p->fps > 0) {
        double f = ((double)l->max_frames - (double)p->frames) / p->fps;
        if (left < 0 || f < left) left = f;
    }
    return left < 0 ? (l->max_seconds > 0 ? 0 : -1) : left;
}

int progressline_text(const ProgressLine *l, const Progress *p, char *out, int cap) {
    char a[16], b[16], c[16], d[16], e[16];
    int n = snprintf(out, (size_t)cap, "%s frames  %s/s (L %s D %s U %s)",
                     count((double)p->frames, a), count(p->fps, b), count(p->role[0].fps, c),
                     count(p->role[1].fps, d), count(p->role[2].fps, e));
#define ADD(...)                                                                                   \
    if (n < cap) n += snprintf(out + n, (size_t)(cap - n), __VA_ARGS__)
    ADD("  loss %.3f %.3f %.3f", p->role[0].loss, p->role[1].loss, p->role[2].loss);
    ADD("  steps %s  stale %.0f", count((double)p->role[0].steps, a),
        (p->role[0].staleness + p->role[1].staleness + p->role[2].staleness) / N_ROLES);
    ADD("  act %.0f%% learn %.0f%%", 100 * p->act, 100 * p->learn);
    ADD(" wait %.0f%%/%.0f%%", 100 * p->learner_waits, 100 * p->inbox_waits);
    ADD("  actors %d", p->actors);
    if (p->refused) ADD("  refused %llu", (unsigned long long)p->refused);
    if (*l->wins) ADD("  %s", l->wins);
    double left = eta(l, p);
    if (left >= 0 && n < cap - 16) {
        ADD("  ETA ");
        n += span(left, out + n, cap - n);
    }
#undef ADD
    return n < cap ? n : cap - 1;
}

static int width(void) {
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 120;
}

void progressline_clear(ProgressLine *l) {
    if (!l->shown) return;
    fputs("\r\033[K", stderr);
    l->shown = false;
}

void progressline_show(ProgressLine *l, const Progress *p) {
    char text[LINE_BYTES];
    double now = clock_s();
    if (!l->terminal && now < l->next_s) return;
    progressline_text(l, p, text, sizeof text);
    if (l->terminal) {
        fprintf(stderr, "\r\033[K%.*s", width() - 1, text);
        l->shown = true;
    } else {
        l->next_s = (l->next_s == 0 ? now : l->next_s) + EVERY_S;
        fprintf(stderr, "%s\n", text);
    }
    fflush(stderr);
}

void progressline_last(ProgressLine *l, const Progress *p) {
    char text[LINE_BYTES];
    progressline_clear(l);
    progressline_text(l, p, text, sizeof text);
    fprintf(stderr, "%s\n", text);
}
