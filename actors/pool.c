#include "actors/pool.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Legal plays of a tick lie back to back here, about 8 a decision; when the room runs low the
 * batch gathered so far is decided early.                                                   */
enum { ROOM_PER_GAME = 48 };

struct Pool {
    PoolConfig config;
    int n_policies;
    const Policy *policies[POOL_MAX_POLICIES];
    PolicyScratch *scratch;
    PoolGame *games;
    bool *running;
    int n_running;
    bool exhausted; /* start said no */

    Decision *batch[POOL_MAX_POLICIES];
    int *batch_game[POOL_MAX_POLICIES]; /* which game a decision belongs to */
    int n_batch[POOL_MAX_POLICIES];
    Hand *legal;
    size_t n_legal, cap_legal;
    PoolStats stats;
};

Status pool_new(const PoolConfig *c, int n_policies, const Policy *const *policies, Pool **out) {
    if (c->n_games < 1 || n_policies < 1 || n_policies > POOL_MAX_POLICIES) return ST_INVALID;
    Pool *p = calloc(1, sizeof *p);
    if (!p) return ST_NOMEM;
    size_t n = (size_t)c->n_games;
    p->config = *c;
    p->n_policies = n_policies;
    p->cap_legal = n * ROOM_PER_GAME + MOVEGEN_MAX;
    p->games = calloc(n, sizeof *p->games);
    p->running = calloc(n, sizeof *p->running);
    p->legal = malloc(p->cap_legal * sizeof *p->legal);
    Status st = p->games && p->running && p->legal ? ST_OK : ST_NOMEM;
    for (int i = 0; i < n_policies && st == ST_OK; i++) {
        p->policies[i] = policies[i];
        p->batch[i] = malloc(n * sizeof *p->batch[i]);
        p->batch_game[i] = malloc(n * sizeof *p->batch_game[i]);
        if (!p->batch[i] || !p->batch_game[i]) st = ST_NOMEM;
    }
    if (st == ST_OK) st = policyscratch_new(&p->scratch);
    if (st != ST_OK) {
        pool_free(p);
        return st;
    }
    *out = p;
    return ST_OK;
}

void pool_free(Pool *p) {
    if (!p) return;
    policyscratch_free(p->scratch);
    for (int i = 0; i < POOL_MAX_POLICIES; i++) {
        free(p->batch[i]);
        free(p->batch_game[i]);
    }
    free(p->legal);
    free(p->running);
    free(p->games);
    free(p);
}

const PoolStats *pool_stats(const Pool *p) { return &p->stats; }
void pool_refill(Pool *p) { p->exhausted = false; }

static void play(Pool *p, PoolGame *g, Hand cards) {
    game_apply(&g->game, cards);
    p->stats.decisions++;
}

/* Decides all that is gathered, policy by policy, and makes the plays. */
static void decide(Pool *p) {
    for (int i = 0; i < p->n_policies; i++) {
        int n = p->n_batch[i];
        if (n == 0) continue;
        Decision *d = p->batch[i];
        policy_choose(p->policies[i], p->scratch, n, d);
        for (int k = 0; k < n; k++) {
            assert(d[k].choice >= 0 && d[k].choice < d[k].n_legal);
            play(p, &p->games[p->batch_game[i][k]], d[k].legal[d[k].choice]);
            p->stats.actions += (uint64_t)d[k].n_legal;
        }
        p->stats.scored += (uint64_t)n;
        p->n_batch[i] = 0;
    }
    p->n_legal = 0;
}

static void explore(Pool *p, PoolGame *g, const Hand *legal, int n) {
    int at = g->game.n_moves;
    g->explored[at / 8] |= (uint8_t)(1u << at % 8);
    p->stats.explored++;
    play(p, g, legal[rng_below(&g->rng, (uint32_t)n)]);
}

/* Plays a game on until it waits for a policy (true) or has ended (false). */
static bool advance(Pool *p, int at) {
    PoolGame *g = &p->games[at];
    while (g->game.phase == PHASE_BID) {
        const Policy *bidder = p->policies[g->player[g->game.turn]];
        int bid = policy_bid(bidder, p->scratch, &g->game, &g->rng);
        Status st = game_bid(&g->game, bid, NULL);
        assert(st == ST_OK);
        (void)st;
    }
    while (g->game.phase == PHASE_PLAY) {
        if (p->n_legal + MOVEGEN_MAX > p->cap_legal) decide(p);
        Hand *legal = p->legal + p->n_legal;
        int n = game_legal(&g->game, legal);
        if (n == 1) {
            p->stats.forced++;
            play(p, g, legal[0]);
        } else if (p->config.epsilon > 0 && rng_float(&g->rng) < p->config.epsilon) {
            explore(p, g, legal, n);
        } else {
            int player = g->player[g->game.turn], k = p->n_batch[player]++;
            p->batch[player][k] =
                (Decision){.game = &g->game, .legal = legal, .n_legal = n, .rng = &g->rng};
            p->batch_game[player][k] = at;
            p->n_legal += (size_t)n;
            return true;
        }
    }
    return false;
}

static bool start(Pool *p, int at) {
    if (p->exhausted) return false;
    PoolGame *g = &p->games[at];
    memset(g->explored, 0, sizeof g->explored);
    if (!p->config.start(p->config.ctx, g)) {
        p->exhausted = true;
        return false;
    }
    p->running[at] = true;
    p->n_running++;
    return true;
}

static void finish(Pool *p, int at) {
    p->stats.games++;
    p->config.finish(p->config.ctx, &p->games[at]);
    p->running[at] = false;
    p->n_running--;
}

bool pool_tick(Pool *p) {
    for (int at = 0; at < p->config.n_games; at++) {
        /* A place may see one game end and the next one begin, but no more than two games: with
         * epsilon 1 nothing ever waits.                                                     */
        for (int n = 0; n < 2 && (p->running[at] || start(p, at)); n++) {
            if (advance(p, at)) break;
            finish(p, at);
        }
    }
    decide(p);
    return p->n_running > 0 || !p->exhausted;
}
