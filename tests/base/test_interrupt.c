/* Signals become a flag; the second one waits or kills as asked; nohup stays in force. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/interrupt.h"

/* The wait status of a child that watches, then sends itself the signal so many times; exit code 0
 * if the flag is up afterwards. */
static int child(InterruptAgain again, int number, int times, bool ignored) {
    pid_t pid = fork();
    if (pid == 0) {
        if (ignored) signal(number, SIG_IGN);
        atomic_bool *flag = interrupt_watch(again);
        if (atomic_load(flag)) _exit(2);
        for (int i = 0; i < times; i++) raise(number);
        _exit(atomic_load(flag) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void signals_raise_the_flag(void **state) {
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(WEXITSTATUS(child(AGAIN_WAITS, numbers[i], 1, false)), 0);
        int twice = child(AGAIN_WAITS, numbers[i], 2, false);
        assert_true(WIFEXITED(twice) && WEXITSTATUS(twice) == 0);
        int killed = child(AGAIN_KILLS, numbers[i], 2, false);
        assert_true(WIFSIGNALED(killed) && WTERMSIG(killed) == numbers[i]);
    }
}

static void what_was_ignored_stays_ignored(void **state) {
    (void)state;
    assert_int_equal(WEXITSTATUS(child(AGAIN_WAITS, SIGHUP, 1, true)), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signals_raise_the_flag),
        cmocka_unit_test(what_was_ignored_stays_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
