#include "actors/become.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory of this program, with the slash. */
static int own_directory(char *out, size_t cap) {
    ssize_t n = readlink("/proc/self/exe", out, cap - 1);
    if (n <= 0) return -1;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (!slash) return -1;
    slash[1] = '\0';
    return 0;
}

int become(const char *program, char **argv) {
    char path[4096 + 64];
    if (own_directory(path, 4096) != 0) {
        fprintf(stderr, "dizhu: cannot tell where this program is\n");
        return 1;
    }
    strcat(path, program);
    /* The program sees itself as argv[0], then the command. */
    int n = 0;
    while (argv[n]) n++;
    char **args = calloc((size_t)n + 2, sizeof *args);
    if (!args) return 1;
    args[0] = path;
    memcpy(args + 1, argv, (size_t)n * sizeof *args);
    execv(path, args);
    fprintf(stderr, "dizhu: cannot run %s: %s\n", path, strerror(errno));
    free(args);
    return 1;
}
