/* block.h - one allocation, cut into aligned pieces: count first, then point into it.
 *
 * A layout function takes its pieces from a Block; run once on an empty one it counts, after
 * block_make it hands out memory. Zeroed, 64-byte aligned, on huge pages where the system has them:
 * weights and activations span more pages than the processor's page cache holds.            */
#ifndef DIZHU_NETS_BLOCK_H
#define DIZHU_NETS_BLOCK_H
#include "engine/base/status.h"
#include <stddef.h>

typedef struct {
    char *base;
    size_t used, size;
} Block;

/* The next n * size bytes; while counting, an address that must not be used. */
void *block_take(Block *b, size_t n, size_t size);
/* Allocates what has been counted and starts again from the beginning. */
Status block_make(Block *b);
void block_free(Block *b);

#endif
