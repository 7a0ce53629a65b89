/* tables.h - private to kernels: the tables, one per source file, and the CPU's abilities. */
#ifndef DIZHU_KERNELS_TABLES_H
#define DIZHU_KERNELS_TABLES_H
#include "kernels/ops.h"

extern const KernelTable kernels_ref, kernels_host;
extern const KernelTable kernels_avx2, kernels_avx512, kernels_avx512vnni, kernels_avx512bf16;

/* bf16 <-> fp32, round to nearest even; a NaN stays one. */
static inline float bf16_value(uint16_t b) {
    union {
        uint32_t u;
        float f;
    } x = {.u = (uint32_t)b << 16};
    return x.f;
}

static inline uint16_t bf16_round(float f) {
    union {
        float f;
        uint32_t u;
    } x = {.f = f};
    if ((x.u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(x.u >> 16 | 0x40);
    return (uint16_t)((x.u + 0x7fffu + (x.u >> 16 & 1)) >> 16);
}

#endif
