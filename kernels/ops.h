/* ops.h - the table of operations, one row of function pointers per instruction set.
 *
 * ref_*.c is the definition: plain C without contraction, bit-stable. kernels_get picks the best
 * table the processor can run, or the one that DIZHU_KERNELS names. tests/kernels walks all tables,
 * all operations, awkward sizes, against the bound stated with each operation (u = 2^-24; S = the
 * sum of the absolute values of the terms that an output adds up).
 *
 * Matrices live in *panels* of 32 columns so that no product has to pack anything:
 *   activations X[rows][C]  as [C/32][x_rows][32]     x_rows >= rows: distance of two panels in
 * rows weights     W[N][K]     as [N/32][K][32]          (fp32; N outputs, K inputs) as
 * [N/32][K/2][32][2]     (bf16: pairs of neighbouring inputs) as [N/32][K/4][32][4]     (int8:
 * quads of neighbouring inputs) row pairs of X          as [C/32][rows/2][32][2]  (bf16, for weight
 * gradients) N, K and C are multiples of 32 unless said otherwise; rows is anything >= 0. A pointer
 * to row r of a block of panels is block + 32 r. Loads need no alignment; 64 bytes is fastest. No
 * operation allocates; none may be called with overlapping in- and outputs unless it says so. */
#ifndef DIZHU_KERNELS_OPS_H
#define DIZHU_KERNELS_OPS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PANEL = 32 };

/* What becomes of a product y[rows][N] before it is stored, in this order. */
typedef struct {
    const float *bias;      /* [N]: y += bias; NULL: no */
    bool add;               /* y += out (fp32 out only) */
    bool relu;              /* y = max(y, 0) */
    const float *mask;      /* panels: y = 0 where mask <= 0; NULL: no */
    const uint16_t *mask16; /* the same in bf16 */
    float *out;             /* panels, fp32; NULL: not wanted */
    uint16_t *out16;        /* panels, bf16; NULL: not wanted */
    size_t out_rows;        /* of out, out16, mask and mask16 */
} GemmEnd;

/* Sums of few rows of a matrix: a product with a 0/1 matrix given by the places of its ones. */
typedef struct {
    int n_panels;
    const float *x;      /* panels of x_rows rows */
    const uint16_t *x16; /* or, where x is NULL, in bf16 */
    size_t x_rows;
    const uint32_t *start; /* [n_out + 1] into index */
    const uint32_t *index; /* rows of x */
    const float *base;     /* panels of base_rows rows; NULL: zeros */
    size_t base_rows;
    const uint32_t *base_index; /* [n_out], rows of base; NULL: row 0 for all */
    bool relu;
    float *out;      /* panels of out_rows rows; NULL: not wanted */
    uint16_t *out16; /* the same in bf16 */
    size_t out_rows;
} SparseSum;

/* One LSTM step of 128 units: 16 panels of gates (i, f, g, o: 4 each), 4 of each state. */
typedef struct {
    float *gates;        /* forward: in before, out after activation. back: in activated, out their
                            gradient before activation, unless gates16 takes it */
    uint16_t *gates16;   /* back: out, the gradient in bf16; NULL: it replaces gates */
    const float *c_prev; /* NULL: zeros */
    float *c;            /* forward: out, may be c_prev. back: in */
    float *h;            /* forward: out, NULL: not wanted. back: unused */
    uint16_t *h16;       /* forward: out in bf16, NULL: not wanted */
    size_t rows_stride;  /* panel distance of all of the above, in rows */
    const float *dh;     /* back only: dL/dh of this step */
    float *dc;     /* back only: in dL/dc of this step from the next, out for the one before */
    size_t d_rows; /* of dh and dc */
} LstmStep;

typedef struct {
    float grad_scale; /* the gradient is multiplied by it first (clipping) */
    float lr, beta1, beta2, eps;
    float correct1, correct2; /* 1 / (1 - beta1^t), 1 / (1 - beta2^t) */
    float decay;              /* decoupled weight decay (AdamW): w -= lr decay w first; 0: none */
} AdamStep;

typedef struct KernelTable KernelTable;

/* NULL: that name is unknown, not built, or this processor cannot run it. */
const KernelTable *kernels_find(const char *name);
/* The table to use. An unusable DIZHU_KERNELS is an error line and exit code 2 of the caller: NULL.
 */
const KernelTable *kernels_get(void);
/* The i-th table built into this program, best last, or NULL past the end; may be unusable here. */
const KernelTable *kernels_at(int i);
bool kernels_usable(const KernelTable *k);

struct KernelTable {
    const char *name;
    bool (*usable)(void); /* can this processor run it? */
    int vector_bytes;
    int u8_max; /* gemm_i8 takes activations 0..u8_max (127 or 255) */

