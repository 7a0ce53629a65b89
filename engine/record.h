/* record.h - a game in about 100 bytes.
 *
 * The message from actor to learner, the row in a database, the replay in the browser and the
 * arena's log. Self-delimiting; the byte layout is in docs/record.md. A record is believed only
 * after record_replay has played it through the engine. Freestanding, no allocation.        */
#ifndef DIZHU_ENGINE_RECORD_H
#define DIZHU_ENGINE_RECORD_H
#include "engine/game.h"
#include <stddef.h>

enum { RECORD_VERSION = 1, RECORD_MAX_BYTES = 512 };

typedef struct {
    uint8_t ruleset; /* RulesetId */
    uint8_t first_bidder;
    uint8_t n_bids;
    uint8_t bids[GAME_MAX_BIDS];
    uint16_t n_moves;
    uint64_t game;             /* index of the game in its run: with the seed, its deal */
    uint32_t version[N_SEATS]; /* weights version each seat played with; 0: no net */
    Deal deal;
    uint16_t moves[GAME_MAX_MOVES];             /* move ids */
    uint8_t explored[(GAME_MAX_MOVES + 7) / 8]; /* bit i: move i was an exploratory one */
    int8_t result; /* +(doublings+1) landlord won, -(doublings+1) lost, 0 void */
} Record;

/* Fills the record's moves, bids, result from a finished (or void) game; the caller sets game,
 * version, deal and explored.                                                               */
void record_from_game(Record *r, const Game *g);
/* Bytes written to out. */
size_t record_write(const Record *r, uint8_t out[RECORD_MAX_BYTES]);
/* Reads one record; *used becomes its length. ST_TRUNCATED, ST_VERSION or ST_CORRUPT otherwise. */
Status record_read(const uint8_t *p, size_t n, Record *out, size_t *used);

/* Plays the record through the engine. visit, if given, sees the game before every move (and the
 * index of the move); it may be NULL. ST_ILLEGAL: *why says what and *at at which move.      */
typedef void (*RecordVisit)(void *ctx, const Game *g, int index, Hand move);
Status record_replay(const Record *r, Game *end, RecordVisit visit, void *ctx, const char **why,
                     int *at);

#endif
