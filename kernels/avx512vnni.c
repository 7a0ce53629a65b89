/* avx512vnni.c - AVX-512 with int8 dot products: Cascade Lake, Ice Lake. */
#define VEC_BYTES  64
#define TABLE      kernels_avx512vnni
#define TABLE_NAME "avx512vnni"
#define TABLE_USABLE                                                                               \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&                    \
     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&                   \
     __builtin_cpu_supports("avx512vnni"))
#include "kernels/vector.inc"
