#include "learner/bidding/bid_fit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_PARAMS = sizeof(BidNet) / sizeof(float) };
_Static_assert(N_PARAMS * sizeof(float) == sizeof(BidNet), "a bid net is nothing but floats");

/* Points come in powers of two: the rare great ones would rule the fit. */
static const float most_points = 16;
/* About one over the variance of each value. */
static const float weight[BIDDER_VALUES] = {0.1f, 0.4f, 0.4f, 4};

/* ---- samples ---- */

typedef struct {
    const BidDeal *deal;
    const Bidder *bidder;
    double explore;
    Rng *rng;
    BidSample *out;
    int64_t *n;
} Auction;

static float clip(float points) { return fminf(fmaxf(points, -most_points), most_points); }

static void label(const BidDeal *d, int seat, float y[BIDDER_VALUES]) {
    y[BID_LANDLORD] = clip(d->outcome[seat]);
    y[BID_PEASANT_NEXT] = -clip(d->outcome[(seat + 1) % N_SEATS]) / 2;
    y[BID_PEASANT_AFTER] = -clip(d->outcome[(seat + 2) % N_SEATS]) / 2;
    y[BID_WINS] = d->outcome[seat] > 0;
}

static int choose(void *who, const Game *g) {
    Auction *a = who;
    BidSample *s = &a->out[(*a->n)++];
    bidder_features(g, s->x);
    label(a->deal, g->turn, s->y);
    bool random = !a->bidder || (double)rng_float(a->rng) < a->explore;
    if (!random) return bidder_bid(a->bidder, g);
    int bid = (int)rng_below(a->rng, 4u - g->bid);
    return bid ? g->bid + bid : 0;
}

Status bid_samples(const BidDeal *deals, int64_t n, RulesetId rules, const Bidder *bidder,
                   double explore, uint64_t seed, BidSample **samples, int64_t *n_samples) {
    BidSample *list = malloc((size_t)n * N_SEATS * sizeof *list + 1);
    int64_t used = 0;
    if (!list) return ST_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        Rng rng;
        double score[N_SEATS];
        int landlord, base;
        rng_init(&rng, seed, (uint64_t)i);
        Auction a = {&deals[i], bidder, explore, &rng, list, &used};
        void *const who[N_SEATS] = {&a, &a, &a};
        biddeals_auction(&deals[i], rules, choose, who, score, &landlord, &base);
    }
    *samples = list;
    *n_samples = used;
    return ST_OK;
}

/* ---- the gradient ---- */

static void forward(int n_out, int n_in, const float *w, const float *b, const float *x, bool relu,
                    float *y) {
    for (int i = 0; i < n_out; i++, w += n_in) {
        float sum = b[i];
        for (int k = 0; k < n_in; k++) sum += w[k] * x[k];
        y[i] = relu && sum < 0 ? 0 : sum;
    }
}

/* dy of a layer to the gradients of its weights and, if wanted, dx. */
static void backward(int n_out, int n_in, const float *w, const float *x, const float *dy,
                     float *gw, float *gb, float *dx) {
    if (dx) memset(dx, 0, (size_t)n_in * sizeof *dx);
    for (int i = 0; i < n_out; i++, w += n_in, gw += n_in) {
        if (dy[i] == 0) continue;
        gb[i] += dy[i];
        for (int k = 0; k < n_in; k++) gw[k] += dy[i] * x[k];
        for (int k = 0; dx && k < n_in; k++) dx[k] += dy[i] * w[k];
    }
}

static void through_relu(int n, const float *y, float *dy) {
    for (int i = 0; i < n; i++)
        if (y[i] <= 0) dy[i] = 0;
}

double bid_gradient(const BidNet *net, const BidSample *s, BidNet *grad) {
    float h1[BIDDER_HIDDEN1], h2[BIDDER_HIDDEN2], v[BIDDER_VALUES];
    float dv[BIDDER_VALUES], dh2[BIDDER_HIDDEN2], dh1[BIDDER_HIDDEN1];
    double loss = 0;
    forward(BIDDER_HIDDEN1, BIDDER_FEATURES, net->w1[0], net->b1, s->x, true, h1);
    forward(BIDDER_HIDDEN2, BIDDER_HIDDEN1, net->w2[0], net->b2, h1, true, h2);
    forward(BIDDER_VALUES, BIDDER_HIDDEN2, net->w3[0], net->b3, h2, false, v);
    for (int i = 0; i < BIDDER_VALUES; i++) {
        float e = v[i] - s->y[i];
        loss += (double)(weight[i] * e * e);
        dv[i] = 2 * weight[i] * e;
    }
    backward(BIDDER_VALUES, BIDDER_HIDDEN2, net->w3[0], h2, dv, grad->w3[0], grad->b3, dh2);
    through_relu(BIDDER_HIDDEN2, h2, dh2);
    backward(BIDDER_HIDDEN2, BIDDER_HIDDEN1, net->w2[0], h1, dh2, grad->w2[0], grad->b2, dh1);
    through_relu(BIDDER_HIDDEN1, h1, dh1);
    backward(BIDDER_HIDDEN1, BIDDER_FEATURES, net->w1[0], s->x, dh1, grad->w1[0], grad->b1, NULL);
    return loss;
}

/* ---- the fit ---- */

typedef struct {
    BidNet net, grad;
    float m[N_PARAMS], v[N_PARAMS];
    int64_t step;
} Adam;

