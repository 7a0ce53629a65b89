/* turns.h - the steps of a synchronous run of several ranks: which net is next, on all of them.
 *
 * Exchanges of three nets must come in one order on every rank, but ranks receive games at
 * different rates. So before each step all ranks tell one another how many samples they have,
 * whether they were told to stop or to store a checkpoint; each then reaches the same decision: the
 * next net is the one whose scarcest rank has most. The telling goes on beside the step before. One
 * thread does the steps; the exchange of one net goes on while the next is computed on:
 *
 *     begin B (A's exchange under way) ... end A, publish A;  begin C ... end B, publish B;  ...
 *
 * Checkpoints and the end are moments that all ranks share: nothing is under way, residuals are
 * flushed. The thread then waits, parked, until the control thread has copied what it needs.     */
#ifndef DIZHU_LEARNER_TURNS_H
#define DIZHU_LEARNER_TURNS_H
#include "learner/ranks.h"

typedef struct {
    Ranks *ranks;
    NetLearner *const *nets;
    Buffers *buffers; /* buffers_forget has been called */
    int batch;
    uint64_t max_frames; /* of all ranks together; 0: no limit */
    StepDone done;
    void *ctx;
} TurnsConfig;

typedef struct Turns Turns;
Status turns_start(const TurnsConfig *c, Turns **out);
/* From the control thread: this rank's own frames; what it wants of all. */
void turns_frames(Turns *t, uint64_t frames);
void turns_want_save(Turns *t);
void turns_want_stop(Turns *t);

typedef enum { TURNS_GO_ON, TURNS_PARKED, TURNS_OVER, TURNS_FAILED } TurnsState;
TurnsState turns_state(Turns *t);
Status turns_status(Turns *t);       /* of TURNS_FAILED */
uint64_t turns_all_frames(Turns *t); /* of all ranks, as of the last turn */
void turns_go_on(Turns *t);          /* parked: the copy is made */
void turns_join(Turns *t); /* waits for the end: the buffers are closed. NULL is allowed */

#endif
