/* world.h - threads, locks and time that may be real or virtual.
 *
 * A real world is pthreads and the machine's clock. A virtual world runs one task at a time, in the
 * order of a virtual clock that jumps from event to event: a run with slow ranks and thin links is
 * then a pure function of its settings, and 32 ranks fit on one core. The same code runs in both;
 * what it may block on is a Gate (a lock with one condition) or sleep, nothing else.
 *
 * In a virtual world computing costs nothing unless it says so by world_sleep_ns. The thread that
 * made the world is a task of it. If every task waits for ever the program has a deadlock: the
 * world says so and aborts. */
#ifndef DIZHU_LEARNER_COMM_WORLD_H
#define DIZHU_LEARNER_COMM_WORLD_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct World World;
typedef struct Task Task;
typedef struct Gate Gate;

#define WORLD_FOREVER INT64_MAX

Status world_new(bool is_virtual, World **out);
void world_free(World *w); /* all tasks are joined, all gates freed */
bool world_is_virtual(const World *w);

/* Starts fn(arg) as a task. Every task is joined once; joining frees it. */
Status world_spawn(World *w, void (*fn)(void *), void *arg, Task **out);
void world_join(Task *t);

int64_t world_now_ns(World *w); /* from an arbitrary start */
void world_sleep_ns(World *w, int64_t ns);

Status gate_new(World *w, Gate **out);
void gate_free(Gate *g);
void gate_lock(Gate *g);
void gate_unlock(Gate *g);
/* Locked by the caller: unlocks, waits for gate_wake or the time, locks. False: the time came. May
 * wake without reason.                                                                      */
bool gate_wait(Gate *g, int64_t until_ns);
void gate_wake(Gate *g); /* everyone who waits */

#endif
