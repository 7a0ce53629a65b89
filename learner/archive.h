/* archive.h - the games of a run kept on disk: RUN/records/NNNNNN.dzr, bounded in size.
 *
 * A file is closed at 1/8 of the bound (at most 256 MB) and a new one begun; when all together are
 * over it, the oldest go. A disk that is full ends the keeping, not the training: one warning.
 * Adding and flushing may come from different threads.                                      */
#ifndef DIZHU_LEARNER_ARCHIVE_H
#define DIZHU_LEARNER_ARCHIVE_H
#include "engine/base/status.h"
#include <stddef.h>
#include <stdint.h>

typedef struct Archive Archive;
/* Goes on after the newest file there (a torn tail is cut off). */
Status archive_open(const char *run, uint64_t max_bytes, Archive **out);
void archive_add(Archive *a, const uint8_t *record, size_t n); /* NULL archive: does nothing */
void archive_flush(Archive *a);
void archive_close(Archive *a);

#endif
