/* match.h - posted receives on one side, messages that came on the other, and who fits whom.
 *
 * Messages of one sender and tag are taken in the order they came; receives in the order posted.
 * Memory of messages is kept and used again, so that a steady exchange allocates nothing. Not
 * thread-safe: the transport locks.                                                         */
#ifndef DIZHU_LEARNER_COMM_MATCH_H
#define DIZHU_LEARNER_COMM_MATCH_H
#include "learner/comm/comm.h"

typedef struct Mail {
    struct Mail *next;
    int from;
    uint32_t tag;
    size_t bytes, room;
    int64_t at; /* when it may be taken; 0: at once */
    uint8_t data[];
} Mail;

typedef struct {
    CommReq *posted;
    Mail *mail; /* ascending at; of equals the first that came first */
    Mail *spare;
} Matchbox;

void matchbox_deinit(Matchbox *m);
/* A message with room for this many bytes, not yet delivered. NULL: no memory. */
Mail *matchbox_mail(Matchbox *m, size_t bytes);
void matchbox_deliver(Matchbox *m, Mail *mail);
void matchbox_post(Matchbox *m, CommReq *req);
void matchbox_unpost(Matchbox *m, CommReq *req);
/* Drops messages of collectives of teams before this epoch. */
void matchbox_purge(Matchbox *m, uint32_t epoch);
/* Gives every message that has come by `now` to its receive. True: some receive got done. *next:
 * when the next message for a posted receive comes, WORLD_FOREVER if none is under way.          */
bool matchbox_match(Matchbox *m, int64_t now, int64_t *next);

#endif
