/* engine.h - the thread that owns a Comm, and the queue of what it shall do.
 *
 * Jobs run one after the other in the order posted. If every rank posts its collective jobs in the
 * same order no two ranks can wait for one another, whatever the order in which their gradients
 * become ready: who has a later job ready keeps it until it is at the front (Bagua's rule; algo.c
 * keeps it). Between jobs the engine answers other ranks and lets services run: that is how
 * asynchronous algorithms live beside the computing thread.
 *
 * Without a thread of its own (threaded false) jobs run in the call that posts them and services
 * are an error: for one core, and to compare with.                                          */
#ifndef DIZHU_LEARNER_ALGO_ENGINE_H
#define DIZHU_LEARNER_ALGO_ENGINE_H
#include "learner/algo/timeline.h"
#include "learner/comm/comm.h"

typedef struct Engine Engine;
typedef Status (*EngineJob)(void *ctx, int arg);
/* Does what can be done without waiting; returns when to be called again at the latest. Called
 * after every message that came, too. An error ends the engine. */
typedef Status (*EngineService)(void *ctx, int64_t *next_ns);

/* The Comm is the engine's from now on; it is not freed by it. timeline may be NULL. */
Status engine_new(Comm *c, bool threaded, Timeline *timeline, Engine **out);
/* Runs the jobs that are queued, then stops. */
void engine_free(Engine *e);
bool engine_threaded(const Engine *e);
Comm *engine_comm(const Engine *e);
World *engine_world(const Engine *e);
Timeline *engine_timeline(const Engine *e);
/* What had passed its Comm when the last job or service ended. From any thread. */
CommStats engine_stats(Engine *e);

/* Queues fn(ctx, arg). Returns its ticket, for engine_wait. name is static text for the timeline.
 */
uint64_t engine_post(Engine *e, const char *name, EngineJob fn, void *ctx, int arg);
/* Waits until this job and all before it are done. The first error of any job or service is
 * returned from then on, and no later job is run.                                           */
Status engine_wait(Engine *e, uint64_t ticket);
/* Posts and waits. */
Status engine_call(Engine *e, const char *name, EngineJob fn, void *ctx, int arg);
/* Adds a service; ST_UNSUPPORTED without a thread. Removing waits until it does not run. */
Status engine_serve(Engine *e, EngineService fn, void *ctx);
void engine_unserve(Engine *e, void *ctx);
/* From any thread: services should look again. */
void engine_nudge(Engine *e);

#endif
