/* Processes that hang instead of dying: found within 10 s, the cause named, replaced. */
#include "tests/e2e/train.h"

static void a_stopped_actor(void **state) {
    (void)state;
    Place place;
    Train t = {0};
    pid_t actor[2] = {0};
    place_make(&place);
    train_start(&t, &place, NULL);
    wait_said(&place, "joined", 2);
    assert_int_equal(children(t.pid, "actor", actor, 2), 2);
    clock_sleep_ms(500);
    double start = clock_s();
    kill(actor[0], SIGSTOP);
    wait_said(&place, "is blocked, silent for", 1);
    double took = clock_s() - start;
    wait_said(&place, "joined", 3);
    char name[64];
    snprintf(name, sizeof name, "actor process %d is blocked", (int)actor[0]);
    expect_said(&place, name);
    if (took > 10) fail_with_words(&place, "more than 10 s");
    assert_true(took > 5); // and not at once: a busy machine is no hanging process
    assert_false(alive(actor[0]));
    assert_true(alive(actor[1]));
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
    place_remove(&place);
}

static void a_stopped_learner(void **state) {
    (void)state;
    Place place;
    Train t = {0};
    pid_t learner = 0, actor[2] = {0};
    place_make(&place);
    train_start(&t, &place, NULL);
    wait_said(&place, "info  checkpoint ", 1);
    assert_int_equal(children(t.pid, "learner", &learner, 1), 1);
    assert_int_equal(children(t.pid, "actor", actor, 2), 2);
    double start = clock_s();
    kill(learner, SIGSTOP);
    wait_said(&place, "the learner has been silent for", 1);
    double took = clock_s() - start;
    wait_said(&place, "going on from checkpoint ", 1);
    wait_said(&place, "the learner is back", 2);
    if (took > 10) fail_with_words(&place, "more than 10 s");
    assert_false(alive(learner));
    assert_true(alive(actor[0]) && alive(actor[1])); // they waited
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
    place_remove(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_actor),
        cmocka_unit_test(a_stopped_learner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
