/* What makes it fast, in order of gain: the table; trying on a lead what can end the game soonest
 * (long plays, low ones first, bombs last) and on an answer the cheapest play that beats; letting a
 * peasant pass first when his partner owns the trick; skipping nodes with one legal play without
 * looking them up. */
#include "actors/solver.h"
#include <stdlib.h>
#include <string.h>

enum { STACK_MOVES = 1 << 16 /* on one path: games of 54 cards have a few thousand */ };

typedef struct {
    uint64_t key;
    uint64_t check; /* lowest bit: the landlord wins; 0: empty */
} Entry;

struct Solver {
    const Ruleset *rules;
    Entry *table;
    uint64_t mask;
    uint64_t nodes, limit;
    Hand *moves; /* of all nodes on the path */
    size_t n_moves;
};

Status solver_new(const Ruleset *rules, int table_bits, Solver **out) {
    Solver *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->rules = rules;
    s->mask = (1ull << table_bits) - 1;
    s->table = calloc(s->mask + 1, sizeof *s->table);
    s->moves = malloc((STACK_MOVES + MOVEGEN_MAX) * sizeof *s->moves);
    if (!s->table || !s->moves) {
        solver_free(s);
        return ST_NOMEM;
    }
    *out = s;
    return ST_OK;
}

void solver_free(Solver *s) {
    if (!s) return;
    free(s->table);
    free(s->moves);
    free(s);
}

uint64_t solver_nodes(const Solver *s) { return s->nodes; }

/* ---- positions ---- */

void ending_from_game(const Game *g, Ending *out) {
    for (int role = 0; role < N_ROLES; role++) out->hand[role] = g->hand[game_seat(g, role)];
    out->last = g->to_beat;
    out->turn = (uint8_t)game_role(g, g->turn);
    out->leader = (uint8_t)(g->to_beat.cards ? game_role(g, g->leader) : out->turn);
}

static uint8_t next_role(uint8_t role) { return role == 2 ? 0 : (uint8_t)(role + 1); }

/* Passing: when the turn comes back to the leader he leads anew. */
static void pass_turn(Ending *e) {
    e->turn = next_role(e->turn);
    if (e->turn == e->leader) e->last = (Move){0};
}

static void play_turn(Ending *e, const Move *m) {
    e->hand[e->turn] -= m->cards;
    e->last = *m;
    e->leader = e->turn;
    e->turn = next_role(e->turn);
}

bool ending_play(const Ruleset *rules, const Ending *e, Hand play, Ending *out) {
    if (play == e->hand[e->turn]) return false;
    Ending next = *e;
    Move m = move_classify(rules, play);
    if (play == 0) pass_turn(&next);
    else play_turn(&next, &m);
    *out = next;
    return true;
}

/* ---- the table ---- */

static uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93ull;
    x ^= x >> 29;
    x *= 0x9fb21c651e98df25ull;
    return x ^ x >> 32;
}

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

/* Two hashes of everything that the rest of the game depends on. */
static void hash(const Ending *e, uint64_t *key, uint64_t *check) {
    const Move *m = &e->last;
    uint64_t rest = m->cards ? (uint64_t)m->type << 40 | (uint64_t)m->rank << 32 |
                                   (uint64_t)m->length << 24 | (uint64_t)m->as_singles << 16 |
                                   (uint64_t)m->size << 8 | (uint64_t)e->leader << 4
                             : 0;
    rest |= e->turn;
    uint64_t a = mix(e->hand[0] ^ 0x9e3779b97f4a7c15ull),
             b = mix(e->hand[1] ^ 0xc2b2ae3d27d4eb4full),
             c = mix(e->hand[2] ^ 0x165667b19e3779f9ull), d = mix(rest ^ 0x27d4eb2f165667c5ull);
    *key = mix(a + rotate(b, 17) + rotate(c, 37) + rotate(d, 53));
    *check = mix(a * 3 + rotate(b, 29) * 5 + rotate(c, 11) * 7 + rotate(d, 47) * 9) & ~1ull;
    if (*check == 0) *check = 2;
}

