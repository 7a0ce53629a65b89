/* Threads claim games. Those between policies of ours go through a pool, many at once, so that nets
 * score in batches; those with an external program are judged one at a time. Finished games wait in
 * one list for the caller's thread. */
#include "actors/arena.h"
#include "actors/pool.h"
#include "actors/remote_seat.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GAMES_AT_ONCE = 128, SLOW_AT_ONCE = 2, EMIT_MS = 200 };
static const uint64_t choice_seed = 0x6d617463682e2e2eull; /* as matches: the same games */

/* ---- lineups ---- */

static int pair_lineups(ArenaFormat f, uint8_t a, uint8_t b, Lineup *out) {
    const Lineup sides[2] = {{{a, b, b}}, {{b, a, a}}};
    const Lineup seats[6] = {{{a, b, b}}, {{b, a, b}}, {{b, b, a}},
                             {{b, a, a}}, {{a, b, a}}, {{a, a, b}}};
    int n = f == FORMAT_SIDES ? 2 : 6;
    memcpy(out, f == FORMAT_SIDES ? sides : seats, (size_t)n * sizeof *out);
    return n;
}

static int triple_lineups(uint8_t a, uint8_t b, uint8_t c, Lineup *out) {
    const Lineup orders[6] = {{{a, b, c}}, {{a, c, b}}, {{b, a, c}},
                              {{b, c, a}}, {{c, a, b}}, {{c, b, a}}};
    memcpy(out, orders, sizeof orders);
    return 6;
}

int arena_lineups(ArenaFormat f, int n_agents, Lineup *out) {
    int n = 0;
    for (int a = 0; a < n_agents; a++)
        for (int b = a + 1; b < n_agents; b++) {
            if (f != FORMAT_TRIPLES) n += pair_lineups(f, (uint8_t)a, (uint8_t)b, out + n);
            for (int c = b + 1; f == FORMAT_TRIPLES && c < n_agents; c++)
                n += triple_lineups((uint8_t)a, (uint8_t)b, (uint8_t)c, out + n);
        }
    return n;
}

/* ---- what the threads share ---- */

typedef struct {
    const ArenaConfig *config;
    Lineup *lineups;
    bool *external; /* [n_lineups]: has a program of somebody else's */
    int n_lineups;
    uint8_t *done; /* bit per game */
    int64_t n_games, n_done;
    atomic_llong next[2]; /* first game not yet looked at: of ours, with external ones */
    atomic_int failed;    /* Status of the first thread that failed */
    atomic_int working;   /* threads */
    pthread_mutex_t lock; /* of the list */
    ArenaGame *list;
    int n_list, cap_list;
} Arena;

static bool is_done(const Arena *a, int64_t game) { return a->done[game / 8] >> game % 8 & 1; }

static bool stopped(const Arena *a) {
    return (a->config->stop && atomic_load(a->config->stop)) || atomic_load(&a->failed) != ST_OK;
}

/* The next game of a kind that is not done, or -1. */
static int64_t claim(Arena *a, bool external) {
    while (!stopped(a)) {
        int64_t game = atomic_fetch_add(&a->next[external], 1);
        if (game >= a->n_games) return -1;
        if (a->external[game % a->n_lineups] == external && !is_done(a, game)) return game;
    }
    return -1;
}

static void hand_over(Arena *a, const ArenaGame *g) {
    pthread_mutex_lock(&a->lock);
    if (a->n_list == a->cap_list) {
        int cap = a->cap_list ? 2 * a->cap_list : 256;
        ArenaGame *list = realloc(a->list, (size_t)cap * sizeof *list);
        if (list) {
            a->list = list;
            a->cap_list = cap;
        }
    }
    if (a->n_list < a->cap_list) a->list[a->n_list++] = *g;
    else atomic_store(&a->failed, (int)ST_NOMEM);
    pthread_mutex_unlock(&a->lock);
}

static void describe(const Arena *a, int64_t number, const Deal *deal, const Game *g,
                     ArenaGame *out) {
    *out = (ArenaGame){.deal = number / a->n_lineups,
                       .lineup = a->lineups[number % a->n_lineups],
                       .landlord = g->landlord,
                       .landlord_won = game_landlord_won(g),
                       .void_deal = g->phase == PHASE_VOID,
                       .n_moves = g->n_moves};
    if (g->phase != PHASE_OVER && g->phase != PHASE_VOID) return;
    Record r = {.game = (uint64_t)out->deal, .deal = *deal};
    record_from_game(&r, g);
    out->n_record = (uint16_t)record_write(&r, out->record);
}

