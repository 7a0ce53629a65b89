/* recordfile.c - blocks of records on disk.
 *
 * A block goes out in one write; if that fails the file is cut back to the last whole block, so a
 * full disk never leaves damage in the middle. The head of a block has a checksum of its own: a
 * damaged length is told from a torn tail. docs/record.md has the layout.                    */
#include "engine/recordfile.h"
#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

enum {
    FILE_HEAD = 8,
    BLOCK_HEAD = 24,        /* raw length, packed length, checksum of the data, of the head */
    BLOCK_MAX = 64 * 1024,  /* bytes of records in a block */
    PACKED_MAX = 66 * 1024, /* at least ZSTD_COMPRESSBOUND(BLOCK_MAX) */
    ZSTD_LEVEL = 3
};
_Static_assert(ZSTD_COMPRESSBOUND(BLOCK_MAX) <= PACKED_MAX, "a packed block fits its buffer");

static const uint8_t file_head[FILE_HEAD] = {'D', 'Z', 'G', 'A', 'M', 'E', 'S', 1};

typedef struct {
    uint32_t raw, packed;
    uint64_t check;
} BlockHead;

static void put_block_head(uint8_t p[BLOCK_HEAD], const BlockHead *h) {
    put_u32(p, h->raw);
    put_u32(p + 4, h->packed);
    put_u64(p + 8, h->check);
    put_u64(p + 16, XXH3_64bits(p, 16));
}

static bool get_block_head(const uint8_t p[BLOCK_HEAD], BlockHead *h) {
    *h = (BlockHead){get_u32(p), get_u32(p + 4), get_u64(p + 8)};
    return get_u64(p + 16) == XXH3_64bits(p, 16) && h->raw > 0 && h->raw <= BLOCK_MAX &&
           h->packed > 0 && h->packed <= PACKED_MAX;
}

/* Reads n bytes at an offset unless the file ends before; -1: an error. */
static ssize_t read_at(int fd, uint8_t *p, size_t n, int64_t offset) {
    size_t got = 0;
    while (got < n) {
        ssize_t k = pread(fd, p + got, n - got, offset + (int64_t)got);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return -1;
        if (k == 0) break;
        got += (size_t)k;
    }
    return (ssize_t)got;
}

typedef enum { BLOCK_OK, BLOCK_END, BLOCK_TORN, BLOCK_DAMAGED, BLOCK_ERROR } BlockState;

/* Is the file nothing but zeros from offset on? Some file systems leave that after a power cut. */
static bool zeros_from(int fd, int64_t offset) {
    uint8_t p[4096];
    for (ssize_t n; (n = read_at(fd, p, sizeof p, offset)) > 0; offset += n)
        for (ssize_t i = 0; i < n; i++)
            if (p[i]) return false;
    return true;
}

/* Reads and checks the block at an offset: head and packed bytes. */
static BlockState read_block(int fd, int64_t offset, BlockHead *h, uint8_t packed[PACKED_MAX]) {
    uint8_t head[BLOCK_HEAD];
    ssize_t n = read_at(fd, head, BLOCK_HEAD, offset);
    if (n < 0) return BLOCK_ERROR;
    if (n == 0) return BLOCK_END;
    if (n < BLOCK_HEAD) return BLOCK_TORN;
    if (!get_block_head(head, h)) return zeros_from(fd, offset) ? BLOCK_TORN : BLOCK_DAMAGED;
    n = read_at(fd, packed, h->packed, offset + BLOCK_HEAD);
    if (n < 0) return BLOCK_ERROR;
    if (n < (ssize_t)h->packed) return BLOCK_TORN;
    return XXH3_64bits(packed, h->packed) == h->check ? BLOCK_OK : BLOCK_DAMAGED;
}

static Status check_file_head(int fd, const char *path, int64_t size) {
    uint8_t p[FILE_HEAD] = {0};
    if (read_at(fd, p, FILE_HEAD, 0) < 0) {
        log_error("read %s: %s", path, strerror(errno));
        return ST_IO;
    }
    if (size < FILE_HEAD || memcmp(p, file_head, FILE_HEAD - 1) != 0) {
        log_error("%s is not a file of game records", path);
        return ST_CORRUPT;
    }
    if (p[FILE_HEAD - 1] == file_head[FILE_HEAD - 1]) return ST_OK;
    log_error("%s has record file version %d, this program knows %d", path, p[FILE_HEAD - 1],
              file_head[FILE_HEAD - 1]);
    return ST_VERSION;
}

