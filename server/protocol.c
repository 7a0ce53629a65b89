/* protocol.c - a table of the fields of each message, and one loop that checks them. */
#include "server/protocol.h"
#include "engine/cards.h"
#include "engine/ruleset.h"
#include <jansson.h>
#include <limits.h>
#include <string.h>

typedef enum {
    F_INT,    /* int32_t, range */
    F_INT64,  /* int64_t, range */
    F_BOOL,   /* int32_t 0 or 1 */
    F_CHOICE, /* int32_t index into choices */
    F_TIME,   /* int32_t seconds */
    F_CARDS,  /* cards and n_cards */
    F_TEXT,   /* char[max + 1] of at most max letters of the base64url alphabet and '.' */
    F_NAME,
    F_ROOM
} FieldKind;

typedef struct {
    const char *name;
    FieldKind kind;
    bool optional;
    size_t at;
    int64_t min, max;
    const char *choices; /* "a|b|c" */
} Field;

#define AT(f) offsetof(ClientMessage, f)
#define RULES                                                                                      \
    { "rules", F_CHOICE, false, AT(rules), 0, 0, "douzero|rlcard|botzone|botzone1|classic" }
#define STRENGTH                                                                                   \
    { "strength", F_CHOICE, false, AT(strength), 0, 0, "easy|mid|best" }
#define SEAT(f)                                                                                    \
    { #f, F_INT, false, AT(f), 0, 2, NULL }
#define PLY                                                                                        \
    { "ply", F_INT64, false, AT(ply), 0, 1000, NULL }
#define FLAG(text, f)                                                                              \
    { text, F_BOOL, false, AT(f), 0, 1, NULL }
#define ROOM                                                                                       \
    { "room", F_ROOM, false, AT(room), 0, 0, NULL }
#define GAME                                                                                       \
    { "game", F_TEXT, false, AT(game), 1, GAME_ID_CHARS, NULL }
#define TIME                                                                                       \
    { "time", F_TIME, false, AT(time), 0, 0, NULL }
#define ALLPASS                                                                                    \
    { "allpass", F_CHOICE, false, AT(allpass), 0, 0, "redeal|first" }
#define THINK                                                                                      \
    { "think", F_INT, true, AT(think), 0, 5000, NULL }
#define OPTIONAL(text, k, f, lo, hi, c)                                                            \
    { text, k, true, AT(f), lo, hi, c }
#define END                                                                                        \
    { NULL, F_INT, false, 0, 0, 0, NULL }

static const Field fields[N_COMMANDS][10] = {
    [CMD_HELLO] = {{"ver", F_TEXT, false, AT(ver), 1, 7, NULL},
                   OPTIONAL("lang", F_CHOICE, lang, 0, 0, "zh|en"),
                   OPTIONAL("token", F_TEXT, token, 1, TOKEN_CHARS, NULL),
                   OPTIONAL("room", F_ROOM, room, 0, 0, NULL),
                   OPTIONAL("seq", F_INT64, seq, 0, INT_MAX, NULL),
                   END},
    [CMD_PING] = {{"c", F_INT64, false, AT(c), -(1ll << 53), 1ll << 53, NULL}, END},
    [CMD_RENAME] = {{"name", F_NAME, false, AT(name), 0, 0, NULL}, END},
    [CMD_LOBBY] = {FLAG("on", on), END},
    [CMD_QUICK] = {STRENGTH,
                   {"role", F_CHOICE, false, AT(role), 0, 0, "bid|landlord|farmer"},
                   TIME,
                   RULES,
                   FLAG("help", help),
                   THINK,
                   END},
    [CMD_ROOM_NEW] = {OPTIONAL("name", F_NAME, name, 0, 0, NULL), RULES, TIME, FLAG("help", help),
                      ALLPASS, FLAG("private", private_), THINK, END},
    [CMD_ROOM_JOIN] = {ROOM, END},
    [CMD_WATCH] = {OPTIONAL("room", F_ROOM, room, 0, 0, NULL), END},
    [CMD_ROOM_LEAVE] = {END},
    [CMD_ROOM_SET] = {OPTIONAL("rules", F_CHOICE, rules, 0, 0,
                               "douzero|rlcard|botzone|botzone1|classic"),
                      OPTIONAL("time", F_TIME, time, 0, 0, NULL),
                      OPTIONAL("help", F_BOOL, help, 0, 1, NULL),
                      OPTIONAL("allpass", F_CHOICE, allpass, 0, 0, "redeal|first"),
                      OPTIONAL("private", F_BOOL, private_, 0, 1, NULL), THINK, END},
    [CMD_SIT] = {SEAT(seat), END},
    [CMD_BOT] = {SEAT(seat), STRENGTH, END},
    [CMD_REMOVE] = {SEAT(seat), END},
    [CMD_SWAP] = {SEAT(a), SEAT(b), END},
    [CMD_READY] = {FLAG("on", on), END},
    [CMD_START] = {END},
    [CMD_BID] = {PLY, {"points", F_INT, false, AT(points), 0, 3, NULL}, END},
    [CMD_PLAY] = {PLY, {"cards", F_CARDS, false, AT(cards), 0, 0, NULL}, END},
    [CMD_HOST] = {FLAG("on", on), END},
    [CMD_OPEN] = {FLAG("on", on), END},
    [CMD_UNDO] = {PLY, END},
    [CMD_ADVISE] = {PLY, END},
    [CMD_PHRASE] = {{"n", F_INT, false, AT(n), 1, 8, NULL}, END},
    [CMD_REMATCH] = {FLAG("yes", yes), END},
    [CMD_RESUME_AT] = {GAME, PLY, SEAT(seat), STRENGTH, END},
    [CMD_REVIEW] = {GAME, OPTIONAL("from", F_INT, from, 0, 1000, NULL), END},
};

static const char *const command_names[N_COMMANDS] = {
#define X(name, text) text,
    COMMAND_LIST(X)
#undef X
};

const char *command_name(CommandKind k) { return command_names[k]; }

const char *strength_name(Strength s) {
    static const char *const names[N_STRENGTHS] = {"easy", "mid", "best"};
    return names[s];
}

const char *rules_name(int ruleset) { return ruleset_get((RulesetId)ruleset)->name; }

const char *allpass_name(AllPass a) { return a == ALLPASS_FIRST ? "first" : "redeal"; }

/* Brackets outside strings: the parser recurses, so deep nesting is refused before it runs. */
static int depth_of(const char *s, size_t n) {
    int depth = 0, most = 0;
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        if (in_string) {
            if (s[i] == '\\') i++;
            else if (s[i] == '"') in_string = false;
        } else if (s[i] == '"') in_string = true;
        else if (s[i] == '{' || s[i] == '[') most = ++depth > most ? depth : most;
        else if (s[i] == '}' || s[i] == ']') depth--;
    }
    return most;
}

