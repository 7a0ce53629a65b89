/* The optimizers against their formulas in double, and against PyTorch's own numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/optim.h"

enum { N = 1003 }; /* no multiple of any vector's width */

typedef struct {
    float params[N], grads[N];
    double w[N], m[N], v[N], average[N];
} Problem;

static void problem_init(Problem *p, Rng *rng) {
    memset(p, 0, sizeof *p);
    for (int i = 0; i < N; i++) {
        p->params[i] = 2 * rng_float(rng) - 1;
        p->w[i] = p->average[i] = (double)p->params[i];
    }
}

/* Gradients of many magnitudes, some zero. Returns their norm. */
static double problem_gradient(Problem *p, Rng *rng) {
    double sum = 0;
    for (int i = 0; i < N; i++) {
        float g = (2 * rng_float(rng) - 1) * powf(10, (float)(i % 7) - 4);
        p->grads[i] = i % 11 == 5 ? 0 : g;
        sum += (double)p->grads[i] * (double)p->grads[i];
    }
    return sqrt(sum);
}

static void expect_step(Problem *p, const OptimConfig *c, double lr, double grad_scale, int t) {
    for (int i = 0; i < N; i++) {
        double g = (double)p->grads[i] * grad_scale;
        if (c->kind == OPTIM_RMSPROP) {
            p->v[i] = c->alpha * p->v[i] + (1 - c->alpha) * g * g;
            p->w[i] -= lr * g / (sqrt(p->v[i]) + c->eps);
        } else {
            p->w[i] -= lr * c->decay * p->w[i];
            p->m[i] = c->beta1 * p->m[i] + (1 - c->beta1) * g;
            p->v[i] = c->beta2 * p->v[i] + (1 - c->beta2) * g * g;
            double m = p->m[i] / (1 - pow(c->beta1, t)), v = p->v[i] / (1 - pow(c->beta2, t));
            p->w[i] -= lr * m / (sqrt(v) + c->eps);
        }
        double early = (1.0 + t) / (10.0 + t), d = early < c->ema ? early : c->ema;
        if (c->ema > 0) p->average[i] += (1 - d) * (p->w[i] - p->average[i]);
    }
}

static void check_close(const float *is, const double *want, const char *what) {
    for (int i = 0; i < N; i++)
        if (fabs((double)is[i] - want[i]) > 2e-6 * (1 + fabs(want[i])))
            fail_msg("%s[%d] is %.9g, not %.9g", what, i, (double)is[i], want[i]);
}

/* Several steps, some clipped and some not, under every table of kernels. */
static void check_config(const OptimConfig *c) {
    const KernelTable *k;
    for (int table = 0; (k = kernels_at(table)); table++) {
        if (!kernels_usable(k)) continue;
        static Problem p;
        Rng rng;
        Optim *o;
        int clipped = 0;
        rng_init(&rng, 9, 0);
        problem_init(&p, &rng);
        assert_int_equal(optim_new(c, N, k, &o), ST_OK);
        assert_null(optim_ema(o));
        for (int t = 1; t <= 20; t++) {
            double norm = problem_gradient(&p, &rng), is;
            double scale = c->clip > 0 && c->clip < norm ? c->clip / norm : 1;
            clipped += scale < 1;
            assert_int_equal(optim_step(o, p.params, p.grads, &is), ST_OK);
            assert_true(fabs(is - norm) < 1e-5 * norm);
            expect_step(&p, c, optim_lr(c, (uint64_t)t - 1), scale, t);
        }
        assert_int_equal(optim_steps(o), 20);
        assert_true(c->clip == 0 ? clipped == 0 : clipped > 0 && clipped < 20);
        check_close(p.params, p.w, k->name);
        if (c->ema > 0) check_close(optim_ema(o), p.average, "average");
        optim_free(o);
    }
}

static void test_rmsprop(void **state) {
    (void)state;
    OptimConfig c = optim_defaults(OPTIM_RMSPROP);
    c.lr = 1e-2;
    c.clip = 0;
    check_config(&c);
    c.clip = 655; // about the median norm of these gradients
    c.ema = 0.9;
    c.warmup = 5;
    check_config(&c);
}

static void test_adam(void **state) {
    (void)state;
    OptimConfig c = optim_defaults(OPTIM_ADAM);
    c.lr = 1e-2;
    c.clip = 0;
    check_config(&c);
    c.decay = 0.1;
    c.clip = 655;
    c.ema = 0.9;
    c.schedule = SCHEDULE_COSINE;
    c.decay_from = 3;
    c.decay_to = 15;
    c.lr_end = 1e-4;
    check_config(&c);
}

/* Two parameters, four steps: gradient i of step t is given below. Printed by PyTorch 1.13 (CPU,
 * float64): RMSprop(lr=0.01, alpha=0.99, eps=1e-5), Adam(lr=0.01), AdamW(lr=0.01,
 * weight_decay=0.1), each after clip_grad_norm_(2).                                          */
