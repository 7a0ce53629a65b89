/* ---------------------------------------------------------------------------------------------
 * The rules of FightTheLandlord2 and of the older FightTheLandlord (old_game), which differ in the
 * wings of space shuttles: what a play is, and all legal ones. */

enum {
    PLAY_NONE,
    PLAY_SINGLE,
    PLAY_PAIR,
    PLAY_TRIO,
    PLAY_BOMB,
    PLAY_ROCKET,
    PLAY_TRIO_SINGLE,
    PLAY_TRIO_PAIR,
    PLAY_STRAIGHT,
    PLAY_PAIR_CHAIN,
    PLAY_PLANE,
    PLAY_PLANE_SINGLES,
    PLAY_PLANE_PAIRS,
    PLAY_FOUR_SINGLES,
    PLAY_FOUR_PAIRS,
    PLAY_SHUTTLE,
    PLAY_SHUTTLE_SINGLES,
    PLAY_SHUTTLE_PAIRS
};

typedef struct {
    Hand cards;
    int type, rank, length;
} Play;

/* Are the ranks of m 3..A, without a gap? */
static int is_chain(uint64_t m) {
    uint64_t filled = (m >> __builtin_ctzll(m)) * 15;
    return (m & ~CHAIN_RANKS) == 0 && (filled & (filled + 1)) == 0;
}

static Play play_of(Hand cards, int type, int rank, int length) {
    Play p;
    p.cards = cards;
    p.type = type;
    p.rank = rank;
    p.length = length;
    return p;
}

static Play classify_trios(Hand h, uint64_t one, uint64_t two, uint64_t trios, int size) {
    int n = bit_count(trios), rank = lowest_rank(trios);
    uint64_t rest = one & ~trios;
    int kickers = size - 3 * n;
    int all_single = (two & ~trios) == 0 && bit_count(rest) == kickers;
    int all_pairs = (two & ~trios) == rest && 2 * bit_count(rest) == kickers;
    if (n > 1 && !is_chain(trios)) return play_of(h, PLAY_NONE, 0, 0);
    if (kickers == 0) return play_of(h, n > 1 ? PLAY_PLANE : PLAY_TRIO, rank, n);
    if (all_single && kickers == n)
        return play_of(h, n > 1 ? PLAY_PLANE_SINGLES : PLAY_TRIO_SINGLE, rank, n);
    if (all_pairs && kickers == 2 * n)
        return play_of(h, n > 1 ? PLAY_PLANE_PAIRS : PLAY_TRIO_PAIR, rank, n);
    return play_of(h, PLAY_NONE, 0, 0);
}

static Play classify_fours(Hand h, uint64_t one, uint64_t two, uint64_t four, int size,
                           int old_game) {
    int n = bit_count(four), rank = lowest_rank(four);
    uint64_t rest = one & ~four;
    int kickers = size - 4 * n, wings = n == 1 ? 2 : old_game ? n : 2 * n;
    int all_single = (two & ~four) == 0 && bit_count(rest) == kickers;
    int all_pairs = (two & ~four) == rest && 2 * bit_count(rest) == kickers;
    if (n > 1 && !is_chain(four)) return play_of(h, PLAY_NONE, 0, 0);
    if (kickers == 0) return play_of(h, n > 1 ? PLAY_SHUTTLE : PLAY_BOMB, rank, n);
    if (all_single && kickers == wings)
        return play_of(h, n > 1 ? PLAY_SHUTTLE_SINGLES : PLAY_FOUR_SINGLES, rank, n);
    if (all_pairs && kickers == 2 * wings)
        return play_of(h, n > 1 ? PLAY_SHUTTLE_PAIRS : PLAY_FOUR_PAIRS, rank, n);
    return play_of(h, PLAY_NONE, 0, 0);
}

static Play classify(Hand h, int old_game) {
    uint64_t one = at_least(h, 1), two = at_least(h, 2), three = at_least(h, 3),
             four = at_least(h, 4);
    int size = hand_size(h);
    if (h == 0 || size > 20) return play_of(h, PLAY_NONE, 0, 0);
    if (four && !(three & ~four)) return classify_fours(h, one, two, four, size, old_game);
    if (four) return play_of(h, PLAY_NONE, 0, 0);
    if (three) return classify_trios(h, one, two, three, size);
    if (h == ROCKET) return play_of(h, PLAY_ROCKET, RANK_B, 1);
    if (size == 1) return play_of(h, PLAY_SINGLE, lowest_rank(one), 1);
    if (two == 0 && size >= 5 && is_chain(one))
        return play_of(h, PLAY_STRAIGHT, lowest_rank(one), size);
    if (one != two) return play_of(h, PLAY_NONE, 0, 0);
    if (size == 2) return play_of(h, PLAY_PAIR, lowest_rank(one), 1);
    if (size >= 6 && is_chain(one)) return play_of(h, PLAY_PAIR_CHAIN, lowest_rank(one), size / 2);
    return play_of(h, PLAY_NONE, 0, 0);
}

/* ---- all legal plays; every function writes at out and returns the end ---- */

#define PATTERN(n) (ONES & SPAN(n)) /* one card of each of n ranks from 3 on */

static uint64_t ranks_above(int rank) { return ~0ULL << (4 * rank) << 4; }

static Hand *each(Hand *out, uint64_t mask, uint64_t pattern) {
    for (; mask; mask &= mask - 1) *out++ = lowest_bit(mask) * pattern;
    return out;
}

