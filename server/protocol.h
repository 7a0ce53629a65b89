/* protocol.h - the one decoder of what a client sends (docs/protocol.md).
 *
 * Bytes in, a checked ClientMessage out: UTF-8 JSON, at most PROTOCOL_MAX_BYTES, nested at most
 * PROTOCOL_MAX_DEPTH, every known field of the right type and range. What is absent and optional
 * has the value told below. Knows nothing of rooms or games.                                */
#ifndef DIZHU_SERVER_PROTOCOL_H
#define DIZHU_SERVER_PROTOCOL_H
#include "engine/base/status.h"
#include "server/jsonout.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROTOCOL_VERSION "1.0"
enum {
    PROTOCOL_MAX_BYTES = 4096,
    PROTOCOL_MAX_DEPTH = 4,
    NAME_CHARS = 12, /* code points */
    NAME_BYTES = 4 * NAME_CHARS + 1,
    ROOM_CODE_CHARS = 8,
    TOKEN_CHARS = 32,
    GAME_ID_CHARS = 16,
    PLAY_CARDS_MAX = 20
};

/* X(enum suffix, "t") */
#define COMMAND_LIST(X)                                                                            \
    X(HELLO, "hello")                                                                              \
    X(PING, "ping")                                                                                \
    X(RENAME, "rename")                                                                            \
    X(LOBBY, "lobby")                                                                              \
    X(QUICK, "quick")                                                                              \
    X(ROOM_NEW, "room_new")                                                                        \
    X(ROOM_JOIN, "room_join")                                                                      \
    X(WATCH, "watch")                                                                              \
    X(ROOM_LEAVE, "room_leave")                                                                    \
    X(ROOM_SET, "room_set")                                                                        \
    X(SIT, "sit")                                                                                  \
    X(BOT, "bot")                                                                                  \
    X(REMOVE, "remove")                                                                            \
    X(SWAP, "swap")                                                                                \
    X(READY, "ready")                                                                              \
    X(START, "start")                                                                              \
    X(BID, "bid")                                                                                  \
    X(PLAY, "play")                                                                                \
    X(HOST, "host")                                                                                \
    X(OPEN, "open")                                                                                \
    X(UNDO, "undo")                                                                                \
    X(ADVISE, "advise")                                                                            \
    X(PHRASE, "phrase")                                                                            \
    X(REMATCH, "rematch")                                                                          \
    X(RESUME_AT, "resume_at")                                                                      \
    X(REVIEW, "review")

typedef enum {
#define X(name, text) CMD_##name,
    COMMAND_LIST(X)
#undef X
        N_COMMANDS
} CommandKind;

typedef enum { STRENGTH_EASY, STRENGTH_MID, STRENGTH_BEST, N_STRENGTHS } Strength;
typedef enum { WISH_BID, WISH_LANDLORD, WISH_FARMER } RoleWish;
typedef enum { ALLPASS_REDEAL, ALLPASS_FIRST } AllPass;
typedef enum { LANG_ZH, LANG_EN } Lang;

/* Integers that are absent are -1, texts that are absent are "". */
typedef struct {
    uint8_t kind; /* CommandKind */
    int64_t id;   /* -1: hello and ping have none */
    int64_t c, seq, ply;
    int32_t rules; /* RulesetId of classic or douzero */
    int32_t strength, role, time, help, allpass, private_, think, lang;
    int32_t seat, a, b, on, yes, points, n, from;
    int32_t n_cards;
    uint8_t cards[PLAY_CARDS_MAX];
    char ver[8], token[TOKEN_CHARS + 1], room[ROOM_CODE_CHARS + 1], game[GAME_ID_CHARS + 1];
    char name[NAME_BYTES];
} ClientMessage;

/* ST_INVALID: *why is a static text for the log, *code one of the protocol's error codes, and
 * out->id the id if one could be read (else -1). out is otherwise set only on ST_OK.         */
Status protocol_decode(const char *text, size_t n, ClientMessage *out, const char **code,
                       const char **why);

/* Names as the protocol spells them. */
const char *command_name(CommandKind k);
const char *strength_name(Strength s);
const char *rules_name(int ruleset);
const char *allpass_name(AllPass a);

/* A name is 1..NAME_CHARS code points of valid UTF-8 without control, format or separator
 * characters, trimmed of spaces; writes it to out. False: it is not.                        */
bool name_clean(const char *s, size_t n, char out[NAME_BYTES]);
/* A room code in any case, with or without its dash. False: it is none. */
bool room_code_clean(const char *s, char out[ROOM_CODE_CHARS + 1]);

#endif
