/* onebit and qadam: Adam (or RMSprop) whose variance is frozen, so that momentum can be compressed.
 *
 * warm-up:    gbar = exact mean of g;  m <- b1 m + (1-b1) gbar;  v <- b2 v + (1-b2) gbar^2;
 *             Adam's update with bias correction, or RMSprop's with gbar
 * freeze:     m and v are divided by their bias corrections, once and for all
 * compressed: m <- w squeeze((b1 m + (1-b1) g_i) / w);  x <- x - lr (m / (sqrt(v) + eps) + decay x)
 * refresh:    for some steps m from exact means (residuals wait), and the mean of gbar^2 is
 *             gathered: a sample of the k steps since the last one. v takes it in with the weight
 *             (1 - b2^k) / (1 - b2^t) that these steps have in Adam's corrected average
 *
 * A net's layers and units wake up one after the other; a variance from before that makes their
 * steps leap. So refreshes are short, frequent at first, and ever rarer (as 0/1 Adam's,
 * arXiv:2202.06009, which renews its variance at growing intervals).
 *
 * onebit squeezes to signs with error feedback on both passes; qadam to 8 bits without feedback.
 *
 * In the paper w = 1. A sign says of a whole block how large its momenta are; divided by the
 * variance of an input that is hardly ever seen that is a leap, and these nets have many such
 * inputs. With w = sqrt(v) + eps, the same on all ranks while v is frozen, the code's error is
 * alike in all parameters of a block; what error feedback promises holds in any fixed units.
 *
 * Where v = 0 (an input never seen) a sign, which cannot say 0, would be divided by eps and grow
 * without bound. These coordinates are `dead`: they leave the code, and their gradients, mostly 0,
 * travel as an exact list; they go on with plain Adam, and live from the next refresh on once they
 * have a variance. No learning rate is inside a momentum: when it changes residuals stay.
 * Source: Tang et al., 1-bit Adam, arXiv:2102.02888 (auto warm-up: section 7.1); Bagua's QAdam.  */
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/algo/algo_ops.h"

enum { WARMUP, COMPRESSED, REFRESH };
enum { FLOOR_BLOCK = 2048 };

typedef struct {
    int32_t phase, n_norms;
    uint64_t in_phase; // steps made in it
    uint64_t updates;  // steps made at all: Adam's t
    uint64_t seen;     // of which v knows
    double drift;
} Progress;

typedef struct {
    Algo algo;
    Squeeze *squeeze;
    Real *m, *v, *fresh; // fresh: mean of gbar^2 since the refresh began
    Real *message;       // what is exchanged in the compressed phase
    Real most;           // that |m / w| may be
    Real *unit;          // w: what momenta are counted in there; 1 for the dead
    uint8_t *dead;       // v = 0 at the last freeze: not bias-corrected
    uint64_t n_dead;
    Progress now;
    double *norms; // |v|_1 of the last `span` steps of the warm-up
    int span;
    bool kept;
} Onebit;

static Status check(const Algo *a) {
    const MomentumConfig *c = &a->c.momentum;
    bool good = c->beta1 >= 0 && c->beta1 < 1 && c->beta2 > 0 && c->beta2 < 1 && c->eps > 0 &&
                c->decay >= 0 && (c->refresh_every == 0 || c->refresh_steps > 0);
    if (!good) log_error("%s: a setting of the momentum is out of range", a->ops->name);
    return good ? ST_OK : ST_INVALID;
}

static Status start(Algo *a) {
    Onebit *s = (Onebit *)a;
    TRY(check(a));
    TRY(algo_make_squeeze(a, &s->squeeze));
    bool exact = a->c.momentum.plain || a->c.up.ops == codec_none().ops;
    s->most = exact ? (Real)INFINITY : 1;
    s->span = (int)ceil(1 / (1 - a->c.momentum.beta2));
    s->message = malloc((a->c.n + 1) * sizeof *s->message);
    s->unit = malloc((a->c.n + 1) * sizeof *s->unit);
    s->norms = calloc((size_t)s->span, sizeof *s->norms);
    s->dead = calloc(a->c.n + 1, 1);
    if (!s->message || !s->unit || !s->norms || !s->dead) return ST_NOMEM;
    TRY(algo_block(a, "m", a->c.n, false, &s->m));
    TRY(algo_block(a, "v", a->c.n, false, &s->v));
    TRY(algo_block(a, "fresh", a->c.n, false, &s->fresh));
    algo_keep(a, "dead", s->dead, a->c.n, false);
    algo_keep(a, "progress", &s->now, sizeof s->now, false);
    algo_keep(a, "norms", s->norms, (size_t)s->span * sizeof *s->norms, false);
    return ST_OK;
}

