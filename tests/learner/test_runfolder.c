/* A run's folder: its settings, its identity, its lock, actors' numbers, records within bounds. */
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

#include "engine/base/log.h"
#include "engine/recordfile.h"
#include "learner/archive.h"
#include "learner/config.h"
#include "learner/runfolder.h"
#include "tests/learner/games.h"

/* options.h: strings out of a config file live as long as the process. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:options_load\n"; }

static char run[64];

static int make_run(void **state) {
    (void)state;
    strcpy(run, "/tmp/dizhu-folder-XXXXXX");
    return mkdtemp(run) == NULL || runfolder_make(run) != ST_OK;
}

static int remove_run(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", run);
    return system(command);
}

/* ---- settings ---- */

enum { MAX_WORDS = 24 };

/* Parses a command line of words after the command's name; stderr is thrown away. */
static Status parse(Settings *s, const char *line) {
    static char text[1024]; // settings may point into it
    char *argv[MAX_WORDS] = {(char *)(uintptr_t) "train"};
    int argc = 1;
    bool done;
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
    int saved = dup(STDERR_FILENO);
    fflush(stderr);
    assert_non_null(freopen("/dev/null", "w", stderr));
    Status st = settings_parse(s, "train", argc, argv, &done);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    return st;
}

static Status parse_for_run(Settings *s, const char *more) {
    char line[512];
    snprintf(line, sizeof line, "--run %s %s", run, more);
    return parse(s, line);
}

static void settings_come_back(void **state) {
    (void)state;
    Settings s, back;
    assert_int_equal(parse_for_run(&s, "--rules classic --objective score --lr 0.00031 --batch 100 "
                                       "--seed 18446744073709551615 --eval-against random"),
                     ST_OK);
    assert_int_equal(settings_save(&s, run), ST_OK);
    assert_int_equal(parse_for_run(&back, ""), ST_OK);
    assert_true(back.ruleset == RULES_CLASSIC && back.objective == OBJECTIVE_SCORE);
    assert_true(back.lr == 0.00031 && back.batch == 100 && back.seed == UINT64_MAX);
    assert_string_equal(back.eval_against, "random");
    assert_true(back.clip == s.clip && back.ema == s.ema && back.keep == s.keep);
    // what may change from one start to the next does, the rest stays
    assert_int_equal(parse_for_run(&back, "--lr 0.0001 --frames 5"), ST_OK);
    assert_true(back.lr == 0.0001 && back.frames == 5 && back.batch == 100);
    // another run may begin from this one's file
    char line[256];
    snprintf(line, sizeof line, "--run %s/other --config %s/config.txt --batch 200", run, run);
    assert_int_equal(parse(&back, line), ST_OK);
    assert_true(back.ruleset == RULES_CLASSIC && back.batch == 200 && back.lr == 0.00031);
}

static void a_run_stays_what_it_is(void **state) {
    (void)state;
    static const char *const others[] = {"--rules botzone", "--objective adp", "--seed 9",
                                         "--optimizer rmsprop", "--preset douzero"};
    Settings s;
    assert_int_equal(parse_for_run(&s, "--seed 8"), ST_OK);
    assert_int_equal(settings_save(&s, run), ST_OK);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(parse_for_run(&s, others[i]), ST_INVALID);
    assert_int_equal(parse_for_run(&s, "--seed 8 --rules douzero"), ST_OK);
}

/* The learning rate that nobody named is the optimizer's. */
static void rate_of_the_optimizer(void **state) {
    (void)state;
    Settings s;
    assert_int_equal(parse_for_run(&s, "--seed 1"), ST_OK);
    assert_true(s.lr == 5e-4);
    assert_int_equal(parse_for_run(&s, "--optimizer rmsprop"), ST_OK);
    assert_true(s.lr == 2e-4);
    assert_int_equal(parse_for_run(&s, "--optimizer rmsprop --lr 0.0003"), ST_OK);
    assert_true(s.lr == 3e-4);
    assert_int_equal(parse_for_run(&s, "--preset douzero --optimizer rmsprop"), ST_OK);
    assert_true(s.lr == 1e-4);
    assert_int_equal(parse_for_run(&s, "--optimizer rmsprop --lr 0.0007"), ST_OK);
    assert_int_equal(settings_save(&s, run), ST_OK);
    assert_int_equal(parse_for_run(&s, "--optimizer rmsprop"), ST_OK); // the run's own
    assert_true(s.lr == 7e-4);
}

