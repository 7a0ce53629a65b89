/* encode.h - what a seat knows, as the nets see it.
 *
 * An Obs is the compact form of a decision: card sets stay Hands (15 counts), because a card set's
 * 54 bits are a thermometer code - four bits a rank for 3..A and 2, n cards = n ones from the
 * first, then one bit each for B and R - and a layer can add one pre-summed row per distinct rank
 * instead of multiplying 54 numbers. obs_expand gives the plain 0/1 vectors, the definition:
 *
 *   landlord x[319+54]: own 54 | the other two hands together 54 | move to beat 54 |
 *     played by landlord_up 54 | played by landlord_down 54 | cards left one-hot: landlord_up 17,
 *     landlord_down 17 | bombs so far one-hot 15 | action 54
 *   peasant  x[430+54]: own 54 | the other two hands together 54 | played by landlord 54 |
 *     played by teammate 54 | move to beat 54 | landlord's last play 54 | teammate's last play 54 |
 *     cards left one-hot: landlord 20, teammate 17 | bombs 15 | action 54
 *   z[5][162]: the last 15 plays, oldest first, three to a step; passes and padding are zeros
 *
 * Source: Zha et al., DouZero, ICML 2021, arXiv:2106.06135.                                 */
#ifndef DIZHU_NETS_ENCODE_H
#define DIZHU_NETS_ENCODE_H
#include "engine/game.h"

enum {
    OBS_MAX_SETS = 7,
    OBS_PLAYS = 15,
    OBS_STEPS = 5,
    CARDS_DIM = 54,
    STEP_DIM = 3 * CARDS_DIM,
    X_DIM_LANDLORD = 319,
    X_DIM_PEASANT = 430,
    X_DIM_MAX = X_DIM_PEASANT + CARDS_DIM
};

typedef struct {
    uint8_t role;   /* Role of the seat to act */
    uint8_t n_sets; /* 5 landlord, 7 peasant */
    /* landlord: cards left of landlord_up, of landlord_down, bombs; peasant: cards left of the
     * landlord, of the teammate, bombs. Counts, not indices. */
    uint8_t onehot[3];
    Hand sets[OBS_MAX_SETS]; /* in the order above, action excluded */
    Hand plays[OBS_PLAYS];   /* oldest first; 0 = pass or padding */
} Obs;

/* The view of the seat to act. It depends on nothing that this seat cannot see. */
void obs_from_game(const Game *g, Obs *out);

/* Number of state features before the action. */
static inline int obs_x_dim(int role) {
    return role == ROLE_LANDLORD ? X_DIM_LANDLORD : X_DIM_PEASANT;
}

/* The 54 bits of a card set as 0/1 floats. */
void encode_cards(Hand h, float out[CARDS_DIM]);
/* x[obs_x_dim + 54] and z[5][162], row-major. */
void obs_expand(const Obs *o, Hand action, float *x, float *z);

#endif
