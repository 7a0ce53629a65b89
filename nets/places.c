/* places.c - see places.h. */
#include "nets/places.h"

enum { SUITED = RANK_2 + 1, JOKER_BIT = 4 * SUITED - SUITED }; /* bit of joker rank r: r + 39 */

uint32_t *places_cards(Hand h, uint32_t first, uint32_t *out) {
    while (h) {
        unsigned rank = (unsigned)__builtin_ctzll(h) / 4;
        unsigned n = (unsigned)(h >> (4 * rank)) & 15;
        *out++ = first + (rank < SUITED ? 4 * rank + n - 1 : rank + JOKER_BIT);
        h &= ~(15ull << (4 * rank));
    }
    return out;
}

uint32_t *places_state(const Obs *o, uint32_t *out) {
    uint32_t first = 0;
    for (int i = 0; i < o->n_sets; i++, first += CARDS_DIM)
        out = places_cards(o->sets[i], first, out);
    *out++ = first + o->onehot[0] - 1u;
    first += o->role == ROLE_LANDLORD ? 17 : 20;
    *out++ = first + o->onehot[1] - 1u;
    first += 17;
    *out++ = first + o->onehot[2];
    return out;
}

uint32_t *places_step(const Obs *o, int t, uint32_t *out) {
    for (uint32_t i = 0; i < 3; i++)
        out = places_cards(o->plays[3 * t + (int)i], i * CARDS_DIM, out);
    return out;
}

int places_zero_steps(const Obs *o) {
    int t = 0;
    while (t < OBS_STEPS && !(o->plays[3 * t] | o->plays[3 * t + 1] | o->plays[3 * t + 2])) t++;
    return t;
}

void rows_prefix(float *panels, int n_panels, size_t n_rows, size_t first, int n_sets) {
    for (int p = 0; p < n_panels; p++)
        for (int s = 0; s < n_sets; s++) {
            float *set = panels + ((size_t)p * n_rows + first + (size_t)s * CARDS_DIM) * PANEL;
            for (int i = 0; i < 4 * SUITED; i++) {
                if (i % 4 == 0) continue;
                float *row = set + i * PANEL;
                for (int c = 0; c < PANEL; c++) row[c] += row[c - PANEL];
            }
        }
}

void rows_suffix(float *panels, int n_panels, size_t n_rows, size_t first, int n_sets) {
    for (int p = 0; p < n_panels; p++)
        for (int s = 0; s < n_sets; s++) {
            float *set = panels + ((size_t)p * n_rows + first + (size_t)s * CARDS_DIM) * PANEL;
            for (int i = 4 * SUITED - 1; i >= 0; i--) {
                if (i % 4 == 3) continue;
                float *row = set + i * PANEL;
                for (int c = 0; c < PANEL; c++) row[c] += row[c + PANEL];
            }
        }
}
