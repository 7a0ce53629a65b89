/* random_obs.h - decisions out of random games, for tests that need many different ones. */
#ifndef DIZHU_TESTS_NETS_RANDOM_OBS_H
#define DIZHU_TESTS_NETS_RANDOM_OBS_H
#include "nets/encode.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    int n, n_actions_total;
    Obs *obs;
    int *n_actions;
    Hand *actions; /* concatenated */
} Decisions;

/* The first n decisions of a role with more than one legal play (of which at most max_actions are
 * kept, spread over the list), from games 0, 1, ... of the seed. */
static inline Decisions decisions_random(Role role, int n, int max_actions, uint64_t seed) {
    Decisions d = {.obs = calloc((size_t)n, sizeof(Obs)),
                   .n_actions = calloc((size_t)n, sizeof(int)),
                   .actions = calloc((size_t)n * (size_t)max_actions, sizeof(Hand))};
    if (!d.obs || !d.n_actions || !d.actions) abort();
    static Hand legal[MOVEGEN_MAX];
    for (uint64_t game = 0; d.n < n; game++) {
        Rng rng;
        Deal deal;
        Game g;
        rng_init(&rng, seed, game);
        deal_random(seed, game, &deal);
        game_init(&g, RULES_DOUZERO, &deal, 0);
        while (g.phase == PHASE_PLAY && d.n < n) {
            int count = game_legal(&g, legal);
            if (count > 1 && game_role(&g, g.turn) == (int)role) {
                obs_from_game(&g, &d.obs[d.n]);
                int keep = count < max_actions ? count : max_actions;
                for (int i = 0; i < keep; i++)
                    d.actions[d.n_actions_total++] = legal[i * count / keep];
                d.n_actions[d.n++] = keep;
            }
            game_apply(&g, legal[rng_below(&rng, (uint32_t)count)]);
        }
    }
    return d;
}

static inline void decisions_free(Decisions *d) {
    free(d->obs);
    free(d->n_actions);
    free(d->actions);
}

#endif
