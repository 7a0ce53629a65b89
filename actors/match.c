#include "actors/match.h"
#include "actors/pool.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

enum { DEFAULT_GAMES = 256, DECKS_PER_CLAIM = 16, PROGRESS_MS = 200 };
static const uint64_t choice_seed = 0x6d617463682e2e2eull;

/* Of one game, from A's side. played makes a missing or doubled game impossible to overlook. */
typedef struct {
    float points;
    bool won;
    uint8_t played;
} Outcome;

typedef struct {
    const MatchConfig *config;
    const Policy *policies[2];
    Outcome *outcomes; /* [2 * decks]: deck i's games are 2i (A landlord) and 2i+1 */
    atomic_llong next_deck, done;
    atomic_int failed; /* Status of the first thread that failed */
} Match;

typedef struct {
    Match *match;
    int64_t game, end; /* claimed games not yet started */
} Worker;

static bool claim(Worker *w) {
    int64_t decks = w->match->config->decks;
    int64_t first = atomic_fetch_add(&w->match->next_deck, DECKS_PER_CLAIM);
    if (first >= decks) return false;
    w->game = 2 * first;
    w->end = 2 * (first + DECKS_PER_CLAIM < decks ? first + DECKS_PER_CLAIM : decks);
    return true;
}

/* Seat 0 takes the deal at the lowest bid. */
static void settle_bids(Game *g) {
    for (int bid = 1; g->phase == PHASE_BID; bid = 0) {
        Status st = game_bid(g, bid, NULL);
        assert(st == ST_OK);
        (void)st;
    }
}

static bool start_game(void *ctx, PoolGame *g) {
    Worker *w = ctx;
    const MatchConfig *c = w->match->config;
    if ((c->stop && atomic_load(c->stop)) || atomic_load(&w->match->failed)) return false;
    if (w->game == w->end && !claim(w)) return false;
    g->index = (uint64_t)w->game++;
    uint64_t deck = c->first + g->index / 2;
    deal_random(c->seed, deck, &g->deal);
    rng_init(&g->rng, c->seed ^ choice_seed, deck);
    game_init(&g->game, c->rules, &g->deal, 0);
    settle_bids(&g->game);
    bool a_peasants = g->index % 2;
    for (int seat = 0; seat < N_SEATS; seat++)
        g->player[seat] = (seat == g->game.landlord) == a_peasants;
    return true;
}

/* The landlord's points, the peasants' being the opposite. */
static double landlord_points(const Game *g) {
    double s[N_SEATS];
    game_scores(g, s);
    double peasants = s[game_seat(g, ROLE_LANDLORD_DOWN)] + s[game_seat(g, ROLE_LANDLORD_UP)];
    return ruleset_get((RulesetId)g->ruleset)->score == SCORE_POINTS ? s[g->landlord] - peasants / 2
                                                                     : s[g->landlord];
}

static void finish_game(void *ctx, const PoolGame *g) {
    Worker *w = ctx;
    Outcome *o = &w->match->outcomes[g->index];
    bool a_peasants = g->index % 2;
    o->won = game_landlord_won(&g->game) != a_peasants;
    o->points = (float)(a_peasants ? -landlord_points(&g->game) : landlord_points(&g->game));
    o->played++;
    atomic_fetch_add(&w->match->done, 1);
}

static void *work(void *arg) {
    Match *m = arg;
    Worker w = {.match = m};
    int64_t share = 2 * m->config->decks / m->config->threads + 1;
    int n_games = m->config->n_games ? m->config->n_games : DEFAULT_GAMES;
    PoolConfig c = {.n_games = share < n_games ? (int)share : n_games,
                    .start = start_game,
                    .finish = finish_game,
                    .ctx = &w};
    Pool *pool;
    Status st = pool_new(&c, 2, m->policies, &pool);
    if (st != ST_OK) {
        atomic_store(&m->failed, (int)st);
        return NULL;
    }
    while (pool_tick(pool))
        if (m->config->stop && atomic_load(m->config->stop)) break;
    pool_free(pool);
    return NULL;
}

static Estimate estimate(double sum, double squares, int64_t n) {
    double mean = sum / (double)n;
    double variance = n > 1 ? (squares - sum * mean) / (double)(n - 1) : 0;
    return (Estimate){mean, 1.96 * sqrt(fmax(variance, 0) / (double)n)};
}

/* Share of won games among outcomes[first], [first + 2], ... */
static Estimate win_share(const Outcome *o, int64_t decks) {
    double won = 0;
    for (int64_t i = 0; i < decks; i++) won += o[2 * i].won;
    return estimate(won, won, decks);
}

static Status summarise(const Match *m, MatchResult *out) {
    int64_t n = m->config->decks;
    double won = 0, won2 = 0, points = 0, points2 = 0;
    for (int64_t i = 0; i < n; i++) {
        const Outcome *o = &m->outcomes[2 * i];
        if (o[0].played != 1 || o[1].played != 1) {
            log_error("deck %lld was not played out", (long long)i);
            return ST_PEER;
        }
        double w = (o[0].won + o[1].won) / 2.0, p = ((double)o[0].points + (double)o[1].points) / 2;
        won += w;
        won2 += w * w;
        points += p;
        points2 += p * p;
    }
    *out = (MatchResult){.decks = n,
                         .games = 2 * n,
                         .wp_landlord = win_share(m->outcomes, n),
                         .wp_peasants = win_share(m->outcomes + 1, n),
                         .wp = estimate(won, won2, n),
                         .adp = estimate(points, points2, n)};
    return ST_OK;
}

/* Reports until the games are done, stopped or failed; the threads end by themselves. */
static void watch(Match *m) {
    int64_t games = 2 * m->config->decks;
    for (;;) {
        int64_t done = atomic_load(&m->done);
        if (m->config->progress) m->config->progress(m->config->ctx, done, games);
        if (done >= games || atomic_load(&m->failed) != ST_OK) return;
        if (m->config->stop && atomic_load(m->config->stop)) return;
        for (int ms = 0; ms < PROGRESS_MS && atomic_load(&m->done) < games; ms += 5)
            clock_sleep_ms(5);
    }
}

Status match_play(const MatchConfig *c, const Policy *a, const Policy *b, MatchResult *out) {
    if (c->decks < 1 || c->threads < 1) return ST_INVALID;
    double begin = clock_s();
    Match m = {.config = c, .policies = {a, b}};
    m.outcomes = calloc((size_t)c->decks * 2, sizeof *m.outcomes);
    pthread_t *threads = calloc((size_t)c->threads, sizeof *threads);
    Status st = m.outcomes && threads ? ST_OK : ST_NOMEM;
    int n = 0;
    for (; st == ST_OK && n < c->threads; n++)
        if (pthread_create(&threads[n], NULL, work, &m) != 0) {
            log_error("cannot start a thread");
            atomic_store(&m.failed, ST_NOMEM);
            break;
        }
    if (st == ST_OK) watch(&m);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    if (st == ST_OK) st = (Status)atomic_load(&m.failed);
    if (st == ST_OK && atomic_load(&m.done) < 2 * c->decks && c->stop && atomic_load(c->stop))
        st = ST_INTERRUPTED;
    if (st == ST_OK) st = summarise(&m, out);
    if (st == ST_OK) out->seconds = clock_s() - begin;
    free(threads);
    free(m.outcomes);
    return st;
}
