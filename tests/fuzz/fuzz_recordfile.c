/* Any file is read to its end or to an error, and a writer that opens it leaves it readable or
 * refuses it. Checksums keep a fuzzer out, so the input is also taken as what lies behind them: as
 * packed data of a block, and as the records in it. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/recordfile.h"
#include <xxhash.h>
#include <zstd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FILE_HEAD = 8, BLOCK_HEAD = 24, LARGEST = 60000 };

static Status read_all(const char *path, int *n) {
    RecordReader *r;
    Status st = recordreader_open(path, &r);
    *n = 0;
    if (st != ST_OK) return st;
    for (bool end = false;; ++*n) {
        Record record;
        if ((st = recordreader_next(r, &record, &end)) != ST_OK || end) break;
        uint8_t bytes[RECORD_MAX_BYTES];
        assert(record_write(&record, bytes) <= RECORD_MAX_BYTES);
    }
    recordreader_close(r);
    return st;
}

/* A writer looks no deeper than the checksums: `append` only for files from outside. */
static void try_file(const uint8_t *p, size_t n, bool append) {
    char path[64];
    int fd = memfd_create("fuzz", 0), before, after;
    assert(fd >= 0 && write(fd, p, n) == (ssize_t)n);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    Status st = read_all(path, &before);
    RecordWriter *w;
    if (append && recordwriter_open(path, &w) == ST_OK) {
        assert(recordwriter_close(w) == ST_OK);
        Status again = read_all(path, &after);
        /* Whole blocks stay; a torn or damaged last one is gone. */
        assert(again == ST_OK || again == st);
        assert(after == before);
    }
    close(fd);
}

/* The input as the packed data of one block, whose claimed length is its first two bytes. */
static void try_block(const uint8_t *packed, size_t n, uint32_t raw) {
    static uint8_t file[FILE_HEAD + BLOCK_HEAD + 2 * LARGEST] = "DZGAMES\1";
    uint8_t *head = file + FILE_HEAD;
    memcpy(head + BLOCK_HEAD, packed, n);
    put_u32(head, raw);
    put_u32(head + 4, (uint32_t)n);
    put_u64(head + 8, XXH3_64bits(packed, n));
    put_u64(head + 16, XXH3_64bits(head, 16));
    try_file(file, FILE_HEAD + BLOCK_HEAD + n, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint8_t packed[2 * LARGEST];
    log_level(LOG_NONE);
    move_init();
    if (size > LARGEST) return 0;
    try_file(data, size, true);
    if (size < 3) return 0;
    try_block(data + 2, size - 2, get_u16(data) + 1u);
    size_t n = ZSTD_compress(packed, sizeof packed, data, size, 1);
    assert(!ZSTD_isError(n));
    try_block(packed, n, (uint32_t)size);
    return 0;
}