/* In the format `sides` seat 0 takes the deal at the lowest bid. */
static void settle_bids(const Arena *a, Game *g) {
    for (int bid = 1; a->config->format == FORMAT_SIDES && g->phase == PHASE_BID; bid = 0) {
        Status st = game_bid(g, bid, NULL);
        assert(st == ST_OK);
        (void)st;
    }
}

static void start_chance(const Arena *a, int64_t number, Deal *deal, Rng *rng) {
    uint64_t i = (uint64_t)(number / a->n_lineups), seed = a->config->seed;
    deal_random(seed, i, deal);
    rng_init(rng, seed ^ choice_seed, i);
}

/* ---- games between policies of ours ---- */

static bool start_game(void *ctx, PoolGame *g) {
    Arena *a = ctx;
    int64_t number = claim(a, false);
    if (number < 0) return false;
    g->index = (uint64_t)number;
    start_chance(a, number, &g->deal, &g->rng);
    game_init(&g->game, a->config->rules, &g->deal, 0);
    settle_bids(a, &g->game);
    memcpy(g->player, a->lineups[number % a->n_lineups].agent, sizeof g->player);
    return true;
}

static void finish_game(void *ctx, const PoolGame *g) {
    ArenaGame out;
    describe(ctx, (int64_t)g->index, &g->deal, &g->game, &out);
    game_scores(&g->game, out.score);
    hand_over(ctx, &out);
}

/* External agents never come into a pool: any policy may stand in their place. */
static Status play_pool(Arena *a) {
    const ArenaConfig *c = a->config;
    const Policy *policies[ARENA_MAX_AGENTS], *any = NULL;
    bool slow = false;
    for (int i = 0; i < c->n_agents; i++) {
        if (!c->agents[i].policy) continue;
        any = c->agents[i].policy;
        slow |= c->agents[i].slow;
    }
    if (!any) return ST_OK;
    for (int i = 0; i < c->n_agents; i++)
        policies[i] = c->agents[i].policy ? c->agents[i].policy : any;
    int64_t share = a->n_games / c->threads + 1;
    int n = slow ? SLOW_AT_ONCE : GAMES_AT_ONCE;
    PoolConfig pc = {.n_games = share < n ? (int)share : n,
                     .start = start_game,
                     .finish = finish_game,
                     .ctx = a};
    Pool *pool;
    TRY(pool_new(&pc, c->n_agents, policies, &pool));
    while (!stopped(a) && pool_tick(pool)) {}
    pool_free(pool);
    return ST_OK;
}

/* ---- games with external programs ---- */

typedef struct {
    Arena *arena;
    PolicyScratch *scratch;
    Hand legal[MOVEGEN_MAX];
} Referee;

static void policy_turn(Referee *r, const Policy *p, Judge *j, Rng *rng) {
    if (j->game.phase == PHASE_BID) {
        judge_bid(j, policy_bid(p, r->scratch, &j->game, rng));
        return;
    }
    Decision d = {
        .game = &j->game, .legal = r->legal, .n_legal = game_legal(&j->game, r->legal), .rng = rng};
    if (d.n_legal > 1) policy_choose(p, r->scratch, 1, &d);
    judge_play(j, d.legal[d.choice]);
}

static Status open_seats(const Arena *a, const Lineup *l, RemoteSeat *seats[N_SEATS]) {
    for (int s = 0; s < N_SEATS; s++) {
        const Agent *agent = &a->config->agents[l->agent[s]];
        if (!agent->policy) TRY(remoteseat_new(&agent->external, &seats[s]));
    }
    return ST_OK;
}

static Status play_judged(Referee *r, int64_t number) {
    Arena *a = r->arena;
    const Lineup *l = &a->lineups[number % a->n_lineups];
    RemoteSeat *seats[N_SEATS] = {0};
    double begin = clock_s();
    Deal deal;
    Rng rng;
    Judge j;
    start_chance(a, number, &deal, &rng);
    judge_init(&j, a->config->rules, &deal);
    for (int bid = 1; a->config->format == FORMAT_SIDES && j.game.phase == PHASE_BID; bid = 0)
        judge_bid(&j, bid);
    Status st = open_seats(a, l, seats);
    while (st == ST_OK && judge_next(&j)) {
        int seat = j.game.turn;
        if (seats[seat]) remoteseat_move(seats[seat], &j);
        else policy_turn(r, a->config->agents[l->agent[seat]].policy, &j, &rng);
        if (stopped(a)) st = ST_INTERRUPTED;
    }
    for (int s = 0; s < N_SEATS; s++) remoteseat_free(seats[s]);
    if (st != ST_OK) return st;
    ArenaGame out;
    describe(a, number, &deal, &j.game, &out);
    judge_scores(&j, out.score);
    if (j.stopped)
        out.landlord_won = j.game.landlord != SEAT_NONE && out.score[j.game.landlord] > 0;
    memcpy(out.verdict, j.verdict, sizeof out.verdict);
    out.seconds = (float)(clock_s() - begin);
    hand_over(a, &out);
    return ST_OK;
}

