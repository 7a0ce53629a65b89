/* movegen.c - all legal plays, straight from bit masks.
 *
 * A mask has bit 4r set for the ranks r in question, so a mask bit is one card of its rank, and
 * bit * 3 a triple: most plays are one multiplication of a mask bit by a pattern. Planes with
 * wings list multisets of kickers; each is built from its lowest chain only, so none comes twice.
 */
#include "engine/movegen.h"

#define CHAIN_RANKS HAND_NIBBLES(RANK_3, 12)
#define ROCKET      (hand_of(RANK_B, 1) | hand_of(RANK_R, 1))
#define PATTERN(n)  (HAND_ONES & HAND_NIBBLES(0, n)) /* one card of each of n ranks from 3 on */

enum { MAX_CARDS = 20, MIN_STRAIGHT = 5, MIN_PAIRS = 3, MIN_PLANE = 2 };

static inline uint64_t lowest(uint64_t m) { return m & -m; }

/* Bit 4r set for the ranks r above rank. */
static inline uint64_t above(int rank) { return ~0ull << 4 * rank << 4; }

/* pattern, shifted to every bit of mask. */
static inline Hand *each(Hand *out, uint64_t mask, uint64_t pattern) {
    for (; mask; mask &= mask - 1) *out++ = lowest(mask) * pattern;
    return out;
}

/* Chains of `width` equal cards a rank, from min to max ranks long, over the ranks of m. */
static inline Hand *chains(Hand *out, uint64_t m, int min, int max, uint64_t width) {
    uint64_t start = m &= CHAIN_RANKS;
    for (int n = 1; start && n <= max; start &= m >> 4 * n, n++)
        if (n >= min) out = each(out, start, width * PATTERN(n));
    return out;
}

/* Bit 4r set iff r starts a run of n ranks of m. */
static inline uint64_t runs(uint64_t m, int n) {
    uint64_t r = m &= CHAIN_RANKS;
    for (int i = 1; i < n; i++) r &= m >> 4 * i;
    return r;
}

/* base plus every set of n different ranks of m, `width` cards each. */
static Hand *sets(Hand *out, Hand base, uint64_t m, int n, uint64_t width) {
    if (n == 0) {
        *out++ = base;
        return out;
    }
    if (n == 1) {
        for (; m; m &= m - 1) *out++ = base + lowest(m) * width;
        return out;
    }
    for (; m; m &= m - 1) out = sets(out, base + lowest(m) * width, m & (m - 1), n - 1, width);
    return out;
}

/* base plus every multiset of n cards of hand. */
static Hand *multisets(Hand *out, Hand base, Hand hand, int n) {
    if (n == 0) {
        *out++ = base;
        return out;
    }
    if (n == 1) return sets(out, base, hand_at_least(hand, 1), 1, 1);
    while (hand) {
        int at = __builtin_ctzll(hand) & ~3;
        int count = (int)(hand >> at & 15);
        hand &= ~(15ull << at);
        for (int i = 1; i <= count && i <= n; i++)
            out = multisets(out, base + ((Hand)i << at), hand, n - i);
    }
    return out;
}

/* The same, but never with both jokers unless allowed. */
static Hand *kickers(Hand *out, Hand base, Hand hand, int n, bool rocket) {
    Hand red = hand_of(RANK_R, 1);
    if (rocket || n < 2 || (hand & ROCKET) != ROCKET) return multisets(out, base, hand, n);
    out = multisets(out, base, hand - red, n);
    return multisets(out, base + red, hand & ~ROCKET, n - 1);
}

/* hand with at most n cards of the ranks of m. */
static Hand at_most(Hand hand, uint64_t m, int n) {
    uint64_t over = hand_at_least(hand, n + 1) & m;
    return (hand & ~(over * 15)) | over * (uint64_t)n;
}

