#include "actors/botzone.h"
#include "actors/botzone_view.h"
#include "engine/base/log.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REQUESTS = 2 * GAME_MAX_MOVES }; /* no game asks one seat so often */

struct Botzone {
    BotzoneConfig config;
    PolicyScratch *scratch;
    json_t *requests, *responses;
    Hand legal[MOVEGEN_MAX];
    char text[256]; /* the answer: at most 20 ids */
};

Status botzone_new(const BotzoneConfig *c, Botzone **out) {
    Botzone *b = calloc(1, sizeof *b);
    if (!b) return ST_NOMEM;
    b->config = *c;
    Status st = policyscratch_new(&b->scratch);
    b->requests = json_array();
    b->responses = json_array();
    if (st == ST_OK && (!b->requests || !b->responses)) st = ST_NOMEM;
    if (st == ST_OK) *out = b;
    else botzone_free(b);
    return st;
}

void botzone_free(Botzone *b) {
    if (!b) return;
    json_decref(b->requests);
    json_decref(b->responses);
    policyscratch_free(b->scratch);
    free(b);
}

/* The game so far: told anew, or one request more. */
static void take_line(Botzone *b, json_t *line) {
    json_t *requests = json_object_get(line, "requests");
    if (!requests) {
        if (json_array_size(b->requests) > MAX_REQUESTS) json_array_clear(b->requests);
        json_array_append(b->requests, line);
        return;
    }
    json_array_clear(b->requests);
    json_array_clear(b->responses);
    if (json_is_array(requests)) json_array_extend(b->requests, requests);
    json_t *responses = json_object_get(line, "responses");
    if (json_is_array(responses)) json_array_extend(b->responses, responses);
}

static json_t *safest(const BotzoneView *v) {
    if (v->bidding) return json_integer(0);
    json_t *cards = json_array();
    if (!v->leading || v->left.n == 0) return cards;
    int lowest = v->left.id[0];
    for (int i = 1; i < v->left.n; i++)
        if (v->left.id[i] < lowest) lowest = v->left.id[i];
    json_array_append_new(cards, json_integer(lowest));
    return cards;
}

static json_t *choose_play(Botzone *b, const BotzoneView *v, double deadline) {
    const Game *g = &v->game;
    Rng rng;
    rng_init(&rng, b->config.seed ^ g->hand[g->turn], g->n_moves);
    Decision d = {.game = g,
                  .legal = b->legal,
                  .n_legal = game_legal(g, b->legal),
                  .rng = &rng,
                  .deadline = deadline};
    if (d.n_legal > 1) policy_choose(b->config.policy, b->scratch, 1, &d);
    CardList cards;
    cardlist_pick(&v->left, b->legal[d.choice], &cards);
    return cardlist_write(&cards);
}

static json_t *choose_bid(Botzone *b, const Game *g) {
    Rng rng;
    rng_init(&rng, b->config.seed ^ g->hand[g->turn], 0);
    return json_integer(policy_bid(b->config.policy, b->scratch, g, &rng));
}

static json_t *respond(Botzone *b, double deadline) {
    BotzoneView v;
    const char *why = "";
    if (botzone_view(b->requests, b->responses, b->config.rules, &v, &why) != ST_OK) {
        log_warn("unexpected request: %s; the safest answer is given", why);
        return safest(&v);
    }
    return v.game.phase == PHASE_BID ? choose_bid(b, &v.game) : choose_play(b, &v, deadline);
}

const char *botzone_answer(Botzone *b, const char *line, size_t n, double deadline) {
    static const char *const nothing = "{\"response\": []}";
    json_error_t e;
    json_t *o = json_loadb(line, n, JSON_REJECT_DUPLICATES, &e);
    if (!json_is_object(o)) {
        log_warn("unexpected input: %s; the answer is a pass", o ? "no object" : e.text);
        json_decref(o);
        return nothing;
    }
    take_line(b, o);
    json_decref(o);
    json_t *response = respond(b, deadline), *answer = json_pack("{s:O}", "response", response);
    json_array_append_new(b->responses, response);
    size_t size = answer ? json_dumpb(answer, b->text, sizeof b->text - 1, JSON_COMPACT) : 0;
    json_decref(answer);
    if (size == 0 || size >= sizeof b->text) return nothing;
    b->text[size] = '\0';
    return b->text;
}
