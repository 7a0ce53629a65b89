#include "server/view.h"
#include <math.h>

static bool may_see(Viewer v, int seat) { return v.open || v.seat == seat; }

void view_write_hand(JsonOut *o, const char *key, const Table *t, int seat) {
    uint8_t cards[PLAY_CARDS_MAX];
    jsonout_ints(o, key, cards, table_hand(t, seat, cards));
}

/* Cards of `seat` that make up a hand of ranks, or what is like it if it holds fewer. */
void view_write_hand_cards(JsonOut *o, const char *key, const Table *t, int seat, Hand hand) {
    uint8_t cards[N_CARDS];
    int n = 0;
    for (int c = 0; c < N_CARDS; c++) {
        if (t->owner[c] != seat || hand_count(hand, card_rank(c)) == 0) continue;
        hand -= hand_of(card_rank(c), 1);
        cards[n++] = (uint8_t)c;
    }
    jsonout_ints(o, key, cards, n);
}

static void write_own(JsonOut *o, const Table *t, Viewer v) {
    if (v.seat >= 0 && may_see(v, v.seat)) view_write_hand(o, "hand", t, v.seat);
    else jsonout_null(o, "hand");
}

static void write_hands(JsonOut *o, const Table *t, Viewer v) {
    if (!v.open) {
        jsonout_null(o, "hands");
        return;
    }
    jsonout_open(o, "hands", '[');
    for (int s = 0; s < N_SEATS; s++) view_write_hand(o, NULL, t, s);
    jsonout_close(o, ']');
}

static void write_kitty(JsonOut *o, const Table *t) {
    uint8_t cards[3];
    if (t->game.landlord == SEAT_NONE) jsonout_null(o, "kitty");
    else jsonout_ints(o, "kitty", cards, table_kitty(t, cards));
}

static void write_seat(JsonOut *o, const char *key, int seat) {
    if (seat < 0 || seat >= N_SEATS) jsonout_null(o, key);
    else jsonout_int(o, key, seat);
}

static void write_ms(JsonOut *o, const char *key, int64_t ms) {
    if (ms < 0) jsonout_null(o, key);
    else jsonout_int(o, key, ms);
}

Msg *view_deal(const Table *t, Viewer v) {
    JsonOut o;
    msg_begin(&o, "deal");
    jsonout_str(&o, "game", t->id);
    jsonout_int(&o, "first", t->game.phase == PHASE_BID ? t->setup.first : t->game.landlord);
    write_seat(&o, "me", v.seat);
    if (v.seat >= 0) {
        // the 17 cards dealt, also where the kitty has been given already
        uint8_t cards[PLAY_CARDS_MAX];
        int n = 0;
        for (int c = N_CARDS - 1; c >= 0; c--)
            if (t->setup.deal.owner[c] == v.seat) cards[n++] = (uint8_t)c;
        jsonout_ints(&o, "hand", cards, n);
    } else {
        jsonout_null(&o, "hand");
    }
    jsonout_str(&o, "rules", rules_name(t->setup.rules));
    jsonout_bool(&o, "bidding", table_bidding(&t->setup));
    if (v.open) write_hands(&o, t, v);
    return msg_end(&o);
}

static void write_id(JsonOut *o, int64_t id) {
    if (id >= 0) jsonout_int(o, "id", id);
}

Msg *view_bid(const Table *t, int64_t id) {
    JsonOut o;
    int ply = t->n_bids - 1;
    msg_begin(&o, "bid");
    jsonout_int(&o, "seat", table_seat_at(t, ply));
    jsonout_int(&o, "ply", ply);
    jsonout_int(&o, "points", t->bids[ply]);
    jsonout_str(&o, "why", why_name((Why)t->bid_why[ply]));
    write_id(&o, id);
    return msg_end(&o);
}

Msg *view_landlord(const Table *t) {
    JsonOut o;
    msg_begin(&o, "landlord");
    jsonout_int(&o, "seat", t->game.landlord);
    jsonout_int(&o, "base", table_base(t));
    write_kitty(&o, t);
    jsonout_str(&o, "how", how_name((How)t->how));
    jsonout_ints(&o, "counts", t->game.left, N_SEATS);
    return msg_end(&o);
}

Msg *view_void(void) {
    JsonOut o;
    msg_begin(&o, "void");
    return msg_end(&o);
}

