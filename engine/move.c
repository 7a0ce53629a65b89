/* move.c - typing a play and comparing two.
 *
 * All questions are asked of bit masks with one bit a rank (bit 4r): which ranks occur at least
 * n times, which exactly three times, which start a run. Nothing is looked up.              */
#include "engine/move.h"

#define CHAIN_RANKS HAND_NIBBLES(RANK_3, 12) /* 3..A: what chains are made of */
#define ROCKET      (hand_of(RANK_B, 1) | hand_of(RANK_R, 1))

static const char *const type_names[N_MOVE_TYPES] = {
    "none",       "pass",    "single",          "pair",          "trio",
    "bomb",       "rocket",  "trio_single",     "trio_pair",     "straight",
    "pair_chain", "plane",   "plane_singles",   "plane_pairs",   "four_singles",
    "four_pairs", "shuttle", "shuttle_singles", "shuttle_pairs", "untyped",
};

const char *move_type_name(MoveType t) { return type_names[t]; }

static int bits(uint64_t m) { return __builtin_popcountll(m); }
static int lowest(uint64_t m) { return __builtin_ctzll(m) / 4; }
static int highest(uint64_t m) { return (63 - __builtin_clzll(m)) / 4; }

/* Are the ranks of m (not empty) 3..A and without a gap? */
static bool is_chain(uint64_t m) {
    uint64_t filled = (m >> __builtin_ctzll(m)) * 15;
    return (m & ~CHAIN_RANKS) == 0 && (filled & (filled + 1)) == 0;
}

/* What of each rank a play holds: at_least[n] has bit 4r set iff n or more cards of rank r. */
typedef struct {
    Hand cards;
    uint64_t one, two, three, four; /* at least that many */
    uint64_t trios;                 /* exactly three */
    int size;
} Shape;

static Move typed(const Shape *s, MoveType type, int rank, int length) {
    return (Move){.cards = s->cards,
                  .type = (uint8_t)type,
                  .rank = (uint8_t)rank,
                  .length = (uint8_t)length,
                  .size = (uint8_t)s->size};
}

static Move none(const Shape *s) { return (Move){.cards = s->cards, .size = (uint8_t)s->size}; }

static Move classify_singles(const Shape *s) {
    if (s->size == 1) return typed(s, MOVE_SINGLE, lowest(s->one), 1);
    if (s->size >= 5 && is_chain(s->one)) return typed(s, MOVE_STRAIGHT, lowest(s->one), s->size);
    if (s->cards == ROCKET) return typed(s, MOVE_ROCKET, RANK_B, 1);
    return none(s);
}

static Move classify_pairs(const Shape *s) {
    if (s->one != s->two) return none(s);
    if (s->size == 2) return typed(s, MOVE_PAIR, lowest(s->one), 1);
    if (s->size >= 6 && is_chain(s->one))
        return typed(s, MOVE_PAIR_CHAIN, lowest(s->one), s->size / 2);
    return none(s);
}

/* One quad and nothing else above a pair: bomb, 4+2, 4+2 pairs. */
static Move classify_four(const Ruleset *rules, const Shape *s) {
    int rank = lowest(s->four), ranks = bits(s->one);
    if (s->size == 4) return typed(s, MOVE_BOMB, rank, 1);
    if (s->size == 6) {
        bool pair = ranks == 2, rocket = (s->cards & ROCKET) == ROCKET;
        if ((pair && !rules->four_kicker_pair) || (rocket && !rules->four_kicker_rocket))
            return none(s);
        return typed(s, MOVE_FOUR_SINGLES, rank, 1);
    }
    if (s->size == 8 && ranks == 3 && s->one == s->two) return typed(s, MOVE_FOUR_PAIRS, rank, 1);
    return none(s);
}

/* Two or more quads in a row, with wings of equal kind, or without. */
static Move classify_shuttle(const Ruleset *rules, const Shape *s) {
    if (!is_chain(s->four) || s->trios) return none(s);
    int n = bits(s->four), rank = lowest(s->four);
    int wings = rules->shuttle_loose ? n : 2 * n;
    uint64_t single = s->one & ~s->two, pair = s->two & ~s->four;
    if (!single && !pair) return typed(s, MOVE_SHUTTLE, rank, n);
    if (!pair && bits(single) == wings) return typed(s, MOVE_SHUTTLE_SINGLES, rank, n);
    if (!single && bits(pair) == wings) return typed(s, MOVE_SHUTTLE_PAIRS, rank, n);
    return none(s);
}

/* Bit 4r set iff r starts a run of n ranks of m. */
static uint64_t runs(uint64_t m, int n) {
    uint64_t r = m & CHAIN_RANKS;
    for (int i = 1; i < n; i++) r &= (m & CHAIN_RANKS) >> 4 * i;
    return r;
}

