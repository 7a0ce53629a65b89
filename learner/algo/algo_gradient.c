/* local, allreduce, bytegrad, squeeze: the mean gradient, then the rule.
 *
 * allreduce without a codec adds exactly, in a ring. Everything else goes through squeeze.h:
 * bytegrad is 8 bits without feedback, squeeze (DoubleSqueeze) any codec with feedback on both
 * passes. Sources: Gan et al., Bagua, arXiv:2107.01499; Tang et al., arXiv:1905.05957. */
#include "learner/algo/algo_ops.h"

typedef struct {
    Algo algo;
    Squeeze *squeeze; // NULL: plain ring
    bool kept;        // of the step that is under way: nobody voted it down
} Gradient;

static bool exact(const Codec *c) { return c->ops == codec_none().ops; }

static Status start(Algo *a) {
    Gradient *s = (Gradient *)a;
    if (exact(&a->c.up) && exact(&a->c.down) && !a->c.by_server) return ST_OK;
    return algo_make_squeeze(a, &s->squeeze);
}

static void stop(Algo *a) { squeeze_free(((Gradient *)a)->squeeze); }

static Status before_forward(Algo *a) {
    Gradient *s = (Gradient *)a;
    s->kept = true;
    if (s->squeeze) squeeze_rate(s->squeeze, a->lr);
    return ST_OK;
}

static Status exchange(Algo *a, int bucket) {
    Gradient *s = (Gradient *)a;
    size_t n, at = plan_bucket(a, bucket, &n);
    if (s->squeeze) {
        bool kept = false;
        TRY(squeeze_run(s->squeeze, (size_t)bucket, a->t, a->c.g, a->c.g, &kept));
        s->kept = s->kept && kept;
        return ST_OK;
    }
    TRY(comm_allreduce(a->comm, a->c.g + at, n));
    for (size_t i = at; i < at + n; i++) a->c.g[i] /= (Real)a->ranks;
    return ST_OK;
}

static Status after_backward(Algo *a) {
    Gradient *s = (Gradient *)a;
    if (s->squeeze) squeeze_settle(s->squeeze, s->kept);
    if (s->kept) return algo_rule(a, a->c.x, a->c.g);
    a->stats.skipped++;
    return ST_OK;
}

static Status flush(Algo *a) {
    Gradient *s = (Gradient *)a;
    return s->squeeze ? algo_drain(a, s->squeeze) : ST_OK;
}

static void loaded(Algo *a) {
    Gradient *s = (Gradient *)a;
    if (s->squeeze) (void)squeeze_carry(s->squeeze); // it may have come with the state
}

static void stats(Algo *a, AlgoStats *out) {
    Gradient *s = (Gradient *)a;
    if (!s->squeeze) return;
    out->residual = feedback_norm(squeeze_worker(s->squeeze));
    out->error = squeeze_error(s->squeeze);
}

static void bytegrad_defaults(AlgoConfig *c) { c->up = c->down = algo_codec("u8"); }

static void squeeze_defaults(AlgoConfig *c) {
    c->up = c->down = algo_codec("sign");
    c->feedback_up = c->feedback_down = true;
}

static Status local_after_backward(Algo *a) { return algo_rule(a, a->c.x, a->c.g); }

#define GRADIENT(title, text, fill)                                                                \
    {                                                                                              \
        .name = title, .help = text, .size = sizeof(Gradient), .defaults = fill, .start = start,   \
        .stop = stop, .before_forward = before_forward, .exchange = exchange,                      \
        .after_backward = after_backward, .flush = flush, .stats = stats, .loaded = loaded         \
    }
const AlgoOps algo_local = {.name = "local",
                            .help = "the ranks do not talk",
                            .size = sizeof(Algo),
                            .after_backward = local_after_backward};
const AlgoOps algo_allreduce =
    GRADIENT("allreduce", "mean gradient: exact, or by a codec without feedback", NULL);
const AlgoOps algo_bytegrad = GRADIENT("bytegrad", "mean gradient in 8 bits", bytegrad_defaults);
const AlgoOps algo_squeeze =
    GRADIENT("squeeze", "DoubleSqueeze: mean gradient in 1 bit, error feedback on both passes",
             squeeze_defaults);