/* The play that is to be beaten: the last that was no pass. */
static void write_beat(JsonOut *o, const Table *t) {
    if (t->game.phase != PHASE_PLAY || t->game.to_beat.cards == 0) {
        jsonout_null(o, "beat");
        return;
    }
    int i = t->n_plays - 1;
    while (t->plays[i].n == 0) i--;
    const TablePlay *p = &t->plays[i];
    jsonout_open(o, "beat", '{');
    jsonout_int(o, "seat", p->seat);
    jsonout_ints(o, "cards", t->cards + p->at, p->n);
    jsonout_str(o, "kind", move_kind((MoveType)p->type));
    jsonout_close(o, '}');
}

static void write_turn(JsonOut *o, const Table *t, int64_t left_ms, int64_t total_ms) {
    write_ms(o, "left_ms", left_ms);
    write_ms(o, "total_ms", total_ms);
    write_beat(o, t);
    jsonout_int(o, "min", t->game.phase == PHASE_BID ? t->game.bid + 1 : 0);
}

Msg *view_turn(const Table *t, int64_t left_ms, int64_t total_ms) {
    JsonOut o;
    msg_begin(&o, "turn");
    jsonout_int(&o, "seat", t->game.turn);
    jsonout_int(&o, "ply", table_ply(t));
    write_turn(&o, t, left_ms, total_ms);
    return msg_end(&o);
}

static void write_real(JsonOut *o, const char *key, float v) {
    jsonout_real(o, key, (double)v); // NaN becomes null
}

static void write_choice(JsonOut *o, const Table *t, int seat, const Choice *c) {
    jsonout_open(o, NULL, '{');
    if (c->points >= 0) {
        jsonout_int(o, "points", c->points);
    } else {
        view_write_hand_cards(o, "cards", t, seat, c->cards);
        jsonout_str(o, "kind", move_kind((MoveType)c->type));
    }
    write_real(o, "win", c->win);
    write_real(o, "exp", c->exp);
    jsonout_close(o, '}');
}

static void write_advice(JsonOut *o, const Table *t, int seat, const Advice *a) {
    write_real(o, "win", a->win);
    write_real(o, "exp", a->exp);
    bool bids = a->n > 0 && a->best[0].points >= 0;
    jsonout_open(o, bids ? "bids" : "moves", '[');
    for (int i = 0; i < a->n; i++) write_choice(o, t, seat, &a->best[i]);
    jsonout_close(o, ']');
}

/* The reasons are cards that the seat still holds or has just played: t is the table after the
 * play, so the play's own cards are given back for the writing.                             */
static void write_reasons(JsonOut *o, const Table *t, const TablePlay *p, const Advice *a) {
    Table before = *t;
    for (int i = 0; i < p->n; i++) before.owner[t->cards[p->at + i]] = p->seat;
    jsonout_open(o, "think", '{');
    write_advice(o, &before, p->seat, a);
    jsonout_close(o, '}');
}

Msg *view_play(const Table *t, int64_t id, const Advice *reasons) {
    JsonOut o;
    const TablePlay *p = &t->plays[t->n_plays - 1];
    msg_begin(&o, "play");
    jsonout_int(&o, "seat", p->seat);
    jsonout_int(&o, "ply", table_ply(t) - 1);
    jsonout_ints(&o, "cards", t->cards + p->at, p->n);
    jsonout_str(&o, "kind", move_kind((MoveType)p->type));
    jsonout_int(&o, "count", p->left);
    jsonout_int(&o, "mult", table_mult(t));
    jsonout_str(&o, "why", why_name((Why)p->why));
    write_id(&o, id);
    if (reasons) write_reasons(&o, t, p, reasons);
    return msg_end(&o);
}

Msg *view_open(const Table *t, Viewer v) {
    JsonOut o;
    msg_begin(&o, "open");
    jsonout_bool(&o, "on", v.open);
    write_hands(&o, t, v);
    return msg_end(&o);
}

static const char *phase_name(const Game *g) {
    return g->phase == PHASE_BID ? "bid" : g->phase == PHASE_PLAY ? "play" : "over";
}

static void write_history(JsonOut *o, const Table *t) {
    jsonout_open(o, "bids", '[');
    for (int i = 0; i < t->n_bids; i++) {
        uint8_t pair[2] = {(uint8_t)table_seat_at(t, i), t->bids[i]};
        jsonout_ints(o, NULL, pair, 2);
    }
    jsonout_close(o, ']');
    jsonout_open(o, "history", '[');
    for (int i = 0; i < t->n_plays; i++) {
        const TablePlay *p = &t->plays[i];
        jsonout_open(o, NULL, '[');
        jsonout_int(o, NULL, p->seat);
        jsonout_ints(o, NULL, t->cards + p->at, p->n);
        jsonout_str(o, NULL, move_kind((MoveType)p->type));
        jsonout_close(o, ']');
    }
    jsonout_close(o, ']');
}

