/* avx512.c - AVX-512 F, BW, DQ, VL: servers since 2017. */
#define VEC_BYTES  64
#define TABLE      kernels_avx512
#define TABLE_NAME "avx512"
#define TABLE_USABLE                                                                               \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                    \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
#include "kernels/vector.inc"
