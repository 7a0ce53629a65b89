/* Files replaced whole: whatever fails, the old bytes stay and nothing is left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/file.h"

static char dir[] = "/tmp/dizhu-file-XXXXXX";
static char path[64];

static int make_dir(void **state) {
    (void)state;
    if (!mkdtemp(dir)) return -1;
    snprintf(path, sizeof path, "%s/f", dir);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    unlink(path);
    return rmdir(dir); // fails if a temporary file was left
}

static int files_in_dir(void) {
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void check_content(const char *want) {
    uint8_t *p;
    size_t n;
    assert_int_equal(file_read(path, 1 << 20, &p, &n), ST_OK);
    assert_int_equal(n, strlen(want));
    assert_memory_equal(p, want, n);
    free(p);
    assert_int_equal(files_in_dir(), 1);
}

static void test_replace(void **state) {
    (void)state;
    assert_int_equal(file_save(path, (const uint8_t *)"first", 5), ST_OK);
    check_content("first");
    assert_int_equal(file_save(path, (const uint8_t *)"second", 6), ST_OK);
    check_content("second");
    assert_int_equal(file_save(path, (const uint8_t *)"", 0), ST_OK);
    check_content("");
    assert_int_equal(chdir(dir), 0); // a name without a directory
    assert_int_equal(file_save("f", (const uint8_t *)"third", 5), ST_OK);
    assert_int_equal(chdir("/"), 0);
    check_content("third");
}

/* Runs in a child, so that limits and user ids do not stay; its exit status is the Status. */
static Status save_in_child(rlim_t size_limit, uid_t user) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static uint8_t bytes[100000];
        struct rlimit limit = {size_limit, size_limit};
        signal(SIGXFSZ, SIG_IGN);
        if (size_limit && setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(100);
        if (user && setuid(user) != 0) _exit(101);
        _exit((int)file_save(path, bytes, sizeof bytes));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (Status)WEXITSTATUS(status);
}

/* A limit on the size of files fails in the middle of a write, as a full disk does. */
static void test_disk_full(void **state) {
    (void)state;
    assert_int_equal(file_save(path, (const uint8_t *)"old", 3), ST_OK);
    assert_int_equal(save_in_child(4096, 0), ST_IO);
    check_content("old");
}

static void test_read_only(void **state) {
    (void)state;
    assert_int_equal(file_save(path, (const uint8_t *)"old", 3), ST_OK);
    assert_int_equal(chmod(dir, 0555), 0);
    assert_int_equal(save_in_child(0, geteuid() == 0 ? 65534 : 0), ST_IO);
    assert_int_equal(chmod(dir, 0755), 0);
    check_content("old");
}

static void test_bad_paths(void **state) {
    (void)state;
    char inside[PATH_MAX + 100];
    snprintf(inside, sizeof inside, "%s/none/f", dir);
    assert_int_equal(file_save(inside, (const uint8_t *)"x", 1), ST_IO);
    assert_int_equal(file_save(dir, (const uint8_t *)"x", 1), ST_IO); // a directory is in the way
    memset(inside, 'a', sizeof inside - 1);
    inside[sizeof inside - 1] = 0;
    assert_int_equal(file_save(inside, (const uint8_t *)"x", 1), ST_INVALID);
}

static void test_read_errors(void **state) {
    (void)state;
    uint8_t *p;
    size_t n;
    assert_int_equal(file_save(path, (const uint8_t *)"12345", 5), ST_OK);
    assert_int_equal(file_read(path, 4, &p, &n), ST_CORRUPT);
    assert_int_equal(file_read(dir, 100, &p, &n), ST_IO);
    assert_int_equal(file_read("/dev/zero", 100, &p, &n), ST_IO);
    unlink(path);
    assert_int_equal(file_read(path, 100, &p, &n), ST_IO);
    assert_int_equal(mkfifo(path, 0600), 0); // must not wait for a writer
    assert_int_equal(file_read(path, 100, &p, &n), ST_IO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replace),     cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_read_only),   cmocka_unit_test(test_bad_paths),
        cmocka_unit_test(test_read_errors),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
