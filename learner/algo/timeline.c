#include "learner/algo/timeline.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct {
    const char *name;
    int64_t start, end;
    int number;
    Lane lane;
} Span;

struct Timeline {
    pthread_mutex_t lock;
    int rank, room;
    uint64_t n; // ever added
    Span span[];
};

Status timeline_new(int rank, int room, Timeline **out) {
    if (room < 1) return ST_INVALID;
    Timeline *t = calloc(1, sizeof *t + (size_t)room * sizeof t->span[0]);
    if (!t) return ST_NOMEM;
    pthread_mutex_init(&t->lock, NULL);
    t->rank = rank;
    t->room = room;
    *out = t;
    return ST_OK;
}

void timeline_free(Timeline *t) {
    if (!t) return;
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void timeline_add(Timeline *t, Lane lane, const char *name, int number, int64_t start,
                  int64_t end) {
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    t->span[t->n++ % (uint64_t)t->room] = (Span){name, start, end, number, lane};
    pthread_mutex_unlock(&t->lock);
}

int timeline_count(const Timeline *t) { return t->n < (uint64_t)t->room ? (int)t->n : t->room; }

Status timeline_write(const Timeline *t, FILE *out, int *n_written) {
    static const char *const lanes[N_LANES] = {"compute", "exchange"};
    int n = timeline_count(t);
    for (int lane = 0; lane < N_LANES; lane++)
        fprintf(out,
                "%s{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,"
                "\"args\":{\"name\":\"%s\"}}",
                (*n_written)++ ? ",\n" : "", t->rank, lane, lanes[lane]);
    for (int i = 0; i < n; i++) {
        const Span *s = &t->span[(t->n - (uint64_t)n + (uint64_t)i) % (uint64_t)t->room];
        fprintf(out,
                ",\n{\"ph\":\"X\",\"name\":\"%s %d\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,"
                "\"dur\":%.3f}",
                s->name, s->number, t->rank, (int)s->lane, (double)s->start / 1e3,
                (double)(s->end - s->start) / 1e3);
        (*n_written)++;
    }
    return ferror(out) ? ST_IO : ST_OK;
}
