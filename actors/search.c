#include "actors/search.h"
#include "actors/rollout.h"
#include "actors/solver.h"
#include "actors/worlds.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include <math.h>
#include <stdlib.h>

enum {
    MAX_WORLDS = 8192,
    CHUNK_GAMES = 128,   /* rolled out between two looks at the clock, at most */
    SOLVER_BITS = 18,    /* 4 MB: stays in the cache's reach */
    SOLVER_NODES = 30000 /* for one play in one world: about 5 ms */
};

typedef struct {
    int index; /* into legal */
    double sum;
    int n;        /* worlds tried */
    float *value; /* [MAX_WORLDS] */
} Candidate;

struct Search {
    SearchConfig config;
    const Policy *root, *player;
    Rollout *rollout;
    Solver *solver; /* of solver_rules; made when first needed */
    int solver_rules;
    Objective objective;
    double rate; /* playouts a second, of late */
    float q[MOVEGEN_MAX];
    Candidate candidate[SEARCH_MAX_CANDIDATES]; /* the net's own choice first */
    Hand world[MAX_WORLDS];
    int n_worlds;
    float *values;
    SearchStats stats;
};

/* What a game is worth, from loss to win half of it, by objective: gap and window are told for wp.
 */
static const double scale[N_OBJECTIVES] = {1, 2, 1.5, 4};

Status search_new(const SearchConfig *c, const Policy *root, const Policy *player, Search **out) {
    Search *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->config = *c;
    s->root = root;
    s->player = player;
    s->objective = (Objective)policy_info(root)->objective;
    s->rate = 1000;
    s->values = malloc(SEARCH_MAX_CANDIDATES * MAX_WORLDS * sizeof *s->values);
    Status st =
        s->values ? rollout_new(CHUNK_GAMES + SEARCH_MAX_CANDIDATES, &s->rollout) : ST_NOMEM;
    if (st != ST_OK) {
        search_free(s);
        return st;
    }
    for (int i = 0; i < SEARCH_MAX_CANDIDATES; i++)
        s->candidate[i].value = s->values + i * MAX_WORLDS;
    *out = s;
    return ST_OK;
}

void search_free(Search *s) {
    if (!s) return;
    rollout_free(s->rollout);
    solver_free(s->solver);
    free(s->values);
    free(s);
}

const SearchStats *search_stats(const Search *s) { return &s->stats; }

/* ---- candidates ---- */

static int best_of(const float *q, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (q[i] > q[best]) best = i;
    return best;
}

static void add_candidate(Search *s, int *n, int index, int max) {
    for (int i = 0; i < *n; i++)
        if (s->candidate[i].index == index) return;
    if (*n == max) (*n)--; /* the least of the good ones makes room */
    s->candidate[*n].index = index;
    s->candidate[*n].sum = 0;
    s->candidate[(*n)++].n = 0;
}

/* The plays that a net which misjudges the position must not keep from being tried: passing, and
 * the answer of the lowest rank that is no bomb. */
static void add_standing_candidates(Search *s, const Decision *d, int *n) {
    if (d->game->to_beat.cards == 0) return;
    const Ruleset *rules = ruleset_get((RulesetId)d->game->ruleset);
    int lowest = -1, rank = N_RANKS;
    for (int i = 0; i < d->n_legal; i++) {
        Move m = move_classify(rules, d->legal[i]);
        if (d->legal[i] == 0 || move_is_bomb(&m) || m.rank >= rank) continue;
        lowest = i;
        rank = m.rank;
    }
    if (lowest >= 0) add_candidate(s, n, lowest, s->config.candidates);
    add_candidate(s, n, d->n_legal - 1, s->config.candidates + 1); /* the pass is last */
}

/* The best plays within the window, best first. 1: the first is so clearly best that nothing else
 * needs to be looked at. */
static int choose_candidates(Search *s, const Decision *d) {
    double unit = scale[s->objective];
    float q[MOVEGEN_MAX], top = s->q[best_of(s->q, d->n_legal)];
    int n = 0;
    for (int i = 0; i < d->n_legal; i++) q[i] = s->q[i];
    for (int k = 0; k < s->config.candidates && k < d->n_legal; k++) {
        int best = best_of(q, d->n_legal);
        if (k == 1 && top - q[best] > s->config.gap * unit) return 1;
        if (top - q[best] > s->config.window * unit) break;
        add_candidate(s, &n, best, s->config.candidates);
        q[best] = -INFINITY;
    }
    int before = n;
    add_standing_candidates(s, d, &n);
    return before == 0 ? 0 : n;
}

/* ---- exact endings ---- */

static bool get_solver(Search *s, int rules) {
    if (s->solver && s->solver_rules == rules) return true;
    solver_free(s->solver);
    s->solver = NULL;
    s->solver_rules = rules;
    return solver_new(ruleset_get((RulesetId)rules), SOLVER_BITS, &s->solver) == ST_OK;
}

