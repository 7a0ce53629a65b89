/* Two steps: the requests are read into one list of plays (Story), which is then played through the
 * engine from a deal that fits it. */
#include "actors/botzone_view.h"
#include <jansson.h>
#include <string.h>

typedef struct {
    bool old_game, playing;
    CardList own, bottom;
    int pos, landlord, finalbid;
    int bids[N_SEATS]; /* before the own one */
    int n_plays;
    CardList plays[GAME_MAX_MOVES]; /* from the landlord's first on, of all seats in turn */
    CardList played;                /* own ones, for the fallback */
} Story;

static Status refuse(Status st, const char **why, const char *text) {
    *why = text;
    return st;
}

static Status add_play(Story *s, const CardList *cards, const char **why) {
    if (s->n_plays == GAME_MAX_MOVES) return refuse(ST_ILLEGAL, why, "more plays than a game has");
    s->plays[s->n_plays++] = *cards;
    return ST_OK;
}

/* FightTheLandlord does not tell the seat: 20 cards are the landlord's; whoever sees two plays
 * before his first one comes third, and the landlord's first play is never a pass. */
static int old_seat(const BotzoneRequest *r) {
    if (r->own.n == 20) return 0;
    return r->history[0].n > 0 ? 2 : 1;
}

static void take_bids(Story *s, const BotzoneRequest *r) {
    s->own = r->own;
    s->pos = r->n_bids;
    for (int i = 0; i < r->n_bids; i++) s->bids[i] = r->bids[i];
}

static Status take_first_play(Story *s, const BotzoneRequest *r, const char **why) {
    if (s->playing) return refuse(ST_ILLEGAL, why, "the first play is asked for again");
    s->playing = true;
    s->old_game = r->old_game;
    s->own = r->own;
    s->bottom = r->bottom;
    s->pos = r->old_game ? old_seat(r) : r->pos;
    s->landlord = r->landlord;
    s->finalbid = r->finalbid;
    int role = (s->pos - s->landlord + N_SEATS) % N_SEATS;
    if (role < 2 && r->history[0].n > 0)
        return refuse(ST_ILLEGAL, why, "a play before the landlord's first");
    if (role < 1 && r->history[1].n > 0)
        return refuse(ST_ILLEGAL, why, "a play before the landlord's first");
    if (role == 2) TRY(add_play(s, &r->history[0], why));
    if (role >= 1) TRY(add_play(s, &r->history[1], why));
    return ST_OK;
}

static Status take_request(Story *s, const json_t *o, BotzoneRequest *r, const char **why) {
    TRY(botzone_request_read(o, r, why));
    switch (r->kind) {
    case REQUEST_BID:
        if (s->playing) return refuse(ST_ILLEGAL, why, "a bid is asked for during play");
        take_bids(s, r);
        return ST_OK;
    case REQUEST_FIRST_PLAY: return take_first_play(s, r, why);
    default:
        if (!s->playing) return refuse(ST_ILLEGAL, why, "play goes on that never began");
        TRY(add_play(s, &r->history[0], why));
        return add_play(s, &r->history[1], why);
    }
}

/* An own answer, as the judge gives it back. */
static Status take_response(Story *s, const BotzoneRequest *r, const json_t *answer,
                            const char **why) {
    if (r->kind == REQUEST_BID) return ST_OK;
    CardList cards = {0};
    size_t n = json_array_size(answer); /* 0 if it is no array */
    if (!json_is_array(answer) || n > CARD_LIST_MAX)
        return refuse(ST_PARSE, why, "an own play that is none");
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(answer, i);
        json_int_t id = json_is_integer(v) ? json_integer_value(v) : -1;
        if (id < 0 || id >= N_CARDS || cardlist_has(&s->played, (int)id) ||
            s->played.n == CARD_LIST_MAX)
            return refuse(ST_PARSE, why, "an own play of cards that cannot be");
        cards.id[cards.n++] = s->played.id[s->played.n++] = (uint8_t)id;
    }
    return add_play(s, &cards, why);
}

/* ---- what holds even if the rest makes no sense ---- */

static void add_cards(CardList *l, const json_t *a) {
    for (size_t i = 0; i < json_array_size(a); i++) {
        const json_t *v = json_array_get(a, i);
        json_int_t id = json_is_integer(v) ? json_integer_value(v) : -1;
        if (id >= 0 && id < N_CARDS && !cardlist_has(l, (int)id) && l->n < CARD_LIST_MAX)
            l->id[l->n++] = (uint8_t)id;
    }
}

static bool is_empty_list(const json_t *a) { return json_is_array(a) && json_array_size(a) == 0; }

static void note_certain(const json_t *requests, const json_t *responses, BotzoneView *out) {
    CardList own = {0}, gone = {0};
    for (size_t i = 0; i < json_array_size(requests); i++) {
        const json_t *o = json_array_get(requests, i), *seat = json_object_get(o, "pos");
        add_cards(&own, json_object_get(o, "own"));
        if (seat && json_equal(seat, json_object_get(o, "landlord")))
            add_cards(&own, json_object_get(o, "publiccard"));
    }
    for (size_t i = 0; i < json_array_size(responses); i++)
        add_cards(&gone, json_array_get(responses, i));
    cardlist_remove(&own, &gone);
    const json_t *last = json_array_get(requests, json_array_size(requests) - 1);
    const json_t *history = json_object_get(last, "history"), *bids = json_object_get(last, "bid");
    out->left = own;
    out->bidding = bids && !history;
    out->leading = json_array_size(history) == 2 && is_empty_list(json_array_get(history, 0)) &&
                   is_empty_list(json_array_get(history, 1));
}