/* May these kickers ride on a plane? `beside`: ranks that would lengthen it. */
static bool kickers_ok(const Ruleset *rules, const Shape *s, uint64_t chain, uint64_t beside) {
    uint64_t pairs = s->two & ~s->three, trios = s->trios & ~chain;
    return (rules->plane_kicker_pairs || !pairs) && (rules->plane_kicker_quads || !s->four) &&
           (rules->plane_kicker_trios || !(trios & ~beside)) &&
           (rules->plane_kicker_lengthens || !(trios & beside)) &&
           (rules->plane_kicker_rocket || (s->cards & ROCKET) != ROCKET);
}

/* n triples in a row and n other cards. Kickers never have the rank of a chained triple. */
static Move classify_plane_singles(const Ruleset *rules, const Shape *s) {
    int n = s->size / 4;
    uint64_t start = runs(s->trios, n);
    if (n < 2 || !start) return none(s);
    start &= -start;
    uint64_t chain = start * (HAND_ONES & HAND_NIBBLES(0, n));
    uint64_t beside = (chain << 4 | chain >> 4) & ~chain & CHAIN_RANKS;
    if (!kickers_ok(rules, s, chain, beside)) return none(s);
    if (!rules->detector_quirks) return typed(s, MOVE_PLANE_SINGLES, lowest(start), n);
    /* The research system's detector fails on quads, and on kicker triples beside 4 or 5. */
    bool known = !s->four && (n <= 3 || bits(s->trios) == n);
    return typed(s, known ? MOVE_PLANE_SINGLES : MOVE_UNTYPED, highest(s->trios), n);
}

static Move classify_planes(const Ruleset *rules, const Shape *s) {
    int trios = bits(s->trios);
    if (s->one == s->trios && is_chain(s->trios)) {
        Move m = typed(s, MOVE_PLANE, lowest(s->trios), trios);
        if (rules->detector_quirks && trios == 4) m.as_singles = (uint8_t)highest(s->trios);
        return m;
    }
    bool pairs = s->one == s->two && !s->four && s->size == 5 * trios;
    if (pairs && is_chain(s->trios)) return typed(s, MOVE_PLANE_PAIRS, lowest(s->trios), trios);
    if (s->size % 4 == 0) return classify_plane_singles(rules, s);
    return none(s);
}

static Move classify_one_trio(const Shape *s) {
    int rank = lowest(s->three), ranks = bits(s->one);
    if (s->size == 3) return typed(s, MOVE_TRIO, rank, 1);
    if (s->size == 4) return typed(s, MOVE_TRIO_SINGLE, rank, 1);
    if (s->size == 5 && ranks == 2) return typed(s, MOVE_TRIO_PAIR, rank, 1);
    return none(s);
}

Move move_classify(const Ruleset *rules, Hand cards) {
    Shape s = {.cards = cards, .size = hand_size(cards)};
    if (cards == 0) return typed(&s, MOVE_PASS, 0, 0);
    if (!hand_valid(cards) || s.size > 20) return none(&s);
    s.one = hand_at_least(cards, 1);
    s.two = hand_at_least(cards, 2);
    if (!s.two) return classify_singles(&s);
    s.three = hand_at_least(cards, 3);
    if (!s.three) return classify_pairs(&s);
    s.four = hand_at_least(cards, 4);
    s.trios = s.three & ~s.four;
    if (bits(s.trios) >= 2) return classify_planes(rules, &s);
    if (!s.four) return classify_one_trio(&s);
    if (s.trios) return none(&s);
    if (bits(s.four) == 1) return classify_four(rules, &s);
    return rules->shuttles ? classify_shuttle(rules, &s) : none(&s);
}

Move move_classify_last(const Ruleset *rules, Hand cards) {
    Move m = move_classify(rules, cards);
    if (m.type != MOVE_NONE || !rules->detector_quirks || move_id(cards) == MOVE_ID_NONE) return m;
    uint64_t four = hand_at_least(cards, 4);
    bool two_quads = m.size == 8 && bits(four) == 2;
    m.type = two_quads ? MOVE_FOUR_PAIRS : MOVE_UNTYPED;
    m.length = 1;
    m.rank = (uint8_t)(two_quads ? highest(four) : 0);
    return m;
}

bool move_beats(const Move *m, const Move *last) {
    if (m->type == MOVE_ROCKET) return last->type != MOVE_ROCKET;
    if (m->type == last->type)
        return m->rank > last->rank && m->length == last->length && m->type != MOVE_UNTYPED;
    if (m->type == MOVE_BOMB) return last->type != MOVE_ROCKET;
    /* Only under detector_quirks: untyped plays and bare planes of four are generated as planes
     * with singles, and answer them by their highest triple. */
    if (last->type != MOVE_PLANE_SINGLES || m->size != last->size) return false;
    return m->type == MOVE_UNTYPED ? m->rank > last->rank : m->as_singles > last->rank;
}
