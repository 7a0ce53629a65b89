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
    Move *moves; /* of all nodes on the path */
    int *order;  /* theirs: higher is tried earlier */
    size_t n_moves;
    Hand legal[MOVEGEN_MAX];
};

Status solver_new(const Ruleset *rules, int table_bits, Solver **out) {
    Solver *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->rules = rules;
    s->mask = (1ull << table_bits) - 1;
    s->table = calloc(s->mask + 1, sizeof *s->table);
    s->moves = malloc((STACK_MOVES + MOVEGEN_MAX) * sizeof *s->moves);
    s->order = malloc((STACK_MOVES + MOVEGEN_MAX) * sizeof *s->order);
    if (!s->table || !s->moves || !s->order) {
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
    free(s->order);
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

static int lead_order(const Move *m) {
    if (move_is_bomb(m)) return -100 - m->rank;
    return 16 * m->size - m->rank;
}

/* Passing comes after the plays that are no bombs, or first if the partner owns the trick. */
static int answer_order(const Move *m, bool partner_leads) {
    if (m->cards == 0) return partner_leads ? 1000 : 0;
    return move_is_bomb(m) ? -100 - m->rank : 50 - m->rank;
}

/* The legal plays of the seat to act, onto the stack; forced passes are played first. Returns their
 * number. */
static int next_choice(Solver *s, Ending *e) {
    int n = 0;
    while (e->last.cards &&
           (n = movegen_answers(s->rules, e->hand[e->turn], &e->last, s->legal)) == 0)
        pass_turn(e);
    bool leading = e->last.cards == 0;
    if (leading) n = movegen_leads(s->rules, e->hand[e->turn], s->legal);
    else s->legal[n++] = 0;
    bool partner_leads = e->turn != ROLE_LANDLORD && e->leader != ROLE_LANDLORD;
    Move *moves = s->moves + s->n_moves;
    int *order = s->order + s->n_moves;
    for (int i = 0; i < n; i++) {
        moves[i] = s->legal[i] ? move_classify(s->rules, s->legal[i]) : (Move){0};
        order[i] = leading ? lead_order(&moves[i]) : answer_order(&moves[i], partner_leads);
    }
    return n;
}

/* Takes the most promising of the plays at..n to place `at`. */
static void bring_best(Move *moves, int *order, int at, int n) {
    int best = at;
    for (int k = at + 1; k < n; k++)
        if (order[k] > order[best]) best = k;
    Move m = moves[best];
    int o = order[best];
    moves[best] = moves[at];
    order[best] = order[at];
    moves[at] = m;
    order[at] = o;
}

/* The landlord wins: 1 or 0; -1: the limit is reached. */
static int solve(Solver *s, Ending e);

/* Tries the n plays on top of the stack until one proves the mover's win. */
static int try_plays(Solver *s, const Ending *e, int n) {
    Move *moves = s->moves + s->n_moves;
    int *order = s->order + s->n_moves, good = e->turn == ROLE_LANDLORD;
    if (s->n_moves + (size_t)n > STACK_MOVES) return -1;
    s->n_moves += (size_t)n;
    int v = !good;
    for (int i = 0; i < n; i++) {
        bring_best(moves, order, i, n);
        Ending next = *e;
        if (moves[i].cards) play_turn(&next, &moves[i]);
        else pass_turn(&next);
        v = solve(s, next);
        if (v < 0 || v == good) break;
    }
    s->n_moves -= (size_t)n;
    return v;
}

/* Can the mover end the game with one play? */
static bool goes_out(const Solver *s, const Ending *e) {
    Move m = move_classify(s->rules, e->hand[e->turn]);
    if (m.type == MOVE_NONE) return false;
    return !e->last.cards || move_beats(&m, &e->last);
}

static int solve(Solver *s, Ending e) {
    if (s->nodes >= s->limit) return -1;
    s->nodes++;
    if (goes_out(s, &e)) return e.turn == ROLE_LANDLORD;
    uint64_t key, check;
    hash(&e, &key, &check);
    Entry *entry = &s->table[key & s->mask];
    if (entry->key == key && (entry->check & ~1ull) == check) return (int)(entry->check & 1);
    int n = next_choice(s, &e);
    int v = goes_out(s, &e) ? e.turn == ROLE_LANDLORD : try_plays(s, &e, n);
    if (v >= 0) *entry = (Entry){key, check | (uint64_t)v};
    return v;
}

Solved solver_run(Solver *s, const Ending *e, uint64_t max_nodes) {
    s->limit = s->nodes + max_nodes;
    s->n_moves = 0;
    int v = solve(s, *e);
    return v < 0 ? SOLVED_UNKNOWN : v ? SOLVED_WON : SOLVED_LOST;
}
