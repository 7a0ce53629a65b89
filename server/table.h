/* table.h - one game with real cards: the engine's Game, who holds which of the 54 cards, and what
 * was done so far.
 *
 * The engine knows ranks; the table adds suits, the forms of a beginning that the engine has not
 * (a landlord who is chosen, or takes an unwanted deal at 1: kept as the bids 1, 0, 0 of a record),
 * and undo. Plain data, no allocation; knows nothing of rooms, sockets or time.
 * A ply is the number of actions so far: bids that people see, then plays.                  */
#ifndef DIZHU_SERVER_TABLE_H
#define DIZHU_SERVER_TABLE_H
#include "server/store.h"

typedef enum { HOW_BID, HOW_FIRST, HOW_CHOSEN, HOW_DEALT } How;
typedef enum { WHY_PLAYER, WHY_TIMEOUT, WHY_HOST, WHY_BOT, N_WHYS } Why;
enum { OWNER_BOTTOM = 3, OWNER_PLAYED = 4 };

typedef struct {
    uint64_t number; /* of the game */
    uint8_t rules, first, allpass;
    int8_t chosen; /* landlord without bidding, -1: bid for it */
    Deal deal;
} TableSetup;

typedef struct {
    uint8_t seat, type; /* MoveType */
    uint8_t why, n, at; /* n cards from cards[at] */
    uint8_t left;       /* cards the seat has after it */
} TablePlay;

typedef struct {
    TableSetup setup;
    Game game;
    char id[GAME_ID_CHARS + 1];
    uint8_t how;                         /* How, once there is a landlord */
    uint8_t owner[N_CARDS];              /* seat, OWNER_BOTTOM, OWNER_PLAYED */
    uint8_t n_bids, bids[3], bid_why[3]; /* the bids that people see */
    uint16_t n_plays;
    TablePlay plays[GAME_MAX_MOVES];
    uint8_t n_cards, cards[N_CARDS]; /* played, in order */
} Table;

void table_init(Table *t, const TableSetup *s);
static inline int table_ply(const Table *t) { return t->n_bids + t->n_plays; }
/* Do people bid in this game? */
bool table_bidding(const TableSetup *s);

/* Both answer NULL, or one of the protocol's error codes and change nothing. Cards need not be
 * sorted but must be distinct.                                                              */
const char *table_bid(Table *t, int seat, int points, Why why);
const char *table_play(Table *t, int seat, const uint8_t *cards, int n, Why why);
/* Cards of the seat to act that make up `hand`, lowest first; returns how many. */
int table_pick(const Table *t, Hand hand, uint8_t out[PLAY_CARDS_MAX]);
/* The action at a ply; and such an action done again (NULL, or an error code). */
StoreAct table_act(const Table *t, int ply);
const char *table_redo(Table *t, const StoreAct *a);
/* Back to where only `ply` actions had been made. */
void table_cut(Table *t, int ply);
/* The seat that made the action at a ply. */
int table_seat_at(const Table *t, int ply);

/* Cards a seat holds, descending. */
int table_hand(const Table *t, int seat, uint8_t out[PLAY_CARDS_MAX]);
int table_kitty(const Table *t, uint8_t out[3]);
int table_mult(const Table *t); /* bombs and rockets so far */
int table_base(const Table *t);
/* Bombs and rockets of one seat. */
int table_bombs(const Table *t, int seat);

/* Everything of a finished game but names, users, ratings and the time. */
void table_to_game(const Table *t, StoreGame *out);
/* The finished game again, card for card; records without cards get the lowest suits.
 * ST_CORRUPT: the record does not replay or the cards do not fit it.                        */
Status table_from_game(const StoreGame *g, Table *out);

const char *move_kind(MoveType type); /* as the protocol names it */
const char *why_name(Why w);
const char *how_name(How h);

#endif
