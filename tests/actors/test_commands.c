/* The program as its users call it: play through a pipe, eval, bench signature, exit codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "nets/weights.h"

enum { OUT_BYTES = 1 << 20 };
static char out[OUT_BYTES];

/* Runs a shell command line with `dizhu` standing for the program; stdout lands in `out`. */
static int run(const char *fmt, ...) {
    char line[1024], command[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "dizhu() { " PROGRAM_DIR "/dizhu \"$@\"; }; %s", line);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, sizeof out - 1, f);
    out[n] = '\0';
    int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static bool says(const char *text) { return strstr(out, text) != NULL; }

static int count(const char *text) {
    int n = 0;
    for (const char *p = out; (p = strstr(p, text)) != NULL; p += strlen(text)) n++;
    return n;
}

static void plays_whole_games_through_a_pipe(void **state) {
    (void)state;
    static const char *const roles[] = {"landlord", "landlord_down", "landlord_up"};
    static const char *const rules[] = {"douzero", "rlcard", "botzone", "botzone1", "classic"};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 5; k++) {
            int rc = run("(echo 3; yes '!') | dizhu play --seed 5 --deal %d --role %s --rules %s",
                         i, roles[i], rules[k]);
            assert_int_equal(rc, 0);
            assert_int_equal(count("You win") + count("You lose") + count("is void"), 1);
            if (rules[k][0] == 'd') assert_int_equal(count(roles[i]) > 0, 1);
        }
}

static void same_seed_same_game(void **state) {
    (void)state;
    assert_int_equal(run("yes '!' | dizhu play --seed 8 --role landlord_up"), 0);
    char *first = strdup(out);
    assert_int_equal(run("yes '!' | dizhu play --seed 8 --role landlord_up"), 0);
    assert_string_equal(first, out);
    assert_int_equal(run("yes '!' | dizhu play --seed 9 --role landlord_up"), 0);
    assert_string_not_equal(first, out);
    free(first);
}

static void bad_input_is_answered(void **state) {
    (void)state;
    /* The end of the input in mid-game is giving up. */
    assert_int_equal(run("printf '5z\\n33333\\npass\\n3456\\n?\\n??\\nhelp\\nhand\\n' | "
                         "dizhu play --seed 3 --role landlord"),
                     1);
    assert_true(says("no such card at 'z'") && says("not allowed: ") && says("would play: ") &&
                says("456789TJQKA") && says("pass") && says("given up"));
    assert_int_equal(run("echo q | dizhu play --seed 3 --role landlord"), 1);
}

static void eval_prints_exactly_its_keys(void **state) {
    (void)state;
    assert_int_equal(run("dizhu eval rule random --decks 50 --json --seed 4"), 0);
    json_t *o = json_loads(out, 0, NULL);
    assert_non_null(o);
    static const char *const keys[] = {"a",           "b",
                                       "decks",       "games",
                                       "wp_landlord", "wp_landlord_ci95",
                                       "wp_peasants", "wp_peasants_ci95",
                                       "wp",          "wp_ci95",
                                       "adp",         "adp_ci95"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_non_null(json_object_get(o, keys[i]));
    assert_int_equal(json_object_size(o), sizeof keys / sizeof *keys);
    assert_int_equal(json_integer_value(json_object_get(o, "games")), 100);
    assert_true(json_real_value(json_object_get(o, "wp")) > 0.9);
    json_decref(o);
}

static void exit_codes(void **state) {
    (void)state;
    assert_int_equal(run("dizhu 2>/dev/null"), 2);
    assert_int_equal(run("dizhu nonsense 2>/dev/null"), 2);
    assert_int_equal(run("dizhu eval rule 2>/dev/null"), 2);
    assert_int_equal(run("dizhu eval rule wizard 2>/dev/null"), 2);
    assert_int_equal(run("dizhu eval rule net:/no/such/file 2>/dev/null"), 1);
    assert_int_equal(run("dizhu eval rule random --decks 0 2>/dev/null"), 2);
    assert_int_equal(run("dizhu eval rule random --rules chess 2>/dev/null"), 2);
    assert_int_equal(run("dizhu actor 2>/dev/null"), 2);
    assert_int_equal(run("dizhu actor --connect nonsense 2>/dev/null"), 2);
    assert_int_equal(run("dizhu actor --connect tcp://127.0.0.1:1 --server-key x 2>/dev/null"), 1);
    assert_int_equal(run("dizhu bench attic 2>/dev/null"), 2);
    assert_int_equal(run("dizhu --version"), 0);
    assert_true(says("dizhu "));
    assert_int_equal(run("dizhu --help"), 0);
    assert_true(says("eval") && says("train"));
    static const char *const commands[] = {"actor", "eval", "play", "bench"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(run("dizhu %s --help", commands[i]), 0);
        assert_true(says("usage: dizhu ") && says("options:"));
    }
}

/* Has it its own way with SIGINT yet? */
static bool hears_interrupts(pid_t pid) {
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) sscanf(line, "SigCgt: %llx", &caught);
    fclose(f);
    return caught >> (SIGINT - 1) & 1;
}

