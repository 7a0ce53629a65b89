/* Error compensation loses nothing. With Omega = D + mean d_i + carry, whatever the codec,
 *
 *     x_T = x_0 - sum_t lr_t gbar_t + lr_T Omega_T
 *
 * to 1e-10 in double: across changes of the learning rate, a flush, steps voted down, buckets,
 * uneven chunks, and a parameter server. */
#include "tests/learner/gauss.h"
#include "tests/learner/team.h"

#include "learner/algo/squeeze.h"

enum { N = 1003, BUCKET = 300, STEPS = 60 };

typedef struct {
    const char *codec;
    bool server, up, down;
} Setting;

static void gradient(int rank, int step, const Real *x, Real *g) {
    Rng r;
    rng_init(&r, (uint64_t)step, (uint64_t)rank);
    for (int i = 0; i < N; i++) g[i] = gauss(&r) + .3 * (x[i] - rank) * (1 + i % 5);
    if (step % 17 == 5 && rank == step % 3) g[(step * 31) % N] = NAN; // a step that must not count
}

static bool step_counts(int step, int ranks) { return !(step % 17 == 5 && step % 3 < ranks); }

// Omega by its definition, from what the ranks hold, on all ranks.
static void omega(Rank *r, Squeeze *s, bool server, Real *total) {
    memset(total, 0, N * sizeof *total);
    Feedback *worker = squeeze_worker(s), *owner = squeeze_server(s);
    for (int i = 0; worker->e && i < N; i++) total[i] = worker->e[i] / r->size;
    size_t at, k = 0;
    for (size_t base = 0; base < N; base += BUCKET) {
        size_t n = N - base < BUCKET ? N - base : BUCKET, whole, unused;
        int owners = server ? 1 : r->size;
        size_t own = r->rank < owners ? comm_chunk(n, owners, r->rank, &at) : 0;
        whole = r->rank < owners ? comm_chunk(BUCKET, owners, r->rank, &unused) : 0;
        for (size_t i = 0; owner->e && i < own; i++) total[base + at + i] += owner->e[k + i];
        k += whole;
    }
    team_ok(r, comm_allreduce(r->comm, total, N));
    Feedback *carry = squeeze_carry(s);
    for (int i = 0; carry->e && i < N; i++) total[i] += carry->e[i];
}

static void identity(Rank *r) {
    const Setting *set = r->ctx;
    static _Thread_local Real x[N], g[N], mean[N], exact[N], total[N];
    memset(x, 0, sizeof x);
    memset(exact, 0, sizeof exact);
    SqueezeConfig c = {.comm = r->comm,
                       .n = N,
                       .bucket = BUCKET,
                       .feedback_up = set->up,
                       .feedback_down = set->down,
                       .server = set->server,
                       .seed = 3};
    team_ok(r, codec_parse(set->codec, &c.up));
    c.down = c.up;
    Squeeze *s;
    team_ok(r, squeeze_new(&c, &s));
    for (int t = 0; t < STEPS; t++) {
        double lr = t < 20 ? .05 : t < 40 ? .02 : .07;
        gradient(r->rank, t, x, g);
        squeeze_rate(s, lr);
        bool all = true, kept = false;
        for (size_t b = 0; b * BUCKET < N; b++) {
            team_ok(r, squeeze_run(s, b, (uint64_t)t, g, mean, &kept));
            all = all && kept;
        }
        team_check(r, all == step_counts(t, r->size));
        squeeze_settle(s, all);
        if (!all) continue;
        for (int i = 0; i < N; i++) x[i] -= lr * mean[i];
        team_ok(r, comm_allreduce(r->comm, g, N));
        for (int i = 0; i < N; i++) exact[i] -= lr * g[i] / r->size;
        if (t == 33 || t == 50) team_ok(r, squeeze_drain(s));
        omega(r, s, set->server, total);
        double worst = 0, size = 0;
        for (int i = 0; i < N; i++) {
            worst = fmax(worst, fabs(x[i] - exact[i] - lr * total[i]));
            size = fmax(size, fabs(lr * total[i]));
        }
        team_check(r, worst <= 1e-10);
        team_check(r, size > 1e-6); // there is something to compensate
        if (t == 33 || t == 50) team_check(r, feedback_norm(squeeze_worker(s)) == 0);
    }
    squeeze_free(s);
}

static void holds(void **state) {
    (void)state;
    static const Setting settings[] = {
        {"sign", false, true, true},       {"sign-l2", false, true, true},
        {"u8", false, true, true},         {"topk:0.05", false, true, true},
        {"randk:0.05", false, true, true}, {"qsgd:4", false, true, true},
        {"bf16", false, true, true},       {"sign", true, true, true},
    };
    SimNet net = {.latency_s = 1e-4};
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        for (int n = 1; n <= 5; n += 2) {
            void *ctx[TEAM_MAX];
            for (int i = 0; i < n; i++) ctx[i] = (void *)&settings[k];
            team_run(n, &net, identity, ctx);
        }
}

/* All ranks end with the same bits. */
static Real models[8][N];

static void same(Rank *r) {
    Real g[N];
    SqueezeConfig c = {
        .comm = r->comm, .n = N, .bucket = BUCKET, .feedback_up = true, .feedback_down = true};
    team_ok(r, codec_parse("sign", &c.up));
    team_ok(r, codec_parse("qsgd:4", &c.down));
    Squeeze *s;
    bool kept;
    team_ok(r, squeeze_new(&c, &s));
    memset(models[r->rank], 0, sizeof models[0]);
    for (int t = 0; t < 5; t++) {
        gradient(r->rank, t, models[r->rank], g);
        for (size_t b = 0; b * BUCKET < N; b++)
            team_ok(r, squeeze_run(s, b, (uint64_t)t, g, g, &kept));
        squeeze_settle(s, kept);
        if (kept)
            for (int i = 0; i < N; i++) models[r->rank][i] -= .1 * g[i];
    }
    squeeze_free(s);
}

static void ranks_agree(void **state) {
    (void)state;
    team_run(7, NULL, same, NULL);
    for (int r = 1; r < 7; r++) assert_memory_equal(models[r], models[0], sizeof models[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds),
        cmocka_unit_test(ranks_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
