/* ---------------------------------------------------------------------------------------------
 * Bidding by what a hand costs: the least sum, over ways to cut it into plays, of the plays' costs;
 * about how often the lead must be won back. Trios and planes carry singles and pairs for nothing.
 */

enum { MEMO_BITS = 15 };

typedef struct {
    uint64_t key; /* hand | rank << 60 */
    float cost;
    int hosts;
} Memo;

static Memo memo[1 << MEMO_BITS];

static float loose_cost(Hand h, int hosts) {
    float cost = 0;
    int rank;
    if ((h & ROCKET) == ROCKET) {
        cost += cost_rocket;
        h -= ROCKET;
    }
    hosts += bit_count(at_least(h, 3) & ~at_least(h, 4));
    for (rank = 0; rank < N_RANKS; rank++) {
        int n = hand_count(h, rank);
        if (n == 1 || n == 2) {
            if (hosts > 0 && rank < RANK_2) hosts--;
            else cost += n == 1 ? cost_single[rank] : cost_pair[rank];
        } else if (n == 3) {
            cost += cost_trio[rank];
        } else if (n == 4) {
            cost += cost_bomb;
        }
    }
    return cost;
}

/* How many ranks from `rank` on, below 2, h has `width` cards of. */
static int run_length(Hand h, int width, int rank) {
    int n = 0;
    while (rank + n < RANK_2 && hand_count(h, rank + n) >= width) n++;
    return n;
}

static float hand_cost(Hand h, int rank, int hosts) {
    static const int least[4] = {0, 5, 3, 2};
    uint64_t key;
    Memo *m;
    float best;
    int width, n, found = 0;
    for (; rank < RANK_2 - 1 && !found; rank += !found)
        for (width = 1; width <= 3; width++) found |= run_length(h, width, rank) >= least[width];
    if (!found) return loose_cost(h, hosts);
    key = h | (uint64_t)rank << 60;
    m = &memo[(key * 0x9e3779b97f4a7c15ULL + (uint64_t)hosts * 0xd1b54a32d192ed03ULL) >>
              (64 - MEMO_BITS)];
    if (m->key == key && m->hosts == hosts) return m->cost;
    best = hand_cost(h, rank + 1, hosts);
    for (width = 1; width <= 3; width++) {
        int longest = run_length(h, width, rank);
        Hand chain = 0;
        for (n = 1; n <= longest; n++) {
            float cost;
            chain += hand_of(rank + n - 1, width);
            if (n < least[width]) continue;
            cost = cost_chain_base + cost_chain_room * (float)(RANK_2 - rank - n) +
                   hand_cost(h - chain, rank, hosts + (width == 3 ? n : 0));
            if (cost < best) best = cost;
        }
    }
    m->key = key;
    m->hosts = hosts;
    m->cost = best;
    return best;
}

static int choose_bid(const View *v) {
    int wish = bid_for_cost(hand_cost(v->hand, 0, 0));
    return wish > v->highest ? wish : 0;
}
