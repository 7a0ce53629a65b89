/* The layout of the parameters, and their first values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nets/net.h"

/* Sizes as the published model has them. */
static void test_sizes(void **state) {
    (void)state;
    static const char *const names[NET_TENSORS] = {
        "lstm.weight_ih_l0", "lstm.weight_hh_l0", "lstm.bias_ih_l0", "lstm.bias_hh_l0",
        "dense1.weight",     "dense1.bias",       "dense2.weight",   "dense2.bias",
        "dense3.weight",     "dense3.bias",       "dense4.weight",   "dense4.bias",
        "dense5.weight",     "dense5.bias",       "dense6.weight",   "dense6.bias"};
    for (int r = 0; r < N_ROLES; r++) {
        const NetLayout *l = net_layout(r);
        assert_int_equal(l->role, r);
        assert_int_equal(l->x_dim, r == ROLE_LANDLORD ? 319 : 430);
        assert_int_equal(l->n_params, r == ROLE_LANDLORD ? 1457665 : 1514497);
        assert_int_equal(l->tensor[4].cols, r == ROLE_LANDLORD ? 501 : 612);
        size_t at = 0;
        for (int t = 0; t < NET_TENSORS; t++) {
            const NetTensor *n = &l->tensor[t];
            assert_string_equal(n->name, names[t]);
            assert_int_equal(n->offset, at);
            assert_int_equal(n->size, (size_t)n->rows * (n->cols ? n->cols : 1));
            at += n->size;
        }
        assert_int_equal(at, l->n_params);
    }
    assert_string_equal(role_name(ROLE_LANDLORD_UP), "landlord_up");
}

/* Uniform within the bound: extremes close to it, mean and variance of the right size. */
static void check_uniform(const float *v, size_t n, double bound) {
    double sum = 0, squares = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)v[i];
        squares += (double)v[i] * (double)v[i];
        largest = fmax(largest, fabs((double)v[i]));
    }
    assert_true(largest <= bound * (1 + 1e-6));
    if (n < 100) return;
    double count = (double)n, five_sigma = 5 / sqrt(count);
    assert_true(largest > bound * (1 - 20 / count));
    assert_true(fabs(sum / count) < five_sigma * bound / sqrt(3));
    assert_true(fabs(squares / count * 3 / (bound * bound) - 1) < five_sigma * sqrt(0.8));
}

static void test_init(void **state) {
    (void)state;
    const size_t n = net_layout(ROLE_LANDLORD_UP)->n_params;
    float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    assert_true(a && b);
    for (int r = 0; r < N_ROLES; r++) {
        const NetLayout *l = net_layout(r);
        net_init(r, 3, a);
        for (int t = 0; t < NET_TENSORS; t++) {
            int inputs = t < 4 ? NET_LSTM : l->tensor[t - t % 2].cols; // a bias follows its weight
            check_uniform(a + l->tensor[t].offset, l->tensor[t].size, 1 / sqrt(inputs));
        }
        net_init(r, 3, b);
        assert_memory_equal(a, b, l->n_params * sizeof *a);
        net_init(r, 4, b);
        assert_memory_not_equal(a, b, l->n_params * sizeof *a);
    }
    net_init(ROLE_LANDLORD_UP, 5, a);
    net_init(ROLE_LANDLORD_DOWN, 5, b); // peasants begin differently
    assert_memory_not_equal(a, b, n * sizeof *a);
    free(a);
    free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes), cmocka_unit_test(test_init)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
