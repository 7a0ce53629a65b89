/* roster.h - the actors of a run, as the learner knows them: who, where, when last heard of, what
 * they sent, what of it was refused. Safe to use from several threads.                      */
#ifndef DIZHU_LEARNER_ROSTER_H
#define DIZHU_LEARNER_ROSTER_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { ROSTER_MAX = 4096, ROSTER_HOST_BYTES = 64 };

typedef struct {
    uint64_t number;
    int pid;     /* 0: not known (yet) */
    bool here;   /* on this host */
    bool framed; /* its weights come by frame, not through shared memory */
    bool silent; /* counted as gone until it is heard of again */
    char host[ROSTER_HOST_BYTES];
    double heard_s;            /* clock_s of the last sign of life */
    uint64_t sequence;         /* of its last RECORDS frame; 0: none yet */
    uint64_t lost, refused;    /* frames that never came; games and frames refused */
    uint64_t games, decisions; /* accepted */
    double busy_s, wait_s;     /* its own totals, by its last heartbeat */
} Actor;

typedef struct Roster Roster;
Status roster_new(Roster **out);
void roster_free(Roster *r);

/* An actor joins (HELLO), or tells where it is (HEARTBEAT). */
void roster_met(Roster *r, uint64_t number, int pid, const char *host, bool here);
/* A sign of life with its totals. */
void roster_beat(Roster *r, uint64_t number, bool framed, double busy_s, double wait_s);
/* A RECORDS frame came: counts what the sequence says was lost. A sequence that starts again (1) or
 * goes back is no loss. */
void roster_frame(Roster *r, uint64_t number, uint64_t sequence);
void roster_games(Roster *r, uint64_t number, uint64_t games, uint64_t decisions);
/* Something of this sender was refused; true: say so (the first, then ever rarer). */
bool roster_refuse(Roster *r, uint64_t number);

/* Marks as silent and logs whoever was not heard of for this long. */
void roster_look(Roster *r, double limit_s);
typedef struct {
    int live, remote;      /* heard of lately; of these on other hosts */
    int framed;            /* of these with weights by frame */
    double busy_s, wait_s; /* sums over all ever */
    uint64_t refused, lost;
} RosterTotals;
void roster_totals(Roster *r, RosterTotals *out);
/* Pids of this host's actors heard of within limit_s: at most max of them from *from on, which is
 * advanced; 0 when there are no more.                                                       */
int roster_pids(Roster *r, double limit_s, int *from, int32_t *pids, int max);

#endif
