/* Checkpoints: whole or refused, pruned, the older one as fallback, nothing lost on a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/checkpoint.h"
#include "learner/runfolder.h"

static char run[64];

static int make_run(void **state) {
    (void)state;
    strcpy(run, "/tmp/dizhu-checkpoint-XXXXXX");
    return mkdtemp(run) == NULL || runfolder_make(run) != ST_OK;
}

static int remove_run(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", run);
    return system(command);
}

static Checkpoint made(uint64_t seed) {
    Checkpoint c = {.run = 0x1122334455667788 + seed,
                    .ruleset = RULES_BOTZONE,
                    .objective = OBJECTIVE_LOGADP,
                    .optimizer = 1,
                    .seed = seed,
                    .frames = 123456789 * seed,
                    .games = 3456 * seed,
                    .seconds = 12.5 * (double)seed,
                    .config = strdup("rules = botzone\nseed = 1\n")};
    Rng rng;
    rng_init(&rng, seed, 0);
    for (int r = 0; r < N_ROLES; r++) {
        size_t n = net_layout((Role)r)->n_params;
        c.steps[r] = 10 * seed + (uint64_t)r;
        c.samples[r] = 5000 * seed + (uint64_t)r;
        c.params[r] = malloc(n * sizeof(float));
        for (size_t i = 0; i < n; i++) c.params[r][i] = (float)rng_u32(&rng) / 1e9f;
        c.n_optim[r] = 1000 + (size_t)r;
        c.optim[r] = malloc(c.n_optim[r]);
        for (size_t i = 0; i < c.n_optim[r]; i++) c.optim[r][i] = (uint8_t)rng_u32(&rng);
    }
    return c;
}

static void expect_equal(const Checkpoint *a, const Checkpoint *b) {
    assert_true(a->run == b->run && a->seed == b->seed && a->frames == b->frames);
    assert_true(a->games == b->games && a->seconds == b->seconds && a->number == b->number);
    assert_true(a->ruleset == b->ruleset && a->objective == b->objective);
    assert_int_equal(a->optimizer, b->optimizer);
    assert_string_equal(a->config, b->config);
    for (int r = 0; r < N_ROLES; r++) {
        assert_true(a->steps[r] == b->steps[r] && a->samples[r] == b->samples[r]);
        assert_memory_equal(a->params[r], b->params[r], 4 * net_layout((Role)r)->n_params);
        assert_int_equal(a->n_optim[r], b->n_optim[r]);
        assert_memory_equal(a->optim[r], b->optim[r], a->n_optim[r]);
    }
}

static void path_of(unsigned number, char out[RUN_PATH_BYTES]) {
    char name[64];
    snprintf(name, sizeof name, "checkpoints/%08u.ckpt", number);
    runfolder_path(run, name, out);
}

static bool there(unsigned number) {
    char path[RUN_PATH_BYTES];
    path_of(number, path);
    return access(path, F_OK) == 0;
}

static void round_trip(void **state) {
    (void)state;
    Checkpoint c = made(3), back;
    bool found;
    assert_int_equal(checkpoint_newest(run, &back, &found), ST_OK);
    assert_false(found);
    assert_int_equal(checkpoint_store(run, &c, 3), ST_OK);
    assert_int_equal(c.number, 1);
    assert_int_equal(checkpoint_newest(run, &back, &found), ST_OK);
    assert_true(found);
    expect_equal(&c, &back);
    checkpoint_free(&back);
    checkpoint_free(&c);
}

static void the_oldest_go(void **state) {
    (void)state;
    Checkpoint c = made(1);
    for (unsigned i = 1; i <= 6; i++) {
        c.frames = i;
        assert_int_equal(checkpoint_store(run, &c, 3), ST_OK);
        assert_int_equal(c.number, i);
        for (unsigned k = 1; k <= 7; k++) assert_int_equal(there(k), k <= i && k + 3 > i);
    }
    checkpoint_free(&c);
}

static void rewrite(const char *path, const uint8_t *p, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Every byte of the head and of the counters, and some of the rest, changed; every kind of cut. */
static void damage_is_noticed(void **state) {
    (void)state;
    Checkpoint c = made(2), back;
    char path[RUN_PATH_BYTES];
    uint8_t *p;
    size_t n;
    assert_int_equal(checkpoint_store(run, &c, 3), ST_OK);
    path_of(1, path);
    assert_int_equal(file_read(path, 1 << 30, &p, &n), ST_OK);
    log_level(LOG_NONE);
    for (size_t i = 0; i < n; i += i < 200 ? 1 : i + 300 > n ? 7 : n / 20) {
        p[i] ^= 0x10;
        rewrite(path, p, n);
        Status st = checkpoint_read(path, &back);
        assert_true(st == ST_CORRUPT || st == ST_VERSION || st == ST_TRUNCATED);
        p[i] ^= 0x10;
    }
    for (size_t cut = 0; cut < n; cut += cut < 30 ? 1 : n / 10) {
        rewrite(path, p, cut);
        assert_int_equal(checkpoint_read(path, &back), ST_TRUNCATED);
    }
    log_level(LOG_INFO);
    rewrite(path, p, n);
    assert_int_equal(checkpoint_read(path, &back), ST_OK);
    expect_equal(&c, &back);
    checkpoint_free(&back);
    checkpoint_free(&c);
    free(p);
}