static void test_pytorch(void **state) {
    (void)state;
    static const float gradient[4][2] = {{0.5f, -0.001f}, {-1, 3}, {0.25f, 0}, {4, 2e-5f}};
    static const struct {
        OptimKind kind;
        double decay, want[2];
    } rows[] = {
        {OPTIM_RMSPROP, 0, {0.8565224232502736, -0.5090861571047248}},
        {OPTIM_ADAM, 0, {0.9854730741073315, -0.5078970537624808}},
        {OPTIM_ADAM, 0.1, {0.9815063227430453, -0.5059094037664743}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OptimConfig c = optim_defaults(rows[i].kind);
        float params[2] = {1, -0.5f};
        Optim *o;
        c.lr = 0.01;
        c.clip = 2;
        c.decay = rows[i].decay;
        assert_int_equal(optim_new(&c, 2, kernels_get(), &o), ST_OK);
        for (int t = 0; t < 4; t++)
            assert_int_equal(optim_step(o, params, gradient[t], NULL), ST_OK);
        for (int j = 0; j < 2; j++) assert_true(fabs((double)params[j] - rows[i].want[j]) < 1e-6);
        optim_free(o);
    }
}

static void test_schedules(void **state) {
    (void)state;
    OptimConfig c = optim_defaults(OPTIM_RMSPROP);
    assert_true(optim_lr(&c, 0) == 1e-4 && optim_lr(&c, UINT64_MAX) == 1e-4);
    c.lr = 8;
    c.warmup = 4;
    assert_true(optim_lr(&c, 0) == 2 && optim_lr(&c, 2) == 6 && optim_lr(&c, 3) == 8);
    c.schedule = SCHEDULE_COSINE;
    c.decay_from = 10;
    c.decay_to = 30;
    c.lr_end = 2;
    assert_true(optim_lr(&c, 10) == 8 && optim_lr(&c, 30) == 2 && optim_lr(&c, 1000) == 2);
    assert_true(fabs(optim_lr(&c, 20) - 5) < 1e-12);
    assert_true(fabs(optim_lr(&c, 15) - (5 + 3 * sqrt(0.5))) < 1e-12);
    for (uint64_t s = 4; s < 40; s++) assert_true(optim_lr(&c, s) <= optim_lr(&c, s - 1));
    c.schedule = SCHEDULE_SQRT; // from 8 at step 10 as 1/sqrt, not below 2
    assert_true(optim_lr(&c, 10) == 8 && fabs(optim_lr(&c, 40) - 4) < 1e-12);
    assert_true(optim_lr(&c, 160) == 2 && optim_lr(&c, 100000) == 2);
    for (int i = 0; i < N_OPTIMS; i++) assert_int_equal(optim_find(optim_name(i)), i);
    for (int i = 0; i < N_SCHEDULES; i++) assert_int_equal(schedule_find(schedule_name(i)), i);
    assert_int_equal(optim_find("sgdd"), -1);
}

static void test_bad_settings(void **state) {
    (void)state;
    const OptimConfig good = optim_defaults(OPTIM_RMSPROP);
    assert_int_equal(optim_check(&good), ST_OK);
    for (int i = 0; i < 15; i++) {
        OptimConfig c = good;
        switch (i) {
        case 0: c.lr = 0; break;
        case 1: c.lr = NAN; break;
        case 2: c.lr = INFINITY; break;
        case 3: c.alpha = 1; break;
        case 4: c.beta1 = -0.1; break;
        case 5: c.beta2 = 1; break;
        case 6: c.eps = 0; break;
        case 7: c.decay = 0.1; break; // rmsprop has none
        case 8: c.clip = -1; break;
        case 9: c.clip = NAN; break;
        case 10: c.ema = 1; break;
        case 11: c.lr_end = 1; break;
        case 12: c.schedule = SCHEDULE_COSINE; break; // from 0 to 0
        case 13: c.schedule = SCHEDULE_COSINE, c.warmup = 10, c.decay_to = 20; break;
        case 14: c.schedule = SCHEDULE_SQRT; break; // from 0
        }
        Optim *o = NULL;
        assert_int_equal(optim_new(&c, 1, kernels_get(), &o), ST_INVALID);
        assert_null(o);
    }
}

static void test_bad_gradient(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    static Problem p;
    static float before[N];
    Rng rng;
    OptimConfig c = optim_defaults(OPTIM_ADAM);
    Optim *o;
    rng_init(&rng, 10, 0);
    problem_init(&p, &rng);
    assert_int_equal(optim_new(&c, N, kernels_get(), &o), ST_OK);
    for (size_t i = 0; i < 3; i++) {
        problem_gradient(&p, &rng);
        p.grads[N - 1 - i] = bad[i];
        memcpy(before, p.params, sizeof before);
        assert_int_equal(optim_step(o, p.params, p.grads, NULL), ST_CORRUPT);
        assert_memory_equal(before, p.params, sizeof before);
        assert_int_equal(optim_steps(o), 0);
    }
    optim_free(o);
}

static OptimConfig state_config(OptimKind kind, bool average) {
    OptimConfig c = optim_defaults(kind);
    c.ema = average ? 0.99 : 0;
    c.warmup = 6;
    return c;
}

/* A run that is saved, loaded into a fresh optimizer and continued equals one that was not. */
static void check_resumption(OptimKind kind, bool average) {
    const OptimConfig c = state_config(kind, average);
    static Problem a, b;
    Rng rng, rng_b;
    Optim *o, *resumed;
    rng_init(&rng, 11, 0);
    problem_init(&a, &rng);
    assert_int_equal(optim_new(&c, N, kernels_get(), &o), ST_OK);
    assert_int_equal(optim_new(&c, N, kernels_get(), &resumed), ST_OK);
    for (int t = 0; t < 5; t++) {
        problem_gradient(&a, &rng);
        assert_int_equal(optim_step(o, a.params, a.grads, NULL), ST_OK);
    }
    size_t n = optim_state_bytes(o);
    uint8_t *saved = malloc(n), *again = malloc(n);
    assert_true(saved && again);
    optim_state_save(o, saved);
    assert_int_equal(optim_state_load(resumed, saved, n), ST_OK);
    b = a;
    rng_b = rng;
    for (int t = 0; t < 5; t++) {
        problem_gradient(&a, &rng);
        problem_gradient(&b, &rng_b);
        assert_int_equal(optim_step(o, a.params, a.grads, NULL), ST_OK);
        assert_int_equal(optim_step(resumed, b.params, b.grads, NULL), ST_OK);
    }
    assert_memory_equal(a.params, b.params, sizeof a.params);
    optim_state_save(o, saved);
    optim_state_save(resumed, again);
    assert_memory_equal(saved, again, n);
    assert_int_equal(optim_steps(resumed), 10);
    free(saved);
    free(again);
    optim_free(o);
    optim_free(resumed);
}

static void test_resumption(void **state) {
    (void)state;
    for (int kind = 0; kind < N_OPTIMS; kind++)
        for (int average = 0; average < 2; average++) check_resumption(kind, average);
}

static void test_bad_states(void **state) {
    (void)state;
    const OptimConfig c = state_config(OPTIM_ADAM, true), other = state_config(OPTIM_RMSPROP, true);
    Optim *o, *of_other_kind, *longer;
    assert_int_equal(optim_new(&c, 50, kernels_get(), &o), ST_OK);
    assert_int_equal(optim_new(&other, 50, kernels_get(), &of_other_kind), ST_OK);
    assert_int_equal(optim_new(&c, 51, kernels_get(), &longer), ST_OK);
    size_t n = optim_state_bytes(o);
    uint8_t saved[2048];
    assert_true(n < sizeof saved);
    optim_state_save(o, saved);
    log_level(LOG_NONE);
    for (size_t cut = 0; cut < n; cut++)
        assert_int_equal(optim_state_load(o, saved, cut), ST_TRUNCATED);
    log_level(LOG_INFO);
    assert_int_equal(optim_state_load(o, saved, n + 1), ST_CORRUPT);
    assert_int_equal(optim_state_load(of_other_kind, saved, n), ST_MISMATCH);
    assert_int_equal(optim_state_load(longer, saved, n), ST_MISMATCH);
    for (size_t i = 0; i < 32; i++) {
        saved[i] ^= 0x40;
        Status st = optim_state_load(o, saved, n);
        if (i >= 16 && i < 24) // the number of steps: the checkpoint's checksum guards it
            assert_int_equal(st, ST_OK);
        else assert_int_equal(st, i < 4 ? ST_CORRUPT : ST_MISMATCH);
        saved[i] ^= 0x40;
    }
    put_u32(saved + n - 4, 0x7fc00000); // a NaN in the average
    assert_int_equal(optim_state_load(o, saved, n), ST_CORRUPT);
    put_u32(saved + n - 4, 0);
    put_u32(saved + 32, 0xbf800000); // a negative square
    assert_int_equal(optim_state_load(o, saved, n), ST_CORRUPT);
    put_u32(saved + 32, 0);
    assert_int_equal(optim_state_load(o, saved, n), ST_OK);
    optim_free(o);
    optim_free(of_other_kind);
    optim_free(longer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rmsprop),      cmocka_unit_test(test_adam),
        cmocka_unit_test(test_pytorch),      cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_bad_settings), cmocka_unit_test(test_bad_gradient),
        cmocka_unit_test(test_resumption),   cmocka_unit_test(test_bad_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
