/* games.h - random games as records, for tests: game i of a seed is always the same. */
#ifndef DIZHU_TESTS_LEARNER_GAMES_H
#define DIZHU_TESTS_LEARNER_GAMES_H
#include "engine/record.h"

/* Bids are drawn like plays; a void game is drawn again with other choices. */
static inline void random_game(RulesetId rules, uint64_t seed, uint64_t index, Game *g) {
    static Hand legal[MOVEGEN_MAX];
    Rng rng;
    Deal deal;
    rng_init(&rng, seed + 77, index);
    deal_random(seed, index, &deal);
    do {
        game_init(g, rules, &deal, (int)(index % N_SEATS));
        while (g->phase == PHASE_BID) {
            int bid = (int)rng_below(&rng, 4);
            if (game_bid(g, bid, NULL) != ST_OK) game_bid(g, 0, NULL);
        }
    } while (g->phase == PHASE_VOID);
    while (g->phase == PHASE_PLAY)
        game_apply(g, legal[rng_below(&rng, (uint32_t)game_legal(g, legal))]);
}

static inline void random_record(RulesetId rules, uint64_t seed, uint64_t index, Record *r) {
    Game g;
    random_game(rules, seed, index, &g);
    *r = (Record){.game = index, .version = {1, 1, 1}};
    deal_random(seed, index, &r->deal);
    record_from_game(r, &g);
}

#endif
