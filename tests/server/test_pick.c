/* Which weights file the bots play with, as a run goes on. */
#include "server/pick.h"
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <utime.h>

#include <cmocka.h>

static char dir[64];

/* The path of a name in the test's folder; each stays what it is. */
static const char *in(const char *name) {
    static char path[64][96];
    static int n;
    assert_true(n < 64);
    snprintf(path[n], sizeof path[n], "%s/%s", dir, name);
    return path[n++];
}

static void put(const char *name, const char *text) {
    FILE *f = fopen(in(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void sql(const char *db, const char *text) {
    sqlite3 *c;
    assert_int_equal(sqlite3_open(in(db), &c), SQLITE_OK);
    assert_int_equal(sqlite3_exec(c, text, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(c);
}

static void expect(const Pick *p, const char *name) {
    char path[PICK_PATH_BYTES];
    pick_weights(p, path);
    assert_string_equal(path, *name ? in(name) : "");
}

static void test_better(void **state) {
    (void)state;
    Pick p;
    put("m.safetensors", "");
    put("eval-rule.json", "{\"a\": \"net:models/m.safetensors\", \"b\": \"rule\", \"wp\": 0.4}");
    pick_init(&p, in("m.safetensors"), in("runs/one"));
    assert_true(p.bar == 0.4);
    expect(&p, "m.safetensors"); // no run yet
    mkdir(in("runs"), 0700);
    mkdir(in("runs/one"), 0700);
    put("runs/one/weights.safetensors", "");
    expect(&p, "m.safetensors"); // not measured yet
    sql("runs/one/metrics.sqlite", "CREATE TABLE evaluation(opponent TEXT, wp REAL)");
    expect(&p, "m.safetensors");
    sql("runs/one/metrics.sqlite",
        "INSERT INTO evaluation VALUES('random', 0.9), ('rule', 0.4), ('rule', NULL)");
    expect(&p, "m.safetensors"); // no better
    sql("runs/one/metrics.sqlite", "INSERT INTO evaluation VALUES('rule', 0.41), ('rule', 0.3)");
    expect(&p, "runs/one/weights.safetensors");
    put("runs/one/metrics.sqlite", "no database at all");
    expect(&p, "m.safetensors");
}

/* What is not known is not held against the run. */
static void test_unknown(void **state) {
    (void)state;
    Pick p;
    static const char *const others[] = {
        "{\"a\": \"net:models/other.safetensors\", \"b\": \"rule\", \"wp\": 0.4}",
        "{\"a\": \"net:m.safetensors\", \"b\": \"random\", \"wp\": 0.4}",
        "{\"a\": \"net:m.safetensors\", \"b\": \"rule\"}", "[]", "{"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        put("eval-rule.json", others[i]);
        pick_init(&p, in("m.safetensors"), in("runs/one"));
        assert_true(p.bar < 0);
        expect(&p, "runs/one/weights.safetensors");
    }
    pick_init(&p, NULL, in("runs/one"));
    expect(&p, "runs/one/weights.safetensors");
    pick_init(&p, NULL, in("runs/none"));
    expect(&p, "");
    pick_init(&p, in("m.safetensors"), NULL);
    expect(&p, "m.safetensors");
    pick_init(&p, NULL, NULL);
    expect(&p, "");
}

/* A folder of runs: the one whose weights are newest. */
static void test_folder(void **state) {
    (void)state;
    Pick p;
    struct utimbuf old = {1000, 1000}, new = {2000, 2000};
    mkdir(in("runs/two"), 0700);
    mkdir(in("runs/empty"), 0700);
    put("runs/two/weights.safetensors", "");
    pick_init(&p, NULL, in("runs"));
    utime(in("runs/one/weights.safetensors"), &old);
    utime(in("runs/two/weights.safetensors"), &new);
    expect(&p, "runs/two/weights.safetensors");
    utime(in("runs/two/weights.safetensors"), &(struct utimbuf){500, 500});
    expect(&p, "runs/one/weights.safetensors");
}

static int start(void **state) {
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/dizhu-test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}
static int end(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_better),
                                       cmocka_unit_test(test_unknown),
                                       cmocka_unit_test(test_folder)};
    return cmocka_run_group_tests(tests, start, end);
}