static void stop(Algo *a) {
    Onebit *s = (Onebit *)a;
    squeeze_free(s->squeeze);
    free(s->m);
    free(s->v);
    free(s->fresh);
    free(s->message);
    free(s->unit);
    free(s->norms);
    free(s->dead);
}

static Status before_forward(Algo *a) {
    ((Onebit *)a)->kept = true;
    return ST_OK;
}

/* Of m / w. In Adam it is hardly ever above 1, because v grows at once with a gradient that is
 * larger than those before; a frozen v would go on making leaps of them. */
static Real bounded(const Onebit *s, Real u) {
    return u > s->most ? s->most : u < -s->most ? -s->most : u;
}

/* A living coordinate sends its momentum, a dead one its gradient. */
static Status exchange(Algo *a, int bucket) {
    Onebit *s = (Onebit *)a;
    size_t n, at = plan_bucket(a, bucket, &n);
    if (s->now.phase != COMPRESSED) {
        TRY(comm_allreduce(a->comm, a->c.g + at, n));
        for (size_t i = at; i < at + n; i++) a->c.g[i] /= (Real)a->ranks;
        return ST_OK;
    }
    Real b1 = (Real)a->c.momentum.beta1;
    for (size_t i = at; i < at + n; i++)
        s->message[i] = bounded(s, (b1 * s->m[i] + (1 - b1) * a->c.g[i]) / s->unit[i]);
    if (s->n_dead > 0)
        for (size_t i = at; i < at + n; i++)
            if (s->dead[i]) s->message[i] = a->c.g[i];
    bool kept = false;
    TRY(squeeze_run(s->squeeze, (size_t)bucket, a->t, s->message, s->message, &kept));
    s->kept = s->kept && kept;
    return ST_OK;
}

// 1 / (1 - beta^t): Adam's corrections of m and v; RMSprop has none.
static void corrections(const Onebit *s, double *m, double *v) {
    const MomentumConfig *c = &s->algo.c.momentum;
    double t = (double)s->now.updates;
    *m = c->rmsprop ? 1 : 1 / (1 - pow(c->beta1, t));
    *v = c->rmsprop ? 1 : 1 / (1 - pow(c->beta2, t));
}

/* One coordinate of plain Adam or RMSprop: what uncompressed steps and dead coordinates do. */
static void plain_update(Onebit *s, size_t i, Real g, Real correct_m, Real correct_v) {
    const MomentumConfig *c = &s->algo.c.momentum;
    Real b1 = (Real)c->beta1, b2 = (Real)c->beta2, lr = (Real)s->algo.lr, *x = s->algo.c.x;
    s->m[i] = b1 * s->m[i] + (1 - b1) * g;
    s->v[i] = b2 * s->v[i] + (1 - b2) * g * g;
    Real up = c->rmsprop ? g : s->m[i] * correct_m;
    x[i] -= lr * (up / (real_sqrt(s->v[i] * correct_v) + (Real)c->eps) + (Real)c->decay * x[i]);
}

/* One living coordinate with its frozen variance; u = m / w. */
static void frozen_update(Onebit *s, size_t i, Real u) {
    const MomentumConfig *c = &s->algo.c.momentum;
    Real *x = s->algo.c.x, up = bounded(s, u);
    s->m[i] = u * s->unit[i];
    if (c->plain) up /= real_sqrt(s->v[i]) + (Real)c->eps;
    x[i] -= (Real)s->algo.lr * (up + (Real)c->decay * x[i]);
}

static double norm1(const Real *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i]);
    return sum;
}

/* A variance that is frozen before its coordinate was seen at its usual size would make leaps of
 * the usual gradients. So the variance of the living is at least a hundredth of their block's mean.
 */
static void floor_variance(Onebit *s) {
    const Codec *c = &s->algo.c.up;
    if (c->ops == codec_none().ops) return;
    size_t block = c->block > 0 ? c->block : FLOOR_BLOCK, n = s->algo.c.n;
    for (size_t at = 0; at < n; at += block) {
        size_t end = n - at < block ? n : at + block, living = 0;
        double sum = 0;
        for (size_t i = at; i < end; i++)
            if (!s->dead[i]) sum += (double)s->v[i], living++;
        Real least = living > 0 ? (Real)(.01 * sum / (double)living) : 0;
        for (size_t i = at; i < end; i++)
            if (!s->dead[i] && s->v[i] < least) s->v[i] = least;
    }
}

