#include "actors/bid_play.h"
#include "actors/pool.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/recordfile.h"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { GAMES_AT_ONCE = 256, PROGRESS_MS = 200, GAMES_PER_DEAL = N_SEATS };
static const uint64_t choice_seed = 0x62696473ull;

typedef struct {
    const BidPlayConfig *config;
    uint8_t **record; /* [n_games], length in the first two bytes; NULL: not finished */
    int64_t n_games;
    atomic_llong next, done;
    atomic_int failed, working;
} Play;

static bool start_game(void *ctx, PoolGame *g) {
    Play *p = ctx;
    const BidPlayConfig *c = p->config;
    if ((c->stop && atomic_load(c->stop)) || atomic_load(&p->failed) != ST_OK) return false;
    int64_t i = atomic_fetch_add(&p->next, 1);
    if (i >= p->n_games) return false;
    uint64_t deal = c->first + (uint64_t)(i / GAMES_PER_DEAL);
    int landlord = (int)(i % GAMES_PER_DEAL);
    g->index = (uint64_t)i;
    deal_random(c->seed, deal, &g->deal);
    rng_init(&g->rng, c->seed ^ choice_seed, deal);
    game_init(&g->game, c->rules, &g->deal, 0);
    for (int seat = 0; seat <= landlord; seat++) {
        Status st = game_bid(&g->game, seat == landlord ? 3 : 0, NULL);
        assert(st == ST_OK);
        (void)st;
    }
    memset(g->player, 0, sizeof g->player);
    return true;
}

static void finish_game(void *ctx, const PoolGame *g) {
    Play *p = ctx;
    uint8_t bytes[2 + RECORD_MAX_BYTES];
    Record r = {.game = p->config->first + g->index / GAMES_PER_DEAL, .deal = g->deal};
    record_from_game(&r, &g->game);
    size_t n = record_write(&r, bytes + 2);
    bytes[0] = (uint8_t)n;
    bytes[1] = (uint8_t)(n >> 8);
    uint8_t *kept = malloc(n + 2);
    if (kept) memcpy(kept, bytes, n + 2);
    else atomic_store(&p->failed, (int)ST_NOMEM);
    p->record[g->index] = kept;
    atomic_fetch_add(&p->done, 1);
}

static void *work(void *arg) {
    Play *p = arg;
    PoolConfig c = {.n_games = GAMES_AT_ONCE, .start = start_game, .finish = finish_game, .ctx = p};
    Pool *pool;
    Status st = pool_new(&c, 1, &p->config->policy, &pool);
    if (st == ST_OK) {
        while (pool_tick(pool))
            if (p->config->stop && atomic_load(p->config->stop)) break;
        pool_free(pool);
    } else {
        atomic_store(&p->failed, (int)st);
    }
    atomic_fetch_sub(&p->working, 1);
    return NULL;
}

static void watch(Play *p) {
    while (atomic_load(&p->working) > 0) {
        if (p->config->progress)
            p->config->progress(p->config->ctx, atomic_load(&p->done), p->n_games);
        for (int ms = 0; ms < PROGRESS_MS && atomic_load(&p->working) > 0; ms += 5)
            clock_sleep_ms(5);
    }
}

static Status run_threads(Play *p) {
    pthread_t *threads = calloc((size_t)p->config->threads, sizeof *threads);
    if (!threads) return ST_NOMEM;
    int n = 0;
    for (; n < p->config->threads; n++) {
        atomic_fetch_add(&p->working, 1);
        if (pthread_create(&threads[n], NULL, work, p) == 0) continue;
        log_error("cannot start a thread");
        atomic_fetch_sub(&p->working, 1);
        atomic_store(&p->failed, (int)ST_NOMEM);
        break;
    }
    watch(p);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    free(threads);
    return (Status)atomic_load(&p->failed);
}

/* The whole deals from the first on. */
static Status write_records(const Play *p, const char *path) {
    RecordWriter *w;
    int64_t whole = 0;
    while (whole < p->n_games && p->record[whole]) whole++;
    whole -= whole % GAMES_PER_DEAL;
    TRY(recordwriter_open(path, &w));
    Status st = ST_OK;
    for (int64_t i = 0; st == ST_OK && i < whole; i++) {
        const uint8_t *r = p->record[i];
        st = recordwriter_add(w, r + 2, (size_t)(r[0] | r[1] << 8));
    }
    Status closed = recordwriter_close(w);
    if (st == ST_OK) st = closed;
    return st == ST_OK && whole < p->n_games ? ST_INTERRUPTED : st;
}

Status bid_play(const BidPlayConfig *c, const char *path) {
    if (!ruleset_get(c->rules)->bidding || c->deals < 1 || c->threads < 1) return ST_INVALID;
    Play p = {.config = c, .n_games = c->deals * GAMES_PER_DEAL};
    p.record = calloc((size_t)p.n_games, sizeof *p.record);
    if (!p.record) return ST_NOMEM;
    Status st = run_threads(&p);
    if (st == ST_OK) st = write_records(&p, path);
    for (int64_t i = 0; i < p.n_games; i++) free(p.record[i]);
    free(p.record);
    return st;
}
