/* dpsgd and d2: every rank keeps its own model and averages with neighbours.
 *
 * D-PSGD, average then step: x_i <- sum_j W_ij x_j - u(g(x_i)); the exchange of x runs while
 * forward and backward compute g. Step then average (adapt_first): x_i <- sum_j W_ij (x_j - u_j): a
 * smaller floor, nothing hidden. Source: Lian et al., arXiv:1705.09056.
 *
 * D^2: psi_t = x_t - u_t; x_{t+1} = W (x_t + psi_t - psi_{t-1}), psi_{-1} = x_0. In this form, with
 * steps kept inside psi, the mean moves by exactly -u however the learning rate changes;
 * differences of gradients times the new rate would leave a drift behind. W must be static with
 * lambda_n > -1/3. Source: Tang et al., D^2, arXiv:1803.07068; the form is exact diffusion's.
 * Nothing damps an error of the mean of x + psi_t - psi_{t-1}: as a speed it would add up, and in
 * float a run of 100 steps would lose half of its digits. So what x has no digits for is kept in
 * `low`, and what a message has none for is added to the sender's own: the mean keeps to double.
 *
 * u is what the rule subtracts: with an optimizer of its own state D^2's theory does not cover it.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/algo/algo_ops.h"
#include "learner/algo/mix.h"

typedef struct {
    Algo algo;
    Mix mix;
    Real *mixed; // what the exchange brings
    // d2; x + low, psi + low and psi_before + low_before are the real ones
    Real *psi, *psi_before, *low, *low_before, *message, *unsent;
    uint64_t ticket;
} Gossip;

enum { TAG_MIX = 0x300000 };

static Status mix_start(Algo *a, unsigned needs, double above) {
    Gossip *s = (Gossip *)a;
    if (a->c.topology.n != a->ranks) {
        log_error("%s: a topology of %d ranks for a run of %d", a->ops->name, a->c.topology.n,
                  a->ranks);
        return ST_INVALID;
    }
    if (a->c.up.ops->seeded) {
        log_error("%s: the codec %s needs a shared seed and cannot be mixed", a->ops->name,
                  a->c.up.ops->name);
        return ST_INVALID;
    }
    TRY(topology_check(&a->c.topology, a->ops->name, needs, above));
    TRY(mix_init(&s->mix, a->comm, &a->c.topology, &a->c.up, a->c.n, TAG_MIX | (uint32_t)a->c.group,
                 a->ops == &algo_d2));
    s->mixed = malloc((a->c.n + 1) * sizeof *s->mixed);
    return s->mixed ? ST_OK : ST_NOMEM;
}

static Status dpsgd_start(Algo *a) { return mix_start(a, TOPOLOGY_MEAN, -1); }

/* D^2 starts anew from x: psi_{-1} = x. */
static void restart(Algo *a) {
    Gossip *s = (Gossip *)a;
    memcpy(s->psi_before, a->c.x, a->c.n * sizeof *s->psi_before);
    memset(s->low, 0, a->c.n * sizeof *s->low);
    memset(s->low_before, 0, a->c.n * sizeof *s->low_before);
}

static Status d2_start(Algo *a) {
    Gossip *s = (Gossip *)a;
    TRY(mix_start(a, TOPOLOGY_MEAN | TOPOLOGY_STATIC, -1.0 / 3));
    s->psi = malloc((a->c.n + 1) * sizeof *s->psi);
    s->message = malloc((a->c.n + 1) * sizeof *s->message);
    s->unsent = malloc((a->c.n + 1) * sizeof *s->unsent);
    if (!s->psi || !s->message || !s->unsent) return ST_NOMEM;
    TRY(algo_block(a, "psi", a->c.n, true, &s->psi_before));
    TRY(algo_block(a, "low", a->c.n, true, &s->low));
    TRY(algo_block(a, "psi low", a->c.n, true, &s->low_before));
    restart(a);
    return ST_OK;
}

