/* golden.h - reads the compressed golden files line by line. */
#ifndef DIZHU_TESTS_ENGINE_GOLDEN_H
#define DIZHU_TESTS_ENGINE_GOLDEN_H
#include <stdio.h>

/* A stream of tests/golden/NAME, unpacked; NULL if it cannot be read. Close it with pclose. */
static inline FILE *golden_open(const char *name) {
    char command[512];
    snprintf(command, sizeof command, "gzip -dc '%s/%s'", GOLDEN_DIR, name);
    return popen(command, "r");
}

#endif
