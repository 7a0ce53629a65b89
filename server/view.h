/* view.h - what a viewer is told of a game: the only place where cards become messages.
 *
 * A viewer is a seat or a watcher, and sees an open table's hands or not. Each function asks
 * may_see before it writes a hand; the kitty is written from the landlord's choice on. What the
 * engine or a bot knows besides never gets here.                                            */
#ifndef DIZHU_SERVER_VIEW_H
#define DIZHU_SERVER_VIEW_H
#include "server/msg.h"
#include "server/table.h"
#include "server/think.h"

typedef struct {
    int seat;  /* -1: watches */
    bool open; /* sees all hands */
} Viewer;

/* What of a room belongs to a snapshot. */
typedef struct {
    int64_t left_ms, total_ms; /* -1: no limit */
    bool hosted[N_SEATS], away[N_SEATS], rated;
    const Msg *end; /* the end message of a finished game, or NULL */
    const char *why;
} ViewState;

Msg *view_deal(const Table *t, Viewer v);
/* The last bid or play; id < 0: none. reasons may be NULL. */
Msg *view_bid(const Table *t, int64_t id);
Msg *view_play(const Table *t, int64_t id, const Advice *reasons);
Msg *view_landlord(const Table *t);
Msg *view_void(void);
Msg *view_turn(const Table *t, int64_t left_ms, int64_t total_ms);
Msg *view_open(const Table *t, Viewer v);
Msg *view_snapshot(const Table *t, Viewer v, const ViewState *s);
/* ratings may be NULL (not rated); before and after of the viewer's own seat. */
Msg *view_end(const Table *t, bool rated, const Rating *before, const Rating *after);
/* To the seat whose turn it is. */
Msg *view_advice(const Table *t, int64_t id, const Advice *a, int ms);

/* Parts that the replay shares. t is a finished game there. */
void view_write_end(JsonOut *o, const Table *t, bool rated); /* fields of the end message */
void view_write_hand(JsonOut *o, const char *key, const Table *t, int seat);
void view_write_hand_cards(JsonOut *o, const char *key, const Table *t, int seat, Hand hand);

#endif
