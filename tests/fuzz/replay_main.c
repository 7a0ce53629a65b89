/* Runs a fuzz target over the files of its corpus: what every ./test does, without a fuzzer.
 * Arguments: files or directories. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int n_files;

/* The input in a block of exactly its size: a sanitizer sees any byte read beyond it. */
static int run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    struct stat s;
    if (!f || fstat(fileno(f), &s) != 0) {
        perror(path);
        return 1;
    }
    size_t size = (size_t)s.st_size;
    uint8_t *data = malloc(size ? size : 1);
    int failed = !data || fread(data, 1, size, f) != size;
    fclose(f);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
    } else {
        LLVMFuzzerTestOneInput(data, size);
        n_files++;
    }
    free(data);
    return failed;
}

static int run_path(const char *path) {
    DIR *dir = opendir(path);
    if (!dir) return run_file(path);
    int failed = 0;
    for (struct dirent *e; (e = readdir(dir));) {
        char name[4096];
        if (e->d_name[0] == '.') continue;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        failed |= run_path(name);
    }
    closedir(dir);
    return failed;
}

int main(int argc, char **argv) {
    int failed = 0;
    for (int i = 1; i < argc; i++) failed |= run_path(argv[i]);
    printf("%d inputs\n", n_files);
    return failed || n_files == 0; /* an empty corpus tests nothing */
}
