/* ---------------------------------------------------------------------------------------------
 * Cards. A hand is 15 counts in one word, 4 bits a rank: 3 4 5 6 7 8 9 T J Q K A 2, small joker,
 * big joker. A play is a hand; pass is 0. Ids are Botzone's: rank * 4 + suit, 52 and 53 the jokers.
 */

typedef uint64_t Hand;

enum { N_RANKS = 15, RANK_A = 11, RANK_2 = 12, RANK_B = 13, RANK_R = 14, N_CARDS = 54 };
enum { MAX_PLAYS = 168, MAX_LEGAL = 4096 };

#define ONES        0x0111111111111111ULL
#define FULL_DECK   0x0114444444444444ULL
#define CHAIN_RANKS 0x0000111111111111ULL /* 3..A */
#define ROCKET      0x0110000000000000ULL
#define SPAN(n)     ((n) == 0 ? 0ULL : ~0ULL >> (64 - 4 * (n)))

static Hand hand_of(int rank, int n) { return (Hand)(unsigned)n << (4 * rank); }
static int hand_count(Hand h, int rank) { return (int)(h >> (4 * rank)) & 15; }
static int card_rank(int id) { return id < 52 ? id >> 2 : id - 39; }

static int hand_size(Hand h) {
    int n = 0;
    for (; h; h >>= 4) n += (int)(h & 15);
    return n;
}

/* Bit 4r is set iff h has at least n cards of rank r. */
static uint64_t at_least(Hand h, int n) { return ((h + (uint64_t)(8 - n) * ONES) >> 3) & ONES; }
static int bit_count(uint64_t m) { return __builtin_popcountll(m); }
static int lowest_rank(uint64_t m) { return __builtin_ctzll(m) / 4; }
static uint64_t lowest_bit(uint64_t m) { return m & (~m + 1); }

typedef struct {
    int n;
    int id[20];
} Cards;

static int cards_have(const Cards *c, int id) {
    int i;
    for (i = 0; i < c->n; i++)
        if (c->id[i] == id) return 1;
    return 0;
}

static Hand cards_hand(const Cards *c) {
    Hand h = 0;
    int i;
    for (i = 0; i < c->n; i++) h += hand_of(card_rank(c->id[i]), 1);
    return h;
}