static void stop(Algo *a) {
    Gossip *s = (Gossip *)a;
    mix_deinit(&s->mix);
    free(s->mixed);
    free(s->psi);
    free(s->message);
    free(s->unsent);
    free(s->psi_before);
    free(s->low);
    free(s->low_before);
}

static Status mix_x(void *ctx, int arg) {
    (void)arg;
    Gossip *s = ctx;
    return mix_run(&s->mix, s->algo.t, s->algo.c.x, s->mixed);
}

static Status dpsgd_before_forward(Algo *a) {
    Gossip *s = (Gossip *)a;
    if (!a->c.adapt_first) s->ticket = engine_post(a->c.engine, "mix", mix_x, s, a->c.group);
    return ST_OK;
}

static Status dpsgd_after_backward(Algo *a) {
    Gossip *s = (Gossip *)a;
    size_t bytes = a->c.n * sizeof *a->c.x;
    if (a->c.adapt_first) {
        TRY(algo_rule(a, a->c.x, a->c.g));
        TRY(engine_call(a->c.engine, "mix", mix_x, s, a->c.group));
        memcpy(a->c.x, s->mixed, bytes);
        return ST_OK;
    }
    TRY(engine_wait(a->c.engine, s->ticket));
    memcpy(a->c.x, s->mixed, bytes);
    return algo_rule(a, a->c.x, a->c.g);
}

static Status mix_message(void *ctx, int arg) {
    (void)arg;
    Gossip *s = ctx;
    return mix_run_precise(&s->mix, s->algo.t, s->message, s->mixed, s->psi_before);
}

static Status d2_after_backward(Algo *a) {
    Gossip *s = (Gossip *)a;
    size_t bytes = a->c.n * sizeof *a->c.x;
    memcpy(s->psi, a->c.x, bytes);
    TRY(algo_rule(a, s->psi, a->c.g));
    for (size_t i = 0; i < a->c.n; i++) {
        double moved = (double)s->psi[i] - (double)s->psi_before[i];
        moved += (double)s->low[i] - (double)s->low_before[i];
        double y = (double)a->c.x[i] + ((double)s->low[i] + moved);
        s->message[i] = (Real)y;
        s->unsent[i] = (Real)(y - (double)s->message[i]);
    }
    // psi_before is done with, and takes the digits that the sum of the messages has below Real
    TRY(engine_call(a->c.engine, "mix", mix_message, s, a->c.group));
    memcpy(a->c.x, s->mixed, bytes);
    memcpy(s->low_before, s->low, bytes);
    for (size_t i = 0; i < a->c.n; i++) s->low[i] = s->psi_before[i] + s->unsent[i];
    memcpy(s->psi_before, s->psi, bytes);
    return ST_OK;
}

static Status dpsgd_flush(Algo *a) { return algo_mean(a, a->c.x); }

static Status d2_flush(Algo *a) {
    TRY(algo_mean(a, a->c.x));
    restart(a);
    return ST_OK;
}

static void d2_loaded(Algo *a) {
    Gossip *s = (Gossip *)a;
    for (size_t i = 0; i < a->c.n; i++)
        if (s->psi_before[i] != 0) return;
    restart(a); // psi was left out of a flushed state
}

const AlgoOps algo_dpsgd = {.name = "dpsgd",
                            .help = "D-PSGD: average models with neighbours while computing",
                            .size = sizeof(Gossip),
                            .apart = true,
                            .start = dpsgd_start,
                            .stop = stop,
                            .before_forward = dpsgd_before_forward,
                            .after_backward = dpsgd_after_backward,
                            .flush = dpsgd_flush};
const AlgoOps algo_d2 = {.name = "d2",
                         .help = "D^2: decentralised for ranks whose data differ",
                         .size = sizeof(Gossip),
                         .apart = true,
                         .start = d2_start,
                         .stop = stop,
                         .after_backward = d2_after_backward,
                         .flush = d2_flush,
                         .loaded = d2_loaded};
