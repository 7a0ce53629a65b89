/* Files of records: append, crashes at every byte, damage at every byte, a full disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/playout.h"
#include "engine/recordfile.h"
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[64];

static size_t record_bytes(uint64_t index, uint8_t out[RECORD_MAX_BYTES]) {
    Record r = {.game = index};
    Game g;
    Rng rng;
    deal_random(61, index, &r.deal);
    rng_init(&rng, 62, index);
    game_init(&g, RULES_DOUZERO, &r.deal, 0);
    playout_random(&g, &rng);
    record_from_game(&r, &g);
    return record_write(&r, out);
}

static void add(RecordWriter *w, uint64_t index) {
    uint8_t bytes[RECORD_MAX_BYTES];
    assert_int_equal(recordwriter_add(w, bytes, record_bytes(index, bytes)), ST_OK);
}

/* Adds records first..first+n-1 as one block. */
static void append_block(uint64_t first, uint64_t n) {
    RecordWriter *w;
    assert_int_equal(recordwriter_open(path, &w), ST_OK);
    for (uint64_t i = first; i < first + n; i++) add(w, i);
    assert_int_equal(recordwriter_close(w), ST_OK);
}

/* Reads to the end or to an error; counts records, each of which must be the next one. */
static Status read_all(uint64_t *n) {
    RecordReader *r;
    Status st = recordreader_open(path, &r);
    *n = 0;
    if (st != ST_OK) return st;
    for (bool end = false;;) {
        Record rec;
        uint8_t got[RECORD_MAX_BYTES], want[RECORD_MAX_BYTES];
        if ((st = recordreader_next(r, &rec, &end)) != ST_OK || end) break;
        size_t size = record_write(&rec, got);
        assert_int_equal(size, record_bytes(*n, want));
        assert_memory_equal(got, want, size);
        ++*n;
    }
    recordreader_close(r);
    return st;
}

static uint8_t *slurp(size_t *n) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    uint8_t *p = malloc(1 << 22);
    *n = fread(p, 1, 1 << 22, f);
    fclose(f);
    return p;
}

static void spill(const uint8_t *p, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

/* No file, and no log: these tests provoke thousands of lines. */
static int saved_stderr;

static int begin(void **state) {
    (void)state;
    unlink(path);
    fflush(stderr);
    saved_stderr = dup(STDERR_FILENO);
    int null = open("/dev/null", O_WRONLY);
    if (saved_stderr < 0 || null < 0 || dup2(null, STDERR_FILENO) < 0) return -1;
    return close(null);
}

static int end(void **state) {
    (void)state;
    fflush(stderr);
    if (dup2(saved_stderr, STDERR_FILENO) < 0) return -1;
    return close(saved_stderr);
}

static void writes_and_reads(void **state) {
    (void)state;
    uint64_t n;
    append_block(0, 0);
    assert_int_equal(read_all(&n), ST_OK);
    assert_int_equal(n, 0);
    append_block(0, 3000); /* several blocks */
    append_block(3000, 1);
    append_block(3001, 500);
    assert_int_equal(read_all(&n), ST_OK);
    assert_int_equal(n, 3501);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    print_message("%.1f bytes a game on disk\n", (double)s.st_size / 3501);
}

/* Cut at every length: the whole blocks are read; appending goes on after them. */
static void torn_at_every_byte(void **state) {
    (void)state;
    append_block(0, 2);
    size_t one, two;
    free(slurp(&one));
    append_block(2, 2);
    uint8_t *p = slurp(&two);
    for (size_t cut = 0; cut <= two; cut++) {
        uint64_t n, whole = cut == two ? 4 : cut >= one ? 2 : 0;
        spill(p, cut);
        assert_int_equal(read_all(&n), cut < 8 ? ST_CORRUPT : ST_OK);
        assert_int_equal(n, whole);
        append_block(whole, 3);
        assert_int_equal(read_all(&n), ST_OK);
        assert_int_equal(n, whole + 3);
    }
    /* A power cut can leave zeros where the block should be. */
    memset(p + one, 0, two - one);
    uint64_t n;
    spill(p, two);
    assert_int_equal(read_all(&n), ST_OK);
    assert_int_equal(n, 2);
    append_block(2, 1);
    assert_int_equal(read_all(&n), ST_OK);
    assert_int_equal(n, 3);
    free(p);
}

static void every_byte_damaged(void **state) {
    (void)state;
    size_t size;
    append_block(0, 3);
    append_block(3, 3);
    uint8_t *p = slurp(&size);
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit += 7) { /* the lowest and the highest */
            uint64_t n;
            p[i] ^= (uint8_t)(1 << bit);
            spill(p, size);
            Status st = read_all(&n);
            assert_true(st == ST_CORRUPT || (st == ST_VERSION && i == 7));
            assert_true(n == 0 || n == 3);
            p[i] ^= (uint8_t)(1 << bit);
        }
    /* Damage in the middle is never cut off by a writer, nor written after. */
    p[40] ^= 1;
    spill(p, size);
    RecordWriter *w;
    assert_int_equal(recordwriter_open(path, &w), ST_CORRUPT);
    size_t after;
    free(slurp(&after));
    assert_int_equal(after, size);
    free(p);
}

