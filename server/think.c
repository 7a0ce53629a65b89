#include "server/think.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Decisions of one role that are scored together. */
typedef struct {
    int n, cap;
    Obs *obs;
    int *n_actions;
    size_t n_q, q_cap;
    Hand *actions;
    float *q;
} Batch;

struct Thinker {
    Scorer *scorer;
    Rng rng;
    Batch batch[N_ROLES];
};

/* Where a decision lies in its batch. */
typedef struct {
    int role, n;
    size_t at;
} Slot;

enum { KITTIES = 8, BID_SLOTS = 2 * KITTIES };
typedef struct {
    Job *job;
    int n_slots;
    Slot *slots;
    Game *games; /* bids: the guessed positions, by slot */
} Task;

/* Win chance is spread by exp(win / temperature). */
static const float temperature[N_STRENGTHS] = {0.10f, 0.03f, 0};
/* Least chance as landlord for a bid of 1, 2, 3. */
static const float bid_from[4] = {0, 0.43f, 0.48f, 0.53f};
static const float agree_within = 0.01f;

Job *job_new(JobKind kind) {
    Job *j = calloc(1, sizeof *j);
    if (!j) abort();
    j->kind = kind;
    return j;
}

void job_free(Job *j) {
    if (!j) return;
    free(j->table);
    free(j->items);
    free(j);
}

Status thinker_new(uint64_t seed, Thinker **out) {
    const KernelTable *k = kernels_get();
    if (!k) return ST_UNSUPPORTED;
    Thinker *t = calloc(1, sizeof *t);
    if (!t) return ST_NOMEM;
    Status st = scorer_new(k, &t->scorer);
    if (st != ST_OK) {
        free(t);
        return st;
    }
    rng_init(&t->rng, seed, 0);
    *out = t;
    return ST_OK;
}

void thinker_free(Thinker *t) {
    if (!t) return;
    scorer_free(t->scorer);
    for (int r = 0; r < N_ROLES; r++) {
        free(t->batch[r].obs);
        free(t->batch[r].n_actions);
        free(t->batch[r].actions);
        free(t->batch[r].q);
    }
    free(t);
}

static void *grow(void *p, size_t bytes) {
    p = realloc(p, bytes);
    if (!p) abort();
    return p;
}

/* Adds the decision of the seat to act in g, with these actions. */
static Slot add(Thinker *t, const Game *g, const Hand *actions, int n) {
    int role = game_role(g, g->turn);
    Batch *b = &t->batch[role];
    if (b->n == b->cap) {
        b->cap = b->cap ? 2 * b->cap : 64;
        b->obs = grow(b->obs, (size_t)b->cap * sizeof *b->obs);
        b->n_actions = grow(b->n_actions, (size_t)b->cap * sizeof *b->n_actions);
    }
    if (b->n_q + (size_t)n > b->q_cap) {
        b->q_cap = 2 * (b->q_cap + (size_t)n);
        b->actions = grow(b->actions, b->q_cap * sizeof *b->actions);
        b->q = grow(b->q, b->q_cap * sizeof *b->q);
    }
    Slot slot = {role, n, b->n_q};
    obs_from_game(g, &b->obs[b->n]);
    b->n_actions[b->n++] = n;
    memcpy(b->actions + b->n_q, actions, (size_t)n * sizeof *actions);
    b->n_q += (size_t)n;
    return slot;
}

static Slot add_all(Thinker *t, const Game *g) {
    Hand legal[MOVEGEN_MAX];
    return add(t, g, legal, game_legal(g, legal));
}

static void score(Thinker *t, const NetSet *nets) {
    for (int r = 0; r < N_ROLES; r++) {
        Batch *b = &t->batch[r];
        if (nets && b->n)
            scorer_run(t->scorer, nets->net[r], b->n, b->obs, b->n_actions, b->actions, b->q);
    }
}

