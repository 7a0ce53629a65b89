/* game_validate.c - every invariant of a Game between two moves, by counting again. */
#include "engine/game.h"

static bool wrong(const char **why, const char *text) {
    if (why) *why = text;
    return false;
}

static bool validate_cards(const Game *g, const char **why) {
    Hand all = 0;
    for (int s = 0; s < N_SEATS; s++) {
        Hand own = g->dealt[s] + (s == g->landlord ? g->bottom : 0);
        if (!hand_valid(g->hand[s]) || !hand_valid(g->played[s]))
            return wrong(why, "an impossible hand");
        if (g->hand[s] + g->played[s] != own) return wrong(why, "cards appeared or vanished");
        if (g->left[s] != hand_size(g->hand[s])) return wrong(why, "cards left are miscounted");
        all += g->dealt[s];
        if (!hand_valid(all)) return wrong(why, "more cards than the deck has");
    }
    return hand_valid(all + g->bottom) || wrong(why, "more cards than the deck has");
}

static bool validate_bids(const Game *g, const char **why) {
    int high = 0, bidder = SEAT_NONE;
    if (g->n_bids > GAME_MAX_BIDS) return wrong(why, "too many bids");
    for (int i = 0; i < g->n_bids; i++) {
        if (g->bids[i] > 3 || (g->bids[i] && g->bids[i] <= high))
            return wrong(why, "a bid too low");
        if (g->bids[i]) high = g->bids[i], bidder = (g->first_bidder + i) % N_SEATS;
    }
    if (high != g->bid) return wrong(why, "the highest bid is wrong");
    bool done = high == 3 || g->n_bids == GAME_MAX_BIDS || !ruleset_get(g->ruleset)->bidding;
    if (g->phase == PHASE_BID) return !done || wrong(why, "the bidding should have ended");
    if (g->phase == PHASE_VOID)
        return (done && !high && g->landlord == SEAT_NONE) || wrong(why, "a void game with bids");
    if (g->n_bids && !done) return wrong(why, "play began before the bidding ended");
    return g->landlord == (bidder == SEAT_NONE ? 0 : bidder) || wrong(why, "the wrong landlord");
}

/* Plays the list of moves again, by counts alone. */
static bool validate_moves(const Game *g, const char **why) {
    const Ruleset *rules = ruleset_get(g->ruleset);
    Hand played[N_SEATS] = {0};
    Move to_beat = {0};
    int turn = g->landlord, passes = 0, bombs = 0, plays[N_SEATS] = {0}, leader = g->landlord;
    bool over = false;
    for (int i = 0; i < g->n_moves; i++) {
        Move m = move_classify(rules, g->moves[i]);
        if (over || m.type == MOVE_NONE) return wrong(why, "a move that is none");
        if (m.type == MOVE_PASS) {
            if (!to_beat.cards) return wrong(why, "the leader passed");
            if (++passes == 2) passes = 0, to_beat = (Move){0};
        } else {
            if (to_beat.cards && !move_beats(&m, &to_beat)) return wrong(why, "a move too low");
            played[turn] += m.cards;
            plays[turn]++;
            bombs += move_is_bomb(&m);
            passes = 0, to_beat = m, leader = turn;
            over = played[turn] == g->dealt[turn] + (turn == g->landlord ? g->bottom : 0);
        }
        if (!over) turn = (turn + 1) % N_SEATS;
    }
    for (int s = 0; s < N_SEATS; s++)
        if (played[s] != g->played[s] || plays[s] != g->n_plays[s])
            return wrong(why, "the moves do not add up");
    if (turn != g->turn || leader != g->leader) return wrong(why, "the wrong seat's turn");
    if (over != (g->phase == PHASE_OVER)) return wrong(why, "the wrong phase");
    if (passes != g->passes || bombs != g->bombs)
        return wrong(why, "passes or bombs are miscounted");
    return to_beat.cards == g->to_beat.cards || wrong(why, "the wrong play to beat");
}

bool game_validate(const Game *g, const char **why) {
    if (g->ruleset >= N_RULESETS) return wrong(why, "no such ruleset");
    if (g->phase > PHASE_VOID || g->turn >= N_SEATS || g->n_moves > GAME_MAX_MOVES)
        return wrong(why, "a field out of range");
    if (!validate_cards(g, why) || !validate_bids(g, why)) return false;
    if (g->phase == PHASE_PLAY || g->phase == PHASE_OVER) return validate_moves(g, why);
    return g->n_moves == 0 || wrong(why, "moves before the play");
}
