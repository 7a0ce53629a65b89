/* Three training steps of the original system, per seat: loss, gradient, RMSprop, parameters.
 * Once with the reference net in double, once with the trainer that the learner uses.        */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "learner/optim.h"
#include "nets/ref_net.h"
#include "nets/trainer.h"
#include "tests/nets/fixtures.h"

enum { SAMPLES = 64, STEPS = 3 };

/* Loss (mean squared error) and its gradient. */
typedef double (*Gradient)(Role role, const float *params, const Sample *samples, float *grad);

static double reference_gradient(Role role, const float *params, const Sample *samples,
                                 float *grad) {
    size_t n = net_layout(role)->n_params;
    double *p = fixture_doubles(params, n), *g = fixture_doubles(NULL, n), loss = 0;
    for (int i = 0; i < SAMPLES; i++) {
        float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
        obs_expand(&samples[i].obs, samples[i].action, x, z);
        loss += ref_net_backward(role, p, x, z, (double)samples[i].target, 1.0 / SAMPLES, g);
    }
    for (size_t i = 0; i < n; i++) grad[i] = (float)g[i];
    free(p);
    free(g);
    return loss;
}

static double trainer_gradient(Role role, const float *params, const Sample *samples, float *grad) {
    Trainer *t;
    assert_int_equal(trainer_new(role, PRECISION_FP32, kernels_get(), SAMPLES, &t), ST_OK);
    trainer_set(t, params);
    double loss = trainer_step(t, SAMPLES, samples, SAMPLES, grad, NULL, NULL);
    trainer_free(t);
    return loss;
}

static void read_samples(const json_t *of_role, Sample samples[SAMPLES]) {
    const json_t *position;
    size_t i;
    assert_int_equal(json_array_size(json_object_get(of_role, "samples")), SAMPLES);
    json_array_foreach(json_object_get(of_role, "samples"), i, position) {
        Game g;
        fixture_game(position, &g);
        obs_from_game(&g, &samples[i].obs);
        samples[i].action = fixture_hand(json_object_get(position, "action"));
        samples[i].target = (float)((i % 2 ? -1 : 1) * (1 << i % 4)); // the file says so in words
        samples[i].weight = 1;
    }
}

static void check_number(const json_t *want, double is, const char *what, const char *name,
                         int step) {
    double w = json_number_value(want);
    assert_true(json_is_number(want));
    if (fabs(is - w) > 1e-4 * fabs(w))
        fail_msg("step %d: %s %s is %.10g, not %.10g", step, what, name, is, w);
}

static void check_tensors(const NetLayout *l, const float *v, const json_t *norms,
                          const json_t *sums, const char *what, int step) {
    for (int t = 0; t < NET_TENSORS; t++) {
        double sum = 0, squares = 0;
        for (size_t i = l->tensor[t].offset; i < l->tensor[t].offset + l->tensor[t].size; i++) {
            sum += (double)v[i];
            squares += (double)v[i] * (double)v[i];
        }
        const char *name = l->tensor[t].name;
        check_number(json_object_get(norms, name), sqrt(squares), what, name, step);
        if (sums) check_number(json_object_get(sums, name), sum, "sum of", name, step);
    }
}

static void check_steps(Role role, const json_t *of_role, Gradient gradient) {
    const NetLayout *l = net_layout(role);
    static Sample samples[SAMPLES];
    float *params = fixture_floats(l->n_params), *grad = fixture_floats(l->n_params);
    const OptimConfig config = optim_defaults(OPTIM_RMSPROP);
    Optim *o;
    read_samples(of_role, samples);
    fixture_weights(role, params);
    assert_int_equal(optim_new(&config, l->n_params, kernels_get(), &o), ST_OK);
    for (int s = 0; s < STEPS; s++) {
        const json_t *step = json_array_get(json_object_get(of_role, "steps"), (size_t)s);
        double norm, loss = gradient(role, params, samples, grad);
        check_number(json_object_get(step, "loss"), loss, "loss of", role_name(role), s);
        check_tensors(l, grad, json_object_get(step, "grad_norm"), NULL, "gradient norm of", s);
        assert_int_equal(optim_step(o, params, grad, &norm), ST_OK);
        check_number(json_object_get(step, "total_norm"), norm, "norm of", role_name(role), s);
        check_tensors(l, params, json_object_get(step, "param_norm"),
                      json_object_get(step, "param_sum"), "norm of", s);
    }
    optim_free(o);
    free(params);
    free(grad);
}

static void check_all(Gradient gradient) {
    FILE *f = fixture_open("douzero_training_steps.json.gz");
    json_t *all = fixture_line(f);
    assert_int_equal(json_object_size(all), N_ROLES);
    for (int r = 0; r < N_ROLES; r++) check_steps(r, json_object_get(all, role_name(r)), gradient);
    json_decref(all);
    pclose(f);
}

static void test_reference_steps(void **state) {
    (void)state;
    check_all(reference_gradient);
}

static void test_trainer_steps(void **state) {
    (void)state;
    check_all(trainer_gradient);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_steps),
        cmocka_unit_test(test_trainer_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
