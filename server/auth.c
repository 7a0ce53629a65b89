#include "server/auth.h"
#include <sodium.h>
#include <string.h>

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
enum { BASE = 62, GAME_DIGITS = 11, LEAST_USER = 256 };

Status auth_init(void) { return sodium_init() < 0 ? ST_UNSUPPORTED : ST_OK; }

void auth_token_new(char token[TOKEN_CHARS + 1], TokenKey *key) {
    uint8_t secret[TOKEN_CHARS / 4 * 3];
    do {
        randombytes_buf(secret, sizeof secret);
        sodium_bin2base64(token, TOKEN_CHARS + 1, secret, sizeof secret,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    } while (!auth_token_key(token, key));
    sodium_memzero(secret, sizeof secret);
}

bool auth_token_key(const char *token, TokenKey *key) {
    uint8_t user[AUTH_USER_CHARS / 4 * 3];
    size_t n = 0;
    if (strlen(token) != TOKEN_CHARS) return false;
    if (sodium_base642bin(user, sizeof user, token, AUTH_USER_CHARS, NULL, &n, NULL,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
        n != sizeof user)
        return false;
    key->user = 0;
    for (size_t i = 0; i < n; i++) key->user = key->user << 8 | user[i];
    crypto_generichash(key->hash, AUTH_HASH_BYTES, (const uint8_t *)token + AUTH_USER_CHARS,
                       TOKEN_CHARS - AUTH_USER_CHARS, NULL, 0);
    return key->user >= LEAST_USER;
}

bool auth_hash_equal(const uint8_t a[AUTH_HASH_BYTES], const uint8_t b[AUTH_HASH_BYTES]) {
    return sodium_memcmp(a, b, AUTH_HASH_BYTES) == 0;
}

void auth_room_code(char code[ROOM_CODE_CHARS + 1]) {
    static const char letters[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    for (int i = 0; i < ROOM_CODE_CHARS; i++) code[i] = letters[randombytes_uniform(32)];
    code[ROOM_CODE_CHARS] = '\0';
}

uint64_t auth_game_number(void) {
    uint64_t number = 0;
    while (number == 0) {
        randombytes_buf(&number, sizeof number);
        number >>= 4;
    }
    return number;
}

void auth_game_text(uint64_t number, char out[GAME_ID_CHARS + 1]) {
    for (int i = GAME_DIGITS - 1; i >= 0; i--, number /= BASE) out[i] = digits[number % BASE];
    out[GAME_DIGITS] = '\0';
}

uint64_t auth_game_parse(const char *text) {
    uint64_t number = 0;
    if (strlen(text) != GAME_DIGITS) return 0;
    for (int i = 0; i < GAME_DIGITS; i++) {
        const char *at = strchr(digits, text[i]);
        if (!at) return 0;
        number = number * BASE + (uint64_t)(at - digits);
    }
    return number < 1ull << 60 ? number : 0;
}

void auth_deal(Deal *out) {
    uint8_t card[N_CARDS];
    for (int i = 0; i < N_CARDS; i++) card[i] = (uint8_t)i;
    for (uint32_t i = N_CARDS - 1; i > 0; i--) {
        uint32_t j = randombytes_uniform(i + 1);
        uint8_t c = card[i];
        card[i] = card[j];
        card[j] = c;
    }
    for (int i = 0; i < N_CARDS; i++)
        out->owner[card[i]] = (uint8_t)(i < 51 ? i / 17 : DEAL_BOTTOM);
}

uint32_t auth_below(uint32_t n) { return randombytes_uniform(n); }
