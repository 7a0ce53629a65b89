#include "actors/botzone_json.h"
#include <jansson.h>

Hand cardlist_hand(const CardList *l) {
    Hand h = 0;
    for (int i = 0; i < l->n; i++) h += hand_of(card_rank(l->id[i]), 1);
    return h;
}

bool cardlist_pick(const CardList *from, Hand hand, CardList *out) {
    CardList l = {0};
    for (int i = 0; i < from->n; i++) {
        int rank = card_rank(from->id[i]);
        if (hand_count(hand, rank) == 0) continue;
        hand -= hand_of(rank, 1);
        l.id[l.n++] = from->id[i];
    }
    *out = l;
    return hand == 0;
}

void cardlist_remove(CardList *l, const CardList *gone) {
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (!cardlist_has(gone, l->id[i])) l->id[n++] = l->id[i];
    l->n = (uint8_t)n;
}

json_t *cardlist_write(const CardList *l) {
    json_t *a = json_array();
    for (int i = 0; a && i < l->n; i++) json_array_append_new(a, json_integer(l->id[i]));
    return a;
}

static Status refuse(const char **why, const char *text) {
    *why = text;
    return ST_PARSE;
}

static Status read_int(const json_t *o, const char *key, int max, int *out, const char **why) {
    const json_t *v = json_object_get(o, key);
    if (!json_is_integer(v)) return refuse(why, key);
    json_int_t n = json_integer_value(v);
    if (n < 0 || n > max) return refuse(why, key);
    *out = (int)n;
    return ST_OK;
}

static Status read_cards(const json_t *a, CardList *out, const char **why) {
    if (!json_is_array(a)) return refuse(why, "cards that are no list");
    if (json_array_size(a) > CARD_LIST_MAX) return refuse(why, "more than 20 cards");
    CardList l = {0};
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *v = json_array_get(a, i);
        json_int_t id = json_is_integer(v) ? json_integer_value(v) : -1;
        if (id < 0 || id >= N_CARDS) return refuse(why, "a card that is none of 0..53");
        if (cardlist_has(&l, (int)id)) return refuse(why, "a card that comes twice");
        l.id[l.n++] = (uint8_t)id;
    }
    *out = l;
    return ST_OK;
}

static Status read_bids(const json_t *a, BotzoneRequest *r, const char **why) {
    if (!json_is_array(a) || json_array_size(a) >= GAME_MAX_BIDS) return refuse(why, "bid");
    r->n_bids = (int)json_array_size(a);
    for (int i = 0; i < r->n_bids; i++) {
        const json_t *v = json_array_get(a, (size_t)i);
        json_int_t bid = json_is_integer(v) ? json_integer_value(v) : -1;
        if (bid < 0 || bid > 3) return refuse(why, "bid");
        r->bids[i] = (int)bid;
    }
    return ST_OK;
}

static Status read_bid_request(const json_t *o, BotzoneRequest *r, const char **why) {
    r->kind = REQUEST_BID;
    TRY(read_cards(json_object_get(o, "own"), &r->own, why));
    if (r->own.n != 17) return refuse(why, "own");
    return read_bids(json_object_get(o, "bid"), r, why);
}

static Status read_history(const json_t *a, BotzoneRequest *r, const char **why) {
    if (!json_is_array(a) || json_array_size(a) != 2) return refuse(why, "history");
    for (size_t i = 0; i < 2; i++) TRY(read_cards(json_array_get(a, i), &r->history[i], why));
    return ST_OK;
}

static Status read_first_play(const json_t *o, BotzoneRequest *r, const char **why) {
    r->kind = REQUEST_FIRST_PLAY;
    TRY(read_cards(json_object_get(o, "own"), &r->own, why));
    TRY(read_cards(json_object_get(o, "publiccard"), &r->bottom, why));
    if (r->bottom.n != 3) return refuse(why, "publiccard");
    r->old_game = !json_object_get(o, "landlord");
    if (r->own.n != 17 && !(r->old_game && r->own.n == 20)) return refuse(why, "own");
    if (r->old_game) return ST_OK;
    TRY(read_int(o, "landlord", 2, &r->landlord, why));
    TRY(read_int(o, "pos", 2, &r->pos, why));
    return read_int(o, "finalbid", 3, &r->finalbid, why);
}

Status botzone_request_read(const json_t *o, BotzoneRequest *out, const char **why) {
    BotzoneRequest r = {.kind = REQUEST_LATER_PLAY};
    if (!json_is_object(o)) return refuse(why, "no object");
    const json_t *history = json_object_get(o, "history");
    if (!history) {
        TRY(read_bid_request(o, &r, why));
    } else {
        TRY(read_history(history, &r, why));
        if (json_object_get(o, "own")) TRY(read_first_play(o, &r, why));
    }
    *out = r;
    return ST_OK;
}

static void set(json_t *o, const char *key, json_t *v) { json_object_set_new(o, key, v); }

json_t *botzone_request_write(const BotzoneRequest *r) {
    json_t *o = json_object(), *list = json_array();
    if (r->kind == REQUEST_BID) {
        for (int i = 0; i < r->n_bids; i++) json_array_append_new(list, json_integer(r->bids[i]));
        set(o, "own", cardlist_write(&r->own));
        set(o, "bid", list);
        return o;
    }
    for (int i = 0; i < 2; i++) json_array_append_new(list, cardlist_write(&r->history[i]));
    set(o, "history", list);
    if (r->kind == REQUEST_LATER_PLAY) return o;
    set(o, "own", cardlist_write(&r->own));
    set(o, "publiccard", cardlist_write(&r->bottom));
    if (r->old_game) return o;
    set(o, "landlord", json_integer(r->landlord));
    set(o, "pos", json_integer(r->pos));
    set(o, "finalbid", json_integer(r->finalbid));
    return o;
}
