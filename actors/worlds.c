#include "actors/worlds.h"

/* The public cards that have not been played: a rank's own cards of the landlord may have gone
 * first, so no more than this is certain. */
static Hand bottom_left(const Game *g) {
    Hand left = 0;
    for (int r = 0; r < N_RANKS; r++) {
        int n = hand_count(g->bottom, r) - hand_count(g->played[g->landlord], r);
        if (n > 0) left += hand_of(r, n);
    }
    return left;
}

void worlds_unknown(const Game *g, Unknown *out) {
    Unknown u = {.unseen =
                     HAND_FULL - g->hand[g->turn] - g->played[0] - g->played[1] - g->played[2]};
    for (int i = 0; i < 2; i++) {
        int seat = (g->turn + 1 + i) % N_SEATS;
        u.seat[i] = (uint8_t)seat;
        u.need[i] = g->left[seat];
        if (seat == g->landlord) u.known[i] = bottom_left(g);
        u.need[i] -= hand_size(u.known[i]);
        u.unseen -= u.known[i];
    }
    *out = u;
}

/* The first need[0] cards of a shuffle of the unseen ones. */
Hand worlds_sample(const Unknown *u, Rng *rng) {
    uint8_t card[N_CARDS];
    int n = 0;
    for (int r = 0; r < N_RANKS; r++)
        for (int k = hand_count(u->unseen, r); k > 0; k--) card[n++] = (uint8_t)r;
    Hand first = 0;
    for (int i = 0; i < u->need[0]; i++) {
        int j = i + (int)rng_below(rng, (uint32_t)(n - i));
        first += hand_of(card[j], 1);
        card[j] = card[i];
    }
    return first;
}

void worlds_set(const Unknown *u, Hand first, Game *g) {
    const Hand hand[2] = {u->known[0] + first, u->known[1] + u->unseen - first};
    for (int i = 0; i < 2; i++) {
        int seat = u->seat[i];
        g->hand[seat] = hand[i];
        g->dealt[seat] = hand[i] + g->played[seat] - (seat == g->landlord ? g->bottom : 0);
    }
}

static double choose(int n, int k) {
    static const double table[5][5] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}, {1, 4, 6, 4, 1}};
    return table[n][k];
}

typedef struct {
    const Unknown *u;
    int max, n;
    Hand *first;
    double *deals;
} Listing;

/* Takes 0..all cards of each rank from `rank` on; false: more than max worlds. */
static bool list_from(Listing *l, int rank, int need, Hand first, double deals) {
    if (need == 0) {
        if (l->n == l->max) return false;
        l->first[l->n] = first;
        l->deals[l->n++] = deals;
        return true;
    }
    if (rank == N_RANKS) return true;
    int have = hand_count(l->u->unseen, rank);
    for (int k = 0; k <= have && k <= need; k++)
        if (!list_from(l, rank + 1, need - k, first + hand_of(rank, k), deals * choose(have, k)))
            return false;
    return true;
}

/* How many worlds there are: ways[k] = those that take k cards of the ranks seen so far. */
static double count_worlds(const Unknown *u) {
    double ways[N_CARDS + 1] = {1};
    int need = u->need[0];
    for (int r = 0; r < N_RANKS; r++)
        for (int k = need, have = hand_count(u->unseen, r); k >= 0; k--)
            for (int i = 1; i <= have && i <= k; i++) ways[k] += ways[k - i];
    return ways[need];
}

int worlds_list(const Unknown *u, int max, Hand *first, double *share) {
    Listing l = {.u = u, .max = max, .first = first, .deals = share};
    if (count_worlds(u) > max || !list_from(&l, 0, u->need[0], 0, 1)) return 0;
    double all = 0;
    for (int i = 0; i < l.n; i++) all += share[i];
    for (int i = 0; i < l.n; i++) share[i] /= all;
    return l.n;
}
