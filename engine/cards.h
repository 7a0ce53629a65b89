/* cards.h - cards and hands.
 *
 * A card is 0..53: rank * 4 + suit (heart, diamond, spade, club) for the 13 suited ranks, 52 the
 * small (black) joker B, 53 the big (red) joker R. The rules know ranks only; suits exist at the
 * edges (deals, pictures, Botzone).
 * A hand - and a move, which is a hand too - is 15 rank counts in one 64-bit word, 4 bits a rank,
 * rank 3 in the lowest nibble, R in nibble 14. Adding and subtracting hands is adding and
 * subtracting words, as long as the counts fit. Freestanding.                                */
#ifndef DIZHU_ENGINE_CARDS_H
#define DIZHU_ENGINE_CARDS_H
#include <stdbool.h>
#include <stdint.h>

typedef uint64_t Hand;

enum {
    RANK_3,
    RANK_4,
    RANK_5,
    RANK_6,
    RANK_7,
    RANK_8,
    RANK_9,
    RANK_T,
    RANK_J,
    RANK_Q,
    RANK_K,
    RANK_A,
    RANK_2,
    RANK_B,
    RANK_R,
    N_RANKS,
    N_CARDS = 54
};

#define HAND_ONES                0x0111111111111111ull /* one card of every rank */
#define HAND_FULL                0x0114444444444444ull /* the 54 cards */
#define HAND_NIBBLES(rank_lo, n) ((n) == 0 ? 0ull : ((~0ull >> (64 - 4 * (n))) << (4 * (rank_lo))))

static inline Hand hand_of(int rank, int n) { return (Hand)n << (4 * rank); }
static inline int hand_count(Hand h, int rank) { return (int)(h >> (4 * rank)) & 15; }
static inline int card_rank(int card) { return card < 52 ? card >> 2 : card - 39; }

/* Number of cards: the nibbles are summed by one multiplication per half. */
static inline int hand_size(Hand h) {
    uint64_t b = (h & 0x0f0f0f0f0f0f0f0full) + (h >> 4 & 0x0f0f0f0f0f0f0f0full);
    return (int)(b * 0x0101010101010101ull >> 56);
}

/* Bit 4r is set iff h has at least n (1..4) cards of rank r; counts must be 0..4. */
static inline uint64_t hand_at_least(Hand h, int n) {
    return (h + (uint64_t)(8 - n) * HAND_ONES) >> 3 & HAND_ONES;
}

/* Is every count of sub <= that of h? Counts must be 0..7. */
static inline bool hand_contains(Hand h, Hand sub) {
    return (((h | 8 * HAND_ONES) - sub) & 8 * HAND_ONES) == 8 * HAND_ONES;
}

/* Could h be held: counts 0..4, jokers 0..1, nothing above nibble 14? */
static inline bool hand_valid(Hand h) {
    return h >> 60 == 0 && (h & 8 * HAND_ONES) == 0 && hand_contains(HAND_FULL, h);
}

#endif