struct RecordWriter {
    int fd;
    char *path;
    int64_t end; /* of the last whole block */
    size_t n;    /* bytes in raw */
    ZSTD_CCtx *zstd;
    uint8_t raw[BLOCK_MAX];
    uint8_t block[BLOCK_HEAD + PACKED_MAX];
};

static Status write_failed(RecordWriter *w) {
    log_error("write %s: %s", w->path, strerror(errno));
    if (ftruncate(w->fd, w->end) != 0) log_error("cut %s: %s", w->path, strerror(errno));
    return ST_IO;
}

static Status append(RecordWriter *w, const uint8_t *p, size_t n) {
    for (size_t done = 0; done < n;) {
        ssize_t k = pwrite(w->fd, p + done, n - done, w->end + (int64_t)done);
        if (k < 0 && errno == EINTR) continue;
        if (k <= 0) return write_failed(w);
        done += (size_t)k;
    }
    w->end += (int64_t)n;
    return ST_OK;
}

/* Finds the end of the last whole block and cuts off what a crash left behind it. */
static Status recover(RecordWriter *w, int64_t size) {
    BlockHead h;
    BlockState state = BLOCK_OK;
    w->end = FILE_HEAD;
    for (;;) {
        state = read_block(w->fd, w->end, &h, w->block);
        if (state != BLOCK_OK) break;
        w->end += BLOCK_HEAD + h.packed;
    }
    if (state == BLOCK_END) return ST_OK;
    bool last = state == BLOCK_DAMAGED && w->end + BLOCK_HEAD + h.packed == size;
    if (state == BLOCK_TORN || last) {
        log_warn("%s: a torn block of %lld bytes at its end is cut off", w->path,
                 (long long)(size - w->end));
        if (ftruncate(w->fd, w->end) == 0) return ST_OK;
        log_error("cut %s: %s", w->path, strerror(errno));
        return ST_IO;
    }
    log_error("%s is damaged at offset %lld", w->path, (long long)w->end);
    return state == BLOCK_ERROR ? ST_IO : ST_CORRUPT;
}

/* A file shorter than its head is one whose creation was cut short: start it anew. */
static bool is_unborn(int fd, int64_t size) {
    uint8_t p[FILE_HEAD];
    return size < FILE_HEAD && read_at(fd, p, (size_t)size, 0) == size &&
           memcmp(p, file_head, (size_t)size) == 0;
}

