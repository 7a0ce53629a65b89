/* The reference net: values of the original system, gradients against finite differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nets/ref_net.h"
#include "tests/nets/fixtures.h"

static void test_original_values(void **state) {
    (void)state;
    double *params[N_ROLES], worst = 0;
    for (int r = 0; r < N_ROLES; r++) {
        float *p = fixture_floats(net_layout(r)->n_params);
        fixture_weights(r, p);
        params[r] = fixture_doubles(p, net_layout(r)->n_params);
        free(p);
    }
    FILE *f = fixture_open("douzero_positions.jsonl.gz");
    int seen = 0, checked = 0;
    for (json_t *p; (p = fixture_line(f)); json_decref(p)) {
        Game g;
        Obs o;
        float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
        fixture_game(p, &g);
        obs_from_game(&g, &o);
        json_t *q = json_object_get(p, "q"), *value;
        const char *text;
        json_object_foreach(q, text, value) {
            if (seen++ % 4) continue; // test_original_values checks all of them, by the scorer
            Hand action;
            assert_int_equal(text_to_move(text, &action, NULL), ST_OK);
            obs_expand(&o, action, x, z);
            double error = ref_net_forward(o.role, params[o.role], x, z) - json_real_value(value);
            worst = fmax(worst, fabs(error));
            checked++;
        }
    }
    print_message("%d values, largest error %.2g\n", checked, worst);
    assert_int_equal(seen, 3339);
    assert_true(worst < 1e-8); // they are written with nine decimals
    for (int r = 0; r < N_ROLES; r++) free(params[r]);
}

/* A sample in the middle of a random game of which the role is to act. */
static void random_sample(Role role, Rng *rng, float *x, float *z) {
    static Hand legal[MOVEGEN_MAX];
    Deal deal;
    Game g;
    deal_random(rng_u64(rng), 0, &deal);
    game_init(&g, RULES_DOUZERO, &deal, 0);
    for (int i = 0;; i++) {
        int n = game_legal(&g, legal);
        Hand action = legal[rng_below(rng, (uint32_t)n)];
        if (i >= 12 && game_role(&g, g.turn) == (int)role) {
            Obs o;
            obs_from_game(&g, &o);
            obs_expand(&o, action, x, z);
            return;
        }
        game_apply(&g, action);
        if (g.phase != PHASE_PLAY) {
            random_sample(role, rng, x, z);
            return;
        }
    }
}

static double loss(Role role, const double *params, const float *x, const float *z) {
    double error = ref_net_forward(role, params, x, z) - 0.7;
    return 1.3 * error * error;
}

/* Derivative along direction d (nonzero in one tensor alone) by central differences. */
static double difference(Role role, double *params, const float *x, const float *z,
                         const NetTensor *t, const double *d, double h) {
    double side[2];
    for (int s = 0; s < 2; s++) {
        double step = s == 0 ? h : -h;
        for (size_t i = 0; i < t->size; i++) params[t->offset + i] += step * d[i];
        side[s] = loss(role, params, x, z);
        for (size_t i = 0; i < t->size; i++) params[t->offset + i] -= step * d[i];
    }
    return (side[0] - side[1]) / (2 * h);
}

static void check_direction(Role role, double *params, const float *x, const float *z,
                            const NetTensor *t, const double *grad, const double *d, double h) {
    double want = 0, scale = 0;
    for (size_t i = 0; i < t->size; i++) {
        want += d[i] * grad[t->offset + i];
        scale = fmax(scale, fabs(grad[t->offset + i]));
    }
    double is = difference(role, params, x, z, t, d, h);
    if (fabs(is - want) > 1e-5 * fabs(want) + 1e-7 * scale + 1e-10)
        fail_msg("%s %s: %.12g, differences say %.12g", role_name(role), t->name, want, is);
}

/* Each tensor: a random direction (every number takes part), and single numbers. Numbers with a
 * gradient are preferred: most inputs of a row are zero.                                     */
static void check_tensor(Role role, double *params, const float *x, const float *z,
                         const NetTensor *t, const double *grad, Rng *rng) {
    double *d = fixture_doubles(NULL, t->size);
    for (int repeat = 0; repeat < 2; repeat++) {
        for (size_t i = 0; i < t->size; i++) d[i] = rng_u32(rng) & 1 ? 1 : -1;
        check_direction(role, params, x, z, t, grad, d, 1e-7);
    }
    memset(d, 0, t->size * sizeof *d);
    for (int single = 0, tries = 0; single < 8 && tries < 1000; tries++) {
        size_t i = rng_below(rng, (uint32_t)t->size);
        if (single % 4 && grad[t->offset + i] == 0) continue;
        d[i] = 1;
        check_direction(role, params, x, z, t, grad, d, 1e-5);
        d[i] = 0;
        single++;
    }
    free(d);
}

static void test_gradients(void **state) {
    (void)state;
    Rng rng;
    rng_init(&rng, 5, 0);
    for (int r = 0; r < N_ROLES; r++) {
        const NetLayout *l = net_layout(r);
        float *p = fixture_floats(l->n_params), x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
        fixture_weights(r, p);
        double *params = fixture_doubles(p, l->n_params),
               *grad = fixture_doubles(NULL, l->n_params);
        random_sample(r, &rng, x, z);
        double value = ref_net_backward(r, params, x, z, 0.7, 1.3, grad);
        assert_true(value == loss(r, params, x, z));
        for (int t = 0; t < NET_TENSORS; t++)
            check_tensor(r, params, x, z, &l->tensor[t], grad, &rng);
        free(p);
        free(params);
        free(grad);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_original_values),
        cmocka_unit_test(test_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
