/* wasm.c - what a browser calls: engine.wasm is this file and the freestanding rules.
 *
 * Hands are i64 as in cards.h (BigInt in JavaScript); rulesets, phases and types are the numbers of
 * their enums. Bytes and lists pass through buffers of the module's memory.                 */
#include "engine/movegen.h"
#include "engine/record.h"

#define EXPORT(name) __attribute__((export_name(#name), visibility("default"))) name

enum { MAX_HAND = 20 };

static Hand moves[MOVEGEN_MAX];
static uint8_t bytes[RECORD_MAX_BYTES];
static Record record;
static Game game;

Hand *EXPORT(dz_moves_buffer)(void);
int EXPORT(dz_moves)(int rules, Hand hand, Hand beat);
uint32_t EXPORT(dz_classify)(int rules, Hand cards);
uint8_t *EXPORT(dz_record_buffer)(void);
int EXPORT(dz_record_open)(int n);
int EXPORT(dz_record_moves)(void);
Hand EXPORT(dz_record_move)(int index);
int EXPORT(dz_record_explored)(int index);
int EXPORT(dz_record_card)(int card);
int EXPORT(dz_record_goto)(int index);
Hand EXPORT(dz_game_hand)(int seat);
Hand EXPORT(dz_game_bottom)(void);
int EXPORT(dz_game_phase)(void);
int EXPORT(dz_game_turn)(void);
int EXPORT(dz_game_landlord)(void);
int EXPORT(dz_game_bid)(void);
int EXPORT(dz_game_doublings)(void);
double EXPORT(dz_game_score)(int seat);
int EXPORT(dz_game_legal)(void);

static bool rules_known(int rules) { return rules >= 0 && rules < N_RULESETS; }
static bool hand_small(Hand h) { return hand_valid(h) && hand_size(h) <= MAX_HAND; }

/* Where dz_moves and dz_game_legal leave their lists. */
Hand *dz_moves_buffer(void) { return moves; }

/* The plays of a hand that may be led (beat 0) or beat a play, pass excluded: their number, -1 if
 * the arguments are no ruleset, hand of at most 20 cards and play.                          */
int dz_moves(int rules, Hand hand, Hand beat) {
    if (!rules_known(rules) || !hand_small(hand)) return -1;
    const Ruleset *row = ruleset_get((RulesetId)rules);
    Move last = move_classify(row, beat);
    if (last.type == MOVE_NONE) return -1;
    return beat ? movegen_answers(row, hand, &last, moves) : movegen_leads(row, hand, moves);
}

/* type | rank << 8 | length << 16 | size << 24; type 0: no play. */
uint32_t dz_classify(int rules, Hand cards) {
    if (!rules_known(rules)) return 0;
    Move m = move_classify(ruleset_get((RulesetId)rules), cards);
    return m.type | (uint32_t)m.rank << 8 | (uint32_t)m.length << 16 | (uint32_t)m.size << 24;
}

/* Room for a record of at most 512 bytes, read by dz_record_open. */
uint8_t *dz_record_buffer(void) { return bytes; }

/* Reads and replays the record of n bytes in the buffer; 0 if it is a whole, legal game. The game
 * is then at its first move. -1: no record, -2: an illegal game; what was open before stays.   */
int dz_record_open(int n) {
    Record r;
    Game end;
    size_t used;
    move_init();
    if (n < 0 || n > RECORD_MAX_BYTES || record_read(bytes, (size_t)n, &r, &used) != ST_OK)
        return -1;
    if (record_replay(&r, &end, NULL, NULL, NULL, NULL) != ST_OK) return -2;
    record = r;
    dz_record_goto(0);
    return 0;
}

int dz_record_moves(void) { return record.n_moves; }

static bool move_exists(int index) { return index >= 0 && index < record.n_moves; }

Hand dz_record_move(int index) {
    return move_exists(index) ? move_from_id(record.moves[index]) : 0;
}

int dz_record_explored(int index) {
    return move_exists(index) ? record.explored[index / 8] >> index % 8 & 1 : 0;
}

/* Who was dealt a card: seat 0..2, 3 the bottom; -1: no card. */
int dz_record_card(int card) { return card >= 0 && card < N_CARDS ? record.deal.owner[card] : -1; }

/* Puts the game to where move `index` is about to be played (the number of moves: the end). */
int dz_record_goto(int index) {
    if (index < 0 || index > record.n_moves) return -1;
    game_init(&game, record.ruleset, &record.deal, record.first_bidder);
    for (int i = 0; i < record.n_bids; i++) game_bid(&game, record.bids[i], NULL);
    for (int i = 0; i < index; i++) game_play(&game, move_from_id(record.moves[i]), NULL);
    return 0;
}

static bool seat_exists(int seat) { return seat >= 0 && seat < N_SEATS; }

Hand dz_game_hand(int seat) { return seat_exists(seat) ? game.hand[seat] : 0; }
Hand dz_game_bottom(void) { return game.bottom; }
int dz_game_phase(void) { return game.phase; }
int dz_game_turn(void) { return game.turn; }
int dz_game_landlord(void) { return game.landlord; }
int dz_game_bid(void) { return game.bid; }
int dz_game_doublings(void) { return game_doublings(&game); }

double dz_game_score(int seat) {
    double score[N_SEATS];
    game_scores(&game, score);
    return seat_exists(seat) ? score[seat] : 0;
}

/* Legal plays of the seat to act, pass (0) included: their number, 0 if nobody plays now. */
int dz_game_legal(void) { return game.phase == PHASE_PLAY ? game_legal(&game, moves) : 0; }
