/* elo.h - ratings for one against two, by maximum likelihood.
 *
 * Every agent has two ratings, as landlord (L) and as peasant (P):
 *   chance that landlord i beats peasants j and k = 1 / (1 + 10^(-(L_i - (P_j + P_k)/2 + c) / 400))
 * c is what being the landlord is worth; the means of L and of P are 0. An agent's rating is
 * (L + P) / 2: for two agents the difference says how often one wins over both roles on the same
 * deals. A weak pull to 0 (as of half a draw) keeps agents that won everything finite.       */
#ifndef DIZHU_ACTORS_ELO_H
#define DIZHU_ACTORS_ELO_H
#include <stdint.h>

enum { ELO_MAX_AGENTS = 32 };

/* Games of one landlord against one pair of peasants, weighted (bootstrap). */
typedef struct {
    uint8_t landlord, peasant[2];
    double games, won; /* won by the landlord */
} EloPairing;

typedef struct {
    double landlord[ELO_MAX_AGENTS], peasant[ELO_MAX_AGENTS], rating[ELO_MAX_AGENTS];
    double seat; /* c */
} EloRatings;

void elo_fit(int n_agents, const EloPairing *pairings, int n, EloRatings *out);

#endif
