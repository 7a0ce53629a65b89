/* ops.h - the table of operations, one row of function pointers per instruction set.
 *
 * ref.c is the definition. kernels_get picks the best table the processor can run, or the one that
 * DIZHU_KERNELS names (ref, avx2, avx512, ...). Every operation states its error bound against ref;
 * tests/kernels walks all tables, all operations, awkward sizes.                            */
#ifndef DIZHU_KERNELS_OPS_H
#define DIZHU_KERNELS_OPS_H
#include <stddef.h>
#include <stdint.h>

typedef struct KernelTable KernelTable;

/* NULL: that name is unknown, not built, or this processor cannot run it. */
const KernelTable *kernels_find(const char *name);
/* The table to use. An unusable DIZHU_KERNELS is an error line and exit code 2 of the caller: NULL. */
const KernelTable *kernels_get(void);

struct KernelTable {
    const char *name;
};

#endif
