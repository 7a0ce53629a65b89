#include "actors/selfplay.h"
#include <stdlib.h>
#include <string.h>

/* Sets the generator of a game's choices apart from the one that dealt it. */
static const uint64_t choice_seed = 0x63686f6963657321ull;

struct Selfplay {
    SelfplayConfig config;
    Pool *pool;
    uint32_t version[N_ROLES];
    uint64_t next, allowed;
    uint64_t bytes, n_moves; /* of all records */
    bool one_policy; /* all seats are played by the pool's only policy; else seat i (= role) by i */
};

static bool start_game(void *ctx, PoolGame *g) {
    Selfplay *s = ctx;
    if (s->allowed == 0) return false;
    s->allowed--;
    g->index = s->next;
    s->next += s->config.stride;
    deal_random(s->config.seed, g->index, &g->deal);
    rng_init(&g->rng, s->config.seed ^ choice_seed, g->index);
    int first_bidder = (int)rng_below(&g->rng, N_SEATS);
    game_init(&g->game, s->config.rules, &g->deal, first_bidder);
    memcpy(g->version, s->version, sizeof g->version);
    for (int seat = 0; seat < N_SEATS; seat++) g->player[seat] = s->one_policy ? 0 : (uint8_t)seat;
    return true;
}

static void finish_game(void *ctx, const PoolGame *g) {
    Selfplay *s = ctx;
    Record r = {.game = g->index, .deal = g->deal};
    record_from_game(&r, &g->game);
    memcpy(r.explored, g->explored, sizeof r.explored);
    if (g->game.phase == PHASE_OVER)
        for (int seat = 0; seat < N_SEATS; seat++)
            r.version[seat] = g->version[game_role(&g->game, seat)];
    uint8_t bytes[RECORD_MAX_BYTES];
    size_t n = record_write(&r, bytes);
    s->bytes += n;
    s->n_moves += r.n_moves;
    s->config.emit(s->config.ctx, bytes, n);
}

Status selfplay_new(const SelfplayConfig *c, const Policy *const policies[N_ROLES],
                    Selfplay **out) {
    bool same = policies[0] == policies[1] && policies[0] == policies[2];
    if (c->stride == 0 || (ruleset_get(c->rules)->bidding && !same)) return ST_INVALID;
    Selfplay *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->config = *c;
    s->next = c->first;
    s->allowed = UINT64_MAX;
    s->one_policy = same;
    PoolConfig pool = {.n_games = c->n_games,
                       .epsilon = c->epsilon,
                       .start = start_game,
                       .finish = finish_game,
                       .ctx = s};
    Status st = pool_new(&pool, same ? 1 : N_ROLES, policies, &s->pool);
    if (st == ST_OK) *out = s;
    else selfplay_free(s);
    return st;
}

void selfplay_free(Selfplay *s) {
    if (!s) return;
    pool_free(s->pool);
    free(s);
}

void selfplay_set_versions(Selfplay *s, const uint32_t version[N_ROLES]) {
    memcpy(s->version, version, sizeof s->version);
}

void selfplay_allow(Selfplay *s, uint64_t n) {
    s->allowed = n;
    pool_refill(s->pool);
}

bool selfplay_tick(Selfplay *s) { return pool_tick(s->pool); }
const PoolStats *selfplay_stats(const Selfplay *s) { return pool_stats(s->pool); }

uint64_t selfplay_bytes(const Selfplay *s, uint64_t *n_moves) {
    *n_moves = s->n_moves;
    return s->bytes;
}
