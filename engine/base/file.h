/* file.h - files read whole and replaced whole.
 *
 * file_save writes to a temporary name beside the file, fsyncs, renames, fsyncs the directory: at
 * any moment, and after a crash or on a full disk, `path` holds all of the old bytes or all of the
 * new ones. One writer per path. Temporary names are PATH.tmp-PID; one that a crash left behind is
 * harmless. Errors are one line in the log with path and reason.                            */
#ifndef DIZHU_ENGINE_BASE_FILE_H
#define DIZHU_ENGINE_BASE_FILE_H
#include "engine/base/status.h"
#include <stddef.h>
#include <stdint.h>

/* *p is malloced, the caller frees it; never NULL on ST_OK, even if empty. ST_IO: not a readable
 * regular file; ST_CORRUPT: more than max bytes; ST_NOMEM.                                  */
Status file_read(const char *path, size_t max, uint8_t **p, size_t *n);
/* ST_IO: nothing changed. ST_INVALID: the path is too long. */
Status file_save(const char *path, const uint8_t *p, size_t n);

#endif
