#include "actors/bid_tune.h"
#include "actors/policy_rule.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Auctions before a turn: none; the first bid 0..2; the first two, 0..2 each. */
enum { CONTEXTS = 1 + 3 + 9 };

struct BidTable {
    const BidDeal *deals;
    int64_t n;
    RulesetId rules;
    float (*value)[CONTEXTS][BIDDER_VALUES];
    uint8_t (*wish)[N_SEATS]; /* the rule policy's, if nobody has bid */
};

static int context_of(const Game *g) {
    if (g->n_bids == 0) return 0;
    return g->n_bids == 1 ? 1 + g->bids[0] : 4 + 3 * g->bids[0] + g->bids[1];
}

/* Fills in the values of all auctions that a deal can come to. */
static void fill_values(const Bidder *b, const Game *g, float (*value)[BIDDER_VALUES]) {
    float x[BIDDER_FEATURES];
    bidder_features(g, x);
    bidder_values(b, x, value[context_of(g)]);
    for (int bid = 0; bid <= 2; bid++) {
        Game next = *g;
        if (game_bid(&next, bid, NULL) == ST_OK && next.phase == PHASE_BID)
            fill_values(b, &next, value);
    }
}

Status bidtable_new(const BidDeal *deals, int64_t n, RulesetId rules, const Bidder *b,
                    BidTable **out) {
    BidTable *t = calloc(1, sizeof *t);
    RuleMemo *memo = NULL;
    if (!t) return ST_NOMEM;
    t->deals = deals;
    t->n = n;
    t->rules = rules;
    t->value = calloc((size_t)n, sizeof *t->value);
    t->wish = calloc((size_t)n, sizeof *t->wish);
    Status st = t->value && t->wish ? rulememo_new(&memo) : ST_NOMEM;
    for (int64_t i = 0; st == ST_OK && i < n; i++) {
        Game g;
        for (int first = 0; first < N_SEATS; first++) {
            game_init(&g, rules, &deals[i].deal, first);
            t->wish[i][first] = (uint8_t)rule_bid(memo, &g);
        }
        game_init(&g, rules, &deals[i].deal, 0);
        fill_values(b, &g, t->value[i]);
    }
    rulememo_free(memo);
    if (st == ST_OK) *out = t;
    else bidtable_free(t);
    return st;
}

void bidtable_free(BidTable *t) {
    if (!t) return;
    free(t->value);
    free(t->wish);
    free(t);
}

typedef struct {
    const BidTable *table;
    int64_t deal;
    const float *margins; /* NULL: rule */
    double *bids;         /* [4], counted */
} Seat;

static int choose(void *who, const Game *g) {
    const Seat *s = who;
    int bid;
    if (s->margins) {
        bid = bidder_decide(s->margins, g, s->table->value[s->deal][context_of(g)]);
    } else {
        int wish = s->table->wish[s->deal][g->turn];
        bid = wish > g->bid ? wish : 0;
    }
    s->bids[bid]++;
    return bid;
}

/* The six ways to seat both: bit s is set if the first sits at s. */
static const int seatings[] = {1, 2, 4, 6, 5, 3};

void bidtable_match(const BidTable *t, const float *a_margins, const float *b_margins,
                    BidMatch *out) {
    double sum = 0, squares = 0, landlords = 0, won = 0, bids[4] = {0}, others[4] = {0};
    for (int64_t i = 0; i < t->n; i++) {
        Seat a = {t, i, a_margins, bids}, b = {t, i, b_margins, others};
        double points = 0;
        for (int k = 0; k < 6; k++) {
            void *who[N_SEATS];
            double score[N_SEATS];
            int landlord, base;
            for (int s = 0; s < N_SEATS; s++) who[s] = seatings[k] >> s & 1 ? &a : &b;
            biddeals_auction(&t->deals[i], t->rules, choose, who, score, &landlord, &base);
            for (int s = 0; s < N_SEATS; s++) points += who[s] == &a ? score[s] : 0;
            if (landlord == SEAT_NONE || who[landlord] != &a) continue;
            landlords++;
            won += t->deals[i].outcome[landlord] > 0;
        }
        points /= 9; /* seats of the first in six games */
        sum += points;
        squares += points * points;
    }
    double n = t->n > 0 ? (double)t->n : 1, mean = sum / n;
    double variance = n > 1 ? (squares - sum * mean) / (n - 1) : 0;
    double turns = bids[0] + bids[1] + bids[2] + bids[3];
    *out = (BidMatch){.score = {mean, 1.96 * sqrt(fmax(variance, 0) / n)},
                      .landlord = landlords / (9 * n),
                      .won = landlords > 0 ? won / landlords : 0};
    for (int k = 0; k < 4; k++) out->bid[k] = turns > 0 ? bids[k] / turns : 0;
}

static double worth(const BidTable *t, const float *margins, const float *before) {
    BidMatch rule, self;
    bidtable_match(t, margins, NULL, &rule);
    bidtable_match(t, margins, before, &self);
    return rule.score.mean + self.score.mean;
}

/* One margin after another, over a grid, three times round. */
void bidtable_tune(const BidTable *t, float margins[BIDDER_MARGINS]) {
    for (int i = 0; i < BIDDER_MARGINS; i++) margins[i] = 0;
    for (int round = 0; round < 3; round++) {
        float before[BIDDER_MARGINS];
        memcpy(before, margins, sizeof before);
        for (int bid = 3; bid >= 1; bid--) {
            double most = -1e9;
            float best = margins[bid];
            for (float m = -3; m <= 6.01f; m += 0.25f) {
                margins[bid] = m;
                double w = worth(t, margins, before);
                if (w > most) best = m;
                if (w > most) most = w;
            }
            margins[bid] = best;
        }
    }
}