/* Bit 4r set iff r starts a run of n ranks of m. */
static uint64_t runs(uint64_t m, int n) {
    uint64_t r = m & CHAIN_RANKS;
    int i;
    m = r;
    for (i = 1; i < n; i++) r &= m >> (4 * i);
    return r;
}

static Hand *chains(Hand *out, uint64_t m, int min, int max, uint64_t width) {
    int n;
    for (n = min; n <= max; n++) out = each(out, runs(m, n), width * PATTERN(n));
    return out;
}

/* base plus every set of n different ranks of m, `width` cards each. */
static Hand *sets(Hand *out, Hand base, uint64_t m, int n, uint64_t width) {
    if (n == 0) {
        *out++ = base;
        return out;
    }
    for (; m; m &= m - 1) out = sets(out, base + lowest_bit(m) * width, m & (m - 1), n - 1, width);
    return out;
}

/* Chains of n ranks, `width` cards each, from starts, with k different wings, `wide` cards each. */
static Hand *winged(Hand *out, uint64_t starts, int n, uint64_t width, uint64_t wings, int k,
                    uint64_t wide) {
    for (; starts; starts &= starts - 1) {
        uint64_t chain = lowest_bit(starts) * PATTERN(n);
        out = sets(out, width * chain, wings & ~chain, k, wide);
    }
    return out;
}

static Hand *rocket(Hand *out, Hand hand) {
    if ((hand & ROCKET) == ROCKET) *out++ = ROCKET;
    return out;
}

static int shuttle_wings(int n, int old_game) { return old_game ? n : 2 * n; }

static int legal_leads(Hand hand, int old_game, Hand *out) {
    Hand *begin = out;
    uint64_t one = at_least(hand, 1), two = at_least(hand, 2), three = at_least(hand, 3),
             four = at_least(hand, 4);
    int n;
    out = each(out, one, 1);
    out = rocket(out, hand);
    out = chains(out, one, 5, 12, 1);
    out = each(out, two, 2);
    out = chains(out, two, 3, 10, 2);
    out = each(out, three, 3);
    out = winged(out, three, 1, 3, one, 1, 1);
    out = winged(out, three, 1, 3, two, 1, 2);
    out = chains(out, three, 2, 6, 3);
    for (n = 2; n <= 5; n++) {
        out = winged(out, runs(three, n), n, 3, one, n, 1);
        if (n <= 4) out = winged(out, runs(three, n), n, 3, two, n, 2);
    }
    out = each(out, four, 4);
    out = winged(out, four, 1, 4, one, 2, 1);
    out = winged(out, four, 1, 4, two, 2, 2);
    out = chains(out, four, 2, 5, 4);
    for (n = 2; n <= 4; n++) {
        int k = shuttle_wings(n, old_game);
        if (4 * n + k <= 20) out = winged(out, runs(four, n), n, 4, one, k, 1);
        if (4 * n + 2 * k <= 20) out = winged(out, runs(four, n), n, 4, two, k, 2);
    }
    return (int)(out - begin);
}

/* Plays of the same type and length that beat last. */
static Hand *answers_of_type(Hand *out, Hand hand, const Play *last, int old_game) {
    uint64_t over = ranks_above(last->rank), one = at_least(hand, 1), two = at_least(hand, 2);
    uint64_t three = at_least(hand, 3) & over, four = at_least(hand, 4) & over;
    uint64_t all_three = at_least(hand, 3), all_four = at_least(hand, 4);
    int n = last->length, k = shuttle_wings(n, old_game);
    switch (last->type) {
    case PLAY_SINGLE: return each(out, one & over, 1);
    case PLAY_PAIR: return each(out, two & over, 2);
    case PLAY_TRIO: return each(out, three, 3);
    case PLAY_TRIO_SINGLE: return winged(out, three, 1, 3, one, 1, 1);
    case PLAY_TRIO_PAIR: return winged(out, three, 1, 3, two, 1, 2);
    case PLAY_STRAIGHT: return each(out, runs(one, n) & over, PATTERN(n));
    case PLAY_PAIR_CHAIN: return each(out, runs(two, n) & over, 2 * PATTERN(n));
    case PLAY_PLANE: return each(out, runs(all_three, n) & over, 3 * PATTERN(n));
    case PLAY_PLANE_SINGLES: return winged(out, runs(all_three, n) & over, n, 3, one, n, 1);
    case PLAY_PLANE_PAIRS: return winged(out, runs(all_three, n) & over, n, 3, two, n, 2);
    case PLAY_FOUR_SINGLES: return winged(out, four, 1, 4, one, 2, 1);
    case PLAY_FOUR_PAIRS: return winged(out, four, 1, 4, two, 2, 2);
    case PLAY_SHUTTLE: return each(out, runs(all_four, n) & over, 4 * PATTERN(n));
    case PLAY_SHUTTLE_SINGLES: return winged(out, runs(all_four, n) & over, n, 4, one, k, 1);
    case PLAY_SHUTTLE_PAIRS: return winged(out, runs(all_four, n) & over, n, 4, two, k, 2);
    default: return out;
    }
}

/* Everything that may be played; a pass, where allowed, comes last. */
static int legal_plays(Hand hand, const Play *last, int old_game, Hand *out) {
    Hand *begin = out;
    uint64_t bombs = at_least(hand, 4);
    if (!last->cards) return legal_leads(hand, old_game, out);
    if (last->type != PLAY_ROCKET) {
        if (last->type == PLAY_BOMB) bombs &= ranks_above(last->rank);
        else out = answers_of_type(out, hand, last, old_game);
        out = each(out, bombs, 4);
        out = rocket(out, hand);
    }
    *out++ = 0;
    return (int)(out - begin);
}
