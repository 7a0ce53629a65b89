/* ranks.h - this learner as one of several that train one bot: its Comm, the thread that owns it,
 * one Algo per net, their state in checkpoints, and what all this costs.
 *
 * The three nets are groups of one engine. In synchronous algorithms every rank must post the same
 * exchanges in the same order: turns.h sees to it. In elastic ones each net is stepped by whoever
 * has a batch (crew.c).                                                                     */
#ifndef DIZHU_LEARNER_RANKS_H
#define DIZHU_LEARNER_RANKS_H
#include "learner/checkpoint.h"
#include "learner/config.h"
#include "learner/step.h"
#include <stdatomic.h>

typedef struct Ranks Ranks;

bool ranks_have_mpi(void);

/* Meets the other ranks, agrees on settings, takes over rank 0's nets (or, with settings->join, a
 * living rank's); synchronous: also its optimizers and the algorithms' state. Waits for the others.
 * resumed: this rank's checkpoint, or one of zeros. The nets are joined (netlearner_join).
 * ST_MISMATCH: the ranks have different settings; ST_TIMEOUT, ST_PEER: somebody is missing.     */
Status ranks_new(const Settings *s, NetLearner *const nets[N_ROLES], const Checkpoint *resumed,
                 Ranks **out);
/* Elastic: waits until the others need this rank no more, calling `alive` meanwhile; once hurry is
 * true no longer than some seconds: the others then miss it as if it had died.               */
void ranks_leave(Ranks *r, const atomic_bool *hurry, void (*alive)(void *), void *ctx);
void ranks_free(Ranks *r); /* NULL is allowed */

int ranks_rank(const Ranks *r);
int ranks_size(const Ranks *r);
bool ranks_synchronous(const Ranks *r);
/* What a rank has lost is said, with its number. Returns st. */
Status ranks_explain(Ranks *r, Status st);

/* All ranks' `mine`, `bytes` each, into all. Begins; ends. Collective, in the order of the steps.
 */
uint64_t ranks_gather_begin(Ranks *r, const void *mine, size_t bytes, void *all);
Status ranks_gather_end(Ranks *r, uint64_t ticket);
/* Empties residuals; all ranks have one model then, which the nets publish. Collective. */
Status ranks_flush(Ranks *r);
/* The flushed state of each net's algorithm into a checkpoint. Not beside steps. */
Status ranks_save(Ranks *r, Checkpoint *out);
/* How far the ranks' models are apart, where each has its own. Collective. */
Status ranks_measure(Ranks *r);
/* After a step of this role, by the thread that made it: takes note of the figures now and then. */
void ranks_note(Ranks *r, int role);

typedef struct {
    const char *algo;
    int ranks;
    uint64_t tx_bytes, rx_bytes; /* payload, as the transport counts it */
    double wait_s;               /* the exchange's thread waiting for others */
    struct {
        uint64_t steps;   /* of this start */
        AlgoStats stats;  /* as of the last note */
        double consensus; /* |x - mean x|, or of the last exchange; NaN: not known */
    } role[N_ROLES];
} RanksState;
/* Any thread. */
void ranks_state(Ranks *r, RanksState *out);
/* RUN/timeline.json, if settings->timeline. */
Status ranks_write_timeline(Ranks *r);

#endif
