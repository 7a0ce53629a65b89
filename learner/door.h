/* door.h - the control socket: who may join a run, and signs of life of those who have.
 *
 * HELLO is answered by WELCOME (with a number never given before, or the one that the actor already
 * has in this run), by the weights in full, or by REFUSED with the reason. Owner and user: one
 * thread.                                                                                   */
#ifndef DIZHU_LEARNER_DOOR_H
#define DIZHU_LEARNER_DOOR_H
#include "engine/base/link.h"
#include "learner/publish.h"
#include "learner/roster.h"

typedef struct {
    Link *control; /* ROUTER; borrowed, as are the others */
    const char *run_folder;
    uint64_t run, seed;
    uint8_t ruleset, objective;
    double epsilon;
    int lockstep;
    const char *records, *weights; /* endpoints of the other two sockets */
    Publisher *publisher;
    Roster *roster;
    uint32_t next_actor,
        end_actor; /* numbers taken from the run folder, not given yet; begin at 0 */
} Door;

/* Answers everything that has come, waiting up to timeout_ms for the first. */
void door_serve(Door *d, int timeout_ms);

#endif
