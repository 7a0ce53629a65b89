/* record.c - a game as bytes and back. docs/record.md has the layout. */
#include "engine/record.h"

enum {
    HEAD = 0xd0 | RECORD_VERSION,
    DEAL_BYTES = (N_CARDS + 3) / 4,
    FLAG_ONE_VERSION = 1 << 5, /* one weights version stands for all three seats */
    FLAG_EXPLORED = 1 << 6     /* a bit per move follows the deal */
};

void record_from_game(Record *r, const Game *g) {
    r->ruleset = g->ruleset;
    r->first_bidder = g->first_bidder;
    r->n_bids = g->n_bids;
    __builtin_memcpy(r->bids, g->bids, sizeof r->bids);
    r->n_moves = g->n_moves;
    for (int i = 0; i < g->n_moves; i++) r->moves[i] = move_id(g->moves[i]);
    int size = g->phase == PHASE_OVER ? game_doublings(g) + 1 : 0;
    r->result = (int8_t)(game_landlord_won(g) ? size : -size);
}

/* Seven bits a byte, low ones first; the top bit says that more follow. */
static uint8_t *put_varint(uint8_t *p, uint64_t v) {
    for (; v >= 128; v >>= 7) *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}

static bool same_versions(const Record *r) {
    return r->version[0] == r->version[1] && r->version[0] == r->version[2];
}

static int explored_bytes(const Record *r) { return (r->n_moves + 7) / 8; }

static bool any_explored(const Record *r) {
    for (int i = 0; i < explored_bytes(r); i++)
        if (r->explored[i]) return true;
    return false;
}

static uint8_t *put_deal(uint8_t *p, const Deal *d) {
    __builtin_memset(p, 0, DEAL_BYTES);
    for (int c = 0; c < N_CARDS; c++) p[c / 4] = (uint8_t)(p[c / 4] | d->owner[c] << c % 4 * 2);
    return p + DEAL_BYTES;
}

size_t record_write(const Record *r, uint8_t out[RECORD_MAX_BYTES]) {
    bool one = same_versions(r), explored = any_explored(r);
    uint8_t *p = out;
    *p++ = HEAD;
    *p++ = (uint8_t)(r->ruleset | r->first_bidder << 3 | (one ? FLAG_ONE_VERSION : 0) |
                     (explored ? FLAG_EXPLORED : 0));
    *p++ = (uint8_t)(r->n_bids | r->bids[0] << 2 | r->bids[1] << 4 | r->bids[2] << 6);
    *p++ = (uint8_t)r->n_moves;
    *p++ = (uint8_t)r->result;
    p = put_varint(p, r->game);
    for (int s = 0; s < (one ? 1 : N_SEATS); s++) p = put_varint(p, r->version[s]);
    p = put_deal(p, &r->deal);
    if (explored) {
        __builtin_memcpy(p, r->explored, (size_t)explored_bytes(r));
        p += explored_bytes(r);
    }
    for (int i = 0; i < r->n_moves; i++) {
        if (r->moves[i] == MOVE_ID_PASS) *p++ = 0;
        else { /* id + 255, high byte first: the first byte is never 0 */
            unsigned code = r->moves[i] + 255u;
            *p++ = (uint8_t)(code >> 8);
            *p++ = (uint8_t)code;
        }
    }
    return (size_t)(p - out);
}

/* What is left to read. The first failure sticks; reads after it give 0. */
typedef struct {
    const uint8_t *p, *end;
    Status st;
} Input;

static unsigned get_byte(Input *in) {
    if (in->st == ST_OK && in->p == in->end) in->st = ST_TRUNCATED;
    return in->st == ST_OK ? *in->p++ : 0;
}

static void require(Input *in, bool ok) {
    if (in->st == ST_OK && !ok) in->st = ST_CORRUPT;
}

/* Only the shortest form of a number below 2^bits is taken: a record has one spelling. */
static uint64_t get_varint(Input *in, int n_bits) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        unsigned b = get_byte(in);
        require(in, shift < n_bits && (n_bits - shift >= 7 || (b & 127) >> (n_bits - shift) == 0));
        if (in->st != ST_OK) return 0;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            require(in, b != 0 || shift == 0);
            return v;
        }
    }
}

