#include "learner/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "engine/base/clock.h"

enum { LINE_BYTES = 640, PIECE_BYTES = 176, MAX_PIECES = 16, FIRST_S = 10, EVERY_S = 60 };

/* The line is made of pieces; the rank says what goes first when there is no room. */
typedef struct {
    int n;
    struct {
        int rank; /* 0: stays */
        char text[PIECE_BYTES];
    } piece[MAX_PIECES];
} Pieces;

void progressline_init(ProgressLine *l, uint64_t max_frames, double max_seconds) {
    *l = (ProgressLine){.terminal = isatty(STDERR_FILENO) == 1,
                        .max_frames = max_frames,
                        .max_seconds = max_seconds};
}

static void add(Pieces *p, int rank, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void add(Pieces *p, int rank, const char *fmt, ...) {
    if (p->n == MAX_PIECES) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(p->piece[p->n].text, PIECE_BYTES, fmt, ap);
    va_end(ap);
    p->piece[p->n++].rank = rank;
}

/* 1234567 -> "1.23M" */
static const char *count(double v, char out[16]) {
    static const char *const units[] = {"", "k", "M", "G", "T"};
    int u = 0;
    for (; v >= 999.5 && u < 4; u++) v /= 1000;
    snprintf(out, 16, "%.*f%s", u == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2, v, units[u]);
    return out;
}

static const char *span(double s, char out[16]) {
    int i = (int)(s + 0.5);
    if (i < 60) snprintf(out, 16, "%ds", i);
    else if (i < 3600) snprintf(out, 16, "%dm%02ds", i / 60, i % 60);
    else snprintf(out, 16, "%dh%02dm", i / 3600, i / 60 % 60);
    return out;
}

/* Time left to the nearer limit; negative: there is none, or it cannot be told yet. */
static double eta(const ProgressLine *l, const Progress *p) {
    double left = -1;
    if (l->max_seconds > 0) left = l->max_seconds > p->seconds ? l->max_seconds - p->seconds : 0;
    if (l->max_frames > 0 && p->fps > 0) {
        // Of several ranks this one has its part to do; where they count together that is known.
        double ranks = p->all.ranks > 0 ? p->all.ranks : 1;
        double done = p->all.frames > 0 ? (double)p->all.frames / ranks : (double)p->frames;
        double frames = (double)l->max_frames / ranks - done;
        double f = frames > 0 ? frames / p->fps : 0;
        if (left < 0 || f < left) left = f;
    }
    return left;
}

static void add_losses(Pieces *out, const Progress *p) {
    char text[N_ROLES][16];
    int known = 0;
    for (int r = 0; r < N_ROLES; r++) {
        bool has = isfinite(p->role[r].loss);
        if (has) snprintf(text[r], sizeof text[r], "%.3f", p->role[r].loss);
        else strcpy(text[r], "-");
        known += has;
    }
    if (known) add(out, 2, "loss %s %s %s", text[0], text[1], text[2]);
}

static void add_learning(Pieces *out, const Progress *p) {
    char a[16];
    uint64_t most = 0;
    double stale = 0;
    for (int r = 0; r < N_ROLES; r++) {
        if (p->role[r].steps > most) most = p->role[r].steps;
        stale += p->role[r].staleness / N_ROLES;
    }
    add_losses(out, p);
    if (most == 0) return;
    add(out, 7, "steps %s", count((double)most, a));
    add(out, 6, "stale %.0f", stale);
}

static void add_ranks(Pieces *out, const Progress *p) {
    char a[16];
    if (p->all.ranks == 0) return;
    add(out, 3, "%d ranks %s", p->all.ranks, p->all.algo);
    if (p->all.frames > 0) add(out, 5, "all %s", count((double)p->all.frames, a));
    if (p->all.sent_per_step > 0) add(out, 3, "sent %sB/step", count(p->all.sent_per_step, a));
    add(out, 5, "exchange waits %.0f%%", 100 * p->all.waits);
    if (isfinite(p->all.apart)) add(out, 7, "apart %.3g", p->all.apart);
}

static void make_pieces(const ProgressLine *l, const Progress *p, Pieces *out) {
    char a[16], b[16], c[16];
    out->n = 0;
    if (p->fps > 0) add(out, 0, "%s frames  %s/s", count((double)p->frames, a), count(p->fps, b));
    else add(out, 0, "%s frames  no games yet", count((double)p->frames, a));
    if (p->fps > 0)
        add(out, 5, "(L %s D %s U %s)", count(p->role[0].fps, a), count(p->role[1].fps, b),
            count(p->role[2].fps, c));
    add_learning(out, p);
    if (p->fps > 0) {
        add(out, 4, "act %.0f%% learn %.0f%%", 100 * p->act, 100 * p->learn);
        add(out, 8, "wait %.0f%%/%.0f%%", 100 * p->learner_waits, 100 * p->inbox_waits);
    }
    add(out, 9, "actors %d", p->actors);
    add_ranks(out, p);
    if (p->refused) add(out, 1, "refused %llu", (unsigned long long)p->refused);
    if (p->lost) add(out, 1, "lost %llu", (unsigned long long)p->lost);
    if (*l->wins) add(out, 3, "%s", l->wins);
    if (*l->doing) add(out, 4, "%s", l->doing);
    double left = eta(l, p);
    if (left >= 0.5) add(out, 1, "ETA %s", span(left, a));
}

static int length(const Pieces *p) {
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->piece[i].rank >= 0) n += (n ? 2 : 0) + (int)strlen(p->piece[i].text);
    return n;
}

/* Marks the least important piece as left out; false: only the first is there. */
static bool leave_one_out(Pieces *p) {
    int last = 0;
    for (int i = 1; i < p->n; i++)
        if (p->piece[i].rank >= p->piece[last].rank) last = i;
    if (last == 0) return false;
    p->piece[last].rank = -1;
    return true;
}

int progressline_text(const ProgressLine *l, const Progress *p, char *out, int cap, int room) {
    Pieces pieces;
    make_pieces(l, p, &pieces);
    while (length(&pieces) > room && leave_one_out(&pieces)) {}
    int n = 0;
    out[0] = '\0';
    for (int i = 0; i < pieces.n && n < cap - 1; i++)
        if (pieces.piece[i].rank >= 0)
            n += snprintf(out + n, (size_t)(cap - n), "%s%s", n ? "  " : "", pieces.piece[i].text);
    return n < cap ? n : cap - 1;
}

static int width(void) {
    struct winsize w;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 120;
}

void progressline_clear(ProgressLine *l) {
    if (!l->shown) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    l->shown = false;
}

void progressline_note(ProgressLine *l, const char *text) {
    if (l->silent) return;
    if (!l->terminal) return;
    fprintf(stderr, "\r\033[K%.*s", width() - 1, text);
    fflush(stderr);
    l->shown = true;
}

void progressline_show(ProgressLine *l, const Progress *p) {
    if (l->silent) return;
    char text[LINE_BYTES];
    double now = clock_s();
    if (l->terminal) {
        progressline_text(l, p, text, sizeof text, width() - 1);
        progressline_note(l, text);
        return;
    }
    if (l->next_s == 0) l->next_s = now + FIRST_S;
    if (now < l->next_s) return;
    l->next_s += EVERY_S;
    progressline_text(l, p, text, sizeof text, LINE_BYTES);
    fprintf(stderr, "%s\n", text);
}

void progressline_last(ProgressLine *l, const Progress *p) {
    if (l->silent) return;
    char text[LINE_BYTES];
    progressline_clear(l);
    progressline_text(l, p, text, sizeof text, LINE_BYTES);
    fprintf(stderr, "%s\n", text);
}