static void interrupted_eval_fails(void **state) {
    (void)state;
    FILE *kept = tmpfile();
    assert_non_null(kept);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fileno(kept), STDOUT_FILENO);
        if (freopen("/dev/null", "w", stderr) == NULL) _exit(3);
        execl(PROGRAM_DIR "/dizhu", "dizhu", "eval", "rule", "rule", "--decks", "100000000",
              "--json", (char *)NULL);
        _exit(3);
    }
    assert_true(pid > 0);
    bool heard = false;
    for (int i = 0; i < 3000 && !heard; i++, clock_sleep_ms(20)) heard = hears_interrupts(pid);
    clock_sleep_ms(200);
    int status;
    assert_int_equal(kill(pid, SIGINT), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    fseek(kept, 0, SEEK_END);
    assert_int_equal(ftell(kept), 0);
    fclose(kept);
}

static void signature_is_stable(void **state) {
    (void)state;
    assert_int_equal(run("dizhu bench signature"), 0);
    assert_int_equal(strlen(out), 17);
    char first[32];
    strcpy(first, out);
    assert_int_equal(run("dizhu bench signature"), 0);
    assert_string_equal(first, out);
}

/* Random weights through every number format: the last file must differ from the first by no more
 * than int8 rounds, and hold the same metadata. */
static void converts_weights(void **state) {
    (void)state;
    char dir[] = "/tmp/dizhu-convert-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    Weights w, back;
    assert_int_equal(weights_new(&w), ST_OK);
    for (int r = 0; r < N_ROLES; r++) net_init((Role)r, 5, w.params[r]);
    w.info.frames = 12345;
    snprintf(path, sizeof path, "%s/a", dir);
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);

    assert_int_equal(run("dizhu convert %s/a %s/b --dtype int8 && dizhu convert %s/b %s/c "
                         "--dtype fp32 && test $(stat -c %%s %s/b) -lt $(stat -c %%s %s/c)",
                         dir, dir, dir, dir, dir, dir),
                     0);
    snprintf(path, sizeof path, "%s/c", dir);
    assert_int_equal(weights_load(path, &back), ST_OK);
    assert_int_equal(back.info.frames, 12345);
    float largest = 0, rounded = 0;
    for (size_t i = 0; i < net_layout(ROLE_LANDLORD)->n_params; i++) {
        float d = w.params[0][i] - back.params[0][i];
        largest = largest > d * d ? largest : d * d;
        rounded += d != 0;
    }
    assert_true(largest < 0.00035f * 0.00035f &&
                rounded > 1e6f); /* half a step of 1/sqrt(128) / 127 */

    assert_int_equal(run("dizhu convert %s/a %s/b 2>&1", dir, dir), 1);
    assert_true(says("exists already"));
    assert_int_equal(run("head -c 100000 %s/a >%s/cut; dizhu convert %s/cut %s/d 2>&1; rc=$?; "
                         "test ! -e %s/d && exit $rc",
                         dir, dir, dir, dir, dir),
                     1);
    weights_free(&w);
    weights_free(&back);
    assert_int_equal(run("rm -r %s", dir), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plays_whole_games_through_a_pipe),
        cmocka_unit_test(same_seed_same_game),
        cmocka_unit_test(bad_input_is_answered),
        cmocka_unit_test(eval_prints_exactly_its_keys),
        cmocka_unit_test(converts_weights),
        cmocka_unit_test(exit_codes),
        cmocka_unit_test(interrupted_eval_fails),
        cmocka_unit_test(signature_is_stable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