static void full_disk(void **state) {
    (void)state;
    append_block(0, 10);
    struct stat s;
    assert_int_equal(stat(path, &s), 0);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = (rlim_t)s.st_size + 100;
    signal(SIGXFSZ, SIG_IGN);
    RecordWriter *w;
    assert_int_equal(recordwriter_open(path, &w), ST_OK);
    for (uint64_t i = 10; i < 20; i++) add(w, i);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(recordwriter_flush(w), ST_IO);
    uint64_t n;
    assert_int_equal(read_all(&n), ST_OK); /* nothing torn is left behind */
    assert_int_equal(n, 10);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(recordwriter_flush(w), ST_OK); /* nothing was lost */
    assert_int_equal(recordwriter_close(w), ST_OK);
    assert_int_equal(read_all(&n), ST_OK);
    assert_int_equal(n, 20);
}

static void refuses(void **state) {
    (void)state;
    RecordWriter *w, *second;
    RecordReader *r;
    uint8_t junk[100] = "not a record at all";
    spill(junk, sizeof junk);
    assert_int_equal(recordwriter_open(path, &w), ST_CORRUPT);
    assert_int_equal(recordreader_open(path, &r), ST_CORRUPT);
    unlink(path);
    assert_int_equal(recordreader_open(path, &r), ST_IO);
    assert_int_equal(recordwriter_open("/nonexistent/x", &w), ST_IO);
    assert_int_equal(recordwriter_open("/tmp", &w), ST_IO);
    assert_int_equal(recordwriter_open(path, &w), ST_OK);
    assert_int_equal(recordwriter_open(path, &second), ST_IO); /* one writer at a time */
    assert_int_equal(recordwriter_add(w, junk, sizeof junk), ST_CORRUPT);
    uint8_t bytes[RECORD_MAX_BYTES + 1];
    size_t n = record_bytes(0, bytes);
    assert_int_equal(recordwriter_add(w, bytes, n + 1), ST_INVALID);
    assert_int_equal(recordwriter_add(w, bytes, n - 1), ST_TRUNCATED);
    assert_int_equal(recordwriter_close(w), ST_OK);
    assert_int_equal(recordwriter_close(NULL), ST_OK);
    recordreader_close(NULL);
}

int main(void) {
    snprintf(path, sizeof path, "/tmp/test_recordfile.%d", (int)getpid());
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_and_reads, begin, end),
        cmocka_unit_test_setup_teardown(torn_at_every_byte, begin, end),
        cmocka_unit_test_setup_teardown(every_byte_damaged, begin, end),
        cmocka_unit_test_setup_teardown(full_disk, begin, end),
        cmocka_unit_test_setup_teardown(refuses, begin, end),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