/* The i-th action of a slot as a choice in game g. */
static Choice choice_at(Thinker *t, const NetSet *nets, const Game *g, const Slot *s, int i) {
    const Batch *b = &t->batch[s->role];
    Choice c = {.cards = b->actions[s->at + (size_t)i], .points = -1, .win = NAN, .exp = NAN};
    Move m = move_classify(ruleset_get((RulesetId)g->ruleset), c.cards);
    c.type = m.type;
    if (!nets) return c;
    int base = g->bid > 1 ? g->bid : 1;
    Opinion o =
        netset_opinion(nets, b->q[s->at + (size_t)i], s->role, base, g->bombs + move_is_bomb(&m));
    c.win = o.win;
    c.exp = o.exp;
    return c;
}

static int best_of(const Thinker *t, const NetSet *nets, const Slot *s) {
    const float *q = t->batch[s->role].q + s->at;
    int best = 0;
    for (int i = 1; nets && i < s->n; i++)
        if (q[i] > q[best]) best = i;
    return best;
}

/* Weaker bots choose among good moves by chance. */
static int choose(Thinker *t, const NetSet *nets, const Game *g, const Slot *s, int strength) {
    int best = best_of(t, nets, s);
    float heat = temperature[strength];
    if (!nets || heat == 0 || s->n == 1) return best;
    float most = choice_at(t, nets, g, s, best).win, sum = 0;
    for (int i = 0; i < s->n; i++) sum += expf((choice_at(t, nets, g, s, i).win - most) / heat);
    float at = rng_float(&t->rng) * sum;
    for (int i = 0; i < s->n; i++) {
        at -= expf((choice_at(t, nets, g, s, i).win - most) / heat);
        if (at < 0) return i;
    }
    return best;
}

static void top_three(Thinker *t, const NetSet *nets, const Game *g, const Slot *s, Advice *out) {
    const float *q = t->batch[s->role].q + s->at;
    int order[3], n = 0;
    for (int i = 0; i < s->n; i++) {
        int at = n;
        while (nets && at > 0 && q[order[at - 1]] < q[i]) at--;
        if (at == 3) continue;
        if (n < 3) n++;
        memmove(order + at + 1, order + at, (size_t)(n - 1 - at) * sizeof *order);
        order[at] = i;
    }
    out->n = n;
    for (int i = 0; i < n; i++) out->best[i] = choice_at(t, nets, g, s, order[i]);
    out->win = out->best[0].win;
    out->exp = out->best[0].exp;
}

/* ---- bids ---- */

/* What the bidder cannot see, dealt at random: positions with him as landlord, or with the seat
 * after him as landlord who has led the play that a glance suggests.                        */
static void guess(Thinker *t, const Game *g, bool as_landlord, Game *out) {
    uint8_t rank[N_CARDS];
    int n = 0;
    Hand own = g->dealt[g->turn], unseen = HAND_FULL - own;
    for (int r = 0; r < N_RANKS; r++)
        for (int i = hand_count(unseen, r); i > 0; i--) rank[n++] = (uint8_t)r;
    Hand hands[N_ROLES] = {0}, kitty = 0;
    for (int i = 0; i < n; i++) { // a shuffle as far as needed: 3, 17, 17
        int j = i + (int)rng_below(&t->rng, (uint32_t)(n - i));
        uint8_t c = rank[j];
        rank[j] = rank[i];
        Hand card = hand_of(c, 1);
        if (i < 3) kitty += card;
        else hands[i < 20 ? 1 : 2] += card;
    }
    if (as_landlord) {
        hands[0] = own + kitty;
    } else {
        hands[0] = hands[1] + kitty;
        hands[1] = hands[2];
        hands[2] = own; // acts before the landlord
    }
    game_init_hands(out, (RulesetId)g->ruleset, hands, kitty);
}

static float high_cards(Hand h) {
    float v = 4 * (float)hand_count(h, RANK_R) + 3 * (float)hand_count(h, RANK_B) +
              2 * (float)hand_count(h, RANK_2) + (float)hand_count(h, RANK_A);
    return v + 3 * (float)__builtin_popcountll(hand_at_least(h & HAND_NIBBLES(0, RANK_2), 4));
}

