/* External programs: both modes, and every way to misbehave, contained and judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/confine.h"
#include "actors/remote_seat.h"
#include "engine/base/clock.h"

enum { PATIENCE_MS = 300000 /* for what must come, on a busy machine too */, SHORT_MS = 1000 };

static ExternalConfig config_of(const char *command, bool keep_running) {
    ExternalConfig c = external_defaults(command, keep_running);
    c.time_ms = c.first_ms = PATIENCE_MS;
    c.memory_mb = 100;
    return c;
}

static External *open_external(const ExternalConfig *c) {
    External *e;
    assert_int_equal(external_new(c, &e), ST_OK);
    return e;
}

static char mark[32]; /* $N of the programs here: tells their processes from all others */

/* Processes `program N`. */
static int alive(const char *program) {
    char command[256], line[64] = "0";
    /* the bracket keeps grep from finding itself */
    snprintf(command, sizeof command,
             "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '[%c]%s %s' | wc -l",
             program[0], program + 1, mark);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof line, f)) line[0] = '0';
    pclose(f);
    return atoi(line);
}

static void runs_once_a_turn(void **state) {
    (void)state;
    ExternalConfig c = config_of("read line; echo \"<$line>\"", false);
    External *e = open_external(&c);
    for (int i = 0; i < 3; i++) {
        char line[32];
        const char *out;
        size_t n;
        snprintf(line, sizeof line, "hello %d", i);
        assert_int_equal(external_ask(e, line, &out, &n), VERDICT_OK);
        char expected[40];
        snprintf(expected, sizeof expected, "<%s>\n", line);
        assert_int_equal(n, strlen(expected));
        assert_memory_equal(out, expected, n);
        assert_false(external_running(e));
    }
    external_free(e);
}

static void keeps_running(void **state) {
    (void)state;
    ExternalConfig c = config_of("n=0; while read line; do n=$((n+1)); echo \"$n $line\"; "
                                 "echo '" KEEP_RUNNING_MARKER "'; done",
                                 true);
    External *e = open_external(&c);
    for (int i = 1; i <= 4; i++) {
        const char *out;
        size_t n;
        char expected[32];
        assert_int_equal(external_running(e), i > 1);
        assert_int_equal(external_ask(e, "x", &out, &n), VERDICT_OK);
        snprintf(expected, sizeof expected, "%d x\n", i);
        if (out[0] == '\n') out++, n--; /* the end of the marker's line */
        assert_int_equal(n, strlen(expected));
        assert_memory_equal(out, expected, n);
    }
    external_free(e);
}

/* Between turns a program does not run. */
static void is_stopped_between_turns(void **state) {
    (void)state;
    char path[] = "/tmp/dizhu-test-ticks-XXXXXX", command[256];
    assert_true(mkstemp(path) >= 0);
    snprintf(command, sizeof command,
             "read line; echo 1; echo '" KEEP_RUNNING_MARKER "'; "
             "while :; do echo . >> %s; sleep 0.01; done",
             path);
    ExternalConfig c = config_of(command, true);
    External *e = open_external(&c);
    const char *out;
    size_t n;
    assert_int_equal(external_ask(e, "x", &out, &n), VERDICT_OK);
    clock_sleep_ms(100);
    FILE *f = fopen(path, "r");
    fseek(f, 0, SEEK_END);
    long before = ftell(f);
    clock_sleep_ms(300);
    fseek(f, 0, SEEK_END);
    assert_int_equal(ftell(f), before);
    fclose(f);
    external_free(e);
    remove(path);
}

/* A long input to a program that reads late, and a long answer. */
static void long_lines_pass(void **state) {
    (void)state;
    enum { LONG = 300000 };
    char *line = malloc(LONG + 1);
    memset(line, 'a', LONG);
    line[LONG] = '\0';
    ExternalConfig c = config_of("sleep 0.2; cat", false);
    External *e = open_external(&c);
    const char *out;
    size_t n;
    assert_int_equal(external_ask(e, line, &out, &n), VERDICT_OK);
    assert_int_equal(n, LONG + 1);
    assert_memory_equal(out, line, LONG);
    external_free(e);
    free(line);
}

typedef struct {
    const char *what, *command;
    bool keep_running;
    Verdict v;
} Fault;

