/* block.c - see block.h. */
#include "nets/block.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 64, HUGE_PAGE = 2 << 20 };

void *block_take(Block *b, size_t n, size_t size) {
    size_t at = b->used;
    b->used += (n * size + ALIGN - 1) / ALIGN * ALIGN;
    if (!b->base) return NULL;
    assert(b->used <= b->size);
    return b->base + at;
}

Status block_make(Block *b) {
    size_t align = b->used >= HUGE_PAGE ? HUGE_PAGE : ALIGN;
    b->size = (b->used + align - 1) / align * align;
    b->base = aligned_alloc(align, b->size);
    if (!b->base) return ST_NOMEM;
    if (align == HUGE_PAGE) madvise(b->base, b->size, MADV_HUGEPAGE); /* a wish: may fail */
    memset(b->base, 0, b->size);
    b->used = 0;
    return ST_OK;
}

void block_free(Block *b) {
    free(b->base);
    *b = (Block){0};
}
