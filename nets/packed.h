/* packed.h - private to nets: one role's weights as the kernels want them.
 *
 * The trainer holds one too, and adds the transposed copies that its backward pass needs.    */
#ifndef DIZHU_NETS_PACKED_H
#define DIZHU_NETS_PACKED_H
#include "nets/block.h"
#include "nets/scorer.h"

enum {
    GATE_PANELS = NET_GATES / PANEL,
    STATE_PANELS = NET_LSTM / PANEL,
    HIDDEN_PANELS = NET_HIDDEN / PANEL,
    N_HIDDEN = NET_DENSE - 2, /* the square layers, dense2..dense5 */
    STARTS = OBS_STEPS + 1,   /* a history may begin after 0..5 zero steps */
};

/* Indices into NetLayout.tensor. */
enum { T_WEIGHT_IH, T_WEIGHT_HH, T_BIAS_IH, T_BIAS_HH, T_DENSE1 };
#define T_WEIGHT(dense) (T_DENSE1 + 2 * ((dense)-1))
#define T_BIAS(dense)   (T_WEIGHT(dense) + 1)

/* A weight matrix in the precision of the net: one of the three, and the scale of int8's rows. */
typedef struct {
    int n, k;
    float *f32;
    uint16_t *bf16;
    int8_t *i8;
    float *scale;
} Matrix;

struct PackedNet {
    const KernelTable *k;
    const NetLayout *layout;
    Precision precision;
    size_t x_rows;        /* features of x, action included */
    float *ih;            /* [16][162][32] prefix rows */
    float *x;             /* [16][x_rows][32] prefix rows of dense1 without its first 128 inputs */
    uint16_t *ih16, *x16; /* the same in bf16, which are then the ones to use; NULL with fp32 */
    Matrix hh;            /* 512 x 128, fp32 or bf16 */
    Matrix dense1_h;      /* dense1's first 128 inputs, fp32 or bf16 */
    Matrix hidden[N_HIDDEN];
    float *bias[NET_DENSE - 1]; /* dense1..dense5 */
    float *w6, b6;
    /* After t zero steps the LSTM is the same for everybody: its state, and the gates' sum of all
     * but the next step's input (t = 0: the bias). Panels of STARTS rows.                    */
    float *gate_start, *h_start, *c_start;
    float *gate_zero; /* the activated gates of the zero step from t to t + 1 */
    void *scratch;    /* [512][512] bf16 or int8 */
    float *gates;     /* [16][1][32] */
    Block block;
};

/* gemm with a matrix of any precision but int8; a is fp32 or bf16 as the matrix is. */
void matrix_gemm(const KernelTable *k, const Matrix *m, int rows, const void *a, size_t a_rows,
                 const GemmEnd *end);
/* Room for n x k in a precision; fills it from row-major [n][ld]. scratch: [n][k] bf16 / int8. */
void matrix_take(Matrix *m, Block *b, int n, int k, Precision p);
void matrix_pack(const KernelTable *t, Matrix *m, const float *w, size_t ld, void *scratch);
/* The same for the way back: m is the transpose of the row-major w[k][ld], fp32 or bf16. */
void matrix_pack_back(const KernelTable *t, Matrix *m, const float *w, size_t ld, void *scratch);

#endif
