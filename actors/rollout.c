#include "actors/rollout.h"
#include <stdlib.h>

enum { ROOM_PER_GAME = 24 };

struct Rollout {
    Game *games;
    Decision *d;
    int *active, *waiting; /* indices of games: not over; those of d */
    int n_active, n_waiting;
    Hand *legal;
    size_t n_legal, cap_legal;
};

Status rollout_new(int max_games, Rollout **out) {
    Rollout *r = calloc(1, sizeof *r);
    if (!r) return ST_NOMEM;
    size_t n = (size_t)max_games;
    r->cap_legal = n * ROOM_PER_GAME + MOVEGEN_MAX;
    r->games = malloc(n * sizeof *r->games);
    r->d = malloc(n * sizeof *r->d);
    r->active = malloc(n * sizeof *r->active);
    r->waiting = malloc(n * sizeof *r->waiting);
    r->legal = malloc(r->cap_legal * sizeof *r->legal);
    if (!r->games || !r->d || !r->active || !r->waiting || !r->legal) {
        rollout_free(r);
        return ST_NOMEM;
    }
    *out = r;
    return ST_OK;
}

void rollout_free(Rollout *r) {
    if (!r) return;
    free(r->games);
    free(r->d);
    free(r->active);
    free(r->waiting);
    free(r->legal);
    free(r);
}

Game *rollout_games(Rollout *r) { return r->games; }

static void decide(Rollout *r, const Policy *p, PolicyScratch *s) {
    policy_choose(p, s, r->n_waiting, r->d);
    for (int i = 0; i < r->n_waiting; i++)
        game_apply(&r->games[r->waiting[i]], r->d[i].legal[r->d[i].choice]);
    r->n_waiting = 0;
    r->n_legal = 0;
}

/* Index of the play that takes all of the hand, or -1. */
static int winning(const Game *g, const Hand *legal, int n) {
    for (int i = 0; i < n; i++)
        if (legal[i] == g->hand[g->turn]) return i;
    return -1;
}

/* Plays what needs no thought; true: a decision of the game waits in d. */
static bool advance(Rollout *r, int at) {
    Game *g = &r->games[at];
    while (g->phase == PHASE_PLAY) {
        Hand *legal = r->legal + r->n_legal;
        int n = game_legal(g, legal), win = n > 1 ? winning(g, legal, n) : 0;
        if (win < 0) {
            r->waiting[r->n_waiting] = at;
            r->d[r->n_waiting++] = (Decision){.game = g, .legal = legal, .n_legal = n};
            r->n_legal += (size_t)n;
            return true;
        }
        game_apply(g, legal[win]);
    }
    return false;
}

void rollout_run(Rollout *r, const Policy *p, PolicyScratch *s, int n) {
    r->n_active = 0;
    r->n_waiting = 0;
    r->n_legal = 0;
    for (int i = 0; i < n; i++) r->active[r->n_active++] = i;
    while (r->n_active > 0) {
        int kept = 0;
        for (int i = 0; i < r->n_active; i++) {
            if (r->n_legal + MOVEGEN_MAX > r->cap_legal) decide(r, p, s);
            if (advance(r, r->active[i])) r->active[kept++] = r->active[i];
        }
        r->n_active = kept;
        if (r->n_waiting > 0) decide(r, p, s);
    }
}