static void bad_settings(void **state) {
    (void)state;
    static const char *const bad[] = {"--batch 512 --buffer 511",
                                      "--batch 0",
                                      "--lr 0",
                                      "--lr nan",
                                      "--ema 1",
                                      "--lockstep 10 --actors 2",
                                      "--act-ema --ema 0",
                                      "--schedule cosine",
                                      "--rules chess",
                                      "--nonsense 1",
                                      "--uses 0.1 --buffer 600",
                                      "--keep 0",
                                      "--objective",
                                      "--frames -1"};
    Settings s;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (parse_for_run(&s, bad[i]) != ST_INVALID) fail_msg("%s was accepted", bad[i]);
}

static void presets(void **state) {
    (void)state;
    Settings s;
    assert_int_equal(parse_for_run(&s, "--preset douzero --batch 800"), ST_OK);
    assert_true(s.train_on == TRAIN_ON_ALL && s.lr == 1e-4 && s.ema == 0 && s.batch == 800);
    assert_true(settings_buffer(&s) == 3200 && settings_advance(&s) == 800);
    s.uses = 2;
    assert_int_equal(settings_advance(&s), 400);
    s.threads = 0;
    s.batch = 39;
    assert_true(settings_threads(&s) <= N_ROLES);
}

/* ---- the folder ---- */

static void numbers_are_never_given_twice(void **state) {
    (void)state;
    uint32_t first, second, third;
    uint64_t id, again;
    assert_int_equal(runfolder_id(run, &id), ST_OK);
    assert_int_equal(runfolder_take_actors(run, 64, &first), ST_OK);
    assert_int_equal(runfolder_take_actors(run, 1, &second), ST_OK);
    assert_int_equal(runfolder_make(run), ST_OK); // the next start
    assert_int_equal(runfolder_take_actors(run, 5, &third), ST_OK);
    assert_true(first == 1 && second == 65 && third == 66);
    assert_int_equal(runfolder_id(run, &again), ST_OK);
    assert_true(id == again && id != 0);
    log_level(LOG_NONE);
    assert_int_equal(runfolder_take_actors(run, UINT32_MAX - 10, &third), ST_INVALID);
    char path[RUN_PATH_BYTES];
    runfolder_path(run, "run.txt", path);
    FILE *f = fopen(path, "w");
    fputs("id = hello\n", f);
    fclose(f);
    assert_int_equal(runfolder_take_actors(run, 1, &third), ST_PARSE);
    log_level(LOG_INFO);
}

static void one_owner_at_a_time(void **state) {
    (void)state;
    int first, second;
    assert_int_equal(runfolder_lock(run, 0, &first), ST_OK);
    log_level(LOG_NONE);
    assert_int_equal(runfolder_lock(run, 0.1, &second), ST_MISMATCH);
    log_level(LOG_INFO);
    close(first); // as at the end of its owner, however that ends
    assert_int_equal(runfolder_lock(run, 0, &second), ST_OK);
    close(second);
}

static void names_that_cannot_be(void **state) {
    (void)state;
    char name[2000];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    log_level(LOG_NONE);
    assert_int_equal(runfolder_make(name), ST_INVALID);
    assert_false(runfolder_exists(name));
    assert_int_equal(runfolder_make("/proc/nowhere/run"), ST_IO);
    log_level(LOG_INFO);
    snprintf(name, sizeof name, "%s/a/b/c", run);
    assert_int_equal(runfolder_make(name), ST_OK);
}

/* ---- records ---- */

static void path_of(unsigned i, char out[RUN_PATH_BYTES]) {
    char name[64];
    snprintf(name, sizeof name, "records/%06u.dzr", i);
    runfolder_path(run, name, out);
}

static uint64_t size_of_all(unsigned *first, unsigned *last) {
    char path[RUN_PATH_BYTES];
    struct stat info;
    uint64_t sum = 0;
    *first = *last = 0;
    for (unsigned i = 1; i < 1000; i++) {
        path_of(i, path);
        if (stat(path, &info) != 0) continue;
        if (*first == 0) *first = i;
        *last = i;
        sum += (uint64_t)info.st_size;
    }
    return sum;
}

