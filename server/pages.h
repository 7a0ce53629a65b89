/* pages.h - the built page, in memory: a request can only name what was there at the start, so no
 * path can lead out of the folder.                                                          */
#ifndef DIZHU_SERVER_PAGES_H
#define DIZHU_SERVER_PAGES_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    const uint8_t *p;
    size_t n; /* 0: there is none */
} Body;

typedef struct {
    char path[256]; /* "/assets/index-3f.js" */
    const char *mime;
    char etag[36];
    bool forever; /* its name holds a hash of its content */
    Body plain, gzip, brotli;
} Page;

typedef struct Pages Pages;
/* Reads every regular file below dir; X.gz and X.br are encodings of X. ST_IO with the path. */
Status pages_load(const char *dir, Pages **out);
void pages_free(Pages *p); /* NULL is allowed */
/* The file of a path; paths without a dot in their last part give index.html. NULL: none. */
const Page *pages_find(const Pages *p, const char *path);

#endif
