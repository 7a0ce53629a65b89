/* trainer_parts.h - private to the trainer: its state, and the two halves of the net.
 *
 * Everything is kept per sample in panels (kernels/ops.h) over the whole batch. Samples are sorted
 * by how many zero steps their history begins with: in LSTM step t the active ones are the first
 * active[t] rows. A sample whose history begins with t zero steps starts from a state that only the
 * weights determine (PackedNet.h_start); what flows back into such states is summed over samples
 * and goes through the zero steps once.                                                      */
#ifndef DIZHU_NETS_TRAINER_PARTS_H
#define DIZHU_NETS_TRAINER_PARTS_H
#include "nets/packed.h"
#include "nets/places.h"
#include "nets/trainer.h"

/* Values per row in panels: fp32, or bf16 where products take them, or both. */
typedef struct {
    float *f32;
    uint16_t *bf16;
} Panels;

/* Places by row, and turned round: rows by place. */
typedef struct {
    uint32_t *start, *index;     /* [rows + 1] */
    uint32_t *at_start, *at_row; /* [places + 1] */
} Places;

struct Trainer {
    const KernelTable *k;
    PackedNet *net;
    bool half; /* products in bf16 */
    int max_rows;
    Matrix hh_back, dense1_back, hidden_back[N_HIDDEN];

    size_t rows; /* of the batch at hand */
    const Sample **sorted;
    int active[OBS_STEPS];
    Places steps, states;     /* rows of steps: t rows + r */
    uint32_t *step_base;      /* row of gate_start that (t, r) begins from */
    Panels gates, h;          /* 5 rows; step t begins at row t rows */
    float *c;                 /* the same */
    float *dh, *dc;           /* rows */
    Panels zero_gates;        /* of the zero steps: panels of STARTS rows */
    float *zero_dh, *zero_dc; /* [STARTS][128]: gradients of h_start, c_start */
    Panels a[NET_DENSE - 1];  /* outputs of dense1..dense5 */
    Panels dy[2];             /* gradient before relu of the layer at hand, and the next */
    float *q, *dq;
    float *ih_grad, *x_grad;      /* of prefix rows, as PackedNet.ih and .x */
    uint32_t *x_pairs, *dy_pairs; /* row pairs for wgrad_bf16 */
    void *scratch;                /* [512][512] bf16 */
    Block block;
};

/* Where the gradient goes. */
typedef struct {
    float *grad;
    GradientReady ready;
    void *ctx;
} Out;

/* LSTM: fills h of step 4 for all rows; dh of it (in t->dh) to its four gradients. */
void trainer_lstm_forward(Trainer *t);
void trainer_lstm_back(Trainer *t, const Out *o);
/* The dense layers: from h to q; from dq to their gradients and t->dh. */
void trainer_dense_forward(Trainer *t);
void trainer_dense_back(Trainer *t, const Out *o);

/* ---- what both need, in trainer.c ---- */
enum { ROW_STEP = 128 }; /* rows that go through neighbouring operations while they are in cache */

static inline const NetTensor *trainer_tensors(const Trainer *t) { return t->net->layout->tensor; }
static inline float *trainer_grad(const Trainer *t, const Out *o, int tensor) {
    return o->grad + trainer_tensors(t)[tensor].offset;
}
void trainer_ready(const Trainer *t, const Out *o, int tensor);

static inline Panels panels_row(Panels p, size_t row) {
    if (p.f32) p.f32 += row * PANEL;
    if (p.bf16) p.bf16 += row * PANEL;
    return p;
}
/* What products read. */
static inline const void *trainer_operand(const Trainer *t, Panels p) {
    return t->half ? (const void *)p.bf16 : (const void *)p.f32;
}
/* g[N][ldg] (+)= sum over rows of dy x^T. */
void trainer_weight_gradient(Trainer *t, int rows, int N, int K, Panels dy, size_t dy_rows,
                             Panels x, size_t x_rows, float *g, size_t ldg, bool add);
/* out[32 n_panels] = sums over rows of a gradient. */
void trainer_bias_gradient(Trainer *t, int n_panels, int rows, Panels dy, size_t dy_rows,
                           float *out);
/* Sums over rows of a gradient (512 wide) per place: panels of n_places rows. */
void trainer_places_gradient(Trainer *t, const Places *places, Panels dy, size_t dy_rows,
                             size_t n_places, float *sums);

#endif
