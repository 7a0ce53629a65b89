/* buffers.h - samples waiting to be learned from: one pool and one ring per role between the inbox
 * and the worker threads.
 *
 * The decisions of a game share its result, so a batch of whole games is worth little more than the
 * number of its games. The pool mixes: a new sample takes a random place in it, and the one that
 * was there goes to the ring. A batch is then of nearly as many games as samples.
 *
 * When a ring that a game's samples must go to is full, the putting thread waits: the inbox then
 * reads no more from its socket, the queues before it fill up, and the actors wait in turn. A
 * worker takes a whole batch of one role at a time, and a role is in one worker's hands only.  */
#ifndef DIZHU_LEARNER_BUFFERS_H
#define DIZHU_LEARNER_BUFFERS_H
#include "nets/trainer.h"
#include <stdbool.h>

typedef struct Buffers Buffers;

typedef struct {
    int batch;   /* samples taken at a time */
    int advance; /* by which a batch moves the ring on: with batch / 2 each sample is in two batches
                    one after the other, with 2 * batch every other batch is left out */
    int capacity; /* of a ring, in samples */
    int pool;     /* samples of a role that are mixed; 0: they stay in order. The last ones of a run
                     stay in the pool and are not learned from. */
    uint64_t seed;
} BuffersConfig;

/* ST_INVALID: a ring is smaller than a batch or its advance (it would never be full). All memory is
 * allocated here. */
Status buffers_new(const BuffersConfig *c, Buffers **out);
void buffers_free(Buffers *b);

/* Puts a game's samples, each into its role's pool; waits for room in the rings. false: closed.  */
bool buffers_put(Buffers *b, const Sample *samples, int n);
/* Waits for a full batch of one of the roles in the mask (bit per role) and copies it out, oldest
 * first. The role is then this thread's until buffers_done. false: closed.                  */
bool buffers_take(Buffers *b, unsigned roles, int *role, Sample *batch);
void buffers_done(Buffers *b, int role);
/* Waits until no batch is full and no role is in anyone's hands. false: closed. */
bool buffers_settle(Buffers *b);
/* For nets whose turns come in an order told from outside: a full ring would hold up the games that
 * another role waits for. It then forgets its oldest samples; games wait only while every role has
 * a batch. Before anybody puts or takes.                                                       */
void buffers_forget(Buffers *b);
uint64_t buffers_forgotten(Buffers *b); /* samples, so far */
/* From now on nobody waits for a batch: buffers_take returns false where there is none. */
void buffers_hurry(Buffers *b);
/* Wakes and turns away everybody, for good. */
void buffers_close(Buffers *b);

typedef struct {
    int fill[N_ROLES];
    double put_wait_s, take_wait_s; /* time spent waiting so far, all threads together */
} BuffersState;
void buffers_state(Buffers *b, BuffersState *out);

#endif
