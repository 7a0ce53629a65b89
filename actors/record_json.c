/* record_json.c - records as JSON objects and back. Cards are card numbers 0..53, moves canonical
 * text; what can be worked out (hands, roles) is left out.                                   */
#include "actors/record_json.h"
#include "engine/text.h"
#include <string.h>

static json_t *json_deal(const Deal *d) {
    static const char *const keys[] = {"0", "1", "2", "bottom"};
    json_t *deal = json_object();
    for (int owner = 0; owner < 4; owner++) {
        json_t *cards = json_array();
        for (int c = 0; c < N_CARDS; c++)
            if (d->owner[c] == owner) json_array_append_new(cards, json_integer(c));
        json_object_set_new(deal, keys[owner], cards);
    }
    return deal;
}

static json_t *json_moves(const Record *r, json_t *explored) {
    json_t *moves = json_array();
    for (int i = 0; i < r->n_moves; i++) {
        char text[TEXT_MAX];
        text_from_move(move_from_id(r->moves[i]), text);
        json_array_append_new(moves, json_string(text));
        if (r->explored[i / 8] >> i % 8 & 1) json_array_append_new(explored, json_integer(i));
    }
    return moves;
}

json_t *record_to_json(const Record *r) {
    json_t *bids = json_array(), *explored = json_array(), *moves = json_moves(r, explored);
    for (int i = 0; i < r->n_bids; i++) json_array_append_new(bids, json_integer(r->bids[i]));
    return json_pack("{s:s, s:I, s:[I,I,I], s:o, s:i, s:o, s:o, s:o, s:i}", "rules",
                     ruleset_get((RulesetId)r->ruleset)->name, "game", (json_int_t)r->game,
                     "versions", (json_int_t)r->version[0], (json_int_t)r->version[1],
                     (json_int_t)r->version[2], "deal", json_deal(&r->deal), "first_bidder",
                     r->first_bidder, "bids", bids, "moves", moves, "explored", explored, "result",
                     r->result);
}

static Status refuse(const char **why, const char *text) {
    if (why) *why = text;
    return ST_PARSE;
}

/* An integer member within min..max. */
static bool get_int(const json_t *value, json_int_t min, json_int_t max, json_int_t *out) {
    *out = json_integer_value(value);
    return json_is_integer(value) && *out >= min && *out <= max;
}

static Status read_deal(const json_t *deal, Record *r, const char **why) {
    static const char *const keys[] = {"0", "1", "2", "bottom"};
    memset(r->deal.owner, 0xff, N_CARDS);
    for (int owner = 0; owner < 4; owner++) {
        size_t i;
        json_t *card;
        json_array_foreach(json_object_get(deal, keys[owner]), i, card) {
            json_int_t c;
            if (!get_int(card, 0, N_CARDS - 1, &c) || r->deal.owner[c] != 0xff)
                return refuse(why, "deal: a card that is none, or dealt twice");
            r->deal.owner[c] = (uint8_t)owner;
        }
    }
    return deal_check(&r->deal) == ST_OK ? ST_OK : refuse(why, "deal: not 17, 17, 17 and 3 cards");
}

static Status read_moves(const json_t *object, Record *r, const char **why) {
    size_t i;
    json_t *item, *moves = json_object_get(object, "moves");
    if (!json_is_array(moves) || json_array_size(moves) > GAME_MAX_MOVES)
        return refuse(why, "moves: not a list, or too long");
    json_array_foreach(moves, i, item) {
        Hand cards;
        const char *text = json_string_value(item);
        if (!text || text_to_move(text, &cards, NULL) != ST_OK || move_id(cards) == MOVE_ID_NONE)
            return refuse(why, "moves: cards that are no move under any rules");
        r->moves[i] = move_id(cards);
    }
    r->n_moves = (uint16_t)i;
    json_array_foreach(json_object_get(object, "explored"), i, item) {
        json_int_t at;
        if (!get_int(item, 0, r->n_moves - 1, &at)) return refuse(why, "explored: no such move");
        r->explored[at / 8] |= (uint8_t)(1 << at % 8);
    }
    return ST_OK;
}

static Status read_bids(const json_t *object, Record *r, const char **why) {
    size_t i;
    json_t *item, *bids = json_object_get(object, "bids");
    json_int_t v;
    if (!json_is_array(bids) || json_array_size(bids) > GAME_MAX_BIDS)
        return refuse(why, "bids: not a list, or too long");
    json_array_foreach(bids, i, item) {
        if (!get_int(item, 0, 3, &v)) return refuse(why, "bids: a bid is 0 to 3");
        r->bids[i] = (uint8_t)v;
    }
    r->n_bids = (uint8_t)i;
    if (!get_int(json_object_get(object, "first_bidder"), 0, N_SEATS - 1, &v))
        return refuse(why, "first_bidder: not 0, 1 or 2");
    r->first_bidder = (uint8_t)v;
    return ST_OK;
}

static Status read_head(const json_t *object, Record *r, const char **why) {
    const char *rules = json_string_value(json_object_get(object, "rules"));
    int id = rules ? ruleset_find(rules) : -1;
    if (id < 0) return refuse(why, "rules: no such ruleset");
    r->ruleset = (uint8_t)id;
    json_t *versions = json_object_get(object, "versions");
    json_int_t v;
    for (size_t s = 0; s < N_SEATS; s++) {
        if (!get_int(json_array_get(versions, s), 0, UINT32_MAX, &v))
            return refuse(why, "versions: not three numbers below 2^32");
        r->version[s] = (uint32_t)v;
    }
    json_t *game = json_object_get(object, "game"); /* all 64 bits: large ones look negative */
    if (!json_is_integer(game)) return refuse(why, "game: not a number");
    r->game = (uint64_t)json_integer_value(game);
    if (!get_int(json_object_get(object, "result"), INT8_MIN, INT8_MAX, &v))
        return refuse(why, "result: not a small number");
    r->result = (int8_t)v;
    return ST_OK;
}

Status record_from_json(const json_t *object, Record *out, const char **why) {
    static const char *const keys[] = {"rules", "game",  "versions", "deal",  "first_bidder",
                                       "bids",  "moves", "explored", "result"};
    Record r = {0};
    if (!json_is_object(object)) return refuse(why, "not a JSON object");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        size_t k = 0;
        while (k < sizeof keys / sizeof *keys && strcmp(key, keys[k]) != 0) k++;
        if (k == sizeof keys / sizeof *keys) return refuse(why, "a field with an unknown name");
    }
    TRY(read_head(object, &r, why));
    TRY(read_deal(json_object_get(object, "deal"), &r, why));
    TRY(read_bids(object, &r, why));
    TRY(read_moves(object, &r, why));
    *out = r;
    return ST_OK;
}