static void add_games(Archive *a, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        uint8_t bytes[RECORD_MAX_BYTES];
        Record r;
        random_record(RULES_DOUZERO, 2, i, &r);
        archive_add(a, bytes, record_write(&r, bytes));
    }
}

/* Games in a file, in order from `next` on; returns the number after the last. */
static uint64_t read_file(unsigned i, uint64_t next) {
    char path[RUN_PATH_BYTES];
    RecordReader *reader;
    Record r;
    bool end;
    path_of(i, path);
    assert_int_equal(recordreader_open(path, &reader), ST_OK);
    while (assert_int_equal(recordreader_next(reader, &r, &end), ST_OK), !end) {
        if (next != UINT64_MAX) assert_int_equal(r.game, next);
        next = r.game + 1;
    }
    recordreader_close(reader);
    return next;
}

/* Many files, the oldest gone, together within the bound (and the file being written). */
static void the_oldest_games_go(void **state) {
    (void)state;
    enum { MOST = 4 << 20, GAMES = 120000 };
    Archive *a;
    unsigned first, last;
    assert_int_equal(archive_open(run, MOST, &a), ST_OK);
    add_games(a, 0, GAMES);
    archive_close(a);
    uint64_t bytes = size_of_all(&first, &last);
    assert_true(first > 1 && last >= first + 3);
    assert_true(bytes > MOST / 2 && bytes <= MOST + MOST / 8 + (1 << 20));
    uint64_t next = UINT64_MAX;
    for (unsigned i = first; i <= last; i++) next = read_file(i, next);
    assert_int_equal(next, GAMES);
}

/* A torn tail is cut off; what follows is appended; a file that is not ours is left alone. */
static void goes_on_after_a_crash(void **state) {
    (void)state;
    Archive *a;
    char path[RUN_PATH_BYTES];
    struct stat info;
    assert_int_equal(archive_open(run, 1 << 30, &a), ST_OK);
    add_games(a, 0, 100);
    archive_flush(a);
    path_of(1, path);
    stat(path, &info);
    off_t whole = info.st_size;
    add_games(a, 100, 200);
    archive_close(a);
    stat(path, &info);
    assert_int_equal(truncate(path, (whole + info.st_size) / 2), 0);
    log_level(LOG_NONE);
    assert_int_equal(archive_open(run, 1 << 30, &a), ST_OK);
    log_level(LOG_INFO);
    add_games(a, 200, 300);
    archive_close(a);
    RecordReader *reader;
    Record r;
    bool end;
    int n = 0;
    assert_int_equal(recordreader_open(path, &reader), ST_OK);
    while (assert_int_equal(recordreader_next(reader, &r, &end), ST_OK), !end)
        assert_int_equal(r.game, n < 100 ? n : n + 100), n++;
    recordreader_close(reader);
    assert_int_equal(n, 200);
    FILE *f = fopen(path, "w");
    fputs("somebody else's file", f);
    fclose(f);
    log_level(LOG_NONE);
    assert_int_equal(archive_open(run, 1 << 30, &a), ST_OK);
    log_level(LOG_INFO);
    add_games(a, 0, 10);
    archive_close(a);
    assert_int_equal(read_file(2, 0), 10);
    stat(path, &info);
    assert_int_equal(info.st_size, 20);
}

/* A full disk ends the keeping, and nothing else; what was kept stays readable. */
static void a_full_disk(void **state) {
    (void)state;
    struct rlimit unlimited, small;
    Archive *a;
    assert_int_equal(archive_open(run, 1 << 30, &a), ST_OK);
    getrlimit(RLIMIT_FSIZE, &unlimited);
    small = unlimited;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    log_level(LOG_NONE);
    add_games(a, 0, 5000);
    log_level(LOG_INFO);
    setrlimit(RLIMIT_FSIZE, &unlimited);
    archive_close(a);
    uint64_t n = read_file(1, 0);
    assert_true(n > 100 && n < 5000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_run, remove_run)

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        TEST(settings_come_back),
        TEST(a_run_stays_what_it_is),
        TEST(bad_settings),
        TEST(rate_of_the_optimizer),
        TEST(presets),
        TEST(numbers_are_never_given_twice),
        TEST(one_owner_at_a_time),
        TEST(names_that_cannot_be),
        TEST(the_oldest_games_go),
        TEST(goes_on_after_a_crash),
        TEST(a_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
