/* host.c - 16-byte vectors: SSE on any x86-64, NEON on 64-bit ARM. */
#define VEC_BYTES 16
#define TABLE     kernels_host
#if defined(__aarch64__)
#define TABLE_NAME "neon"
#else
#define TABLE_NAME "sse"
#endif
#define TABLE_USABLE true
#include "kernels/vector.inc"
