/* avx2.c - AVX2 and FMA: x86 processors since 2013. */
#define VEC_BYTES    32
#define TABLE        kernels_avx2
#define TABLE_NAME   "avx2"
#define TABLE_USABLE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#include "kernels/vector.inc"
