/* The search decides, rank by rank from the lowest, which chains (straights, pair chains, planes)
 * start there; what no chain takes is cut rank by rank into singles, pairs, trios and bombs.
 * Results are pure functions of (hand, rank, hosts), so the memo never needs clearing. */
#include "actors/hand_cost.h"
#include <stdlib.h>

enum { MEMO_BITS = 15, CHAIN_END = RANK_2 /* chains stop at A */ };

typedef struct {
    uint64_t key; /* hand | rank << 60; 0 is never stored */
    float cost;
    int hosts;
} Entry;

struct RuleMemo {
    Entry entry[1 << MEMO_BITS];
};

Status rulememo_new(RuleMemo **out) {
    RuleMemo *m = calloc(1, sizeof *m);
    if (!m) return ST_NOMEM;
    *out = m;
    return ST_OK;
}

void rulememo_free(RuleMemo *m) { free(m); }

#include "actors/export/59_costs.c" /* cost_single and so on */

static float chain_cost(int from, int length) {
    return cost_chain_base + cost_chain_room * (float)(CHAIN_END - from - length);
}

/* What no chain takes. `hosts` trios and plane members may carry a single or pair each. */
static float loose_cost(Hand h, int hosts) {
    float cost = 0;
    if ((h >> (4 * RANK_B)) == 0x11) {
        cost += cost_rocket;
        h &= HAND_NIBBLES(0, RANK_B);
    }
    hosts += __builtin_popcountll(hand_at_least(h, 3) & ~hand_at_least(h, 4));
    while (h) {
        int rank = __builtin_ctzll(h) / 4;
        switch (hand_count(h, rank)) {
        case 1:
        case 2:
            if (hosts > 0 && rank < RANK_2) hosts--;
            else cost += hand_count(h, rank) == 1 ? cost_single[rank] : cost_pair[rank];
            break;
        case 3: cost += cost_trio[rank]; break;
        default: cost += cost_bomb; break;
        }
        h &= ~(15ull << (4 * rank));
    }
    return cost;
}

/* How many ranks from `rank` on, below 2, have the bit of `has` set. */
static int run_length(uint64_t has, int rank) {
    int n = 0;
    while (rank + n < CHAIN_END && has >> (4 * (rank + n)) & 1) n++;
    return n;
}

static const int chain_least[4] = {0, 5, 3, 2};

/* The first rank from `rank` on where a chain can start; CHAIN_END if none can. */
static int next_chain(Hand h, int rank) {
    for (; rank < CHAIN_END - 1; rank++)
        for (int width = 1; width <= 3; width++)
            if (run_length(hand_at_least(h, width), rank) >= chain_least[width]) return rank;
    return CHAIN_END;
}

static float search(RuleMemo *m, Hand h, int rank, int hosts) {
    rank = next_chain(h, rank);
    if (rank == CHAIN_END) return loose_cost(h, hosts);
    uint64_t key = h | (uint64_t)rank << 60;
    Entry *e = &m->entry[(key * 0x9e3779b97f4a7c15ull + (uint64_t)hosts * 0xd1b54a32d192ed03ull) >>
                         (64 - MEMO_BITS)];
    if (e->key == key && e->hosts == hosts) return e->cost;

    float best = search(m, h, rank + 1, hosts);
    for (int width = 1; width <= 3; width++) {
        int longest = run_length(hand_at_least(h, width), rank);
        Hand chain = 0;
        for (int n = 1; n <= longest; n++) {
            chain += hand_of(rank + n - 1, width);
            if (n < chain_least[width]) continue;
            float cost = chain_cost(rank, n) + search(m, h - chain, rank, hosts + (width == 3) * n);
            if (cost < best) best = cost;
        }
    }
    *e = (Entry){key, best, hosts};
    return best;
}

float hand_cost(RuleMemo *m, Hand hand) { return search(m, hand, 0, 0); }

int hand_bid(RuleMemo *m, Hand hand) { return bid_for_cost(hand_cost(m, hand)); }