static Real unit_of(const Onebit *s, size_t i) {
    const MomentumConfig *c = &s->algo.c.momentum;
    return c->plain || s->dead[i] ? 1 : real_sqrt(s->v[i]) + (Real)c->eps;
}

static void set_units(Onebit *s) {
    for (size_t i = 0; i < s->algo.c.n; i++) s->unit[i] = unit_of(s, i);
}

/* v has changed: residuals are the same momenta in other units. */
static void change_units(Onebit *s) {
    Real *factor = s->message;
    for (size_t i = 0; i < s->algo.c.n; i++) {
        Real unit = unit_of(s, i);
        factor[i] = s->unit[i] / unit;
        s->unit[i] = unit;
    }
    squeeze_rescale(s->squeeze, factor);
}

/* m and v of what was not corrected yet are, once; who has no variance is dead. */
static Status freeze(Onebit *s, bool first) {
    double correct_m, correct_v;
    corrections(s, &correct_m, &correct_v);
    s->n_dead = 0;
    for (size_t i = 0; i < s->algo.c.n; i++) {
        if ((first || s->dead[i]) && s->v[i] > 0) {
            s->m[i] *= (Real)correct_m;
            s->v[i] *= (Real)correct_v;
        }
        s->dead[i] = s->v[i] == 0;
        if (s->dead[i]) s->m[i] = 0;
        s->n_dead += s->dead[i];
    }
    floor_variance(s);
    if (first) set_units(s);
    else change_units(s);
    s->now.seen = s->now.updates;
    s->now.phase = COMPRESSED;
    s->now.in_phase = 0;
    return squeeze_dead(s->squeeze, s->n_dead > 0 ? s->dead : NULL);
}

/* Is the warm-up over? By number, or because |v|_1 has grown by less than 4% over its own memory.
 */
static bool warm(Onebit *s) {
    const MomentumConfig *c = &s->algo.c.momentum;
    if (c->warmup > 0) return s->now.in_phase >= c->warmup;
    double norm = norm1(s->v, s->algo.c.n), *before = &s->norms[s->now.n_norms % s->span];
    bool steady = s->now.n_norms >= s->span && norm > 0 && *before / norm >= .96;
    *before = norm;
    s->now.n_norms = s->now.n_norms < 2 * s->span - 1 ? s->now.n_norms + 1 : s->span;
    return steady;
}

static Status warmup_step(Onebit *s) {
    double correct_m, correct_v;
    s->now.updates++;
    s->now.in_phase++;
    corrections(s, &correct_m, &correct_v);
    for (size_t i = 0; i < s->algo.c.n; i++)
        plain_update(s, i, s->algo.c.g[i], (Real)correct_m, (Real)correct_v);
    if (!warm(s)) return ST_OK;
    TRY(freeze(s, true));
    log_info("%s: variance frozen after %llu steps; %llu of %zu coordinates have none",
             s->algo.ops->name, (unsigned long long)s->now.updates, (unsigned long long)s->n_dead,
             s->algo.c.n);
    return ST_OK;
}

static bool refresh_is_due(const Onebit *s) {
    enum { LEAST = 25 };
    const MomentumConfig *c = &s->algo.c.momentum;
    double wait = c->refresh_part > 0 ? fmax(c->refresh_part * (double)s->now.updates, LEAST)
                                      : (double)c->refresh_every;
    return c->refresh_every > 0 &&
           s->now.in_phase >= (uint64_t)fmin(wait, (double)c->refresh_every);
}

static Status compressed_step(Onebit *s) {
    double correct_m, correct_v;
    s->now.updates++;
    s->now.in_phase++;
    corrections(s, &correct_m, &correct_v);
    for (size_t i = 0; i < s->algo.c.n; i++)
        if (!s->dead[i]) frozen_update(s, i, s->message[i]);
        else plain_update(s, i, s->message[i], (Real)correct_m, (Real)correct_v);
    if (!refresh_is_due(s)) return ST_OK;
    memset(s->fresh, 0, s->algo.c.n * sizeof *s->fresh);
    s->now.phase = REFRESH;
    s->now.in_phase = 0;
    return ST_OK;
}

// The share of the steps since the last refresh in what v is an average of.
static double weight_of_new(const Onebit *s) {
    const MomentumConfig *c = &s->algo.c.momentum;
    double t = (double)s->now.updates, k = (double)(s->now.updates - s->now.seen);
    double part = 1 - pow(c->beta2, k);
    return c->rmsprop ? part : part / (1 - pow(c->beta2, t));
}