static Status play_all_judged(Arena *a) {
    Referee *r = calloc(1, sizeof *r);
    if (!r) return ST_NOMEM;
    r->arena = a;
    Status st = policyscratch_new(&r->scratch);
    for (int64_t number; st == ST_OK && (number = claim(a, true)) >= 0;)
        st = play_judged(r, number);
    policyscratch_free(r->scratch);
    free(r);
    return st;
}

/* ---- all together ---- */

static void *work(void *arg) {
    Arena *a = arg;
    Status st = play_pool(a);
    if (st == ST_OK) st = play_all_judged(a);
    int ok = ST_OK;
    if (st != ST_OK) atomic_compare_exchange_strong(&a->failed, &ok, (int)st);
    atomic_fetch_sub(&a->working, 1);
    return NULL;
}

/* Empties the list into the caller's hands. */
static Status pass_on(Arena *a) {
    pthread_mutex_lock(&a->lock);
    ArenaGame *list = a->list;
    int n = a->n_list;
    a->list = NULL;
    a->n_list = a->cap_list = 0;
    pthread_mutex_unlock(&a->lock);
    a->n_done += n;
    Status st = a->config->emit(a->config->ctx, list, n, a->n_done, a->n_games);
    free(list);
    return st;
}

static Status watch(Arena *a) {
    for (;;) {
        bool working = atomic_load(&a->working) > 0;
        Status st = pass_on(a);
        if (st != ST_OK) return st;
        if (!working) return ST_OK;
        for (int ms = 0; ms < EMIT_MS && atomic_load(&a->working) > 0; ms += 5) clock_sleep_ms(5);
    }
}

static Status prepare(Arena *a) {
    const ArenaConfig *c = a->config;
    a->lineups = malloc(ARENA_MAX_LINEUPS * sizeof *a->lineups);
    if (!a->lineups) return ST_NOMEM;
    a->n_lineups = arena_lineups(c->format, c->n_agents, a->lineups);
    if (a->n_lineups == 0) {
        log_error("%d agents are too few for this format", c->n_agents);
        return ST_INVALID;
    }
    a->n_games = c->deals * a->n_lineups;
    a->done = calloc((size_t)a->n_games / 8 + 1, 1);
    a->external = calloc((size_t)a->n_lineups, sizeof *a->external);
    if (!a->done || !a->external) return ST_NOMEM;
    for (int l = 0; l < a->n_lineups; l++)
        for (int s = 0; s < N_SEATS; s++)
            a->external[l] |= !c->agents[a->lineups[l].agent[s]].policy;
    for (int64_t g = 0; c->done && g < a->n_games; g++) {
        if (!c->done(c->ctx, g / a->n_lineups, &a->lineups[g % a->n_lineups])) continue;
        a->done[g / 8] |= (uint8_t)(1u << g % 8);
        a->n_done++;
    }
    return ST_OK;
}

static Status play(Arena *a) {
    const ArenaConfig *c = a->config;
    pthread_t *threads = calloc((size_t)c->threads, sizeof *threads);
    if (!threads) return ST_NOMEM;
    int n = 0;
    for (; n < c->threads; n++) {
        atomic_fetch_add(&a->working, 1);
        if (pthread_create(&threads[n], NULL, work, a) == 0) continue;
        log_error("cannot start a thread");
        atomic_fetch_sub(&a->working, 1);
        atomic_store(&a->failed, (int)ST_NOMEM);
        break;
    }
    Status st = watch(a);
    int ok = ST_OK;
    if (st != ST_OK) atomic_compare_exchange_strong(&a->failed, &ok, (int)st);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    free(threads);
    st = (Status)atomic_load(&a->failed);
    return st == ST_OK && a->n_done < a->n_games ? ST_INTERRUPTED : st;
}

Status arena_run(const ArenaConfig *c) {
    if (c->deals < 1 || c->threads < 1 || c->n_agents > ARENA_MAX_AGENTS) return ST_INVALID;
    Arena a = {.config = c, .lock = PTHREAD_MUTEX_INITIALIZER};
    Status st = prepare(&a);
    if (st == ST_OK) st = play(&a);
    free(a.list);
    free(a.done);
    free(a.external);
    free(a.lineups);
    return st;
}
