/* rating.h - Glicko-2: a rating with its uncertainty.
 *
 * Every game is a rating period of its own. DouDizhu is one against two: the landlord meets the
 * mean of the two farmers, each farmer meets the landlord, all count 1 or 0.
 * Source: Glickman, "Example of the Glicko-2 system", 2013.                                 */
#ifndef DIZHU_SERVER_RATING_H
#define DIZHU_SERVER_RATING_H
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double rating, deviation, volatility; /* new players: 1500, 350, 0.06 */
    int64_t at_ms;                        /* of the last rated game; 0: none */
} Rating;

Rating rating_new(void);
/* The rating after meeting n opponents in one period, score[i] in 0..1. */
Rating rating_update(const Rating *r, int n, const Rating *opponents, const double *scores);
/* Uncertainty grows with the days without a game. */
Rating rating_age(const Rating *r, int64_t now_ms);
/* After a game of three: seat `landlord` won or lost. */
void rating_game(Rating r[3], int landlord, bool landlord_won, int64_t now_ms);

#endif
