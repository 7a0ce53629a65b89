/* comm_watch.h - who is to blame when a message does not come.
 *
 * A rank that waits in vain asks the one it waits for. If that one lives, it answers, and says whom
 * it waits for itself: then that one is asked, and so on. The first that does not answer is lost,
 * and its name is told to everyone, so that all ranks fail with the same name.              */
#ifndef DIZHU_LEARNER_COMM_COMM_WATCH_H
#define DIZHU_LEARNER_COMM_COMM_WATCH_H
#include "learner/comm/comm.h"

typedef struct {
    int64_t since; // the last sign of life
    int64_t asked_at;
    int suspect;    // who has been asked; -1: nobody
    int64_t gone;   // since when it is gone: a word that it was not to blame may be under way
    int64_t mutual; // since when the two have waited for one another; 0: they do not
    bool said;      // a line is in the log
} Watch;

void watch_start(Watch *w, int64_t now);
int64_t watch_next(const Watch *w, const Comm *c); /* when to look again */
/* Looks, because req is still open. ST_OK: wait on. */
Status watch_look(Watch *w, Comm *c, const CommReq *req);
/* Notes that this rank is lost; tells the others unless the Comm is elastic. ST_PEER. */
Status watch_give_up(Comm *c, int rank);

#endif
