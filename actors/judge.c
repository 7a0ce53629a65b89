#include "actors/judge.h"
#include <assert.h>
#include <jansson.h>
#include <string.h>

const char *verdict_name(Verdict v) {
#define VERDICT_TEXT(name, text) text,
    static const char *const names[N_VERDICTS] = {VERDICT_LIST(VERDICT_TEXT)};
#undef VERDICT_TEXT
    return names[v];
}

static uint64_t bit(int id) { return 1ull << id; }

/* The landlord takes the public cards as soon as there is one. */
static void take_bottom(Judge *j) {
    if (j->game.phase != PHASE_PLAY) return;
    for (int i = 0; i < j->bottom.n; i++) j->held[j->game.landlord] |= bit(j->bottom.id[i]);
}

void judge_init(Judge *j, RulesetId rules, const Deal *deal) {
    memset(j, 0, sizeof *j);
    for (int c = 0; c < N_CARDS; c++) {
        int owner = deal->owner[c];
        CardList *l = owner == DEAL_BOTTOM ? &j->bottom : &j->dealt[owner];
        l->id[l->n++] = (uint8_t)c;
        if (owner != DEAL_BOTTOM) j->held[owner] |= bit(c);
    }
    game_init(&j->game, rules, deal, 0);
    take_bottom(j);
}

/* ---- asking ---- */

static void first_play_request(const Judge *j, BotzoneRequest *r) {
    const Game *g = &j->game;
    r->kind = REQUEST_FIRST_PLAY;
    r->own = j->dealt[g->turn];
    r->bottom = j->bottom;
    r->old_game = g->ruleset == RULES_BOTZONE1;
    r->landlord = g->landlord;
    r->pos = g->turn;
    r->finalbid = g->bid > 1 ? g->bid : 1;
    if (!r->old_game || g->turn != g->landlord) return;
    for (int i = 0; i < j->bottom.n; i++) r->own.id[r->own.n++] = j->bottom.id[i];
}

void judge_request(Judge *j, BotzoneRequest *out) {
    const Game *g = &j->game;
    BotzoneRequest r = {.kind = REQUEST_LATER_PLAY};
    memcpy(r.history, j->plays, sizeof r.history);
    if (g->phase == PHASE_BID) {
        r.kind = REQUEST_BID;
        r.own = j->dealt[g->turn];
        r.n_bids = g->n_bids;
        for (int i = 0; i < g->n_bids; i++) r.bids[i] = g->bids[i];
    } else if (!j->told[g->turn]) {
        j->told[g->turn] = true;
        first_play_request(j, &r);
    }
    *out = r;
}

/* ---- playing ---- */

static void bid(Judge *j, int value) {
    Status st = game_bid(&j->game, value, NULL);
    assert(st == ST_OK);
    (void)st;
    take_bottom(j);
}

static void play(Judge *j, const CardList *cards) {
    int seat = j->game.turn;
    Status st = game_play(&j->game, cardlist_hand(cards), NULL);
    assert(st == ST_OK);
    (void)st;
    for (int i = 0; i < cards->n; i++) j->gone[seat] |= bit(cards->id[i]);
    j->plays[0] = j->plays[1];
    j->plays[1] = *cards;
}

/* The cards that a seat still holds, lowest first. */
static CardList left_of(const Judge *j, int seat) {
    CardList l = {0};
    for (uint64_t m = j->held[seat] & ~j->gone[seat]; m; m &= m - 1)
        l.id[l.n++] = (uint8_t)__builtin_ctzll(m);
    return l;
}

void judge_bid(Judge *j, int value) { bid(j, value); }

void judge_play(Judge *j, Hand cards) {
    CardList left = left_of(j, j->game.turn), picked;
    bool there = cardlist_pick(&left, cards, &picked);
    assert(there);
    (void)there;
    play(j, &picked);
}

