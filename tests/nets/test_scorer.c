/* The scorer against the reference net in double: every table, every precision, every role. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nets/ref_net.h"
#include "nets/scorer.h"
#include "tests/nets/random_obs.h"
#include <math.h>
#include <stdio.h>

/* More decisions and more actions than the scorer takes at once; every CHECK_STRIDE-th action is
 * compared. The ref table is slow and gets the first N_REF decisions. */
enum { N_DECISIONS = 300, N_REF = 30, MAX_ACTIONS = 9, CHECK_STRIDE = 13, SEED = 11 };

typedef struct {
    Decisions d;
    float *params;
    double *q; /* of every CHECK_STRIDE-th action */
    double spread;
} Case;

static Case cases[N_ROLES];

static void reference(Case *c, Role role) {
    size_t n = net_layout(role)->n_params;
    double *params = malloc(n * sizeof *params);
    for (size_t i = 0; i < n; i++) params[i] = (double)c->params[i];
    float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
    int at = 0, checked = 0;
    double sum = 0, sum2 = 0;
    for (int i = 0; i < c->d.n; i++)
        for (int a = 0; a < c->d.n_actions[i]; a++, at++) {
            if (at % CHECK_STRIDE) continue;
            obs_expand(&c->d.obs[i], c->d.actions[at], x, z);
            double q = ref_net_forward(role, params, x, z);
            c->q[checked++] = q;
            sum += q;
            sum2 += q * q;
        }
    c->spread = sqrt(sum2 / checked - sum / checked * (sum / checked));
    free(params);
}

static int setup(void **state) {
    (void)state;
    move_init();
    for (int r = 0; r < N_ROLES; r++) {
        Case *c = &cases[r];
        size_t n = net_layout(r)->n_params;
        c->d = decisions_random(r, N_DECISIONS, MAX_ACTIONS, SEED);
        c->params = malloc(n * sizeof(float));
        c->q = malloc(sizeof(double) * (size_t)(c->d.n_actions_total / CHECK_STRIDE + 1));
        if (!c->params || !c->q) return -1;
        net_init(r, SEED, c->params);
        /* Larger weights than a fresh net's, so that Q spreads as after training. */
        for (size_t i = 0; i < n; i++) c->params[i] *= 1.7f;
        reference(c, r);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int r = 0; r < N_ROLES; r++) {
        decisions_free(&cases[r].d);
        free(cases[r].params);
        free(cases[r].q);
    }
    return 0;
}

/* Largest error in units of the spread of Q over positions. */
static double worst_error(const KernelTable *k, Precision p, Role role) {
    const Case *c = &cases[role];
    PackedNet *net;
    Scorer *scorer;
    assert_int_equal(packednet_new(role, p, k, &net), ST_OK);
    assert_int_equal(scorer_new(k, &scorer), ST_OK);
    packednet_set(net, c->params);
    float *q = malloc((size_t)c->d.n_actions_total * sizeof *q);
    assert_non_null(q);
    int n = k == kernels_find("ref") ? N_REF : c->d.n, n_actions = 0;
    for (int i = 0; i < n; i++) n_actions += c->d.n_actions[i];
    scorer_run(scorer, net, n, c->d.obs, c->d.n_actions, c->d.actions, q);
    double worst = 0;
    for (int i = 0; i < n_actions; i += CHECK_STRIDE) {
        double error = fabs((double)q[i] - c->q[i / CHECK_STRIDE]) / c->spread;
        if (!(error <= worst)) worst = error;
    }
    free(q);
    scorer_free(scorer);
    packednet_free(net);
    return worst;
}

static void test_every_table(void **state) {
    (void)state;
    static const double bound[N_PRECISIONS] = {2e-5, 0.05, 0.15};
    const KernelTable *k;
    for (int i = 0; (k = kernels_at(i)); i++)
        for (int p = 0; p < N_PRECISIONS; p++) {
            if (!kernels_usable(k) || !precision_usable(k, p)) {
                printf("%-10s %s: not run, not available here\n", k->name, precision_name(p));
                continue;
            }
            for (int r = 0; r < N_ROLES; r++) {
                double error = worst_error(k, p, r);
                printf("%-10s %s %-13s worst error %.2g of the spread %.3g of Q\n", k->name,
                       precision_name(p), role_name(r), error, cases[r].spread);
                assert_true(error <= bound[p]);
            }
        }
}

/* Batches must not matter: each decision alone gives what all together give. */
static void test_one_at_a_time(void **state) {
    (void)state;
    const KernelTable *k = kernels_get();
    assert_non_null(k);
    if (k == kernels_find("ref")) skip(); /* every one of its rows is alone */
    for (int p = 0; p < N_PRECISIONS; p++) {
        if (!precision_usable(k, p)) continue;
        const Case *c = &cases[ROLE_LANDLORD_UP];
        PackedNet *net;
        Scorer *scorer;
        assert_int_equal(packednet_new(ROLE_LANDLORD_UP, p, k, &net), ST_OK);
        assert_int_equal(scorer_new(k, &scorer), ST_OK);
        packednet_set(net, c->params);
        float *q = malloc((size_t)c->d.n_actions_total * sizeof *q);
        float one[MAX_ACTIONS];
        scorer_run(scorer, net, c->d.n, c->d.obs, c->d.n_actions, c->d.actions, q);
        const Hand *actions = c->d.actions;
        const float *expected = q;
        for (int i = 0; i < c->d.n; i++) {
            scorer_run(scorer, net, 1, &c->d.obs[i], &c->d.n_actions[i], actions, one);
            for (int a = 0; a < c->d.n_actions[i]; a++)
                assert_true(fabsf(one[a] - expected[a]) <= 1e-5f * (1 + fabsf(expected[a])));
            actions += c->d.n_actions[i];
            expected += c->d.n_actions[i];
        }
        free(q);
        scorer_free(scorer);
        packednet_free(net);
    }
}

static void test_unsupported(void **state) {
    (void)state;
    const KernelTable *k;
    for (int i = 0; (k = kernels_at(i)); i++)
        for (int p = 0; p < N_PRECISIONS; p++) {
            PackedNet *net = NULL;
            Status st = packednet_new(ROLE_LANDLORD, p, k, &net);
            assert_int_equal(st, precision_usable(k, p) ? ST_OK : ST_UNSUPPORTED);
            packednet_free(net);
        }
    assert_int_equal(precision_find("bf16"), PRECISION_BF16);
    assert_int_equal(precision_find("fp16"), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_unsupported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