/* Planes of n with n kickers. as_answer: also those that are a bare plane of n + 1. */
static Hand *plane_singles_from(const Ruleset *rules, Hand *out, Hand hand, uint64_t start, int n,
                                bool as_answer) {
    uint64_t chain = start * PATTERN(n);
    Hand base = 3 * chain, rest = hand & ~(chain * 15);
    if (!rules->plane_kicker_pairs) rest = at_most(rest, HAND_ONES, 1);
    else if (!rules->plane_kicker_trios) rest = at_most(rest, HAND_ONES, 2);
    else if (!rules->plane_kicker_quads) rest = at_most(rest, HAND_ONES, 3);
    if (n < 3) return kickers(out, base, rest, n, rules->plane_kicker_rocket);

    /* A kicker triple beside the chain: below, the play is built from there; above, it must be
     * allowed, and of three makes a bare plane of four. Four equal kickers are no triple. */
    uint64_t beside = chain >> 4 & ~chain;
    if (!rules->plane_kicker_lengthens || (n == 3 && !as_answer)) beside |= chain << 4 & ~chain;
    beside &= CHAIN_RANKS;
    Hand capped = at_most(rest, beside, 2);
    out = kickers(out, base, capped, n, rules->plane_kicker_rocket);
    if (n < 4 || !rules->plane_kicker_quads) return out;
    for (uint64_t four = hand_at_least(rest, 4) & beside; four; four &= four - 1) {
        uint64_t f = lowest(four);
        out = kickers(out, base + 4 * f, capped & ~(15 * f), n - 4, rules->plane_kicker_rocket);
    }
    return out;
}

static Hand *plane_singles(const Ruleset *rules, Hand *out, Hand hand, uint64_t starts, int n,
                           bool as_answer) {
    for (; starts; starts &= starts - 1)
        out = plane_singles_from(rules, out, hand, lowest(starts), n, as_answer);
    return out;
}

/* Chains of n ranks, `width` cards each, starting at starts, with k different ranks of wing
 * (`wide` cards each) beside. */
static Hand *winged(Hand *out, uint64_t starts, int n, uint64_t width, uint64_t wings, int k,
                    uint64_t wide) {
    for (; starts; starts &= starts - 1) {
        uint64_t chain = lowest(starts) * PATTERN(n);
        out = sets(out, width * chain, wings & ~chain, k, wide);
    }
    return out;
}

static Hand *four_singles(const Ruleset *rules, Hand *out, Hand hand, uint64_t fours) {
    uint64_t two = hand_at_least(hand, 2);
    for (; fours; fours &= fours - 1) {
        uint64_t f = lowest(fours);
        Hand rest = hand_at_least(hand, 1) & ~f;
        out = kickers(out, 4 * f, rest, 2, rules->four_kicker_rocket);
        if (rules->four_kicker_pair) out = sets(out, 4 * f, two & ~f, 1, 2);
    }
    return out;
}

static Hand *rocket(Hand *out, Hand hand) {
    *out = ROCKET;
    return out + ((hand & ROCKET) == ROCKET);
}

static Hand *lead_planes(const Ruleset *rules, Hand *out, Hand hand, uint64_t three) {
    uint64_t two = hand_at_least(hand, 2), starts;
    out = chains(out, three, MIN_PLANE, MAX_CARDS / 3, 3);
    for (int n = MIN_PLANE; n <= MAX_CARDS / 4 && (starts = runs(three, n)); n++) {
        out = plane_singles(rules, out, hand, starts, n, false);
        if (n <= MAX_CARDS / 5) out = winged(out, starts, n, 3, two, n, 2);
    }
    return out;
}

/* Wing ranks of a shuttle of n; cards a shuttle with such wings has. */
static int wing_count(const Ruleset *rules, int n) { return rules->shuttle_loose ? n : 2 * n; }

static Hand *lead_shuttles(const Ruleset *rules, Hand *out, Hand hand, uint64_t four) {
    uint64_t one = hand_at_least(hand, 1), two = hand_at_least(hand, 2), starts;
    out = chains(out, four, MIN_PLANE, MAX_CARDS / 4, 4);
    for (int n = MIN_PLANE; (starts = runs(four, n)); n++) {
        int k = wing_count(rules, n);
        if (4 * n + k > MAX_CARDS) break;
        out = winged(out, starts, n, 4, one, k, 1);
        if (4 * n + 2 * k <= MAX_CARDS) out = winged(out, starts, n, 4, two, k, 2);
    }
    return out;
}

static Hand *lead_fours(const Ruleset *rules, Hand *out, Hand hand, uint64_t four) {
    out = each(out, four, 4);
    out = four_singles(rules, out, hand, four);
    out = winged(out, four, 1, 4, hand_at_least(hand, 2), 2, 2);
    return rules->shuttles ? lead_shuttles(rules, out, hand, four) : out;
}