/* ---- which play first ---- */

/* Higher is tried earlier. */
static int lead_order(const Move *m) {
    if (move_is_bomb(m)) return -100 - m->rank;
    return 16 * m->size - m->rank;
}

static int answer_order(const Move *m) { return move_is_bomb(m) ? -100 - m->rank : 50 - m->rank; }

/* The landlord wins: 1 or 0; -1: the limit is reached. */
static int solve(Solver *s, Ending e);

static int after(Solver *s, const Ending *e, const Move *m) {
    if (m->cards == e->hand[e->turn]) return e->turn == ROLE_LANDLORD;
    Ending next = *e;
    if (m->cards) play_turn(&next, m);
    else pass_turn(&next);
    return solve(s, next);
}

/* Tries the plays moves[0..n) in order of promise until one proves the mover's win. */
static int try_plays(Solver *s, const Ending *e, Hand *moves, int n, bool leading) {
    int good = e->turn == ROLE_LANDLORD, found = !good;
    bool partner_leads = !leading && e->turn != ROLE_LANDLORD && e->leader != ROLE_LANDLORD;
    int order[256];
    bool ordered = n <= 256;
    for (int i = 0; ordered && i < n; i++) {
        Move m = move_classify(s->rules, moves[i]);
        order[i] = moves[i] == 0 ? (partner_leads ? 1000 : 0)
                   : leading     ? lead_order(&m)
                                 : answer_order(&m);
    }
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int k = i + 1; ordered && k < n; k++)
            if (order[k] > order[best]) best = k;
        Hand h = moves[best];
        moves[best] = moves[i];
        if (ordered) order[best] = order[i];
        Move m = move_classify(s->rules, h);
        int v = after(s, e, &m);
        if (v < 0 || v == good) return v;
    }
    return found;
}

/* Plays forced passes; returns the plays of the first seat that has a choice. */
static int next_choice(Solver *s, Ending *e, Hand *moves, bool *leading) {
    for (;;) {
        Hand hand = e->hand[e->turn];
        if (!e->last.cards) {
            *leading = true;
            return movegen_leads(s->rules, hand, moves);
        }
        int n = movegen_answers(s->rules, hand, &e->last, moves);
        if (n > 0) {
            *leading = false;
            moves[n] = 0;
            return n + 1;
        }
        pass_turn(e);
    }
}

/* Can the mover end the game with this play? */
static bool goes_out(const Solver *s, const Ending *e) {
    Move m = move_classify(s->rules, e->hand[e->turn]);
    if (m.type == MOVE_NONE) return false;
    return !e->last.cards || move_beats(&m, &e->last);
}

static int solve(Solver *s, Ending e) {
    if (s->nodes >= s->limit) return -1;
    s->nodes++;
    Hand *moves = s->moves + s->n_moves;
    bool leading;
    int n = next_choice(s, &e, moves, &leading);
    if (goes_out(s, &e)) return e.turn == ROLE_LANDLORD;
    uint64_t key, check;
    hash(&e, &key, &check);
    Entry *entry = &s->table[key & s->mask];
    if (entry->key == key && (entry->check & ~1ull) == check) return (int)(entry->check & 1);
    s->n_moves += (size_t)n;
    int v = s->n_moves < STACK_MOVES ? try_plays(s, &e, moves, n, leading) : -1;
    s->n_moves -= (size_t)n;
    if (v >= 0) *entry = (Entry){key, check | (uint64_t)v};
    return v;
}

Solved solver_run(Solver *s, const Ending *e, uint64_t max_nodes) {
    s->limit = s->nodes + max_nodes;
    s->n_moves = 0;
    int v = solve(s, *e);
    return v < 0 ? SOLVED_UNKNOWN : v ? SOLVED_WON : SOLVED_LOST;
}