/* The code point at *s, which moves on; -1: not UTF-8 (overlong forms and surrogates included). */
static int32_t next_char(const unsigned char **s, const unsigned char *end) {
    const unsigned char *p = *s;
    int more = *p < 0x80 ? 0 : *p >= 0xc2 && *p < 0xe0 ? 1 : (*p & 0xf0) == 0xe0 ? 2 : 3;
    if (more == 3 && (*p < 0xf0 || *p > 0xf4)) return -1;
    int32_t c = more == 0 ? *p : *p & (0x3f >> more);
    if (end - p <= more) return -1;
    for (int i = 1; i <= more; i++) {
        if ((p[i] & 0xc0) != 0x80) return -1;
        c = c << 6 | (p[i] & 0x3f);
    }
    if ((more == 2 && c < 0x800) || (more == 3 && (c < 0x10000 || c > 0x10ffff))) return -1;
    if (c >= 0xd800 && c <= 0xdfff) return -1;
    *s = p + more + 1;
    return c;
}

/* Characters that would let one name pass for another or break a line. */
static bool name_forbids(int32_t c) {
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c || c == 0x180e ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff0 && c <= 0xffff) ||
           (c >= 0xe000 && c <= 0xf8ff) || c >= 0xe0000;
}

bool name_clean(const char *s, size_t n, char out[NAME_BYTES]) {
    while (n > 0 && s[0] == ' ') s++, n--;
    while (n > 0 && s[n - 1] == ' ') n--;
    const unsigned char *p = (const unsigned char *)s, *end = p + n;
    int chars = 0;
    while (p < end) {
        int32_t c = next_char(&p, end);
        if (c < 0 || name_forbids(c) || ++chars > NAME_CHARS) return false;
    }
    if (chars == 0) return false;
    memcpy(out, s, n);
    out[n] = '\0';
    return true;
}

bool room_code_clean(const char *s, char out[ROOM_CODE_CHARS + 1]) {
    static const char letters[] = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
    char code[ROOM_CODE_CHARS + 1];
    int n = 0;
    for (; *s; s++) {
        char c = *s >= 'a' && *s <= 'z' ? (char)(*s - 32) : *s;
        if (c == '-' && n == 4) continue;
        if (!strchr(letters, c) || n == ROOM_CODE_CHARS) return false;
        code[n++] = c;
    }
    if (n != ROOM_CODE_CHARS) return false;
    code[n] = '\0';
    memcpy(out, code, sizeof code);
    return true;
}

static bool text_ok(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '-' && c != '_' && c != '.') return false;
    }
    return true;
}

static int find_choice(const char *choices, const char *text) {
    size_t len = strlen(text);
    int index = 0;
    for (const char *p = choices;; p++, index++) {
        size_t n = strcspn(p, "|");
        if (n == len && memcmp(p, text, n) == 0) return index;
        p += n;
        if (*p == '\0') return -1;
    }
}

