#include "server/table.h"
#include <string.h>

bool table_bidding(const TableSetup *s) {
    return s->chosen < 0 && ruleset_get((RulesetId)s->rules)->bidding;
}

static void give_kitty(Table *t, How how) {
    t->how = (uint8_t)how;
    for (int c = 0; c < N_CARDS; c++)
        if (t->owner[c] == OWNER_BOTTOM) t->owner[c] = t->game.landlord;
}

/* The engine's way to say who is landlord: he bids 1, the others pass. */
static void forced_bids(Table *t, int landlord) {
    game_init(&t->game, (RulesetId)t->setup.rules, &t->setup.deal, landlord);
    for (int i = 0; i < N_SEATS; i++) game_bid(&t->game, i == 0, NULL);
}

void table_init(Table *t, const TableSetup *s) {
    memset(t, 0, sizeof *t);
    t->setup = *s;
    auth_game_text(s->number, t->id);
    memcpy(t->owner, s->deal.owner, sizeof t->owner);
    game_init(&t->game, (RulesetId)s->rules, &s->deal, s->first);
    if (!ruleset_get((RulesetId)s->rules)->bidding) {
        give_kitty(t, HOW_DEALT);
    } else if (s->chosen >= 0) {
        forced_bids(t, s->chosen);
        give_kitty(t, HOW_CHOSEN);
    }
}

const char *table_bid(Table *t, int seat, int points, Why why) {
    if (t->game.phase != PHASE_BID) return "bad_state";
    if (t->game.turn != seat) return "not_turn";
    if (points != 0 && points <= t->game.bid) return "lower";
    if (game_bid(&t->game, points, NULL) != ST_OK) return "illegal";
    t->bids[t->n_bids] = (uint8_t)points;
    t->bid_why[t->n_bids++] = (uint8_t)why;
    if (t->game.phase == PHASE_VOID && t->setup.allpass == ALLPASS_FIRST) {
        forced_bids(t, t->setup.first);
        give_kitty(t, HOW_FIRST);
    } else if (t->game.phase == PHASE_PLAY) {
        give_kitty(t, HOW_BID);
    }
    return NULL;
}

static const char *why_refused(const Table *t, Hand hand) {
    if (hand == 0) return "illegal"; // the leader may not pass
    Move m = move_classify(ruleset_get((RulesetId)t->game.ruleset), hand);
    return m.type == MOVE_NONE ? "illegal" : "lower";
}

const char *table_play(Table *t, int seat, const uint8_t *cards, int n, Why why) {
    if (t->game.phase != PHASE_PLAY) return "bad_state";
    if (t->game.turn != seat) return "not_turn";
    Hand hand = 0;
    for (int i = 0; i < n; i++) {
        if (cards[i] >= N_CARDS || t->owner[cards[i]] != seat) return "not_yours";
        for (int j = 0; j < i; j++)
            if (cards[j] == cards[i]) return "not_yours";
        hand += hand_of(card_rank(cards[i]), 1);
    }
    if (game_play(&t->game, hand, NULL) != ST_OK) return why_refused(t, hand);
    TablePlay *p = &t->plays[t->n_plays++];
    Move m = move_classify(ruleset_get((RulesetId)t->game.ruleset), hand);
    *p = (TablePlay){(uint8_t)seat, m.type,     (uint8_t)why,
                     (uint8_t)n,    t->n_cards, t->game.left[seat]};
    for (int i = 0; i < n; i++) {
        t->cards[t->n_cards++] = cards[i];
        t->owner[cards[i]] = OWNER_PLAYED;
    }
    return NULL;
}

int table_pick(const Table *t, Hand hand, uint8_t out[PLAY_CARDS_MAX]) {
    int n = 0;
    for (int c = 0; c < N_CARDS; c++) {
        int rank = card_rank(c);
        if (t->owner[c] != t->game.turn || hand_count(hand, rank) == 0) continue;
        hand -= hand_of(rank, 1);
        out[n++] = (uint8_t)c;
    }
    return n;
}

StoreAct table_act(const Table *t, int ply) {
    StoreAct a = {.bid = -1};
    if (ply < t->n_bids) {
        a.bid = (int8_t)t->bids[ply];
        a.why = t->bid_why[ply];
        return a;
    }
    const TablePlay *p = &t->plays[ply - t->n_bids];
    a.why = p->why;
    a.n_cards = p->n;
    memcpy(a.cards, t->cards + p->at, p->n);
    return a;
}

const char *table_redo(Table *t, const StoreAct *a) {
    if (a->why >= N_WHYS || a->n_cards > PLAY_CARDS_MAX) return "illegal";
    if (a->bid >= 0) return table_bid(t, t->game.turn, a->bid, (Why)a->why);
    return table_play(t, t->game.turn, a->cards, a->n_cards, (Why)a->why);
}

void table_cut(Table *t, int ply) {
    Table old = *t;
    table_init(t, &old.setup);
    for (int i = 0; i < ply; i++) {
        StoreAct a = table_act(&old, i);
        table_redo(t, &a);
    }
}

int table_seat_at(const Table *t, int ply) {
    if (ply < t->n_bids) return (t->setup.first + ply) % N_SEATS;
    return t->plays[ply - t->n_bids].seat;
}

int table_hand(const Table *t, int seat, uint8_t out[PLAY_CARDS_MAX]) {
    int n = 0;
    for (int c = N_CARDS - 1; c >= 0; c--)
        if (t->owner[c] == seat) out[n++] = (uint8_t)c;
    return n;
}

int table_kitty(const Table *t, uint8_t out[3]) {
    int n = 0;
    for (int c = N_CARDS - 1; c >= 0; c--)
        if (t->setup.deal.owner[c] == DEAL_BOTTOM) out[n++] = (uint8_t)c;
    return n;
}