static void init_layer(Rng *rng, float *w, size_t n, int fan_in) {
    float bound = 1 / sqrtf((float)fan_in);
    for (size_t i = 0; i < n; i++) w[i] = bound * (2 * rng_float(rng) - 1);
}

static void init_net(BidNet *n, uint64_t seed) {
    Rng rng;
    rng_init(&rng, seed, 1);
    memset(n, 0, sizeof *n);
    init_layer(&rng, n->w1[0], sizeof n->w1 / sizeof(float), 20); /* of 65 inputs, 20 are ones */
    init_layer(&rng, n->w2[0], sizeof n->w2 / sizeof(float), BIDDER_HIDDEN1);
    init_layer(&rng, n->w3[0], sizeof n->w3 / sizeof(float), BIDDER_HIDDEN2);
}

static void adam_step(Adam *a, double lr, int batch) {
    const double beta1 = 0.9, beta2 = 0.999;
    float *w = (float *)&a->net, *g = (float *)&a->grad;
    double t = (double)++a->step;
    double correct1 = 1 / (1 - pow(beta1, t)), correct2 = 1 / (1 - pow(beta2, t));
    for (size_t i = 0; i < N_PARAMS; i++) {
        float x = g[i] / (float)batch;
        a->m[i] += (float)(1 - beta1) * (x - a->m[i]);
        a->v[i] += (float)(1 - beta2) * (x * x - a->v[i]);
        w[i] -= (float)lr * a->m[i] * (float)correct1 / (sqrtf(a->v[i] * (float)correct2) + 1e-8f);
    }
}

static void shuffle(int64_t *order, int64_t n, Rng *rng) {
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)rng_below(rng, (uint32_t)i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

static Status fit_samples(const BidFitConfig *c, const BidSample *s, int64_t n, Adam *a) {
    int64_t *order = malloc((size_t)n * sizeof *order + 1);
    if (!order) return ST_NOMEM;
    Rng rng;
    rng_init(&rng, c->seed, 2);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    int64_t steps = n / c->batch * c->epochs, at = 0;
    for (int epoch = 0; epoch < c->epochs; epoch++) {
        shuffle(order, n, &rng);
        for (int64_t i = 0; i + c->batch <= n; i += c->batch, at++) {
            double cosine = (1 + cos(3.14159265358979 * (double)at / (double)steps)) / 2;
            memset(&a->grad, 0, sizeof a->grad);
            for (int k = 0; k < c->batch; k++) bid_gradient(&a->net, &s[order[i + k]], &a->grad);
            adam_step(a, c->lr * (0.1 + 0.9 * cosine), c->batch);
        }
    }
    free(order);
    return ST_OK;
}

/* How well the values foretell what they were not fitted to. */
static void measure(const Bidder *b, const BidSample *s, int64_t n, BidFitReport *r) {
    double sum[2] = {0}, squares[2] = {0}, error[2] = {0};
    static const int value[2] = {BID_LANDLORD, BID_WINS};
    for (int64_t i = 0; i < n; i++) {
        float v[BIDDER_VALUES];
        bidder_values(b, s[i].x, v);
        for (int k = 0; k < 2; k++) {
            double y = (double)s[i].y[value[k]], e = (double)v[value[k]] - y;
            sum[k] += y;
            squares[k] += y * y;
            error[k] += e * e;
        }
    }
    double m = n > 0 ? (double)n : 1;
    r->variance = squares[0] / m - sum[0] / m * (sum[0] / m);
    r->error = error[0] / m;
    r->win_variance = squares[1] / m - sum[1] / m * (sum[1] / m);
    r->win_error = error[1] / m;
}

/* One round: samples from the auctions of `before`, a net fitted to them. */
static Status fit_round(const BidDeal *deals, int64_t n_fit, int64_t n, const BidFitConfig *c,
                        int round, Adam *a, Bidder *b, BidFitReport *report) {
    BidSample *samples = NULL, *held = NULL;
    int64_t n_samples = 0, n_held = 0;
    RulesetId rules = (RulesetId)b->ruleset;
    const Bidder *before = round > 0 ? b : NULL;
    Status st = bid_samples(deals, n_fit, rules, before, c->explore, c->seed + (uint64_t)round,
                            &samples, &n_samples);
    if (st == ST_OK)
        st = bid_samples(deals + n_fit, n - n_fit, rules, before, c->explore,
                         c->seed + (uint64_t)round + 1000, &held, &n_held);
    if (st == ST_OK) {
        memset(a, 0, sizeof *a);
        init_net(&a->net, c->seed);
        st = fit_samples(c, samples, n_samples, a);
    }
    if (st == ST_OK) {
        b->net = a->net;
        report->samples = n_samples;
        measure(b, held, n_held, report);
    }
    free(samples);
    free(held);
    return st;
}

Status bid_fit(const BidDeal *deals, int64_t n, RulesetId rules, const BidFitConfig *c, Bidder *out,
               void (*said)(void *ctx, int round, const BidFitReport *r), void *ctx) {
    Bidder b = {.kind = "mlp", .ruleset = (uint8_t)rules};
    Adam *a = malloc(sizeof *a);
    Status st = a ? ST_OK : ST_NOMEM;
    int64_t n_fit = n - (int64_t)(c->holdout * (double)n);
    for (int round = 0; st == ST_OK && round < c->rounds; round++) {
        BidFitReport r = {0};
        st = fit_round(deals, n_fit, n, c, round, a, &b, &r);
        if (st == ST_OK && said) said(ctx, round, &r);
    }
    free(a);
    if (st == ST_OK) *out = b;
    return st;
}
