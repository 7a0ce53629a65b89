/* recordfile.h - a file of records: blocks of zstd with a checksum each.
 *
 * Appendable; after a crash it is readable up to the last whole block, and opening for append cuts
 * the torn tail off. Layout: docs/record.md. Uses zstd, xxhash and stdio: not freestanding.  */
#ifndef DIZHU_ENGINE_RECORDFILE_H
#define DIZHU_ENGINE_RECORDFILE_H
#include "engine/record.h"

typedef struct RecordWriter RecordWriter;
/* Opens for append, or creates. ST_IO with the path and errno in the log. ST_CORRUPT: not a record
 * file. The caller closes.                                                                  */
Status recordwriter_open(const char *path, RecordWriter **out);
/* Buffers a record given as bytes; a full block (64 KiB) is compressed and written at once. */
Status recordwriter_add(RecordWriter *w, const uint8_t *record, size_t n);
/* Writes the buffered block and fsyncs: what was added before is now durable. */
Status recordwriter_flush(RecordWriter *w);
/* Flushes and frees; NULL is allowed. */
Status recordwriter_close(RecordWriter *w);

typedef struct RecordReader RecordReader;
Status recordreader_open(const char *path, RecordReader **out);
/* ST_OK with *end = true after the last record. A torn last block ends the file too (reported once
 * as a warning); damage before the end is ST_CORRUPT with the offset in the log.            */
Status recordreader_next(RecordReader *r, Record *out, bool *end);
void recordreader_close(RecordReader *r);

#endif