/* Does the mover's side win after this play? */
static Solved solve_play(Search *s, const Game *world, Hand play) {
    const Ruleset *rules = ruleset_get((RulesetId)world->ruleset);
    Ending e, next;
    ending_from_game(world, &e);
    if (!ending_play(rules, &e, play, &next)) return SOLVED_WON;
    Solved v = solver_run(s->solver, &next, SOLVER_NODES);
    if (v == SOLVED_UNKNOWN) return v;
    return (v == SOLVED_WON) == (e.turn == ROLE_LANDLORD) ? SOLVED_WON : SOLVED_LOST;
}

/* The share of worlds in which a play wins; false: not all could be solved. */
static bool solve_everywhere(Search *s, const Decision *d, const Unknown *u, int index,
                             const Hand *first, const double *share, int n, double *won) {
    Game world = *d->game;
    *won = 0;
    for (int i = 0; i < n; i++) {
        worlds_set(u, first[i], &world);
        Solved v = solve_play(s, &world, d->legal[index]);
        if (v == SOLVED_UNKNOWN) return false;
        if (v == SOLVED_WON) *won += share[i];
    }
    return true;
}

enum { SOLVE_PLAYS = 64 };

/* Keeps as candidates the plays that win in the most worlds; 0: the ending is not one to solve, or
 * all plays are equally good. */
static int solve_ending(Search *s, const Decision *d, const Unknown *u) {
    const Game *g = d->game;
    const SearchConfig *c = &s->config;
    Hand first[SEARCH_MAX_LISTED];
    double share[SEARCH_MAX_LISTED], won[SOLVE_PLAYS], most = 0, least = 2;
    if (g->left[0] + g->left[1] + g->left[2] > c->solve_cards || d->n_legal > SOLVE_PLAYS) return 0;
    int n_worlds = worlds_list(u, c->solve_worlds, first, share);
    if (n_worlds == 0 || !get_solver(s, g->ruleset)) return 0;
    for (int i = 0; i < d->n_legal; i++) {
        if (!solve_everywhere(s, d, u, i, first, share, n_worlds, &won[i])) return 0;
        most = fmax(most, won[i]);
        least = fmin(least, won[i]);
    }
    if (most - least < 1e-9) return 0;
    int n = 0;
    for (int k = 0; k < d->n_legal; k++) { /* best by the net first */
        int best = -1;
        for (int i = 0; i < d->n_legal; i++)
            if (won[i] > most - 1e-9 && (best < 0 || s->q[i] > s->q[best])) best = i;
        if (best < 0 || n == c->candidates) break;
        won[best] = -1;
        add_candidate(s, &n, best, c->candidates);
    }
    return n;
}

/* ---- rollouts ---- */

typedef struct {
    double began, end;         /* wall time; end 0: no limit */
    double cpu_began, cpu_end; /* of this thread */
    int64_t playouts;          /* left */
} Budget;

static Budget budget_of(const Search *s, double deadline) {
    const SearchConfig *c = &s->config;
    Budget b = {.began = clock_s(), .cpu_began = clock_thread_s(), .playouts = INT64_MAX};
    if (c->ms) b.end = b.began + c->ms / 1e3;
    if (deadline > 0 && (b.end == 0 || deadline < b.end)) b.end = deadline;
    if (c->cpu_ms) b.cpu_end = b.cpu_began + c->cpu_ms / 1e3;
    if (c->playouts) b.playouts = c->playouts;
    return b;
}

/* Seconds left, a large number if time does not matter. */
static double time_left(const Budget *b) {
    double left = 1e9;
    if (b->end > 0) left = fmin(left, b->end - clock_s());
    if (b->cpu_end > 0) left = fmin(left, b->cpu_end - clock_thread_s());
    return left;
}

/* Worlds from..to, drawn when they are first needed: the same for all candidates. */
static void draw_worlds(Search *s, const Unknown *u, Rng *rng, int to) {
    while (s->n_worlds < to) s->world[s->n_worlds++] = worlds_sample(u, rng);
}

/* Plays the first n candidates in `count` more worlds each. */
static void try_candidates(Search *s, PolicyScratch *scratch, const Decision *d, const Unknown *u,
                           int n, int count) {
    Game *games = rollout_games(s->rollout);
    int role = game_role(d->game, d->game->turn), at = 0;
    for (int i = 0; i < n; i++)
        for (int w = 0; w < count; w++, at++) {
            games[at] = *d->game;
            worlds_set(u, s->world[s->candidate[i].n + w], &games[at]);
            game_apply(&games[at], d->legal[s->candidate[i].index]);
        }
    rollout_run(s->rollout, s->player, scratch, at);
    at = 0;
    for (int i = 0; i < n; i++) {
        Candidate *c = &s->candidate[i];
        for (int w = 0; w < count; w++, at++) {
            c->value[c->n] = game_return(&games[at], s->objective, (Role)role);
            c->sum += c->value[c->n++];
        }
    }
    s->stats.playouts += (uint64_t)at;
}

