/* buffers.h - samples waiting to be learned from: one ring per role between the inbox and the
 * worker threads.
 *
 * When a ring that a game's samples must go to is full, the putting thread waits: the inbox then
 * reads no more from its socket, the queues before it fill up, and the actors wait in turn. A
 * worker takes a whole batch of one role at a time, and a role is in one worker's hands only.  */
#ifndef DIZHU_LEARNER_BUFFERS_H
#define DIZHU_LEARNER_BUFFERS_H
#include "nets/trainer.h"
#include <stdbool.h>

typedef struct Buffers Buffers;

/* Rings of `capacity` samples per role, from which batches are taken. A batch moves the ring on by
 * `advance` samples: with batch / 2 each sample is in two batches one after the other, with 2 *
 * batch every other batch is left out. ST_INVALID: a ring is smaller than a batch or its advance
 * (it would never be full). All memory is allocated here. */
Status buffers_new(int batch, int advance, int capacity, Buffers **out);
void buffers_free(Buffers *b);

/* Appends a game's samples, each to its role's ring, in order; waits for room. false: closed.  */
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
