/* The nets in training: a split batch learns what a whole one does, the same split gives the same
 * bits, copies are consistent while steps go on, the crew serves all roles.                 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "learner/samples.h"
#include "learner/step.h"
#include "tests/learner/games.h"

enum { BATCH = 25 };

/* n samples of a role from random games. */
static void find_samples(Role role, uint64_t seed, int n, Sample *out) {
    static GameSamples game;
    SampleRules rules = {RULES_DOUZERO, OBJECTIVE_WP, false};
    int found = 0;
    for (uint64_t i = 0; found < n; i++) {
        Record r;
        const char *why;
        random_record(rules.ruleset, seed, i, &r);
        assert_int_equal(samples_from_record(&rules, &r, &game, &why), ST_OK);
        for (int k = 0; k < game.n && found < n; k++)
            if (game.sample[k].obs.role == role) out[found++] = game.sample[k];
    }
}

static NetLearner *net_of(Role role, int parts) {
    NetLearnerConfig c = {.role = role,
                          .seed = 1,
                          .batch = BATCH,
                          .parts = parts,
                          .precision = PRECISION_FP32,
                          .optim = optim_defaults(OPTIM_RMSPROP)};
    c.optim.ema = 0.99;
    NetLearner *n;
    assert_int_equal(netlearner_new(&c, kernels_get(), &n), ST_OK);
    return n;
}

static float *params_of(NetLearner *n, Role role) {
    float *p = malloc(net_layout(role)->n_params * sizeof *p);
    netlearner_copy_params(n, p);
    return p;
}

/* Steps on the same samples with the batch in so many parts; the parameters after. */
static float *trained(Role role, int parts, int steps, NetLearnerState *state) {
    Sample batch[BATCH];
    NetLearner *n = net_of(role, parts);
    for (int i = 0; i < steps; i++) {
        find_samples(role, (uint64_t)(100 + i), BATCH, batch);
        netlearner_step(n, batch);
    }
    netlearner_state(n, state);
    assert_int_equal(state->steps, steps);
    assert_int_equal(state->samples, steps * BATCH);
    assert_int_equal(state->refused_steps, 0);
    float *p = params_of(n, role);
    netlearner_free(n);
    return p;
}

static void parts_learn_the_same(void **state) {
    (void)state;
    Role role = ROLE_LANDLORD_DOWN;
    size_t n = net_layout(role)->n_params;
    NetLearnerState whole_state, s;
    float *whole = trained(role, 1, 2, &whole_state);
    for (int parts = 2; parts <= 7; parts += 5) { // 25 = 13 + 12 = 4 4 4 4 3 3 3
        float *split = trained(role, parts, 2, &s), *again = trained(role, parts, 2, &s);
        assert_true(fabs(s.loss_sum - whole_state.loss_sum) < 1e-4 * whole_state.loss_sum);
        assert_true(fabs(s.norm_sum - whole_state.norm_sum) < 1e-3 * whole_state.norm_sum);
        assert_memory_equal(split, again, n * sizeof *split);
        double apart = 0, length = 0;
        for (size_t i = 0; i < n; i++) {
            apart += pow((double)split[i] - (double)whole[i], 2);
            length += pow((double)whole[i], 2);
        }
        // RMSprop's first steps go by the gradient's sign: near zero that is decided by rounding.
        assert_true(sqrt(apart / length) < 1e-2);
        free(split);
        free(again);
    }
    free(whole);
}

static void a_gradient_that_is_not_finite(void **state) {
    (void)state;
    Sample batch[BATCH];
    NetLearnerState s;
    NetLearner *n = net_of(ROLE_LANDLORD, 1);
    float *before = params_of(n, ROLE_LANDLORD);
    find_samples(ROLE_LANDLORD, 5, BATCH, batch);
    batch[3].target = NAN;
    netlearner_step(n, batch);
    netlearner_state(n, &s);
    float *after = params_of(n, ROLE_LANDLORD);
    assert_int_equal(s.refused_steps, 1);
    assert_int_equal(s.steps, 0);
    assert_int_equal(s.samples, 0);
    assert_memory_equal(before, after, net_layout(ROLE_LANDLORD)->n_params * sizeof *after);
    free(before);
    free(after);
    netlearner_free(n);
}

