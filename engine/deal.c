/* deal.c - shuffling: who gets which of the 54 cards. */
#include "engine/game.h"

/* Four uniform draws, below n, n-1, n-2 and n-3, from one random word without bias: the fraction
 * that is left of a draw feeds the next one.
 * Source: Brackett-Rozinsky and Lemire, "Batched ranged random integer generation", 2024.   */
static void draw4(Rng *r, uint32_t n, uint32_t out[4]) {
    uint32_t product = n * (n - 1) * (n - 2) * (n - 3), fraction, reject = 0;
    do {
        fraction = rng_u32(r);
        for (uint32_t i = 0; i < 4; i++) {
            uint64_t m = (uint64_t)fraction * (n - i);
            out[i] = (uint32_t)(m >> 32);
            fraction = (uint32_t)m;
        }
        if (fraction < product && !reject) reject = -product % product;
    } while (fraction < reject);
}

void deal_random(uint64_t seed, uint64_t index, Deal *out) {
    Rng r;
    rng_init(&r, seed, index);
    uint8_t card[N_CARDS];
    for (int i = 0; i < N_CARDS; i++) card[i] = (uint8_t)i;
    __builtin_memset(out->owner, 2, N_CARDS); /* whom the 37 draws below leave out */
    for (uint32_t i = 0; i < 37; i += 4) { /* 17 cards to seat 0, 17 to seat 1, 3 to the bottom */
        uint32_t pick[4];
        draw4(&r, N_CARDS - i, pick);
        for (uint32_t k = i; k < i + 4 && k < 37; k++) {
            uint32_t j = k + pick[k - i];
            uint8_t c = card[j];
            card[j] = card[k];
            out->owner[c] = k < 17 ? 0 : k < 34 ? 1 : DEAL_BOTTOM;
        }
    }
}

Status deal_check(const Deal *d) {
    int n[4] = {0};
    for (int i = 0; i < N_CARDS; i++) {
        if (d->owner[i] > DEAL_BOTTOM) return ST_INVALID;
        n[d->owner[i]]++;
    }
    return n[0] == 17 && n[1] == 17 && n[2] == 17 && n[3] == 3 ? ST_OK : ST_INVALID;
}
