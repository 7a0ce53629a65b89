/* worlds.h - the hidden hands that are consistent with what the seat to act has seen.
 *
 * Two hands are hidden. Public cards that the landlord has not played yet are in his; the other
 * unseen cards may lie in either, as many as the seat still holds. A world is what one of the two
 * (the "first") holds of them. Every deal of cards is equally likely, so a world of ranks weighs as
 * many deals as it stands for.                                                              */
#ifndef DIZHU_ACTORS_WORLDS_H
#define DIZHU_ACTORS_WORLDS_H
#include "engine/game.h"

typedef struct {
    uint8_t seat[2]; /* the hidden ones; [0] is the first */
    int need[2];     /* cards of each that are not known */
    Hand known[2];   /* public cards still held */
    Hand unseen;     /* the rest: need[0] + need[1] cards */
} Unknown;

/* Looks at the acting seat's hand and at public state alone. PHASE_PLAY. */
void worlds_unknown(const Game *g, Unknown *out);

/* A random world, and g's hidden hands exchanged for it. */
Hand worlds_sample(const Unknown *u, Rng *rng);
void worlds_set(const Unknown *u, Hand first, Game *g);

/* All worlds if there are at most max, with the share of deals of each; else 0. */
int worlds_list(const Unknown *u, int max, Hand *first, double *share);

#endif
