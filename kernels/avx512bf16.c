/* avx512bf16.c - AVX-512 with int8 and bf16 dot products: Zen 4 and later, Sapphire Rapids. */
#define VEC_BYTES  64
#define TABLE      kernels_avx512bf16
#define TABLE_NAME "avx512bf16"
#define TABLE_USABLE                                                                               \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                    \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&                   \
     __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16"))
#include "kernels/vector.inc"