static bool read_cards(const json_t *v, ClientMessage *out) {
    size_t n = json_array_size(v);
    uint64_t seen = 0;
    if (!json_is_array(v) || n > PLAY_CARDS_MAX) return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *card = json_array_get(v, i);
        json_int_t c = json_integer_value(card);
        if (!json_is_integer(card) || c < 0 || c >= N_CARDS || seen >> c & 1) return false;
        seen |= 1ull << c;
        out->cards[i] = (uint8_t)c;
    }
    out->n_cards = (int32_t)n;
    return true;
}

static bool read_string(const Field *f, const json_t *v, void *to) {
    const char *s = json_string_value(v);
    size_t n = json_string_length(v);
    if (!s || strlen(s) != n) return false;
    switch (f->kind) {
    case F_CHOICE: {
        int index = find_choice(f->choices, s);
        if (index >= 0) memcpy(to, &(int32_t){index}, sizeof(int32_t));
        return index >= 0;
    }
    case F_NAME: return name_clean(s, n, to);
    case F_ROOM: return room_code_clean(s, to);
    default:
        if (n < (size_t)f->min || n > (size_t)f->max || !text_ok(s, n)) return false;
        memcpy(to, s, n + 1);
        return true;
    }
}

static bool read_number(const Field *f, const json_t *v, void *to) {
    int64_t x = json_is_boolean(v) ? json_is_true(v) : json_integer_value(v);
    if (f->kind == F_BOOL ? !json_is_boolean(v) : !json_is_integer(v)) return false;
    if (f->kind == F_TIME ? x != 0 && x != 10 && x != 20 && x != 40 : x < f->min || x > f->max)
        return false;
    if (f->kind == F_INT64) memcpy(to, &x, sizeof x);
    else memcpy(to, &(int32_t){(int32_t)x}, sizeof(int32_t));
    return true;
}

static bool read_field(const Field *f, const json_t *v, ClientMessage *out) {
    void *to = (char *)out + f->at;
    switch (f->kind) {
    case F_CARDS: return read_cards(v, out);
    case F_INT:
    case F_INT64:
    case F_BOOL:
    case F_TIME: return read_number(f, v, to);
    default: return read_string(f, v, to);
    }
}

static Status refuse(const char **code, const char **why, const char *c, const char *text) {
    *code = c;
    *why = text;
    return ST_INVALID;
}

static Status read_message(const json_t *root, ClientMessage *c, const char **code,
                           const char **why) {
    const json_t *t = json_object_get(root, "t"), *id = json_object_get(root, "id");
    const char *type = json_string_value(t);
    int kind = 0;
    if (json_is_integer(id) && json_integer_value(id) >= 0) c->id = json_integer_value(id);
    if (!type) return refuse(code, why, "bad_message", "no type");
    while (kind < N_COMMANDS && strcmp(command_names[kind], type) != 0) kind++;
    if (kind == N_COMMANDS) return refuse(code, why, "bad_message", "unknown type");
    c->kind = (uint8_t)kind;
    bool needs_id = kind != CMD_HELLO && kind != CMD_PING;
    if (needs_id && c->id < 1) return refuse(code, why, "bad_message", "no id");
    for (const Field *f = fields[kind]; f->name; f++) {
        const json_t *v = json_object_get(root, f->name);
        if (!v || json_is_null(v)) {
            if (!f->optional) return refuse(code, why, "bad_message", f->name);
        } else if (!read_field(f, v, c)) {
            return refuse(code, why, f->kind == F_NAME ? "name" : "bad_message", f->name);
        }
    }
    if (c->rules >= 0 && c->rules != RULES_CLASSIC && c->rules != RULES_DOUZERO)
        return refuse(code, why, "bad_message", "rules");
    return ST_OK;
}

Status protocol_decode(const char *text, size_t n, ClientMessage *out, const char **code,
                       const char **why) {
    ClientMessage c;
    memset(&c, 0, sizeof c);
    c.id = c.c = c.seq = c.ply = -1;
    c.rules = c.strength = c.role = c.time = c.help = c.allpass = c.private_ = c.think = -1;
    c.lang = c.seat = c.a = c.b = c.on = c.yes = c.points = c.n = c.from = c.n_cards = -1;
    out->id = -1;
    if (n > PROTOCOL_MAX_BYTES) return refuse(code, why, "bad_message", "too long");
    if (depth_of(text, n) > PROTOCOL_MAX_DEPTH) return refuse(code, why, "bad_message", "too deep");
    json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    if (!root) return refuse(code, why, "bad_message", "not JSON");
    Status st = json_is_object(root) ? read_message(root, &c, code, why)
                                     : refuse(code, why, "bad_message", "not an object");
    json_decref(root);
    if (st == ST_OK) *out = c;
    else out->id = c.id;
    return st;
}