static Status open_checked(RecordWriter *w) {
    struct stat s;
    w->fd = open(w->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (w->fd < 0 || fstat(w->fd, &s) != 0) {
        log_error("open %s: %s", w->path, strerror(errno));
        return ST_IO;
    }
    if (!S_ISREG(s.st_mode)) {
        log_error("%s is not a regular file", w->path);
        return ST_IO;
    }
    if (flock(w->fd, LOCK_EX | LOCK_NB) != 0) {
        log_error("%s is being written by another process", w->path);
        return ST_IO;
    }
    if (is_unborn(w->fd, s.st_size)) return append(w, file_head, FILE_HEAD);
    TRY(check_file_head(w->fd, w->path, s.st_size));
    return recover(w, s.st_size);
}

static void free_writer(RecordWriter *w) {
    if (w->fd >= 0) close(w->fd);
    ZSTD_freeCCtx(w->zstd);
    free(w->path);
    free(w);
}

Status recordwriter_open(const char *path, RecordWriter **out) {
    RecordWriter *w = calloc(1, sizeof *w);
    if (!w) return ST_NOMEM;
    w->fd = -1;
    w->path = strdup(path);
    w->zstd = ZSTD_createCCtx();
    Status st = w->path && w->zstd ? open_checked(w) : ST_NOMEM;
    if (st != ST_OK) free_writer(w);
    else *out = w;
    return st;
}

/* Writes the buffered records as one block. On failure they stay buffered. */
static Status write_block(RecordWriter *w) {
    if (w->n == 0) return ST_OK;
    uint8_t *data = w->block + BLOCK_HEAD;
    size_t packed = ZSTD_compressCCtx(w->zstd, data, PACKED_MAX, w->raw, w->n, ZSTD_LEVEL);
    if (ZSTD_isError(packed)) {
        log_error("compress %s: %s", w->path, ZSTD_getErrorName(packed));
        return ST_NOMEM;
    }
    BlockHead h = {(uint32_t)w->n, (uint32_t)packed, XXH3_64bits(data, packed)};
    put_block_head(w->block, &h);
    TRY(append(w, w->block, BLOCK_HEAD + packed));
    w->n = 0;
    return ST_OK;
}

Status recordwriter_add(RecordWriter *w, const uint8_t *record, size_t n) {
    Record r;
    size_t used;
    TRY(record_read(record, n, &r, &used)); /* never store what cannot be read again */
    if (used != n) return ST_INVALID;
    if (w->n + n > BLOCK_MAX) TRY(write_block(w));
    memcpy(w->raw + w->n, record, n);
    w->n += n;
    return ST_OK;
}

Status recordwriter_flush(RecordWriter *w) {
    TRY(write_block(w));
    if (fdatasync(w->fd) == 0) return ST_OK;
    log_error("sync %s: %s", w->path, strerror(errno));
    return ST_IO;
}

Status recordwriter_close(RecordWriter *w) {
    if (!w) return ST_OK;
    Status st = recordwriter_flush(w);
    free_writer(w);
    return st;
}

struct RecordReader {
    int fd;
    char *path;
    int64_t offset; /* of the block in raw */
    int64_t next;   /* of the block after it */
    size_t n, at;   /* bytes in raw, and where the next record starts */
    bool done;
    ZSTD_DCtx *zstd;
    uint8_t raw[BLOCK_MAX];
    uint8_t packed[PACKED_MAX];
};

static Status open_reader(RecordReader *r) {
    struct stat s;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &s) != 0) {
        log_error("open %s: %s", r->path, strerror(errno));
        return ST_IO;
    }
    r->next = FILE_HEAD;
    return check_file_head(r->fd, r->path, s.st_size);
}

Status recordreader_open(const char *path, RecordReader **out) {
    RecordReader *r = calloc(1, sizeof *r);
    if (!r) return ST_NOMEM;
    r->fd = -1;
    r->path = strdup(path);
    r->zstd = ZSTD_createDCtx();
    Status st = r->path && r->zstd ? open_reader(r) : ST_NOMEM;
    if (st != ST_OK) recordreader_close(r);
    else *out = r;
    return st;
}

static Status damaged(const RecordReader *r, int64_t offset) {
    log_error("%s is damaged at offset %lld", r->path, (long long)offset);
    return ST_CORRUPT;
}

static Status next_block(RecordReader *r) {
    BlockHead h;
    r->offset = r->next;
    switch (read_block(r->fd, r->offset, &h, r->packed)) {
    case BLOCK_OK: break;
    case BLOCK_TORN:
        log_warn("%s ends in a torn block at offset %lld", r->path, (long long)r->offset);
        r->done = true;
        return ST_OK;
    case BLOCK_END: r->done = true; return ST_OK;
    case BLOCK_DAMAGED: return damaged(r, r->offset);
    case BLOCK_ERROR: log_error("read %s: %s", r->path, strerror(errno)); return ST_IO;
    }
    size_t n = ZSTD_decompressDCtx(r->zstd, r->raw, BLOCK_MAX, r->packed, h.packed);
    if (ZSTD_isError(n) || n != h.raw) return damaged(r, r->offset);
    r->n = n;
    r->at = 0;
    r->next = r->offset + BLOCK_HEAD + h.packed;
    return ST_OK;
}

Status recordreader_next(RecordReader *r, Record *out, bool *end) {
    if (r->at == r->n && !r->done) TRY(next_block(r));
    if (r->done) {
        *end = true;
        return ST_OK;
    }
    size_t used;
    Status st = record_read(r->raw + r->at, r->n - r->at, out, &used);
    if (st == ST_VERSION) return st;
    if (st != ST_OK) return damaged(r, r->offset);
    r->at += used;
    *end = false;
    return ST_OK;
}

void recordreader_close(RecordReader *r) {
    if (!r) return;
    if (r->fd >= 0) close(r->fd);
    ZSTD_freeDCtx(r->zstd);
    free(r->path);
    free(r);
}
