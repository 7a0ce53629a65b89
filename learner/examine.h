/* examine.h - how good the bot has become: the newest weights against each of the fixed opponents,
 * one match after another, each in a process of its own beside the training.
 *
 * Deals and chance are the same every time. A match that does not end in time (until the next
 * evaluation is due; two minutes after the last frame) is given up, and that is said.       */
#ifndef DIZHU_LEARNER_EXAMINE_H
#define DIZHU_LEARNER_EXAMINE_H
#include "learner/launch.h"
#include "learner/voice.h"

typedef struct {
    const Settings *settings; /* borrowed, as are the next two */
    const Programs *programs;
    Voice *voice;
    Child match;
    bool saved;               /* there are weights */
    uint64_t saved_frames;    /* of the newest */
    uint64_t frames;          /* of those being evaluated, or evaluated last */
    bool alone;               /* training has ended: all cores are free */
    double due, limit, shown; /* clock_s: of the next evaluation; by which the match must end */
    char opponents[256];      /* names, cut at the commas */
    char *opponent, *rest;    /* of the match under way; opponent NULL: none */
} Examiner;

void examiner_init(Examiner *e, const Settings *s, const Programs *p, Voice *v);
/* There are weights of so many frames. */
void examiner_saved(Examiner *e, uint64_t frames);
/* Looks after the match under way, begins an evaluation when it is due. Never blocks. */
void examiner_turn(Examiner *e);
/* After the last frame: evaluates the newest weights unless that is done; false: nothing to do (any
 * more).                                                                                    */
bool examiner_last(Examiner *e);
/* Gives up what is under way. */
void examiner_stop(Examiner *e);

#endif