/* ---- from the story to a game ---- */

/* Seats of the game: as Botzone numbers them where there is bidding, else roles. */
static int game_place(const Story *s, bool bidding, int seat) {
    return bidding ? seat : (seat - s->landlord + N_SEATS) % N_SEATS;
}

/* Which card is whose, as far as it is known; 0xff: nobody's yet. */
typedef struct {
    Deal deal;
    int n_of[4];
} Layout;

/* `open`: an owner whose cards may be this one's too, or 0xff. */
static Status put(Layout *l, const CardList *cards, int owner, int open, const char **why) {
    for (int i = 0; i < cards->n; i++) {
        uint8_t *o = &l->deal.owner[cards->id[i]];
        if (*o == owner || (*o == open && open != 0xff)) continue;
        if (*o != 0xff) return refuse(ST_ILLEGAL, why, "one card in two hands");
        *o = (uint8_t)owner;
        l->n_of[owner]++;
    }
    return ST_OK;
}

static Status lay_out(const Story *s, bool bidding, Deal *out, const char **why) {
    static const int full[4] = {17, 17, 17, 3};
    Layout l = {.n_of = {0}};
    memset(l.deal.owner, 0xff, sizeof l.deal.owner);
    TRY(put(&l, &s->bottom, DEAL_BOTTOM, 0xff, why));
    TRY(put(&l, &s->own, game_place(s, bidding, s->pos), s->own.n == 20 ? DEAL_BOTTOM : 0xff, why));
    for (int i = 0; i < s->n_plays; i++) {
        int role = i % N_SEATS, seat = game_place(s, bidding, (s->landlord + role) % N_SEATS);
        TRY(put(&l, &s->plays[i], seat, role == ROLE_LANDLORD ? DEAL_BOTTOM : 0xff, why));
    }
    for (int owner = 0; owner < 4; owner++)
        if (l.n_of[owner] > full[owner]) return refuse(ST_ILLEGAL, why, "a seat of too many cards");
    for (int c = 0, owner = 0; c < N_CARDS; c++) {
        if (l.deal.owner[c] != 0xff) continue;
        while (l.n_of[owner] == full[owner]) owner++;
        l.deal.owner[c] = (uint8_t)owner;
        l.n_of[owner]++;
    }
    *out = l.deal;
    return ST_OK;
}

/* The auction as far as it matters: who became the landlord, at which bid. What others bid below
 * that is not told to every seat, and changes nothing. */
static Status play_bids(const Story *s, Game *g, const char **why) {
    int winning = s->finalbid > 1 ? s->finalbid : 1;
    for (int seat = 0; seat < N_SEATS && g->phase == PHASE_BID; seat++)
        TRY(game_bid(g, seat == s->landlord ? winning : 0, why));
    return ST_OK;
}

static Status build_bidding(const Story *s, RulesetId rules, Game *g, const char **why) {
    if (!ruleset_get(rules)->bidding) return refuse(ST_ILLEGAL, why, "a bid without an auction");
    Deal d;
    TRY(lay_out(s, true, &d, why));
    game_init(g, rules, &d, 0);
    for (int i = 0; i < s->pos; i++) TRY(game_bid(g, s->bids[i], why));
    if (g->phase != PHASE_BID) return refuse(ST_ILLEGAL, why, "a bid after the auction");
    return ST_OK;
}

static Status build_play(const Story *s, RulesetId rules, Game *g, const char **why) {
    bool bidding = ruleset_get(rules)->bidding;
    Deal d;
    TRY(lay_out(s, bidding, &d, why));
    game_init(g, rules, &d, 0);
    if (bidding) TRY(play_bids(s, g, why));
    for (int i = 0; i < s->n_plays; i++) TRY(game_play(g, cardlist_hand(&s->plays[i]), why));
    if (g->phase != PHASE_PLAY || g->turn != game_place(s, bidding, s->pos))
        return refuse(ST_ILLEGAL, why, "not this seat's turn");
    return ST_OK;
}

/* The public cards are not known while bidding: three of the unseen ones stand for them. */
static void guess_bottom(Story *s) {
    for (int c = 0; c < N_CARDS && s->bottom.n < 3; c++)
        if (!cardlist_has(&s->own, c)) s->bottom.id[s->bottom.n++] = (uint8_t)c;
}

Status botzone_view(const json_t *requests, const json_t *responses, int rules, BotzoneView *out,
                    const char **why) {
    Story s = {0};
    BotzoneRequest r = {.kind = REQUEST_LATER_PLAY};
    size_t n = json_array_size(requests);
    memset(out, 0, sizeof *out);
    note_certain(requests, responses, out);
    if (n == 0 || json_array_size(responses) + 1 != n)
        return refuse(ST_PARSE, why, "not one more request than answers");
    Status st = ST_OK;
    for (size_t i = 0; st == ST_OK && i < n; i++) {
        r = (BotzoneRequest){.kind = REQUEST_LATER_PLAY};
        st = take_request(&s, json_array_get(requests, i), &r, why);
        if (st == ST_OK && i + 1 < n) st = take_response(&s, &r, json_array_get(responses, i), why);
    }
    if (st != ST_OK) return st;
    if (rules == RULES_BY_SHAPE) rules = s.old_game ? RULES_BOTZONE1 : RULES_BOTZONE;
    if (r.kind == REQUEST_BID) guess_bottom(&s);
    return r.kind == REQUEST_BID ? build_bidding(&s, (RulesetId)rules, &out->game, why)
                                 : build_play(&s, (RulesetId)rules, &out->game, why);
}