static void an_older_one_serves(void **state) {
    (void)state;
    Checkpoint a = made(4), b = made(5), back;
    char path[RUN_PATH_BYTES];
    bool found;
    assert_int_equal(checkpoint_store(run, &a, 3), ST_OK);
    assert_int_equal(checkpoint_store(run, &b, 3), ST_OK);
    path_of(2, path);
    assert_int_equal(truncate(path, 1000), 0);
    log_level(LOG_NONE);
    assert_int_equal(checkpoint_newest(run, &back, &found), ST_OK);
    assert_true(found);
    expect_equal(&a, &back);
    checkpoint_free(&back);
    path_of(1, path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(checkpoint_newest(run, &back, &found), ST_CORRUPT); // not a new beginning
    log_level(LOG_INFO);
    assert_false(found);
    assert_int_equal(checkpoint_store(run, &b, 3), ST_OK);
    assert_int_equal(b.number, 3); // numbers are not used again
    checkpoint_free(&a);
    checkpoint_free(&b);
}

/* A disk on which a file of this size does not fit. */
static void nothing_is_lost_on_a_full_disk(void **state) {
    (void)state;
    Checkpoint a = made(6), b = made(7), back;
    struct rlimit unlimited, small;
    bool found;
    assert_int_equal(checkpoint_store(run, &a, 1), ST_OK);
    getrlimit(RLIMIT_FSIZE, &unlimited);
    small = unlimited;
    small.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    log_level(LOG_NONE);
    assert_int_equal(checkpoint_store(run, &b, 1), ST_IO);
    log_level(LOG_INFO);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    assert_true(there(1) && !there(2));
    assert_int_equal(checkpoint_newest(run, &back, &found), ST_OK);
    assert_true(found);
    expect_equal(&a, &back);
    checkpoint_free(&back);
    assert_int_equal(checkpoint_store(run, &b, 1), ST_OK);
    assert_true(!there(1) && there(2));
    checkpoint_free(&a);
    checkpoint_free(&b);
}

/* docs/checkpoint.md shows the first bytes of a checkpoint with all parameters 0 and optimizer
 * states of no bytes, as lines "    0000: hex hex ...". */
static void docs_example(void **state) {
    (void)state;
    char config[] = "rules = classic\n", path[RUN_PATH_BYTES], line[200];
    Checkpoint c = {.run = 0x0123456789abcdef,
                    .ruleset = RULES_CLASSIC,
                    .objective = OBJECTIVE_SCORE,
                    .seed = 42,
                    .number = 7,
                    .frames = 1234567,
                    .games = 29000,
                    .steps = {401, 402, 403},
                    .samples = {205312, 205824, 206336},
                    .seconds = 61.5,
                    .config = config};
    uint8_t *p, shown[256];
    size_t n, n_shown = 0;
    for (int r = 0; r < N_ROLES; r++) {
        c.params[r] = calloc(net_layout((Role)r)->n_params, sizeof(float));
        c.optim[r] = malloc(1);
    }
    path_of(1, path);
    assert_int_equal(checkpoint_write(&c, path), ST_OK);
    assert_int_equal(file_read(path, 1 << 30, &p, &n), ST_OK);
    FILE *page = fopen(SOURCE_DIR "/docs/checkpoint.md", "r");
    assert_non_null(page);
    while (fgets(line, sizeof line, page) != NULL) {
        unsigned at, byte;
        int used = 0;
        if (sscanf(line, "    %4x:%n", &at, &used) != 1 || used == 0 || at != n_shown) continue;
        for (char *s = line + used; sscanf(s, " %2x%n", &byte, &used) == 1; s += used)
            if (n_shown < sizeof shown) shown[n_shown++] = (uint8_t)byte;
    }
    fclose(page);
    if (n_shown != 192 || memcmp(shown, p, n_shown) != 0) {
        for (size_t i = 0; i < 192; i++) {
            if (i % 16 == 0) print_message("\n    %04zx:", i);
            print_message(" %02x", p[i]);
        }
        fail_msg("docs/checkpoint.md shows something else");
    }
    free(p);
    c.config = NULL;
    checkpoint_free(&c);
}

/* What does not look like a checkpoint is left alone. */
static void other_files_stay(void **state) {
    (void)state;
    Checkpoint c = made(8);
    char path[RUN_PATH_BYTES];
    runfolder_path(run, "checkpoints/notes.txt", path);
    rewrite(path, (const uint8_t *)"mine", 4);
    for (int i = 0; i < 3; i++) assert_int_equal(checkpoint_store(run, &c, 1), ST_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(c.number, 3);
    checkpoint_free(&c);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(round_trip),
        TEST(the_oldest_go),
        TEST(damage_is_noticed),
        TEST(an_older_one_serves),
        TEST(nothing_is_lost_on_a_full_disk),
        TEST(other_files_stay),
        TEST(docs_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
