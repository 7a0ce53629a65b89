/* playout.c - the random player, and the hash of all that it did. */
#include "engine/playout.h"
#include "engine/record.h"

static void bid_random(Game *g, Rng *rng) {
    int bid = (int)rng_below(rng, 4 - g->bid); /* pass, or one of the bids above the highest */
    game_bid(g, bid ? g->bid + bid : 0, NULL);
}

void playout_random(Game *g, Rng *rng) {
    Hand moves[MOVEGEN_MAX];
    while (g->phase == PHASE_BID) bid_random(g, rng);
    while (g->phase == PHASE_PLAY) {
        int n = game_legal(g, moves);
        game_apply(g, moves[n == 1 ? 0 : rng_below(rng, (uint32_t)n)]);
    }
}

/* FNV-1a, continued from h. */
static uint64_t hash_bytes(uint64_t h, const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}

static uint64_t hash_game(uint64_t h, RulesetId rules, uint64_t index) {
    Record r = {.game = index};
    uint8_t bytes[RECORD_MAX_BYTES];
    Game g;
    Rng rng;
    rng_init(&rng, 2021, index);
    deal_random(1, index, &r.deal);
    game_init(&g, rules, &r.deal, (int)(index % N_SEATS));
    playout_random(&g, &rng);
    record_from_game(&r, &g);
    return hash_bytes(h, bytes, record_write(&r, bytes));
}

uint64_t playout_signature(int n_games) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (int rules = 0; rules < N_RULESETS; rules++)
        for (int i = 0; i < n_games; i++) h = hash_game(h, (RulesetId)rules, (uint64_t)i);
    return h;
}
