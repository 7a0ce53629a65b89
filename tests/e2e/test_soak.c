/* Memory: what `train` says that it takes is what it takes, and that does not grow. */
#include "tests/e2e/train.h"

enum { ACTORS = 2, EARLY_S = 15, LATE_S = 60 };

/* Kilobytes of a process' own memory now, and the most that it ever had resident. */
static void memory_of(pid_t pid, long *own, long *most) {
    char text[8192];
    assert_true(read_proc(pid, "status", text, sizeof text));
    const char *at = strstr(text, "RssAnon:");
    assert_true(at && sscanf(at, "RssAnon: %ld", own) == 1);
    at = strstr(text, "VmHWM:");
    assert_true(at && sscanf(at, "VmHWM: %ld", most) == 1);
}

static void memory_stays(void **state) {
    (void)state;
    // The settings that people use, but for the checkpoints.
    static const char *const more[] = {
        "--games", "0", "--batch", "512", "--ema", "0.999", "--checkpoint-minutes", "0.1", NULL};
    Place place;
    Train t = {0};
    pid_t pid[1 + ACTORS];
    long early[1 + ACTORS], late[1 + ACTORS], most[1 + ACTORS], sum = 0;
    int said_mb;
    place_make(&place);
    train_start(&t, &place, more);
    wait_said(&place, "joined", ACTORS);
    double start = clock_s();
    assert_int_equal(children(t.pid, "learner", pid, 1), 1);
    assert_int_equal(children(t.pid, "actor", pid + 1, ACTORS), ACTORS);
    wait_said(&place, "info  checkpoint ", 2);
    while (clock_s() < start + EARLY_S) clock_sleep_ms(100);
    for (int i = 0; i <= ACTORS; i++) memory_of(pid[i], &early[i], &most[i]);
    int stored = times_said(&place, "info  checkpoint ");
    while (clock_s() < start + LATE_S) clock_sleep_ms(100);
    wait_said(&place, "info  checkpoint ", stored + 3);
    for (int i = 0; i <= ACTORS; i++) {
        memory_of(pid[i], &late[i], &most[i]);
        print_message("%s: %ld kB, later %ld, most %ld\n", i ? "actor" : "learner", early[i],
                      late[i], most[i]);
        sum += most[i];
    }
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
    // Between two checkpoints or during one: a copy of the nets more or less.
    assert_true(late[0] < early[0] + 110000);
    for (int i = 1; i <= ACTORS; i++) assert_true(late[i] < early[i] + early[i] / 10);
    char *text = said(&place), *at = strstr(text, "memory about ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "memory about %d MB", &said_mb), 1);
    free(text);
    double shared = 36e3 * ACTORS + 10e3 * (1 + ACTORS); // counted in each; and program text
    print_message("said %d MB, taken %.0f\n", said_mb, ((double)sum - shared) / 1e3);
    assert_true(((double)sum - shared) / 1e3 < 1.2 * said_mb);
    assert_true(((double)sum - shared) / 1e3 > 0.7 * said_mb);
    place_remove(&place);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(memory_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
