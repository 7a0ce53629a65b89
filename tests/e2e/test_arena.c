/* Arena, Botzone, export and bidding as their users call them: by the command line, in a directory
 * of their own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define MODEL SOURCE_DIR "/models/douzero-wp.safetensors"
#define NET   "net:" MODEL

static char dir[] = "/tmp/dizhu-e2e-arena-XXXXXX";
static char out[1 << 18];

/* Runs a shell command line in the directory, `dizhu` being the program; its stdout is in `out`. */
static int run(const char *format, ...) {
    char line[2048], command[2400];
    va_list ap;
    va_start(ap, format);
    vsnprintf(line, sizeof line, format, ap);
    va_end(ap);
    snprintf(command, sizeof command, "cd %s && dizhu() { " PROGRAM_DIR "/dizhu \"$@\"; }; %s", dir,
             line);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, sizeof out - 1, f);
    out[n] = '\0';
    int status = pclose(f);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static json_t *run_json(const char *command) {
    json_error_t e;
    if (run("%s", command) != 0) fail_msg("%s: %s", command, out);
    json_t *o = json_loads(out, 0, &e);
    if (!o) fail_msg("%s: %s", command, e.text);
    return o;
}

static int make_dir(void **state) {
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state) {
    (void)state;
    return run("rm -r %s", dir);
}

static json_int_t whole(const json_t *o, const char *key) {
    return json_integer_value(json_object_get(o, key));
}

/* A round robin of four kinds of agents, its tables, and that nothing is played twice. */
static void round_robin(void **state) {
    (void)state;
#define ARENA "dizhu arena random rule " NET " search:" MODEL ",playouts=8 --deals 2 --db a.db"
    assert_int_equal(run(ARENA " --csv a.csv --html a.html"), 0);
    assert_non_null(strstr(out, "24 games on 2 deals"));
    assert_non_null(strstr(out, "share of games won by the row's agent"));
    assert_int_equal(run("head -1 a.csv | grep -q ^kind,agent,against && grep -c ^pair, a.csv"), 0);
    assert_string_equal(out, "12\n");
    assert_int_equal(run("grep -q '^<!doctype html>' a.html && grep -q 'search:' a.html"), 0);
    json_t *first = run_json(ARENA " --json"), *again = run_json(ARENA " --json");
    assert_true(json_equal(first, again));
    assert_int_equal(whole(first, "games"), 24);
    assert_int_equal(json_array_size(json_object_get(first, "agents")), 4);
    json_decref(first);
    json_decref(again);
}

/* Killed at any moment, the same command goes on, and ends as if nothing had been. */
static void killed_arenas_go_on(void **state) {
    (void)state;
#define LONG_ARENA "/dizhu arena random rule --deals 3000 --threads 2 --rules botzone --bootstrap 5"
    json_t *expected = run_json(PROGRAM_DIR LONG_ARENA " --json");
    for (int i = 1; i <= 4; i++)
        run(PROGRAM_DIR LONG_ARENA
            " --db k.db > /dev/null 2>&1 & sleep 0.%d; kill -9 $! 2> /dev/null; wait",
            2 * i);
    json_t *o = run_json(PROGRAM_DIR LONG_ARENA " --json --db k.db");
    assert_int_equal(whole(o, "games"), 18000);
    assert_true(json_equal(o, expected));
    json_decref(o);
    json_decref(expected);
}

/* The exported bot, compiled and seated through the arena. */
static void exported_bots_take_part(void **state) {
    (void)state;
    assert_int_equal(run("dizhu export botzone --model " MODEL
                         " -o bot --keep-running > /dev/null && "
                         "mkdir data && cp bot/*.weights data && "
                         "gcc -std=c99 -O2 -mavx -Wall -Wextra -Werror bot/bot.c -o bot/bot"),
                     0);
    json_t *o = run_json("dizhu arena 'cmdkeep:./bot/bot' " NET
                         " --any-rules --rules botzone --deals 1 --time-ms 60000 --first-ms 60000 "
                         "--json");
    json_t *agents = json_object_get(o, "agents");
    for (size_t i = 0; i < json_array_size(agents); i++) {
        json_t *a = json_array_get(agents, i);
        assert_int_equal(whole(a, "faults"), 0);
        /* it plays as the net does: nobody is better */
        assert_true(json_real_value(json_object_get(a, "score")) == 0);
    }
    json_decref(o);
}

/* From played deals to a bidder that an agent bids by. */
static void bidders_are_made(void **state) {
    (void)state;
    assert_int_equal(run("dizhu bid play rule --deals 300 --out deals.dz 2> /dev/null && "
                         "dizhu bid fit deals.dz --out bid.st --rounds 2 --epochs 2 2> /dev/null "
                         "&& dizhu bid tune deals.dz bid.st"),
                     0);
    assert_non_null(strstr(out, "margins"));
    assert_non_null(strstr(out, "against the rule's"));
    assert_int_equal(run("dizhu bid eval deals.dz bid.st"), 0);
    json_t *o = run_json("dizhu arena rule rule,bid=bid.st --rules botzone --deals 20 --json");
    assert_int_equal(whole(o, "games"), 120);
    json_decref(o);
}

static void botzone_answers(void **state) {
    (void)state;
    assert_int_equal(run("echo '{\"requests\":[{\"own\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,52,53],"
                         "\"bid\":[]}],\"responses\":[]}' | dizhu botzone rule"),
                     0);
    assert_string_equal(out, "{\"response\":3}\n");
    assert_int_equal(run("echo nonsense | dizhu botzone rule --keep-running 2> err; "
                         "test $(wc -l < err) = 1"),
                     0);
    assert_string_equal(out, "{\"response\": []}\n>>>BOTZONE_REQUEST_KEEP_RUNNING<<<\n");
}

static void wrong_usage_is_told(void **state) {
    (void)state;
    static const struct {
        const char *command;
        int rc;
    } cases[] = {
        {"dizhu arena rule", 2},
        {"dizhu arena rule rule", 2},
        {"dizhu arena rule nobody", 2},
        {"dizhu arena rule cmd:", 2},
        {"dizhu arena rule random --rules chess", 2},
        {"dizhu arena rule random --format triples", 2},
        {"dizhu arena rule net:/no/such", 1},
        {"dizhu arena rule random,bid=/no/such", 1},
        {"echo > text.db; seq 9999 > text.db; dizhu arena rule random --db text.db", 1},
        {"dizhu botzone", 2},
        {"dizhu botzone rule < /dev/null", 1},
        {"dizhu export onnx --model x --out y", 2},
        {"dizhu export botzone --model /no/such --out y", 1},
        {"dizhu bid", 2},
        {"dizhu bid play rule --rules douzero --out x", 2},
        {"dizhu bid eval /no/such /no/such", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = run("{ %s; } 2>&1", cases[i].command);
        if (rc != cases[i].rc || !*out) fail_msg("%s: %d, '%s'", cases[i].command, rc, out);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_robin),
        cmocka_unit_test(killed_arenas_go_on),
        cmocka_unit_test(exported_bots_take_part),
        cmocka_unit_test(bidders_are_made),
        cmocka_unit_test(botzone_answers),
        cmocka_unit_test(wrong_usage_is_told),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
