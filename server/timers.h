/* timers.h - many timers over one clock: a binary heap of timers that live in their owners.
 *
 * One thread. Times are microseconds of the caller's clock; the caller asks timers_next when to
 * come back and calls timers_run then.                                                      */
#ifndef DIZHU_SERVER_TIMERS_H
#define DIZHU_SERVER_TIMERS_H
#include <stddef.h>
#include <stdint.h>

typedef struct Timer Timer;
typedef void (*TimerFn)(void *owner);
struct Timer {
    int64_t due_us;
    size_t place; /* 1 + index in the heap; 0: not set */
    TimerFn fn;
    void *owner;
};

typedef struct {
    Timer **heap;
    size_t n, cap;
} Timers;

void timers_init(Timers *t);
void timers_deinit(Timers *t);
/* (Re)starts a timer; a zeroed Timer is one that is not set. */
void timers_set(Timers *t, Timer *timer, int64_t due_us, TimerFn fn, void *owner);
void timers_cancel(Timers *t, Timer *timer); /* not set: nothing happens */
/* When the earliest is due; INT64_MAX: none. */
int64_t timers_next(const Timers *t);
/* Runs those that are due at `now_us`, each once and unset before its function is called. */
void timers_run(Timers *t, int64_t now_us);

#endif
