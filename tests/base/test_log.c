/* Log lines: their shape, the level, cutting of long ones, and the shared file. */
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/base/status.h"
#include <cmocka.h>

static void lines(void **state) {
    (void)state;
    char path[] = "/tmp/dizhu-log-XXXXXX", line[2048], longer[1500];
    close(mkstemp(path));
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(log_file(path), 0);
    log_name("actor/%d", 3);
    log_warn("weights %d are %d s old", 812, 40);
    log_debug("not shown at the default level");
    log_error("%s", longer);
    assert_int_equal(log_file(NULL), 0);

    FILE *f = fopen(path, "r");
    regex_t shape;
    assert_int_equal(regcomp(&shape,
                             "^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3} actor/3 warn  "
                             "weights 812 are 40 s old\n$",
                             REG_EXTENDED),
                     0);
    assert_non_null(fgets(line, sizeof line, f));
    assert_int_equal(regexec(&shape, line, 0, NULL, 0), 0);
    regfree(&shape);
    assert_non_null(fgets(line, sizeof line, f));
    assert_true(strlen(line) <= 1024);
    assert_string_equal(line + strlen(line) - 4, "...\n");
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    unlink(path);
    assert_int_equal(log_file("/nonexistent/log"), -1);
}

static void every_status_has_a_text(void **state) {
    (void)state;
    for (int i = 0; i < N_STATUSES; i++) assert_true(strlen(status_text((Status)i)) > 0);
    assert_string_equal(status_text(N_STATUSES), "unknown status");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines),
        cmocka_unit_test(every_status_has_a_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