    /* ---- products. bf16 and int8 ones are NULL where the table has no faster way than fp32 ----
     */
    /* y = A W^T. Bound: 2 K u S. */
    void (*gemm)(int rows, int K, int N, const float *a, size_t a_rows, const float *w,
                 const GemmEnd *end);
    /* The same on bf16 values with fp32 sums. Bound: 2 K u S + 2^-120; out16: the next bf16, + 2^-7
     * |y|. */
    void (*gemm_bf16)(int rows, int K, int N, const uint16_t *a, size_t a_rows, const uint16_t *w,
                      const GemmEnd *end);
    /* y[r][n] = a_scale[r] w_scale[n] sum_k a w, sums exact in int32. Bound: 4 u |y|. */
    void (*gemm_i8)(int rows, int K, int N, const uint8_t *a, size_t a_rows, const float *a_scale,
                    const int8_t *w, const float *w_scale, const GemmEnd *end);
    /* Weight gradient g[n * ldg + k] (+)= sum_r dy[r][n] x[r][k], row-major. Bound: 2 rows u S. */
    void (*wgrad)(int rows, int N, int K, const float *dy, size_t dy_rows, const float *x,
                  size_t x_rows, float *g, size_t ldg, bool add);
    /* The same from row pairs; pairs = rows/2, strides in pairs. Bound as gemm_bf16. */
    void (*wgrad_bf16)(int pairs, int N, int K, const uint32_t *dy, size_t dy_pairs,
                       const uint32_t *x, size_t x_pairs, float *g, size_t ldg, bool add);

    /* ---- rows ---- */
    /* out[r] = base[base_index[r]] + sum_e x[index[e]], e in start[r]..start[r+1]. Bound: 2 n u S.
     */
    void (*sparse_sum)(int n_out, const SparseSum *s);
    /* q[r] = bias + sum_c x[r][c] w[c]. Bound: 2 C u S. */
    void (*head)(int n_panels, int rows, const float *x, size_t x_rows, const float *w, float bias,
                 float *q);
    /* out[r][c] = x[r][c] > 0 ? dq[r] w[c] : 0. Exact; out16 rounded. */
    void (*head_back)(int n_panels, int rows, const float *x, size_t x_rows, const float *w,
                      const float *dq, float *out, uint16_t *out16, size_t out_rows);
    /* out[c] = sum_r weight[r] x[r][c]; weight NULL: ones. Bound: 2 rows u S. */
    void (*col_sum)(int n_panels, int rows, const float *x, size_t x_rows, const float *weight,
                    float *out);
    void (*col_sum16)(int n_panels, int rows, const uint16_t *x, size_t x_rows, float *out);
    /* c = f c_prev + i g, h = o tanh(c), with i, f, o through the sigmoid and g through tanh.
     * Bound: 2^-20 (1 + |c|). */
    void (*lstm_step)(int rows, const LstmStep *s);
    /* From activated gates to the gradient before activation, and dc to the step before.
     * Bound: 2^-19 (1 + |c|) (|dh| + |dc|). */
    void (*lstm_back)(int rows, const LstmStep *s);

    /* ---- layouts ---- */
    /* 32-bit words: dst[N/32][K][32] = src[n * ld + k] transposed, and back. K is anything. Exact.
     */
    void (*pack)(int N, int K, const void *src, size_t ld, void *dst);
    void (*unpack)(int N, int K, const void *src, void *dst, size_t ld);
    /* Pairs of rows: out[p][r/2][c] = x[r] | x[r+1] << 16 for column 32 p + c, where x begins at
     * x + p * x_panel + r * x_row (both in elements): panels, or a row-major matrix. An odd last
     * row is paired with zeros. Exact. */
    void (*pair16)(int n_panels, int rows, const uint16_t *x, size_t x_panel, size_t x_row,
                   uint32_t *out, size_t out_pairs);
    /* Round to nearest even (a denormal may become zero); from_bf16 is exact. */
    void (*to_bf16)(size_t n, const float *src, uint16_t *dst);
    void (*from_bf16)(size_t n, const uint16_t *src, float *dst);
    /* A row of weights: returns scale = max |x| / 127, out = round(x / scale) (all 0 if it is 0).
     * Bound: 1 in out (ties), 2 u relative in the scale. */
    float (*to_int8)(size_t n, const float *x, int8_t *out);
    /* Per row: scale[r] = max_c x / u8_max, out = round(x / scale), for x >= 0 (0 for a zero row).
     * Bound: 1 in out, 2 u relative in scale. */
    void (*quantise)(int n_panels, int rows, const float *x, size_t x_rows, uint8_t *out,
                     size_t out_rows, float *scale);

    /* ---- flat blocks of n floats, for the optimizer; element by element, in place ---- */
    double (*norm2)(size_t n, const float *x);                     /* sum x^2; 2^-18 relative */
    void (*axpy)(size_t n, float alpha, const float *x, float *y); /* y += alpha x; 2 u S */
    void (*scale)(size_t n, float alpha, float *x);                /* x *= alpha; exact */
    /* g = grad_scale grad; v = alpha v + (1 - alpha) g^2; w -= lr g / (sqrt(v) + eps). As PyTorch,
     * momentum 0. Bound: 8 u of each new value and of the step. */
    void (*rmsprop)(size_t n, float *w, float *v, const float *grad, float grad_scale, float lr,
                    float alpha, float eps);
    /* g = grad_scale grad; m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2;
     * w -= lr m correct1 / (sqrt(v correct2) + eps). Bound as rmsprop. */
    void (*adam)(size_t n, float *w, float *m, float *v, const float *grad, const AdamStep *s);
    /* ema += (1 - d) (w - ema). Bound: 4 u (|w| + |ema|). */
    void (*ema)(size_t n, float d, const float *w, float *ema);
    /* y = a independent multiply-adds kept in registers, to measure the peak: returns the number of
     * operations (2 per multiply-add) done by `rounds` rounds; kind 0 fp32, 1 bf16, 2 int8; 0 if
     * the table lacks it. */
    double (*peak)(int kind, int rounds);
};

#endif
