/* The model of larger machines, on numbers that can be reckoned by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "learner/scaling.h"

/* 10 us to act, 1 us to read, 30 us to learn, nothing else in the way. */
static ScalingInputs plain(void) {
    return (ScalingInputs){.act_s = 10e-6,
                           .learner = {.sample_s = 30e-6, .record_s = 1e-6},
                           .samples = 1,
                           .batch = 500,
                           .bytes = 4,
                           .socket_bytes_s = 1e12,
                           .core_bytes_s = 1e12};
}

static void expect(const ScalingInputs *in, int cores, double frames_s, Bound bound) {
    ScalingPrediction p = scaling_predict(in, cores);
    if (fabs(p.frames_s - frames_s) > 1e-6 * frames_s || p.bound != bound)
        fail_msg("%d cores: %.0f by %s, not %.0f by %s", cores, p.frames_s, bound_name(p.bound),
                 frames_s, bound_name(bound));
}

static void cores_alone(void **state) {
    (void)state;
    ScalingInputs in = plain();
    expect(&in, 1, 1 / 41e-6, BOUND_CORES);
    expect(&in, 16, 16 / 41e-6, BOUND_CORES);
    in.samples = 0.5;
    expect(&in, 2, 2 / 26e-6, BOUND_CORES);
}

static void one_inbox(void **state) {
    (void)state;
    ScalingInputs in = plain();
    in.learner.record_s = 1.3e-6;
    expect(&in, 128, 1 / 1.3e-6, BOUND_INBOX);
}

/* The rest of a step is not shared by threads: half a batch's time here. */
static void steps(void **state) {
    (void)state;
    ScalingInputs in = plain();
    in.learner.step_s = 7.5e-3;
    in.learner.record_s = 1e-9;
    ScalingPrediction one = scaling_predict(&in, 2), many = scaling_predict(&in, 128);
    assert_int_equal(one.bound, BOUND_CORES);
    assert_int_equal(many.bound, BOUND_STEPS);
    assert_true(many.threads > 30 && many.frames_s < 3 * 500 / 7.5e-3);
    assert_true(many.frames_s > 0.9 * 3 * 500 / 7.5e-3);
    in.learner.gather_s = 1e-3; // then too many threads do harm
    ScalingPrediction few = scaling_predict(&in, 128);
    assert_true(few.threads < 8 && few.frames_s < many.frames_s);
    in.batch = 5000; // and larger batches help
    assert_true(scaling_predict(&in, 128).frames_s > 2 * few.frames_s);
}

static void wires_and_memory(void **state) {
    (void)state;
    ScalingInputs in = plain();
    in.socket_bytes_s = 1e5;
    expect(&in, 16, 25000, BOUND_SOCKETS);
    in = plain();
    in.core_bytes_s = 1e9;
    in.act_bytes = 100e3;
    in.step_bytes = 50e6;
    expect(&in, 16, 16 * 1e9 / 200e3, BOUND_MEMORY);
}

static void never_less_on_more_cores(void **state) {
    (void)state;
    ScalingInputs in = plain();
    in.learner.step_s = 3e-3;
    in.learner.gather_s = 0.5e-3;
    double last = 0;
    for (int cores = 1; cores <= 256; cores++) {
        ScalingPrediction p = scaling_predict(&in, cores);
        assert_true(p.frames_s >= last && p.threads >= 1 && p.threads <= cores);
        last = p.frames_s;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_alone),
        cmocka_unit_test(one_inbox),
        cmocka_unit_test(steps),
        cmocka_unit_test(wires_and_memory),
        cmocka_unit_test(never_less_on_more_cores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