int table_mult(const Table *t) { return 1 << t->game.bombs; }
int table_base(const Table *t) { return t->game.bid > 1 ? t->game.bid : 1; }

static bool is_bomb(const TablePlay *p) { return p->type == MOVE_BOMB || p->type == MOVE_ROCKET; }

int table_bombs(const Table *t, int seat) {
    int n = 0;
    for (int i = 0; i < t->n_plays; i++) n += t->plays[i].seat == seat && is_bomb(&t->plays[i]);
    return n;
}

void table_to_game(const Table *t, StoreGame *out) {
    Record r = {.deal = t->setup.deal, .game = t->setup.number};
    record_from_game(&r, &t->game);
    memset(out, 0, sizeof *out);
    out->id = t->setup.number;
    out->rules = t->setup.rules;
    out->how = t->how;
    out->landlord = t->game.landlord;
    out->plies = (uint16_t)table_ply(t);
    out->n_record = (uint16_t)record_write(&r, out->record);
    out->n_cards = t->n_cards;
    memcpy(out->cards, t->cards, t->n_cards);
    out->n_why = (uint16_t)table_ply(t);
    for (int i = 0; i < out->n_why; i++) out->why[i] = table_act(t, i).why;
    double score[N_SEATS];
    game_scores(&t->game, score);
    bool spring = game_spring(&t->game) || game_anti_spring(&t->game);
    for (int s = 0; s < N_SEATS; s++) {
        StoreSeat *e = &out->seat[s];
        e->role = (uint8_t)game_role(&t->game, s);
        e->won = game_landlord_won(&t->game) == (e->role == ROLE_LANDLORD);
        e->points = score[s];
        e->bombs = (uint8_t)table_bombs(t, s);
        e->spring = e->won && spring && ruleset_get((RulesetId)t->setup.rules)->spring;
        e->bid = -1;
    }
    for (int i = 0; i < t->n_bids; i++) out->seat[table_seat_at(t, i)].bid = (int8_t)t->bids[i];
}

/* The plays of a record over the cards kept beside it. */
static Status redo_plays(const StoreGame *g, const Record *r, Table *t) {
    int at = 0;
    for (int i = 0; i < r->n_moves; i++) {
        uint8_t picked[PLAY_CARDS_MAX];
        Hand hand = move_from_id(r->moves[i]);
        int n = hand_size(hand), ply = table_ply(t);
        if (n > PLAY_CARDS_MAX || (g->n_cards && at + n > g->n_cards)) return ST_CORRUPT;
        if (table_pick(t, hand, picked) != n) return ST_CORRUPT;
        const uint8_t *cards = g->n_cards ? g->cards + at : picked;
        Why why = ply < g->n_why && g->why[ply] < N_WHYS ? (Why)g->why[ply] : WHY_PLAYER;
        if (table_play(t, t->game.turn, cards, n, why)) return ST_CORRUPT;
        if (t->game.moves[t->game.n_moves - 1] != hand) return ST_CORRUPT;
        at += n;
    }
    return ST_OK;
}

Status table_from_game(const StoreGame *g, Table *out) {
    Record r;
    size_t used;
    Table t;
    if (record_read(g->record, g->n_record, &r, &used) != ST_OK) return ST_CORRUPT;
    TableSetup setup = {g->id, r.ruleset, r.first_bidder, ALLPASS_REDEAL, -1, r.deal};
    if (g->how == HOW_CHOSEN) setup.chosen = (int8_t)g->landlord;
    if (g->how == HOW_FIRST) setup.allpass = ALLPASS_FIRST;
    if (setup.rules >= N_RULESETS || setup.first >= N_SEATS) return ST_CORRUPT;
    table_init(&t, &setup);
    for (int i = 0; i < r.n_bids && table_bidding(&setup); i++) {
        int points = g->how == HOW_FIRST ? 0 : r.bids[i];
        Why why = i < g->n_why && g->why[i] < N_WHYS ? (Why)g->why[i] : WHY_PLAYER;
        if (table_bid(&t, t.game.turn, points, why)) return ST_CORRUPT;
    }
    Status st = redo_plays(g, &r, &t);
    if (st == ST_OK) *out = t;
    return st;
}

const char *move_kind(MoveType type) {
    static const char *const names[N_MOVE_TYPES] = {
        [MOVE_NONE] = "other",
        [MOVE_PASS] = "pass",
        [MOVE_SINGLE] = "single",
        [MOVE_PAIR] = "pair",
        [MOVE_TRIO] = "triple",
        [MOVE_BOMB] = "bomb",
        [MOVE_ROCKET] = "rocket",
        [MOVE_TRIO_SINGLE] = "t1",
        [MOVE_TRIO_PAIR] = "t2",
        [MOVE_STRAIGHT] = "straight",
        [MOVE_PAIR_CHAIN] = "pairs",
        [MOVE_PLANE] = "plane",
        [MOVE_PLANE_SINGLES] = "plane1",
        [MOVE_PLANE_PAIRS] = "plane2",
        [MOVE_FOUR_SINGLES] = "q2",
        [MOVE_FOUR_PAIRS] = "q22",
        [MOVE_SHUTTLE] = "shuttle",
        [MOVE_SHUTTLE_SINGLES] = "shuttle1",
        [MOVE_SHUTTLE_PAIRS] = "shuttle2",
        [MOVE_UNTYPED] = "other",
    };
    return names[type];
}

const char *why_name(Why w) {
    static const char *const names[N_WHYS] = {"player", "timeout", "host", "bot"};
    return names[w];
}

const char *how_name(How h) {
    static const char *const names[] = {"bid", "first", "chosen", "dealt"};
    return names[h];
}