static const Fault faults[] = {
    {"hangs", "sleep $N", false, VERDICT_TLE},
    {"burns", "while :; do :; done", false, VERDICT_TLE},
    {"never reads", "exec sleep $N", true, VERDICT_TLE},
    {"answers and stays, without the marker", "read x; echo '{\"response\":[]}'; sleep $N", true,
     VERDICT_TLE},
    {"answers, closes its output and stays", "echo 1; exec >&-; sleep $N", false, VERDICT_TLE},
    {"ignores signals", "trap '' TERM INT HUP; sleep $N", false, VERDICT_TLE},
    {"exits with 1", "echo '{\"response\":[]}'; exit 1", false, VERDICT_RE},
    {"crashes", "kill -SEGV $$", false, VERDICT_RE},
    {"is no program", "/no/such/program/77", false, VERDICT_RE},
    {"floods", "yes $N", false, VERDICT_OLE},
    {"floods while keep-running", "yes $N", true, VERDICT_OLE},
    {"floods from a child", "yes $N & sleep $N", false, VERDICT_OLE},
    {"eats memory", "tail /dev/zero", false, VERDICT_MLE},
    {"eats memory while keep-running", "tail /dev/zero", true, VERDICT_MLE},
    {"forks for ever", "f() { f | f & }; f; sleep $N", false, VERDICT_RE},
    {"forks many",
     "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
     "27 28 29 30 31 32 33 34 35 36; do sleep $N & done; wait",
     false, VERDICT_RE},
};

static void faults_are_contained(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const Fault *f = &faults[i];
        ExternalConfig c = config_of(f->command, f->keep_running);
        if (f->v == VERDICT_TLE) c.time_ms = c.first_ms = SHORT_MS;
        External *e = open_external(&c);
        const char *out;
        size_t n;
        Verdict v = external_ask(e, "{}", &out, &n);
        if (v != f->v) fail_msg("a program that %s: %s", f->what, verdict_name(v));
        assert_false(external_running(e));
        external_free(e);
        for (int tries = 0; tries < 500 && alive("sleep") + alive("yes") > 0; tries++)
            clock_sleep_ms(20);
        if (alive("sleep") + alive("yes") > 0)
            fail_msg("a program that %s left processes behind", f->what);
    }
}

/* Leaving the process group is refused, so that nothing outlives the kill. */
static void the_group_cannot_be_left(void **state) {
    (void)state;
    ExternalConfig c = config_of("setsid sleep $N & setsid -f sleep $N; python3 -c 'import os; "
                                 "os.setpgid(0, 0)' || echo refused; sleep 0.1",
                                 false);
    External *e = open_external(&c);
    const char *out;
    size_t n;
    assert_int_equal(external_ask(e, "{}", &out, &n), VERDICT_OK);
    assert_true(n >= 8 && memcmp(out + n - 8, "refused\n", 8) == 0);
    external_free(e);
    for (int tries = 0; tries < 500 && alive("sleep") > 0; tries++) clock_sleep_ms(20);
    assert_int_equal(alive("sleep"), 0);
}

/* A child that holds the output open does not hold up the judge, and dies with its parent. */
static void orphans_die(void **state) {
    (void)state;
    ExternalConfig c = config_of("sleep $N & echo done", false);
    External *e = open_external(&c);
    const char *out;
    size_t n;
    assert_int_equal(external_ask(e, "{}", &out, &n), VERDICT_OK);
    assert_int_equal(n, 5);
    for (int tries = 0; tries < 500 && alive("sleep") > 0; tries++) clock_sleep_ms(20);
    assert_int_equal(alive("sleep"), 0);
    external_free(e);
}

/* A keep-running program that ends is started anew, and told everything again. */
static void ended_programs_are_told_all(void **state) {
    (void)state;
    ExternalConfig c = config_of("read line; echo \"$line\"", true);
    External *e = open_external(&c);
    for (int i = 0; i < 2; i++) {
        const char *out;
        size_t n;
        assert_false(external_running(e));
        assert_int_equal(external_ask(e, "all", &out, &n), VERDICT_OK);
        assert_int_equal(n, 4);
    }
    external_free(e);
}

/* ---- at the judge's table ---- */

