/* dispatch.c - which tables are built in, which of them this processor can run, which to use. */
#include "engine/base/log.h"
#include "kernels/tables.h"
#include <stdlib.h>
#include <string.h>

static const KernelTable *const tables[] = {
    /* best last */
    &kernels_ref,  &kernels_host,
#if defined(__x86_64__)
    &kernels_avx2, &kernels_avx512, &kernels_avx512vnni, &kernels_avx512bf16,
#endif
};
enum { N_TABLES = sizeof tables / sizeof *tables };

const KernelTable *kernels_at(int i) { return i >= 0 && i < N_TABLES ? tables[i] : NULL; }

bool kernels_usable(const KernelTable *k) { return k->usable(); }

const KernelTable *kernels_find(const char *name) {
    for (int i = 0; i < N_TABLES; i++)
        if (strcmp(tables[i]->name, name) == 0) return tables[i]->usable() ? tables[i] : NULL;
    return NULL;
}

const KernelTable *kernels_get(void) {
    const char *name = getenv("DIZHU_KERNELS");
    if (name && *name) {
        const KernelTable *k = kernels_find(name);
        if (!k) log_error("kernels \"%s\" (DIZHU_KERNELS) are unknown or cannot run here", name);
        return k;
    }
    for (int i = N_TABLES - 1; i > 0; i--)
        if (tables[i]->usable()) return tables[i];
    return &kernels_ref;
}