static void write_bools(JsonOut *o, const char *key, const bool v[N_SEATS]) {
    jsonout_open(o, key, '[');
    for (int s = 0; s < N_SEATS; s++) jsonout_bool(o, NULL, v[s]);
    jsonout_close(o, ']');
}

Msg *view_snapshot(const Table *t, Viewer v, const ViewState *s) {
    JsonOut o;
    const Game *g = &t->game;
    bool over = g->phase == PHASE_OVER;
    msg_begin(&o, "snapshot");
    jsonout_str(&o, "why", s->why);
    jsonout_str(&o, "game", t->id);
    jsonout_str(&o, "rules", rules_name(t->setup.rules));
    jsonout_str(&o, "phase", phase_name(g));
    write_seat(&o, "me", v.seat);
    jsonout_int(&o, "first", table_bidding(&t->setup) ? t->setup.first : g->landlord);
    jsonout_int(&o, "ply", table_ply(t));
    write_seat(&o, "turn", over ? -1 : g->turn);
    write_turn(&o, t, s->left_ms, s->total_ms);
    write_seat(&o, "landlord", g->landlord);
    jsonout_int(&o, "base", table_base(t));
    jsonout_int(&o, "mult", table_mult(t));
    jsonout_ints(&o, "counts", g->left, N_SEATS);
    write_own(&o, t, v);
    write_kitty(&o, t);
    write_history(&o, t);
    write_bools(&o, "hosted", s->hosted);
    write_bools(&o, "away", s->away);
    write_hands(&o, t, v);
    jsonout_bool(&o, "rated", s->rated);
    if (s->end && over) {
        jsonout_open(&o, "end", '{');
        jsonout_bytes(&o, s->end->text, s->end->len); // with its own closing brace
        o.comma = true;
    }
    return msg_end(&o);
}

static void write_factor(JsonOut *o, const char *name, int n) {
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "name", name);
    jsonout_int(o, "n", n);
    jsonout_close(o, '}');
}

static void write_factors(JsonOut *o, const Table *t) {
    const Game *g = &t->game;
    const Ruleset *rules = ruleset_get((RulesetId)t->setup.rules);
    jsonout_open(o, "factors", '[');
    if (rules->bidding) write_factor(o, "bid", table_base(t));
    for (int i = 0; i < t->n_plays; i++) {
        if (t->plays[i].type == MOVE_BOMB) write_factor(o, "bomb", 2);
        if (t->plays[i].type == MOVE_ROCKET) write_factor(o, "rocket", 2);
    }
    if (rules->spring && game_spring(g)) write_factor(o, "spring", 2);
    if (rules->spring && game_anti_spring(g)) write_factor(o, "anti", 2);
    jsonout_close(o, ']');
}

void view_write_end(JsonOut *o, const Table *t, bool rated) {
    double score[N_SEATS];
    game_scores(&t->game, score);
    jsonout_str(o, "game", t->id);
    jsonout_str(o, "winner", game_landlord_won(&t->game) ? "landlord" : "farmers");
    jsonout_int(o, "landlord", t->game.landlord);
    jsonout_open(o, "points", '[');
    for (int s = 0; s < N_SEATS; s++) jsonout_real(o, NULL, score[s]);
    jsonout_close(o, ']');
    write_factors(o, t);
    jsonout_open(o, "hands", '[');
    for (int s = 0; s < N_SEATS; s++) view_write_hand(o, NULL, t, s);
    jsonout_close(o, ']');
    jsonout_bool(o, "rated", rated);
}

Msg *view_end(const Table *t, bool rated, const Rating *before, const Rating *after) {
    JsonOut o;
    msg_begin(&o, "end");
    view_write_end(&o, t, rated);
    if (before && after) {
        jsonout_open(&o, "rating", '{');
        jsonout_real(&o, "before", round(before->rating));
        jsonout_real(&o, "after", round(after->rating));
        jsonout_close(&o, '}');
    }
    return msg_end(&o);
}

Msg *view_advice(const Table *t, int64_t id, const Advice *a, int ms) {
    JsonOut o;
    msg_begin(&o, "advice");
    write_id(&o, id);
    jsonout_int(&o, "ply", table_ply(t));
    write_advice(&o, t, t->game.turn, a);
    jsonout_int(&o, "ms", ms);
    return msg_end(&o);
}
