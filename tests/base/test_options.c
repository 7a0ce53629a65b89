/* Option tables: values, ranges, files, and that a dump reads back as itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/options.h"
#include <cmocka.h>

static bool json;
static int decks, rules;
static uint64_t seed;
static double rate;
static const char *name;

static const Option table[] = {
    {"json", OPT_FLAG, &json, "machine-readable", .transient = true},
    {"decks", OPT_INT, &decks, "deals to play", 1, 1e6},
    {"seed", OPT_U64, &seed, "of all chance"},
    {"rate", OPT_REAL, &rate, "learning rate", 0, 1},
    {"name", OPT_STR, &name, "of the run"},
    {"rules", OPT_CHOICE, &rules, "ruleset", .choices = "douzero|rlcard|botzone"},
    {0},
};
static const Command command = {"dizhu test A [B] [options]", "Tests.", table, 1, 2};

static int reset(void **state) {
    (void)state;
    json = false, decks = 100, seed = 1, rate = 0.5, name = NULL, rules = 0;
    return 0;
}

static Status parse(const char *line, int *n_args) {
    static char words[512];
    char *argv[32] = {"test"};
    int argc = 1;
    bool done;
    snprintf(words, sizeof words, "%s", line);
    for (char *w = strtok(words, " "); w; w = strtok(NULL, " ")) argv[argc++] = w;
    return options_parse(&command, argc, argv, n_args, &done);
}

static void sets_values_in_any_order(void **state) {
    (void)state;
    int n;
    assert_int_equal(
        parse("x --decks 7 --json y --rules=rlcard --seed 0xff --rate 0.25 --name bob", &n), ST_OK);
    assert_int_equal(n, 2);
    assert_true(json);
    assert_int_equal(decks, 7);
    assert_int_equal(rules, 1);
    assert_int_equal(seed, 255);
    assert_true(rate == 0.25);
    assert_string_equal(name, "bob");
}

static void refuses_bad_values(void **state) {
    (void)state;
    static const char *const bad[] = {
        "x --decks 0",     "x --decks 1000001",
        "x --decks 7x",    "x --decks 99999999999",
        "x --decks",       "x --seed -1",
        "x --seed 1e3",    "x --seed 18446744073709551616",
        "x --rate nan",    "x --rate 1.5",
        "x --rules chess", "x --rules rlcar",
        "x --unknown 1",   "",
        "a b c",           "x --json=maybe",
    };
    int n;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(parse(bad[i], &n), ST_INVALID);
}

static void dump_reads_back(void **state) {
    (void)state;
    char path[] = "/tmp/dizhu-options-XXXXXX";
    int n, fd = mkstemp(path);
    assert_int_equal(parse("x --decks 7 --rules botzone --seed 99 --rate 0.125 --name a.b", &n),
                     ST_OK);
    FILE *f = fdopen(fd, "w");
    options_dump(table, f);
    fclose(f);
    reset(NULL);
    assert_int_equal(options_load(table, path), ST_OK);
    assert_int_equal(decks, 7);
    assert_int_equal(rules, 2);
    assert_int_equal(seed, 99);
    assert_true(rate == 0.125);
    assert_string_equal(name, "a.b");
    free((char *)name); // ours from the file on; a program keeps it
    unlink(path);
}

static Status load_text(const char *text) {
    char path[] = "/tmp/dizhu-options-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    fputs(text, f);
    fclose(f);
    Status st = options_load(table, path);
    unlink(path);
    return st;
}

static void files_are_checked(void **state) {
    (void)state;
    assert_int_equal(load_text("# comment\n\n decks = 3 \n"), ST_OK);
    assert_int_equal(decks, 3);
    assert_int_equal(load_text("decks 3\n"), ST_PARSE);
    assert_int_equal(load_text("deck = 3\n"), ST_INVALID);
    assert_int_equal(load_text("decks = 0\n"), ST_INVALID);
    assert_int_equal(options_load(table, "/nonexistent/x"), ST_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sets_values_in_any_order, reset),
        cmocka_unit_test_setup(refuses_bad_values, reset),
        cmocka_unit_test_setup(dump_reads_back, reset),
        cmocka_unit_test_setup(files_are_checked, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
