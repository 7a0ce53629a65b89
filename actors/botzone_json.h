/* botzone_json.h - what Botzone's two card games ask, as a struct and as JSON.
 *
 *   bid        {"own":[17 ids],"bid":[earlier bids]}
 *   first play {"history":[[],[]],"own":[17],"publiccard":[3],"landlord":1,"pos":1,"finalbid":1}
 *   later      {"history":[[two plays ago],[previous play]]}
 * FightTheLandlord, the older game, has no bid and in its first play neither landlord, pos nor
 * finalbid; its landlord is seat 0, whose own are all 20 cards. Ids are those of engine/cards.h.
 * docs/botzone.md has a whole game.                                                         */
#ifndef DIZHU_ACTORS_BOTZONE_JSON_H
#define DIZHU_ACTORS_BOTZONE_JSON_H
#include "engine/base/status.h"
#include "engine/game.h"

struct json_t;

enum { CARD_LIST_MAX = 20 };
/* Different cards by id, in the order given. */
typedef struct {
    uint8_t n, id[CARD_LIST_MAX];
} CardList;

static inline bool cardlist_has(const CardList *l, int id) {
    for (int i = 0; i < l->n; i++)
        if (l->id[i] == id) return true;
    return false;
}
Hand cardlist_hand(const CardList *l);
/* The cards of `hand`, taken from the front of `from`; false: they are not all there. */
bool cardlist_pick(const CardList *from, Hand hand, CardList *out);
/* Takes the cards of `gone` out of l. */
void cardlist_remove(CardList *l, const CardList *gone);
struct json_t *cardlist_write(const CardList *l);

typedef enum { REQUEST_BID, REQUEST_FIRST_PLAY, REQUEST_LATER_PLAY } RequestKind;

typedef struct {
    RequestKind kind;
    bool old_game;       /* FightTheLandlord: first play without landlord, pos and finalbid */
    CardList own;        /* BID, FIRST_PLAY */
    CardList bottom;     /* FIRST_PLAY */
    CardList history[2]; /* FIRST_PLAY, LATER_PLAY: two plays ago, previous play */
    int n_bids, bids[GAME_MAX_BIDS];
    int landlord, pos, finalbid;
} BotzoneRequest;

/* ST_PARSE: some field is missing, of another type or out of range; *why says which. Fields that
 * are not asked for are ignored.                                                            */
Status botzone_request_read(const struct json_t *o, BotzoneRequest *out, const char **why);
/* A new reference; NULL: out of memory. */
struct json_t *botzone_request_write(const BotzoneRequest *r);

#endif