static Status refreeze(Onebit *s) {
    size_t n = s->algo.c.n;
    double old = 0, seen = 0;
    for (size_t i = 0; i < n; i++)
        if (!s->dead[i]) old += (double)s->v[i], seen += (double)s->fresh[i];
    s->now.drift = old > 0 ? seen / old : 1;
    Real part = (Real)weight_of_new(s), shrink = (Real)fmin(s->now.drift, 1);
    for (size_t i = 0; i < n; i++) {
        if (s->dead[i]) continue;
        Real least = s->v[i] * shrink; // not seen in a few steps is not seldom
        s->v[i] += part * ((s->fresh[i] > least ? s->fresh[i] : least) - s->v[i]);
    }
    log_debug("%s: squares now %.3f of the variance", s->algo.ops->name, s->now.drift);
    return freeze(s, false);
}

static Status refresh_step(Onebit *s) {
    double correct_m, correct_v;
    const MomentumConfig *c = &s->algo.c.momentum;
    Real b1 = (Real)c->beta1, part = 1 / (Real)c->refresh_steps;
    s->now.updates++;
    s->now.in_phase++;
    corrections(s, &correct_m, &correct_v);
    for (size_t i = 0; i < s->algo.c.n; i++) {
        Real g = s->algo.c.g[i];
        s->fresh[i] += g * g * part;
        if (!s->dead[i]) frozen_update(s, i, (b1 * s->m[i] + (1 - b1) * g) / s->unit[i]);
        else plain_update(s, i, g, (Real)correct_m, (Real)correct_v);
    }
    return s->now.in_phase >= c->refresh_steps ? refreeze(s) : ST_OK;
}

static Status after_backward(Algo *a) {
    Onebit *s = (Onebit *)a;
    bool compressed = s->now.phase == COMPRESSED;
    bool kept = compressed ? s->kept : real_finite(a->c.g, a->c.n); // alike on all ranks
    if (compressed) squeeze_settle(s->squeeze, kept);
    if (!kept) {
        a->stats.skipped++;
        return ST_OK;
    }
    return compressed               ? compressed_step(s)
           : s->now.phase == WARMUP ? warmup_step(s)
                                    : refresh_step(s);
}

static Status flush(Algo *a) { return algo_drain(a, ((Onebit *)a)->squeeze); }

static void loaded(Algo *a) {
    Onebit *s = (Onebit *)a;
    s->n_dead = 0;
    for (size_t i = 0; i < a->c.n; i++) s->n_dead += s->dead[i];
    set_units(s);
    (void)squeeze_carry(s->squeeze); // it may have come with the state
    if (squeeze_dead(s->squeeze, s->n_dead > 0 ? s->dead : NULL) != ST_OK)
        log_error("%s: out of memory", a->ops->name);
}

static void stats(Algo *a, AlgoStats *out) {
    Onebit *s = (Onebit *)a;
    out->residual = feedback_norm(squeeze_worker(s->squeeze));
    out->error = squeeze_error(s->squeeze);
    out->drift = s->now.drift;
    out->dead = s->n_dead;
    out->compressed = s->now.phase != WARMUP;
}

static void refresh_defaults(MomentumConfig *c) {
    c->refresh_part = 1. / 3;
    c->refresh_every = 500;
    c->refresh_steps = 5;
}

static void onebit_defaults(AlgoConfig *c) {
    c->up = c->down = algo_codec("sign");
    c->feedback_up = c->feedback_down = true;
    refresh_defaults(&c->momentum);
}

static void qadam_defaults(AlgoConfig *c) {
    c->up = c->down = algo_codec("u8");
    refresh_defaults(&c->momentum);
}

#define ONEBIT(title, text, fill)                                                                  \
    {                                                                                              \
        .name = title, .help = text, .size = sizeof(Onebit), .defaults = fill, .start = start,     \
        .stop = stop, .before_forward = before_forward, .exchange = exchange,                      \
        .after_backward = after_backward, .flush = flush, .stats = stats, .loaded = loaded,        \
        .own_rule = true                                                                           \
    }
const AlgoOps algo_onebit =
    ONEBIT("onebit", "1-bit Adam: momentum as signs with error feedback, variance frozen",
           onebit_defaults);
const AlgoOps algo_qadam =
    ONEBIT("qadam", "as onebit, momentum in 8 bits without feedback", qadam_defaults);
