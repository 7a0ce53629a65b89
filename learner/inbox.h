/* inbox.h - the thread that receives games: frames -> records -> samples -> buffers.
 *
 * Nothing is believed: a frame that is damaged, of another run, ruleset or objective is refused
 * whole, a record that does not parse ends its frame, a game that breaks the rules, or whose deal
 * is not that of its number, is refused alone; all are counted per sender. While the buffers are
 * full the inbox does not read: that is the back-pressure on the actors.                         */
#ifndef DIZHU_LEARNER_INBOX_H
#define DIZHU_LEARNER_INBOX_H
#include "engine/base/link.h"
#include "learner/archive.h"
#include "learner/buffers.h"
#include "learner/roster.h"
#include "learner/samples.h"

typedef struct {
    uint64_t frames, games, landlord_wins; /* frames: decisions of all roles */
    uint64_t decisions[N_ROLES], samples[N_ROLES];
    double staleness_sum[N_ROLES]; /* over games: steps made since the weights a role played with */
    uint64_t bytes;                /* of record bodies */
    double cpu_s;                  /* processor time of this thread */
} InboxState;

typedef struct {
    uint64_t run, seed;
    SampleRules rules;
    uint64_t max_frames;    /* stop at the game that reaches it; 0: no limit */
    uint64_t frames, games; /* counted so far (resumed run) */
    bool lockstep;          /* settle the buffers after each frame, then call settled */
    Link *pull;             /* used by this thread alone from inbox_start on */
    Buffers *buffers;
    Roster *roster;
    Archive *archive;                         /* NULL: games are not kept */
    uint32_t (*version)(void *ctx, int role); /* the role's newest, published or not */
    void (*settled)(void *ctx, uint64_t sequence);
    void *ctx;
} InboxConfig;

typedef struct Inbox Inbox;
Status inbox_start(const InboxConfig *c, Inbox **out);
/* The last frame (max_frames) has been counted: it takes in no more. */
bool inbox_full(const Inbox *in);
/* Totals since the start of this process, frames and games of the whole run. */
void inbox_state(Inbox *in, InboxState *out);
/* Stops and joins the thread: close the buffers first. NULL is allowed. */
void inbox_stop(Inbox *in);

#endif
