/* game.c - turns: who may bid or play what, and what it changes. */
#include "engine/game.h"

static Status refuse(Status st, const char **why, const char *text) {
    if (why) *why = text;
    return st;
}

static void start_play(Game *g, int landlord) {
    g->landlord = g->leader = g->turn = (uint8_t)landlord;
    g->phase = PHASE_PLAY;
    g->hand[landlord] += g->bottom;
    g->left[landlord] = (uint8_t)(g->left[landlord] + hand_size(g->bottom));
}

void game_init(Game *g, RulesetId rules, const Deal *deal, int first_bidder) {
    __builtin_memset(g, 0, sizeof *g);
    Hand hands[4] = {0};
    for (int c = 0; c < N_CARDS; c++) hands[deal->owner[c]] += hand_of(card_rank(c), 1);
    for (int s = 0; s < N_SEATS; s++) {
        g->hand[s] = g->dealt[s] = hands[s];
        g->left[s] = 17;
    }
    g->bottom = hands[DEAL_BOTTOM];
    g->ruleset = (uint8_t)rules;
    if (!ruleset_get(rules)->bidding) {
        start_play(g, 0);
        return;
    }
    g->phase = PHASE_BID;
    g->landlord = SEAT_NONE;
    g->turn = g->first_bidder = (uint8_t)first_bidder;
}

Status game_init_hands(Game *g, RulesetId rules, const Hand hands[N_ROLES], Hand bottom) {
    Hand all = 0;
    for (int role = 0; role < N_ROLES; role++) {
        if (!hand_valid(hands[role])) return ST_INVALID;
        int size = hand_size(hands[role]);
        if (size == 0 || size > (role == ROLE_LANDLORD ? 20 : 17)) return ST_INVALID;
        all += hands[role];
        if (!hand_valid(all)) return ST_INVALID;
    }
    if (!hand_valid(bottom) || hand_size(bottom) > 3) return ST_INVALID;
    if (!hand_contains(hands[ROLE_LANDLORD], bottom)) return ST_INVALID;
    __builtin_memset(g, 0, sizeof *g);
    g->ruleset = (uint8_t)rules;
    g->bottom = bottom;
    for (int s = 0; s < N_SEATS; s++) {
        g->hand[s] = g->dealt[s] = hands[s] - (s == 0 ? bottom : 0);
        g->left[s] = (uint8_t)hand_size(g->hand[s]);
    }
    start_play(g, 0);
    return ST_OK;
}

Status game_bid(Game *g, int bid, const char **why) {
    if (g->phase != PHASE_BID) return refuse(ST_ILLEGAL, why, "not the bidding phase");
    if (bid < 0 || bid > 3) return refuse(ST_ILLEGAL, why, "a bid is 0, 1, 2 or 3");
    if (bid != 0 && bid <= g->bid) return refuse(ST_ILLEGAL, why, "not above the highest bid");
    g->bids[g->n_bids++] = (uint8_t)bid;
    if (bid) {
        g->bid = (uint8_t)bid;
        g->leader = g->turn; /* the highest bidder, until play starts */
    }
    g->turn = (uint8_t)((g->turn + 1) % N_SEATS);
    if (bid < 3 && g->n_bids < GAME_MAX_BIDS) return ST_OK;
    if (g->bid) start_play(g, g->leader);
    else if (ruleset_get(g->ruleset)->redeal) g->phase = PHASE_VOID;
    else start_play(g, 0);
    return ST_OK;
}

int game_legal(const Game *g, Hand out[MOVEGEN_MAX]) {
    const Ruleset *rules = ruleset_get(g->ruleset);
    Hand hand = g->hand[g->turn];
    if (!g->to_beat.cards) return movegen_leads(rules, hand, out);
    int n = movegen_answers(rules, hand, &g->to_beat, out);
    out[n] = 0;
    return n + 1;
}

/* What a play earns in small points (SCORE_POINTS). */
static int small_points(const Move *m) {
    switch ((MoveType)m->type) {
    case MOVE_SINGLE: return 1;
    case MOVE_PAIR: return 2;
    case MOVE_TRIO:
    case MOVE_TRIO_SINGLE:
    case MOVE_TRIO_PAIR: return 4;
    case MOVE_STRAIGHT:
    case MOVE_PAIR_CHAIN: return 6;
    case MOVE_FOUR_SINGLES:
    case MOVE_FOUR_PAIRS:
    case MOVE_PLANE:
    case MOVE_PLANE_SINGLES:
    case MOVE_PLANE_PAIRS: return 8;
    case MOVE_BOMB: return 10;
    case MOVE_SHUTTLE:
    case MOVE_SHUTTLE_SINGLES:
    case MOVE_SHUTTLE_PAIRS: return m->length > 2 ? 20 : 10;
    case MOVE_ROCKET: return 16;
    default: return 0;
    }
}

static void apply_pass(Game *g) {
    g->moves[g->n_moves++] = 0;
    g->turn = (uint8_t)(g->turn == 2 ? 0 : g->turn + 1);
    if (++g->passes < 2) return;
    g->passes = 0;
    g->to_beat = (Move){0};
}

static void apply_move(Game *g, const Move *m) {
    int seat = g->turn;
    g->moves[g->n_moves++] = m->cards;
    g->to_beat = *m;
    g->leader = (uint8_t)seat;
    g->passes = 0;
    g->hand[seat] -= m->cards;
    g->played[seat] += m->cards;
    g->left[seat] = (uint8_t)(g->left[seat] - m->size);
    g->n_plays[seat]++;
    g->bombs = (uint8_t)(g->bombs + move_is_bomb(m));
    if (ruleset_get(g->ruleset)->score == SCORE_POINTS)
        g->points[seat] = (int16_t)(g->points[seat] + small_points(m));
    if (g->left[seat] == 0) g->phase = PHASE_OVER;
    else g->turn = (uint8_t)(seat == 2 ? 0 : seat + 1);
}

void game_apply(Game *g, Hand cards) {
    if (cards == 0) {
        apply_pass(g);
        return;
    }
    Move m = move_classify(ruleset_get(g->ruleset), cards);
    apply_move(g, &m);
}

Status game_play(Game *g, Hand cards, const char **why) {
    if (g->phase != PHASE_PLAY) return refuse(ST_ILLEGAL, why, "not the playing phase");
    if (cards == 0) {
        if (!g->to_beat.cards) return refuse(ST_ILLEGAL, why, "the leader may not pass");
        apply_pass(g);
        return ST_OK;
    }
    if (!hand_valid(cards) || !hand_contains(g->hand[g->turn], cards))
        return refuse(ST_ILLEGAL, why, "cards that the seat does not hold");
    Move m = move_classify(ruleset_get(g->ruleset), cards);
    if (m.type == MOVE_NONE) return refuse(ST_ILLEGAL, why, "not a play under this ruleset");
    if (g->to_beat.cards && !move_beats(&m, &g->to_beat))
        return refuse(ST_ILLEGAL, why, "does not beat the last play");
    apply_move(g, &m);
    return ST_OK;
}