int movegen_leads(const Ruleset *rules, Hand hand, Hand out[MOVEGEN_MAX]) {
    Hand *const begin = out;
    uint64_t one = hand_at_least(hand, 1), two = hand_at_least(hand, 2);
    uint64_t three = hand_at_least(hand, 3), four = hand_at_least(hand, 4);
    out = each(out, one, 1);
    out = rocket(out, hand);
    out = chains(out, one, MIN_STRAIGHT, 12, 1);
    out = each(out, two, 2);
    out = chains(out, two, MIN_PAIRS, MAX_CARDS / 2, 2);
    if (!three) return (int)(out - begin);
    out = each(out, three, 3);
    out = winged(out, three, 1, 3, one, 1, 1);
    out = winged(out, three, 1, 3, two, 1, 2);
    if (runs(three, MIN_PLANE)) out = lead_planes(rules, out, hand, three);
    if (four) out = lead_fours(rules, out, hand, four);
    return (int)(out - begin);
}

/* Under detector_quirks a plane with singles ranks by its highest triple: all planes of this
 * length are listed and those that beat last kept. */
static Hand *answer_plane_singles(const Ruleset *rules, Hand *out, Hand hand, const Move *last) {
    int n = last->length;
    uint64_t starts = runs(hand_at_least(hand, 3), n);
    if (!rules->detector_quirks)
        return plane_singles(rules, out, hand, starts & above(last->rank), n, true);
    Hand *end = plane_singles(rules, out, hand, starts, n, true), *kept = out;
    for (Hand *m = out; m < end; m++) {
        uint64_t trios = hand_at_least(*m, 3) & ~hand_at_least(*m, 4);
        if (trios & above(last->rank)) *kept++ = *m;
    }
    return kept;
}

static Hand *answer_same_type(const Ruleset *rules, Hand *out, Hand hand, const Move *last) {
    int n = last->length, k = wing_count(rules, n);
    uint64_t over = above(last->rank);
    uint64_t one = hand_at_least(hand, 1), two = hand_at_least(hand, 2);
    uint64_t three = hand_at_least(hand, 3), four = hand_at_least(hand, 4);
    switch ((MoveType)last->type) {
    case MOVE_SINGLE: return each(out, one & over, 1);
    case MOVE_PAIR: return each(out, two & over, 2);
    case MOVE_TRIO: return each(out, three & over, 3);
    case MOVE_TRIO_SINGLE: return winged(out, three & over, 1, 3, one, 1, 1);
    case MOVE_TRIO_PAIR: return winged(out, three & over, 1, 3, two, 1, 2);
    case MOVE_STRAIGHT: return each(out, runs(one, n) & over, PATTERN(n));
    case MOVE_PAIR_CHAIN: return each(out, runs(two, n) & over, 2 * PATTERN(n));
    case MOVE_PLANE: return each(out, runs(three, n) & over, 3 * PATTERN(n));
    case MOVE_PLANE_SINGLES: return answer_plane_singles(rules, out, hand, last);
    case MOVE_PLANE_PAIRS: return winged(out, runs(three, n) & over, n, 3, two, n, 2);
    case MOVE_FOUR_SINGLES: return four_singles(rules, out, hand, four & over);
    case MOVE_FOUR_PAIRS: return winged(out, four & over, 1, 4, two, 2, 2);
    case MOVE_SHUTTLE: return each(out, runs(four, n) & over, 4 * PATTERN(n));
    case MOVE_SHUTTLE_SINGLES: return winged(out, runs(four, n) & over, n, 4, one, k, 1);
    case MOVE_SHUTTLE_PAIRS: return winged(out, runs(four, n) & over, n, 4, two, k, 2);
    default: return out;
    }
}

int movegen_answers(const Ruleset *rules, Hand hand, const Move *last, Hand out[MOVEGEN_MAX]) {
    Hand *const begin = out;
    uint64_t bombs = hand_at_least(hand, 4);
    if (last->type == MOVE_ROCKET) return 0;
    if (last->type == MOVE_BOMB) bombs &= above(last->rank);
    else out = answer_same_type(rules, out, hand, last);
    out = each(out, bombs, 4);
    return (int)(rocket(out, hand) - begin);
}
