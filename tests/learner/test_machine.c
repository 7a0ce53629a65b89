/* Cores and memory nodes, read from trees that look like /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learner/machine.h"

static char root[64];

static int make_root(void **state) {
    (void)state;
    strcpy(root, "/tmp/dizhu-machine-XXXXXX");
    return mkdtemp(root) == NULL;
}

static int remove_root(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void put(const char *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *text, const char *fmt, ...) {
    char path[256], command[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s/%s')\" && printf '%s\\n' >'%s/%s'",
             root, path, text, root, path);
    assert_int_equal(system(command), 0);
}

/* Two nodes with four cores of two hardware threads each: 0-3 and their seconds 8-11, 4-7 and
 * 12-15.
 */
static void two_sockets(void) {
    put("0-1", "devices/system/node/online");
    put("0-3,8-11", "devices/system/node/node0/cpulist");
    put("4-7,12-15", "devices/system/node/node1/cpulist");
    for (int i = 0; i < 16; i++) {
        char text[32];
        snprintf(text, sizeof text, "%d,%d", i % 8, i % 8 + 8);
        put(text, "devices/system/cpu/cpu%d/topology/thread_siblings_list", i);
    }
}

static cpu_set_t all(int from, int to) {
    cpu_set_t s;
    CPU_ZERO(&s);
    for (int i = from; i <= to; i++) CPU_SET((size_t)i, &s);
    return s;
}

static void whole_machine(void **state) {
    (void)state;
    Machine m;
    cpu_set_t cpus = all(0, 15);
    two_sockets();
    machine_read(root, &cpus, "/", &m);
    assert_int_equal(m.n_cores, 8);
    assert_int_equal(m.n_nodes, 2);
    assert_int_equal(CPU_COUNT(&m.node[0]), 8);
    assert_true(CPU_ISSET(9, &m.node[0]) && CPU_ISSET(12, &m.node[1]));
}

/* taskset and cpuset: only a few are ours, among them a second thread without its first. */
static void part_of_a_machine(void **state) {
    (void)state;
    Machine m;
    cpu_set_t cpus = all(4, 6), out;
    CPU_SET(15, &cpus);
    two_sockets();
    machine_read(root, &cpus, "/", &m);
    assert_int_equal(m.n_cores, 4);
    assert_int_equal(m.n_nodes, 1);
    assert_false(machine_actor(&m, PIN_AUTO, 0, &out));
    assert_true(CPU_ISSET(15, &m.first));
}

static void quotas(void **state) {
    (void)state;
    static const struct {
        const char *inner, *outer;
        int cores;
    } rows[] = {{"max 100000", "max 100000", 8},
                {"300000 100000", "max 100000", 3},
                {"250000 100000", "max 100000", 3},
                {"600000 100000", "150000 100000", 2},
                {"1000 100000", "max 100000", 1},
                {"9900000 100000", "max 100000", 8},
                {"nonsense", "", 8}};
    Machine m;
    cpu_set_t cpus = all(0, 15);
    two_sockets();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(rows[i].inner, "fs/cgroup/a/b/cpu.max");
        put(rows[i].outer, "fs/cgroup/a/cpu.max");
        machine_read(root, &cpus, "/a/b", &m);
        assert_int_equal(m.n_cores, rows[i].cores);
    }
}

static void a_machine_that_tells_nothing(void **state) {
    (void)state;
    Machine m;
    cpu_set_t cpus = all(0, 4), out;
    machine_read(root, &cpus, NULL, &m);
    assert_int_equal(m.n_cores, 5);
    assert_int_equal(m.n_nodes, 1);
    assert_true(CPU_EQUAL(&m.node[0], &cpus));
    assert_false(machine_net(&m, PIN_AUTO, 0, &out) || machine_net(&m, PIN_OFF, 0, &out));
}

static void actors_are_spread(void **state) {
    (void)state;
    Machine m;
    cpu_set_t cpus = all(0, 15), used, out;
    two_sockets();
    machine_read(root, &cpus, "/", &m);
    assert_false(machine_actor(&m, PIN_OFF, 0, &out));
    for (int i = 0; i < 10; i++) {
        assert_true(machine_actor(&m, PIN_AUTO, i, &out));
        assert_true(CPU_EQUAL(&out, &m.node[i % 2]));
    }
    CPU_ZERO(&used);
    for (int i = 0; i < 8; i++) { // a core each, before any gets a second actor
        assert_true(machine_actor(&m, PIN_CORE, i, &out));
        assert_int_equal(CPU_COUNT(&out), 1);
        CPU_OR(&used, &used, &out);
    }
    assert_true(CPU_EQUAL(&used, &m.first));
    cpu_set_t first;
    machine_actor(&m, PIN_CORE, 0, &first);
    machine_actor(&m, PIN_CORE, 8, &out);
    assert_true(CPU_EQUAL(&first, &out));
    for (int r = 0; r < 3; r++) {
        assert_true(machine_net(&m, PIN_AUTO, r, &out));
        assert_true(CPU_EQUAL(&out, &m.node[r % 2]));
    }
}

static void here(void **state) {
    (void)state;
    Machine m;
    cpu_set_t ours;
    machine_look(&m);
    assert_int_equal(sched_getaffinity(0, sizeof ours, &ours), 0);
    assert_true(m.n_cores >= 1 && m.n_cores <= CPU_COUNT(&ours));
    assert_true(m.n_nodes >= 1);
    assert_true(machine_free_mb() > 10);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(whole_machine),
        TEST(part_of_a_machine),
        TEST(quotas),
        TEST(a_machine_that_tells_nothing),
        TEST(actors_are_spread),
        TEST(here),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