static void get_head(Input *in, Record *r, unsigned *flags) {
    unsigned head = get_byte(in);
    require(in, (head & 0xf0) == (HEAD & 0xf0));
    if (in->st == ST_OK && head != HEAD) in->st = ST_VERSION;
    *flags = get_byte(in);
    unsigned bids = get_byte(in);
    r->ruleset = *flags & 7;
    r->first_bidder = *flags >> 3 & 3;
    r->n_bids = bids & 3;
    for (int i = 0; i < GAME_MAX_BIDS; i++) {
        r->bids[i] = bids >> (2 + 2 * i) & 3;
        require(in, i < r->n_bids || r->bids[i] == 0);
    }
    r->n_moves = (uint16_t)get_byte(in);
    r->result = (int8_t)get_byte(in);
    require(in, r->ruleset < N_RULESETS && r->first_bidder < N_SEATS && *flags < 128 &&
                    r->n_moves <= GAME_MAX_MOVES);
    require(in, in->st != ST_OK || ruleset_get(r->ruleset)->bidding || r->first_bidder == 0);
}

static void get_deal(Input *in, Record *r) {
    uint8_t bytes[DEAL_BYTES];
    for (int i = 0; i < DEAL_BYTES; i++) bytes[i] = (uint8_t)get_byte(in);
    for (int c = 0; c < N_CARDS; c++) r->deal.owner[c] = bytes[c / 4] >> c % 4 * 2 & 3;
    require(in, bytes[DEAL_BYTES - 1] >> 4 == 0 && deal_check(&r->deal) == ST_OK);
}

static void get_explored(Input *in, Record *r) {
    for (int i = 0; i < explored_bytes(r); i++) r->explored[i] = (uint8_t)get_byte(in);
    int spare = 8 * explored_bytes(r) - r->n_moves;
    require(in, any_explored(r) &&
                    (spare == 0 || r->explored[explored_bytes(r) - 1] >> (8 - spare) == 0));
}

static void get_moves(Input *in, Record *r) {
    for (int i = 0; i < r->n_moves && in->st == ST_OK; i++) {
        unsigned high = get_byte(in);
        unsigned code = high ? high << 8 | get_byte(in) : 255;
        require(in, code < 255 + N_MOVE_IDS);
        r->moves[i] = (uint16_t)(code - 255);
    }
}

Status record_read(const uint8_t *p, size_t n, Record *out, size_t *used) {
    Input in = {p, p + n, ST_OK};
    Record r;
    unsigned flags;
    __builtin_memset(&r, 0, sizeof r);
    get_head(&in, &r, &flags);
    if (in.st != ST_OK) return in.st; /* the number of moves bounds what follows */
    r.game = get_varint(&in, 64);
    r.version[0] = (uint32_t)get_varint(&in, 32);
    for (int s = 1; s < N_SEATS; s++)
        r.version[s] = flags & FLAG_ONE_VERSION ? r.version[0] : (uint32_t)get_varint(&in, 32);
    require(&in, same_versions(&r) == ((flags & FLAG_ONE_VERSION) != 0));
    get_deal(&in, &r);
    if (flags & FLAG_EXPLORED) get_explored(&in, &r);
    get_moves(&in, &r);
    if (in.st != ST_OK) return in.st;
    *out = r;
    *used = (size_t)(in.p - p);
    return ST_OK;
}

static Status stop(const char **why, int *at, int index, const char *text) {
    if (why && text) *why = text;
    if (at) *at = index;
    return ST_ILLEGAL;
}

Status record_replay(const Record *r, Game *end, RecordVisit visit, void *ctx, const char **why,
                     int *at) {
    const char *text = NULL;
    Game g;
    if (r->ruleset >= N_RULESETS || r->first_bidder >= N_SEATS || r->n_bids > GAME_MAX_BIDS ||
        r->n_moves > GAME_MAX_MOVES || deal_check(&r->deal) != ST_OK)
        return stop(why, at, 0, "a field out of range");
    game_init(&g, r->ruleset, &r->deal, r->first_bidder);
    for (int i = 0; i < r->n_bids; i++)
        if (game_bid(&g, r->bids[i], &text) != ST_OK) return stop(why, at, 0, text);
    for (int i = 0; i < r->n_moves; i++) {
        if (r->moves[i] >= N_MOVE_IDS) return stop(why, at, i, "an unknown move");
        Hand move = move_from_id(r->moves[i]);
        if (visit && g.phase == PHASE_PLAY) visit(ctx, &g, i, move);
        if (game_play(&g, move, &text) != ST_OK) return stop(why, at, i, text);
    }
    if (g.phase != PHASE_OVER && g.phase != PHASE_VOID)
        return stop(why, at, r->n_moves, "the game is not finished");
    int size = g.phase == PHASE_OVER ? game_doublings(&g) + 1 : 0;
    if (r->result != (game_landlord_won(&g) ? size : -size))
        return stop(why, at, r->n_moves, "the result is not that of the moves");
    *end = g;
    return ST_OK;
}
