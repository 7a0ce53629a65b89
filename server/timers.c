#include "server/timers.h"
#include <stdlib.h>

void timers_init(Timers *t) { *t = (Timers){0}; }

void timers_deinit(Timers *t) {
    free(t->heap);
    timers_init(t);
}

static void place(Timers *t, size_t i, Timer *timer) {
    t->heap[i] = timer;
    timer->place = i + 1;
}

static void sift_up(Timers *t, size_t i) {
    Timer *timer = t->heap[i];
    for (; i > 0 && t->heap[(i - 1) / 2]->due_us > timer->due_us; i = (i - 1) / 2)
        place(t, i, t->heap[(i - 1) / 2]);
    place(t, i, timer);
}

static void sift_down(Timers *t, size_t i) {
    Timer *timer = t->heap[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= t->n) break;
        if (child + 1 < t->n && t->heap[child + 1]->due_us < t->heap[child]->due_us) child++;
        if (t->heap[child]->due_us >= timer->due_us) break;
        place(t, i, t->heap[child]);
        i = child;
    }
    place(t, i, timer);
}

void timers_cancel(Timers *t, Timer *timer) {
    if (timer->place == 0) return;
    size_t i = timer->place - 1;
    timer->place = 0;
    Timer *last = t->heap[--t->n];
    if (last == timer) return;
    place(t, i, last);
    sift_up(t, i);
    sift_down(t, last->place - 1);
}

void timers_set(Timers *t, Timer *timer, int64_t due_us, TimerFn fn, void *owner) {
    timers_cancel(t, timer);
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 64;
        Timer **heap = realloc(t->heap, t->cap * sizeof *heap);
        if (!heap) abort();
        t->heap = heap;
    }
    timer->due_us = due_us;
    timer->fn = fn;
    timer->owner = owner;
    place(t, t->n, timer);
    sift_up(t, t->n++);
}

int64_t timers_next(const Timers *t) { return t->n ? t->heap[0]->due_us : INT64_MAX; }

void timers_run(Timers *t, int64_t now_us) {
    while (t->n && t->heap[0]->due_us <= now_us) {
        Timer *timer = t->heap[0];
        timers_cancel(t, timer);
        timer->fn(timer->owner);
    }
}
