/* dizhu convert: record files to JSON lines and back; weights files to another number format. */
#include "actors/commands.h"
#include "actors/record_json.h"
#include "engine/base/options.h"
#include "engine/recordfile.h"
#include "nets/weights.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Status io_failed(const char *path) {
    fprintf(stderr, "dizhu: convert: %s: %s\n", path, strerror(errno));
    return ST_IO;
}

/* What a record must be to be converted: a legal game. */
static Status check_game(const Record *r, const char *path, uint64_t number) {
    const char *why = "";
    int at = 0;
    Game end;
    Status st = record_replay(r, &end, NULL, NULL, &why, &at);
    if (st != ST_OK)
        fprintf(stderr, "dizhu: convert: %s: record %llu, move %d: %s\n", path,
                (unsigned long long)number, at + 1, why);
    return st;
}

static Status to_json(const char *from, const char *to, uint64_t *n) {
    RecordReader *reader;
    TRY(recordreader_open(from, &reader));
    Status st = ST_OK;
    FILE *out = fopen(to, "w");
    if (!out) {
        st = io_failed(to);
        goto close_reader;
    }
    for (bool end = false;; ++*n) {
        Record r;
        TRY_TO(st, recordreader_next(reader, &r, &end), close_out);
        if (end) break;
        TRY_TO(st, check_game(&r, from, *n + 1), close_out);
        json_t *o = record_to_json(&r);
        int failed = json_dumpf(o, out, JSON_COMPACT);
        json_decref(o);
        if (failed || putc('\n', out) == EOF) break; /* fclose tells */
    }
close_out:
    if ((ferror(out) | fclose(out)) && st == ST_OK) st = io_failed(to);
close_reader:
    recordreader_close(reader);
    return st;
}

static Status line_to_record(const char *line, const char *from, uint64_t number, Record *r) {
    const char *why = "not JSON";
    json_t *o = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    Status st = o ? record_from_json(o, r, &why) : ST_PARSE;
    json_decref(o);
    if (st != ST_OK)
        fprintf(stderr, "dizhu: convert: %s: line %llu: %s\n", from, (unsigned long long)number,
                why);
    return st == ST_OK ? check_game(r, from, number) : st;
}

static Status from_json(const char *from, const char *to, uint64_t *n) {
    RecordWriter *writer;
    char *line = NULL;
    size_t cap = 0;
    FILE *in = fopen(from, "r");
    if (!in) return io_failed(from);
    Status st = recordwriter_open(to, &writer);
    if (st != ST_OK) goto close_in;
    for (; getline(&line, &cap, in) >= 0; ++*n) {
        Record r;
        uint8_t bytes[RECORD_MAX_BYTES];
        TRY_TO(st, line_to_record(line, from, *n + 1, &r), close_writer);
        TRY_TO(st, recordwriter_add(writer, bytes, record_write(&r, bytes)), close_writer);
    }
    if (ferror(in)) st = io_failed(from);
close_writer:;
    Status closed = recordwriter_close(writer);
    if (st == ST_OK) st = closed;
close_in:
    free(line);
    fclose(in);
    return st;
}

typedef enum { FILE_RECORDS, FILE_JSON, FILE_WEIGHTS } FileKind;

/* By the first bytes: a brace begins JSON lines; a brace behind eight bytes of length begins
 * safetensors; all else must be a record file, whose reader says what is wrong with it. */
static Status file_kind(const char *path, FileKind *kind) {
    char head[9] = {0};
    FILE *f = fopen(path, "rb");
    if (!f) return io_failed(path);
    (void)!fread(head, 1, sizeof head, f); /* a short file is none of the latter two */
    bool failed = ferror(f);
    fclose(f);
    if (failed) return io_failed(path);
    *kind = head[0] == '{' ? FILE_JSON : head[8] == '{' ? FILE_WEIGHTS : FILE_RECORDS;
    return ST_OK;
}

static Status convert_weights(const char *from, const char *to, Dtype dtype) {
    Weights w;
    TRY(weights_load(from, &w));
    Status st = weights_save(&w, dtype, to);
    weights_free(&w);
    return st;
}

static Status convert_records(FileKind kind, const char *from, const char *to) {
    uint64_t n = 0;
    Status st = kind == FILE_JSON ? from_json(from, to, &n) : to_json(from, to, &n);
    if (st == ST_OK) fprintf(stderr, "%llu games\n", (unsigned long long)n);
    else unlink(to); /* half a file looks like a whole one */
    return st;
}

int cmd_convert(int argc, char **argv) {
    int dtype = DTYPE_BF16;
    const Option options[] = {
        {"dtype", OPT_CHOICE, &dtype, "number format of weights", 0, 0, "fp32|bf16|int8"}, {0}};
    const Command c = {
        .usage = "dizhu convert FROM TO [options]",
        .about =
            "A file of game records to JSON lines, one game each, or back (docs/record.md); every\n"
            "game is replayed, one that is not legal ends the work. Or a weights file to another\n"
            "number format (docs/weights.md). TO must not exist.",
        .options = options,
        .min_args = 2,
        .max_args = 2};
    int n_args;
    bool done;
    FileKind kind = FILE_RECORDS;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (access(argv[2], F_OK) == 0) {
        fprintf(stderr, "dizhu: convert: %s exists already\n", argv[2]);
        return 1;
    }
    if (file_kind(argv[1], &kind) != ST_OK) return 1;
    Status st = kind == FILE_WEIGHTS ? convert_weights(argv[1], argv[2], (Dtype)dtype)
                                     : convert_records(kind, argv[1], argv[2]);
    return st == ST_OK ? 0 : 1;
}