static void host(Judge *j) {
    CardList cards = {0};
    if (j->game.phase == PHASE_BID) {
        bid(j, 0);
        return;
    }
    if (!j->game.to_beat.cards) cards = (CardList){1, {left_of(j, j->game.turn).id[0]}};
    play(j, &cards);
}

bool judge_next(Judge *j) {
    while (!j->stopped && (j->game.phase == PHASE_BID || j->game.phase == PHASE_PLAY)) {
        if (j->verdict[j->game.turn] == VERDICT_OK) return true;
        host(j);
    }
    return false;
}

/* ---- judging ---- */

void judge_fault(Judge *j, Verdict v) {
    assert(v != VERDICT_OK);
    j->offender = j->game.turn;
    j->verdict[j->offender] = (uint8_t)v;
    bool all = true;
    for (int s = 0; s < N_SEATS; s++) all &= j->verdict[s] != VERDICT_OK;
    j->stopped = all || j->game.ruleset == RULES_BOTZONE1;
}

/* A number that stands for a card: -1 if it is none. */
static int card_of(const json_t *v) {
    json_int_t id = json_is_integer(v) ? json_integer_value(v) : -1;
    return id >= 0 && id < N_CARDS ? (int)id : -1;
}

static Verdict read_play(const Judge *j, const json_t *list, CardList *out) {
    int seat = j->game.turn;
    uint64_t gone = j->gone[seat];
    out->n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int id = card_of(json_array_get(list, i));
        if (id < 0 || !(j->held[seat] & bit(id))) return VERDICT_MISSING;
        if (gone & bit(id)) return VERDICT_REPEATED;
        gone |= bit(id);
        out->id[out->n++] = (uint8_t)id;
    }
    return VERDICT_OK;
}

/* What a type may beat of other types: rocket, then bombs, then all else. */
static int rank_of_type(const Move *m) {
    return m->type == MOVE_ROCKET ? 2 : m->type == MOVE_BOMB ? 1 : 0;
}

static Verdict compare(const Game *g, Hand cards) {
    const Move *last = &g->to_beat;
    if (cards == 0) return last->cards ? VERDICT_OK : VERDICT_PASS;
    Move m = move_classify(ruleset_get((RulesetId)g->ruleset), cards);
    if (m.type == MOVE_NONE) return VERDICT_NO_TYPE;
    if (!last->cards || move_beats(&m, last)) return VERDICT_OK;
    if (rank_of_type(&m) < rank_of_type(last)) return VERDICT_LESS;
    if (m.type != last->type) return VERDICT_OTHER_TYPE;
    return m.length != last->length ? VERDICT_OTHER_LENGTH : VERDICT_LESS;
}

static Verdict judge_bid_response(Judge *j, const json_t *v) {
    json_int_t value = json_is_integer(v) ? json_integer_value(v) : -1;
    if (value < 0 || value > 3 || (value != 0 && value <= j->game.bid)) return VERDICT_BID;
    bid(j, (int)value);
    return VERDICT_OK;
}

static Verdict judge_play_response(Judge *j, const json_t *v) {
    CardList cards;
    if (!json_is_array(v)) return VERDICT_NO_LIST;
    Verdict fault = read_play(j, v, &cards);
    if (fault == VERDICT_OK) fault = compare(&j->game, cardlist_hand(&cards));
    if (fault == VERDICT_OK) play(j, &cards);
    return fault;
}

Verdict judge_response(Judge *j, const json_t *response) {
    Verdict v = j->game.phase == PHASE_BID ? judge_bid_response(j, response)
                                           : judge_play_response(j, response);
    if (v != VERDICT_OK) judge_fault(j, v);
    return v;
}

void judge_scores(const Judge *j, double score[N_SEATS]) {
    if (!j->stopped) {
        game_scores(&j->game, score);
        return;
    }
    bool old_game = j->game.ruleset == RULES_BOTZONE1, landlord = j->offender == j->game.landlord;
    for (int s = 0; s < N_SEATS; s++)
        score[s] = old_game && (s == j->game.landlord) != landlord ? 2.5 : -1;
}
