/* random_position.h - hands for comparing generators: of few ranks, so that bombs, planes and
 * shuttles are common, and plays to be answered that such hands hold.                       */
#ifndef DIZHU_TESTS_ENGINE_RANDOM_POSITION_H
#define DIZHU_TESTS_ENGINE_RANDOM_POSITION_H
#include "engine/base/rng.h"
#include "engine/movegen.h"

/* size cards of deck (fewer if it holds less), each card as likely as any other. */
static inline Hand random_hand(Rng *rng, Hand deck, int size) {
    Hand hand = 0;
    for (int left = hand_size(deck); size > 0 && left > 0; size--, left--) {
        int skip = (int)rng_below(rng, (uint32_t)left), rank = 0;
        while (skip >= hand_count(deck, rank)) skip -= hand_count(deck, rank++);
        deck -= hand_of(rank, 1);
        hand += hand_of(rank, 1);
    }
    return hand;
}

/* The cards of 4 to 15 ranks: half the time all in a row, so that chains are common. */
static inline Hand random_deck(Rng *rng) {
    int n = 4 + (int)rng_below(rng, 12);
    if (rng_below(rng, 2)) {
        int low = (int)rng_below(rng, (uint32_t)(N_RANKS - n + 1));
        return HAND_FULL & HAND_NIBBLES(low, n);
    }
    Hand deck = 0;
    for (int i = 0; i < n; i++) deck |= HAND_FULL & HAND_NIBBLES((int)rng_below(rng, N_RANKS), 1);
    return deck;
}

/* A hand of 1 to 20 cards and a play to answer: one that the hand itself holds a rank higher, or
 * one of another hand; every type of play is as likely as any other that there is.          */
static inline Hand random_position(Rng *rng, const Ruleset *rules, Move *last) {
    Hand plays[MOVEGEN_MAX], deck = random_deck(rng);
    int size = rng_below(rng, 2) ? 20 : 1 + (int)rng_below(rng, 20);
    Hand hand = random_hand(rng, deck, size), other = hand >> 4;
    if (other == 0 || rng_below(rng, 3) == 0) other = random_hand(rng, HAND_FULL - hand, size);
    int n = movegen_leads(rules, other, plays);
    *last = move_classify(rules, plays[rng_below(rng, (uint32_t)n)]);
    for (uint32_t type = 1 + rng_below(rng, N_MOVE_TYPES - 1), tries = 0; tries < 200; tries++) {
        if (last->type == type) break;
        *last = move_classify(rules, plays[rng_below(rng, (uint32_t)n)]);
    }
    return hand;
}

#endif
