/* The trainer against the reference net in double: loss and every gradient tensor, for every table,
 * precision and role; and what exchanges rely on: slices are final when they are announced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nets/ref_net.h"
#include "nets/trainer.h"
#include "tests/nets/random_obs.h"
#include <math.h>
#include <stdio.h>

enum { N_SAMPLES = 33, SEED = 5 }; /* odd: the row of padding must add nothing */
static const double DIVISOR = 21.5;

typedef struct {
    Sample samples[N_SAMPLES];
    float *params;
    double *grad, loss;
} Case;

static Case cases[N_ROLES];

static void *must(void *p) {
    if (!p) abort();
    return p;
}

static void reference(Case *c, Role role) {
    size_t n = net_layout(role)->n_params;
    double *params = must(malloc(n * sizeof *params));
    for (size_t i = 0; i < n; i++) params[i] = (double)c->params[i];
    static float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
    for (int i = 0; i < N_SAMPLES; i++) {
        const Sample *s = &c->samples[i];
        obs_expand(&s->obs, s->action, x, z);
        c->loss += ref_net_backward(role, params, x, z, (double)s->target,
                                    (double)s->weight / DIVISOR, c->grad);
    }
    free(params);
}

static int setup(void **state) {
    (void)state;
    move_init();
    for (int r = 0; r < N_ROLES; r++) {
        Case *c = &cases[r];
        size_t n = net_layout(r)->n_params;
        c->params = must(malloc(n * sizeof(float)));
        c->grad = must(calloc(n, sizeof(double)));
        net_init(r, SEED, c->params);
        for (size_t i = 0; i < n; i++) c->params[i] *= 1.5f;
        Decisions d = decisions_random(r, N_SAMPLES, 1, SEED);
        for (int i = 0; i < N_SAMPLES; i++)
            c->samples[i] = (Sample){.obs = d.obs[i],
                                     .action = d.actions[i],
                                     .target = (float)(i % 5 - 1),
                                     .weight = i % 7 ? 1.0f : 0.25f * (float)(i % 3)};
        decisions_free(&d);
        reference(c, r);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        free(cases[r].params);
        free(cases[r].grad);
    }
    return 0;
}

/* |grad - reference| / |reference| of the worst tensor (norms). */
static double worst_tensor(const NetLayout *l, const float *grad, const double *expected,
                           const char **name) {
    double worst = 0;
    for (int t = 0; t < NET_TENSORS; t++) {
        double diff = 0, norm = 0;
        for (size_t i = l->tensor[t].offset; i < l->tensor[t].offset + l->tensor[t].size; i++) {
            double e = (double)grad[i] - expected[i];
            diff += e * e;
            norm += expected[i] * expected[i];
        }
        double error = sqrt(diff / norm);
        if (!(error <= worst)) {
            worst = error;
            *name = l->tensor[t].name;
        }
    }
    return worst;
}

static void check(const KernelTable *k, Precision p, Role role) {
    /* bf16 moves sums near zero across the relu: a share f of flipped units is an error of sqrt(f)
     * of a gradient's norm, whatever the number of samples. */
    static const double bound[] = {[PRECISION_FP32] = 1e-5, [PRECISION_BF16] = 0.15};
    const NetLayout *l = net_layout(role);
    const Case *c = &cases[role];
    float *grad = must(malloc(l->n_params * sizeof *grad));
    for (size_t i = 0; i < l->n_params; i++) grad[i] = NAN; /* must all be overwritten */
    Trainer *t;
    assert_int_equal(trainer_new(role, p, k, N_SAMPLES + 3, &t), ST_OK);
    trainer_set(t, c->params);
    double loss = trainer_step(t, N_SAMPLES, c->samples, DIVISOR, grad, NULL, NULL);
    const char *name = "";
    double error = worst_tensor(l, grad, c->grad, &name);
    printf("%-10s %s %-13s loss %.2g, worst tensor %.2g (%s)\n", k->name, precision_name(p),
           role_name(role), fabs(loss / c->loss - 1), error, name);
    assert_true(fabs(loss / c->loss - 1) <= bound[p]);
    assert_true(error <= bound[p]);

    /* A smaller batch through the same memory; two halves are one whole. */
    float *half = must(malloc(l->n_params * sizeof *half));
    int n = N_SAMPLES / 2;
    double halves = trainer_step(t, n, c->samples, DIVISOR, grad, NULL, NULL);
    halves += trainer_step(t, N_SAMPLES - n, c->samples + n, DIVISOR, half, NULL, NULL);
    for (size_t i = 0; i < l->n_params; i++) grad[i] += half[i];
    assert_true(fabs(halves / c->loss - 1) <= bound[p]);
    assert_true(worst_tensor(l, grad, c->grad, &name) <= bound[p]);
    free(half);
    free(grad);
    trainer_free(t);
}

static void test_every_table(void **state) {
    (void)state;
    const KernelTable *k;
    for (int i = 0; (k = kernels_at(i)); i++)
        for (int p = 0; p <= PRECISION_BF16; p++) {
            if (!kernels_usable(k) || !precision_usable(k, p)) {
                printf("%-10s %s: not run, not available here\n", k->name, precision_name(p));
                continue;
            }
            for (int r = 0; r < N_ROLES; r++) check(k, p, r);
        }
}

typedef struct {
    const float *grad;
    float *seen;
    int slices;
    size_t first_offset, last_offset;
} Watch;

static void watch(void *ctx, size_t offset, size_t n) {
    Watch *w = ctx;
    for (size_t i = offset; i < offset + n; i++) {
        assert_true(isnan(w->seen[i])); /* nothing is announced twice */
        w->seen[i] = w->grad[i];
    }
    if (w->slices++ == 0) w->first_offset = offset;
    w->last_offset = offset;
}

static void test_ready(void **state) {
    (void)state;
    const KernelTable *k = kernels_get();
    assert_non_null(k);
    for (int p = 0; p <= PRECISION_BF16; p++) {
        if (!precision_usable(k, p)) continue;
        const NetLayout *l = net_layout(ROLE_LANDLORD_DOWN);
        const Case *c = &cases[ROLE_LANDLORD_DOWN];
        float *grad = must(malloc(l->n_params * sizeof *grad));
        float *seen = must(malloc(l->n_params * sizeof *seen));
        for (size_t i = 0; i < l->n_params; i++) seen[i] = NAN;
        Watch w = {.grad = grad, .seen = seen};
        Trainer *t;
        assert_int_equal(trainer_new(ROLE_LANDLORD_DOWN, p, k, N_SAMPLES, &t), ST_OK);
        trainer_set(t, c->params);
        trainer_step(t, N_SAMPLES, c->samples, DIVISOR, grad, watch, &w);
        assert_memory_equal(seen, grad, l->n_params * sizeof *grad);
        assert_int_equal(w.slices, NET_TENSORS);
        assert_int_equal(w.first_offset, l->tensor[NET_TENSORS - 2].offset);
        assert_int_equal(w.last_offset, 0);
        trainer_free(t);
        free(seen);
        free(grad);
    }
}

static void test_refused(void **state) {
    (void)state;
    const KernelTable *k = kernels_get();
    assert_non_null(k);
    Trainer *t = NULL;
    assert_int_equal(trainer_new(ROLE_LANDLORD, PRECISION_INT8, k, 8, &t), ST_UNSUPPORTED);
    assert_int_equal(trainer_new(ROLE_LANDLORD, PRECISION_FP32, k, 0, &t), ST_INVALID);
    assert_null(t);
    trainer_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table),
        cmocka_unit_test(test_ready),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