static int wish_of(float win) {
    int wish = 0;
    while (wish < 3 && win >= bid_from[wish + 1]) wish++;
    return wish;
}

/* Means over the guessed positions. */
static Opinion mean_best(Thinker *t, const NetSet *nets, const Task *k, int from, int to) {
    Opinion o = {0, 0};
    for (int i = from; i < to; i++) {
        const Slot *s = &k->slots[i];
        Choice c = choice_at(t, nets, &k->games[i], s, best_of(t, nets, s));
        o.win += c.win / (float)(to - from);
        o.exp += c.exp / (float)(to - from);
    }
    return o;
}

static void finish_bid(Thinker *t, const NetSet *nets, const Task *k) {
    Job *j = k->job;
    const Game *g = &j->game;
    Hand own = g->hand[g->turn];
    Opinion ll = {NAN, NAN}, farmer = {NAN, NAN};
    float strength = high_cards(own);
    int wish = strength >= 9 ? 3 : strength >= 7 ? 2 : strength >= 5 ? 1 : 0;
    if (nets) {
        ll = mean_best(t, nets, k, 0, KITTIES);
        if (k->n_slots > KITTIES) farmer = mean_best(t, nets, k, KITTIES, k->n_slots);
        float win = ll.win + (rng_float(&t->rng) - 0.5f) * 2 * temperature[j->strength];
        wish = wish_of(win);
    }
    j->choice = (Choice){.points = wish > g->bid ? wish : 0, .win = ll.win, .exp = NAN};
    if (j->choice.points) j->choice.exp = ll.exp * (float)j->choice.points;
    Advice *a = &j->advice;
    a->win = ll.win;
    for (int points = 0; points <= 3; points++) {
        if (points != 0 && points <= g->bid) continue;
        Choice c = {.points = points, .win = ll.win, .exp = ll.exp * (float)points};
        if (points == 0) {
            c.win = 1 - farmer.win; // the guess is the landlord's decision
            c.exp = -farmer.exp / 2 * (float)(g->bid > 1 ? g->bid : 1);
        }
        if (points == j->choice.points) a->exp = c.exp;
        a->best[a->n++] = c;
    }
}

/* ---- review ---- */

/* A bid beside the one that the bot would have made. What another bid would have led to nobody can
 * tell from one hand, so it costs nothing.                                                  */
static void review_bid(Thinker *t, const NetSet *nets, const Task *k, int ply, int highest) {
    Job *j = k->job;
    Opinion o = mean_best(t, nets, k, ply * KITTIES, (ply + 1) * KITTIES);
    int made = j->table->bids[ply], wish = wish_of(o.win), best = wish > highest ? wish : 0;
    ReviewItem *e = &j->items[j->n_items++];
    e->ply = (uint16_t)ply;
    e->seat = (uint8_t)table_seat_at(j->table, ply);
    e->n_legal = (uint16_t)(4 - highest);
    e->made = (Choice){.points = made, .win = o.win, .exp = o.exp * (float)made};
    e->best = (Choice){.points = best, .win = o.win, .exp = o.exp * (float)best};
}

static void finish_review(Thinker *t, const NetSet *nets, const Task *k) {
    Job *j = k->job;
    int n[N_SEATS] = {0}, same[N_SEATS] = {0}, first = 0, highest = 0;
    double loss[N_SEATS] = {0};
    for (int ply = 0; nets && ply < j->table->n_bids; ply++, first += KITTIES) {
        review_bid(t, nets, k, ply, highest);
        if (j->table->bids[ply] > highest) highest = j->table->bids[ply];
    }
    for (int i = first; i < k->n_slots; i++) {
        ReviewItem *e = &j->items[j->n_items];
        const Slot *s = &k->slots[i];
        const Game *g = &k->games[i];
        Hand made = j->table->game.moves[g->n_moves];
        int at = 0;
        const Hand *actions = t->batch[s->role].actions + s->at;
        while (at < s->n - 1 && actions[at] != made) at++;
        e->ply = (uint16_t)(j->table->n_bids + g->n_moves);
        e->seat = g->turn;
        e->n_legal = (uint16_t)s->n;
        e->made = choice_at(t, nets, g, s, at);
        e->best = choice_at(t, nets, g, s, nets ? best_of(t, nets, s) : at);
        e->loss = nets ? fmaxf(0, e->best.win - e->made.win) : NAN;
        j->n_items++;
        if (s->n < 2 || !nets) continue;
        n[e->seat]++;
        same[e->seat] += e->loss < agree_within;
        loss[e->seat] += e->loss;
    }
    for (int seat = 0; seat < N_SEATS; seat++) {
        j->agree[seat] = n[seat] ? (double)same[seat] / n[seat] : NAN;
        j->loss[seat] = n[seat] ? loss[seat] / n[seat] : NAN;
    }
}