/* Saved, loaded into another and continued: the same bits. */
static void resumes_exactly(void **state) {
    (void)state;
    Role role = ROLE_LANDLORD_UP;
    size_t n_params = net_layout(role)->n_params;
    Sample batch[BATCH];
    NetLearner *a = net_of(role, 1), *b = net_of(role, 1);
    float *saved = malloc(n_params * sizeof *saved), *ema = malloc(n_params * sizeof *ema),
          *ema_b = malloc(n_params * sizeof *ema);
    uint8_t *optim = malloc(netlearner_optim_bytes(a));
    find_samples(role, 6, BATCH, batch);
    for (int i = 0; i < 2; i++) netlearner_step(a, batch);
    assert_int_equal(netlearner_save(a, saved, optim), 2);
    assert_int_equal(netlearner_load(b, saved, optim, netlearner_optim_bytes(a)), ST_OK);
    assert_int_equal(netlearner_load(b, saved, optim, 100), ST_TRUNCATED);
    netlearner_step(a, batch);
    netlearner_step(b, batch);
    float *pa = params_of(a, role), *pb = params_of(b, role);
    assert_memory_equal(pa, pb, n_params * sizeof *pa);
    assert_int_equal(netlearner_copy_ema(a, ema), 3);
    netlearner_copy_ema(b, ema_b);
    assert_memory_equal(ema, ema_b, n_params * sizeof *ema);
    assert_memory_not_equal(ema, pa, n_params * sizeof *ema);
    free(pa);
    free(pb);
    free(saved);
    free(ema);
    free(ema_b);
    free(optim);
    netlearner_free(a);
    netlearner_free(b);
}

/* ---- the crew ---- */

typedef struct {
    NetLearner *net[N_ROLES];
    Buffers *buffers;
    Crew *crew;
    _Atomic int steps[N_ROLES];
    _Atomic bool inside[N_ROLES], clash;
} Bed;

static void step_done(void *ctx, NetLearner *net, Role role, uint64_t steps) {
    Bed *b = ctx;
    if (atomic_exchange(&b->inside[role], true)) atomic_store(&b->clash, true);
    if (net != b->net[role] || (int)steps != atomic_load(&b->steps[role]) + 1)
        atomic_store(&b->clash, true);
    atomic_fetch_add(&b->steps[role], 1);
    atomic_store(&b->inside[role], false);
}

static void check_crew(int threads) {
    static Sample batch[BATCH];
    enum { STEPS = 2 };
    Bed b = {0};
    float *copy = malloc(net_layout(ROLE_LANDLORD_UP)->n_params * sizeof *copy);
    BuffersConfig config = {.batch = BATCH, .advance = BATCH, .capacity = 2 * BATCH};
    assert_int_equal(buffers_new(&config, &b.buffers), ST_OK);
    for (int r = 0; r < N_ROLES; r++) b.net[r] = net_of((Role)r, crew_parts(threads, (Role)r));
    assert_int_equal(crew_start(threads, BATCH, b.net, b.buffers, step_done, &b, &b.crew), ST_OK);
    for (int i = 0; i < STEPS; i++)
        for (int r = 0; r < N_ROLES; r++) {
            find_samples((Role)r, (uint64_t)(i * N_ROLES + r), BATCH, batch);
            assert_true(buffers_put(b.buffers, batch, BATCH));
            NetLearnerState s;
            netlearner_state(b.net[r], &s); // beside the steps
            netlearner_copy_params(b.net[ROLE_LANDLORD_UP], copy);
        }
    assert_true(buffers_settle(b.buffers));
    buffers_close(b.buffers);
    crew_join(b.crew);
    assert_false(b.clash);
    for (int r = 0; r < N_ROLES; r++) {
        assert_int_equal(b.steps[r], STEPS);
        netlearner_free(b.net[r]);
    }
    buffers_free(b.buffers);
    free(copy);
}

static void crews_of_any_size(void **state) {
    (void)state;
    for (int threads = 1; threads <= 7; threads += 3) check_crew(threads);
}

static void parts_use_all_threads(void **state) {
    (void)state;
    for (int threads = 1; threads < 100; threads++) {
        int sum = 0;
        for (int r = 0; r < N_ROLES; r++) {
            int parts = crew_parts(threads, (Role)r);
            assert_true(parts >= 1 && parts <= (threads + 2) / 3 + 1);
            sum += parts;
        }
        assert_int_equal(sum, threads < N_ROLES ? N_ROLES : threads);
    }
    assert_int_equal(crew_parts(1024, ROLE_LANDLORD), NETLEARNER_MAX_PARTS);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_learn_the_same),  cmocka_unit_test(a_gradient_that_is_not_finite),
        cmocka_unit_test(resumes_exactly),       cmocka_unit_test(crews_of_any_size),
        cmocka_unit_test(parts_use_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
