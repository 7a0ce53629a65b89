/* auth.h - guest tokens and other unguessable names.
 *
 * A token is 32 letters of [0-9A-Za-z_-]: 8 say who (the user's number, 48 random bits), 24 (144
 * bits) prove it. The database keeps the BLAKE2b hash of the proof alone; comparing takes the same
 * time whatever differs. Uses libsodium; auth_init once per process. */
#ifndef DIZHU_SERVER_AUTH_H
#define DIZHU_SERVER_AUTH_H
#include "engine/base/status.h"
#include "engine/game.h"
#include "server/protocol.h"

enum { AUTH_USER_CHARS = 8, AUTH_HASH_BYTES = 32 };

typedef struct {
    uint64_t user; /* 256 .. 2^48-1: small numbers are bots */
    uint8_t hash[AUTH_HASH_BYTES];
} TokenKey;

Status auth_init(void); /* ST_UNSUPPORTED: no source of randomness */
void auth_token_new(char token[TOKEN_CHARS + 1], TokenKey *key);
/* What the database knows of a token; false: it has not the form of one. */
bool auth_token_key(const char *token, TokenKey *key);
bool auth_hash_equal(const uint8_t a[AUTH_HASH_BYTES], const uint8_t b[AUTH_HASH_BYTES]);

void auth_room_code(char code[ROOM_CODE_CHARS + 1]);
/* A new game's number, 1..2^60-1, and its text: 11 letters of [0-9A-Za-z], and back (0: none). */
uint64_t auth_game_number(void);
void auth_game_text(uint64_t number, char out[GAME_ID_CHARS + 1]);
uint64_t auth_game_parse(const char *text);

/* A deal that nobody can foresee; a random seat. */
void auth_deal(Deal *out);
uint32_t auth_below(uint32_t n);

#endif