/* ---- all jobs ---- */

static void *zeros(int n, size_t size) {
    void *p = calloc((size_t)n + 1, size);
    if (!p) abort();
    return p;
}

static void begin_review(Thinker *t, const NetSet *nets, Task *k) {
    Job *j = k->job;
    int most = j->table->n_bids * KITTIES + j->table->n_plays;
    k->slots = zeros(most, sizeof *k->slots);
    k->games = zeros(most, sizeof *k->games);
    j->items = zeros(table_ply(j->table), sizeof *j->items);
    Table again;
    table_init(&again, &j->table->setup);
    for (int ply = 0; ply < table_ply(j->table); ply++) {
        StoreAct act = table_act(j->table, ply);
        bool bid = act.bid >= 0;
        for (int i = 0; i < (!bid ? 1 : nets ? KITTIES : 0); i++) {
            Game *g = &k->games[k->n_slots];
            if (bid) guess(t, &again.game, true, g);
            else *g = again.game;
            k->slots[k->n_slots++] = add_all(t, g);
        }
        table_redo(&again, &act);
    }
}

static void begin_task(Thinker *t, const NetSet *nets, Task *k) {
    Job *j = k->job;
    if (j->kind == JOB_REVIEW) {
        begin_review(t, nets, k);
        return;
    }
    bool bid = j->game.phase == PHASE_BID;
    int slots = !bid ? 1 : !nets ? 0 : j->kind == JOB_ADVISE ? BID_SLOTS : KITTIES;
    k->slots = zeros(slots, sizeof *k->slots);
    if (bid) k->games = zeros(slots, sizeof *k->games);
    for (; k->n_slots < slots; k->n_slots++) {
        const Game *g = &j->game;
        if (bid) {
            guess(t, g, k->n_slots < KITTIES, &k->games[k->n_slots]);
            g = &k->games[k->n_slots];
        }
        k->slots[k->n_slots] = add_all(t, g);
    }
}

static void finish_task(Thinker *t, const NetSet *nets, Task *k) {
    Job *j = k->job;
    if (j->kind == JOB_REVIEW) {
        finish_review(t, nets, k);
    } else if (j->game.phase == PHASE_BID) {
        finish_bid(t, nets, k);
    } else {
        const Slot *s = &k->slots[0];
        if (j->kind == JOB_MOVE) {
            int at = choose(t, nets, &j->game, s, j->strength);
            j->choice = choice_at(t, nets, &j->game, s, at);
        }
        if (j->kind == JOB_ADVISE || j->advice_too) top_three(t, nets, &j->game, s, &j->advice);
    }
    free(k->slots);
    free(k->games);
}

void thinker_run(Thinker *t, const NetSet *nets, Job **jobs, int n) {
    Task *tasks = calloc((size_t)n + 1, sizeof *tasks);
    if (!tasks) abort();
    for (int r = 0; r < N_ROLES; r++) t->batch[r].n = 0, t->batch[r].n_q = 0;
    for (int i = 0; i < n; i++) {
        tasks[i].job = jobs[i];
        begin_task(t, nets, &tasks[i]);
    }
    score(t, nets);
    for (int i = 0; i < n; i++) finish_task(t, nets, &tasks[i]);
    free(tasks);
}
