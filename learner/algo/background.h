/* background.h - what algorithms share whose exchange goes on beside the computing thread.
 *
 * There is a second block z: the model that exchanges change, guarded by a gate. A step reads z
 * into x, computes its gradient on x, and applies it to z, which may have changed meanwhile: by how
 * many exchanges is the gradient's staleness.
 *
 * Pausing: the exchange ends what it has begun and begins nothing new, until resumed. How the
 * others learn of it is the algorithm's affair: it sets `quiet` when all is done. */
#ifndef DIZHU_LEARNER_ALGO_BACKGROUND_H
#define DIZHU_LEARNER_ALGO_BACKGROUND_H
#include "learner/algo/algo_ops.h"

typedef struct {
    Gate *gate; /* guards what follows, and the Algo's stats */
    Real *z;
    uint64_t version, read_version; /* exchanges applied to z; when x was read */
    bool pausing, quiet;
    /* the engine's: who joins late asks for the model */
    uint8_t fetch_in[ALGO_SETTINGS], *fetch_out;
    CommReq fetch_req, fetch_sending;
    bool fetch_posted;
    Comm *comm;
} Background;

/* z = x; starts the service. ST_UNSUPPORTED, and a line in the log: the engine has no thread. */
Status background_start(Background *b, Algo *a, EngineService service);
void background_stop(Background *b, Algo *a);
/* Part of every service: gives the model to those who join. */
void background_serve(Background *b, Algo *a);
/* Engine job of an Algo* that joins: asks the lowest living rank for x. ST_MISMATCH: its settings
 * are others. ST_PEER: nobody is there.                                                         */
Status background_fetch(void *algo, int arg);
/* x = z, for the step that begins. */
void background_read(Background *b, Algo *a);
/* z takes the gradient; x = z. */
Status background_apply(Background *b, Algo *a);
/* z += change: an exchange. */
void background_change(Background *b, Algo *a, const Real *change);
/* Asks for quiet and waits for it; an error of the engine ends the waiting. */
Status background_pause(Background *b, Algo *a);
/* On the engine's thread, so that the service never sees a pause that is over. */
void background_resume(Background *b);
void background_stats(Background *b, Algo *a, AlgoStats *out);
/* Everybody pauses, takes the mean as z and x, and goes on: `resume`, on the engine's thread. */
Status background_mean(Background *b, Algo *a, EngineJob resume);
/* After x was read from a checkpoint: z = x. */
void background_loaded(Background *b, Algo *a);

#endif