/* The verdict on the answer of seat 0's program to a bid request. */
static Verdict verdict_of(const char *command, bool keep_running) {
    Deal d;
    Judge j;
    RemoteSeat *s;
    ExternalConfig c = config_of(command, keep_running);
    if (strstr(command, "sleep $N")) c.time_ms = c.first_ms = SHORT_MS;
    deal_random(1, 1, &d);
    judge_init(&j, RULES_BOTZONE, &d);
    assert_true(judge_next(&j));
    assert_int_equal(remoteseat_new(&c, &s), ST_OK);
    Verdict v = remoteseat_move(s, &j);
    assert_int_equal(j.verdict[0], v);
    assert_int_equal(j.game.turn, v == VERDICT_OK ? 1 : 0);
    remoteseat_free(s);
    return v;
}

static void answers_are_judged(void **state) {
    (void)state;
    assert_int_equal(verdict_of("echo '{\"response\":2}'", false), VERDICT_OK);
    assert_int_equal(verdict_of("echo; echo ' {\"response\" : 2 } '; echo", false), VERDICT_OK);
    assert_int_equal(verdict_of("echo '{\"response\":2}'", true), VERDICT_OK);
    assert_int_equal(
        verdict_of("echo '{\"response\":0}'; echo '" KEEP_RUNNING_MARKER "'; sleep $N", true),
        VERDICT_OK);
    assert_int_equal(verdict_of("echo '{\"response\":7}'", false), VERDICT_BID);
    assert_int_equal(verdict_of("echo '{\"answer\":1}'", false), VERDICT_BID);
    assert_int_equal(verdict_of("echo 2", false), VERDICT_NJ);
    assert_int_equal(verdict_of("echo '{\"response\":2'", false), VERDICT_NJ);
    assert_int_equal(verdict_of("echo '{\"response\":2} and more'", false), VERDICT_NJ);
    assert_int_equal(verdict_of("true", false), VERDICT_NJ);
    assert_int_equal(verdict_of("kill -9 $$", false), VERDICT_RE);
    assert_int_equal(verdict_of("sleep $N", false), VERDICT_TLE);
}

/* data and globaldata come back with the next input; the mode without memory gets all requests. */
static void data_is_kept(void **state) {
    (void)state;
    static const char program[] =
        "import json,sys\n"
        "o=json.loads(input())\n"
        "n=o.get('data',0)\n"
        "assert len(o['requests'])==n+1 and len(o['responses'])==n\n"
        "assert (o.get('globaldata')=={'x':[n]}) or n==0\n"
        "print(json.dumps({'response':0 if n==0 else [], 'data':n+1,'globaldata':{'x':[n+1]}}))\n";
    char path[] = "/tmp/dizhu-test-data-XXXXXX", command[64];
    int fd = mkstemp(path);
    assert_int_equal(write(fd, program, sizeof program - 1), sizeof program - 1);
    close(fd);
    snprintf(command, sizeof command, "python3 %s", path);
    ExternalConfig c = config_of(command, false);
    Deal d;
    Judge j;
    RemoteSeat *s;
    deal_random(1, 1, &d);
    judge_init(&j, RULES_BOTZONE, &d);
    assert_int_equal(remoteseat_new(&c, &s), ST_OK);
    /* Seat 0 is asked for a bid and then passes on every play. */
    int asked = 0;
    while (asked < 4 && judge_next(&j)) {
        static Hand legal[MOVEGEN_MAX];
        if (j.game.turn == 0) {
            assert_int_equal(remoteseat_move(s, &j), VERDICT_OK);
            asked++;
        } else if (j.game.phase == PHASE_BID) {
            judge_bid(&j, j.game.turn == 1 ? 1 : 0);
        } else { /* seat 1 leads singles, seat 2 passes: seat 0 is always to answer */
            int n = game_legal(&j.game, legal);
            judge_play(&j, j.game.to_beat.cards ? legal[n - 1] : legal[0]);
        }
    }
    assert_int_equal(asked, 4);
    remoteseat_free(s);
    remove(path);
}

int main(void) {
    move_init();
    snprintf(mark, sizeof mark, "777.%d", (int)getpid());
    setenv("N", mark, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_once_a_turn),
        cmocka_unit_test(keeps_running),
        cmocka_unit_test(is_stopped_between_turns),
        cmocka_unit_test(long_lines_pass),
        cmocka_unit_test(faults_are_contained),
        cmocka_unit_test(the_group_cannot_be_left),
        cmocka_unit_test(orphans_die),
        cmocka_unit_test(ended_programs_are_told_all),
        cmocka_unit_test(answers_are_judged),
        cmocka_unit_test(data_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