static double mean_of(const Candidate *c) { return c->n ? c->sum / c->n : -INFINITY; }

/* Best mean first; the net's own order decides equal ones. */
static void sort_candidates(Search *s, int n) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && mean_of(&s->candidate[k]) > mean_of(&s->candidate[k - 1]); k--) {
            Candidate c = s->candidate[k];
            s->candidate[k] = s->candidate[k - 1];
            s->candidate[k - 1] = c;
        }
}

/* How many worlds to try next for n candidates, of those that the round has left. */
static int chunk_of(const Search *s, int n, int64_t worlds, double seconds) {
    double games = fmin(CHUNK_GAMES, s->rate * seconds);
    int count = (int)(games / n);
    if (count < 1) count = 1;
    if (count > worlds) count = (int)worlds;
    int room = MAX_WORLDS - s->candidate[0].n;
    return count < room ? count : room;
}

/* One round: equal worlds for n candidates, until its share of the budget is used. */
static bool run_round(Search *s, PolicyScratch *scratch, const Decision *d, const Unknown *u, int n,
                      int rounds_left, Budget *b) {
    int64_t worlds = b->playouts == INT64_MAX ? MAX_WORLDS : b->playouts / rounds_left / n;
    double stop = time_left(b) * (rounds_left - 1) / rounds_left, left;
    if (worlds < 1 || u->need[0] == 0 || u->need[1] == 0) worlds = 1; /* or there is but one */
    while (worlds > 0 && (left = time_left(b) - stop) > 0) {
        int count = chunk_of(s, n, worlds, left);
        if (count < 1) return false;
        double began = clock_thread_s();
        draw_worlds(s, u, d->rng, s->candidate[0].n + count);
        try_candidates(s, scratch, d, u, n, count);
        s->rate = 0.7 * s->rate + 0.3 * n * count / (clock_thread_s() - began + 1e-6);
        worlds -= count;
        if (b->playouts != INT64_MAX) b->playouts -= (int64_t)n * count;
        if (time_left(b) <= 0 || b->playouts <= 0) return false;
    }
    return true;
}

/* Is a better than the net's own choice by z standard errors of the difference in their worlds? */
static bool clearly_better(const Search *s, const Candidate *a, const Candidate *own) {
    int n = a->n < own->n ? a->n : own->n;
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) {
        double x = (double)a->value[i] - own->value[i];
        sum += x;
        squares += x * x;
    }
    if (n < 2) return sum > 0 && s->config.z == 0;
    double mean = sum / n, variance = (squares - sum * mean) / (n - 1);
    return mean > s->config.z * sqrt(fmax(variance, 0) / n) && mean > 0;
}

static void search_candidates(Search *s, PolicyScratch *scratch, Decision *d, const Unknown *u,
                              int n, Budget *b) {
    int own = s->candidate[0].index, rounds = 0;
    for (int k = n; k > 1; k = (k + 1) / 2) rounds++;
    s->n_worlds = 0;
    for (int k = n; k > 1 && rounds > 0; k = (k + 1) / 2) {
        bool more = run_round(s, scratch, d, u, k, rounds--, b);
        sort_candidates(s, k);
        if (!more) break;
    }
    const Candidate *best = &s->candidate[0], *net = best;
    for (int i = 0; i < n; i++)
        if (s->candidate[i].index == own) net = &s->candidate[i];
    d->choice = best != net && clearly_better(s, best, net) ? best->index : own;
    s->stats.searched++;
}

/* ---- the choice ---- */

static int winning(const Decision *d) {
    for (int i = 0; i < d->n_legal; i++)
        if (d->legal[i] == d->game->hand[d->game->turn]) return i;
    return -1;
}

void search_choose(Search *s, PolicyScratch *scratch, Decision *d) {
    s->stats.decisions++;
    d->choice = winning(d);
    if (d->choice >= 0) return;
    d->choice = 0;
    if (d->n_legal == 1) return;
    Budget b = budget_of(s, d->deadline);
    policy_score(s->root, scratch, d->game, d->legal, d->n_legal, s->q);
    int own = d->choice = best_of(s->q, d->n_legal);
    Unknown u;
    worlds_unknown(d->game, &u);
    int n = solve_ending(s, d, &u);
    if (n > 0) {
        s->stats.solved++;
        d->choice = s->candidate[0].index;
        /* The landlord's win is certain; a peasant's needs his partner, who may not see it. */
        if (d->game->turn == d->game->landlord) n = 1;
    } else {
        n = choose_candidates(s, d);
    }
    if (n > 1) search_candidates(s, scratch, d, &u, n, &b);
    s->stats.changed += d->choice != own;
    s->stats.seconds += clock_thread_s() - b.cpu_began;
}
