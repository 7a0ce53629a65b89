/* trainer_dense.c - the dense layers' part of a training step.
 *
 * dense1's input is the LSTM's state and sums of few rows of weights; dense2..dense5 are square
 * products in panels; dense6 is a dot product.                                               */
#include "nets/trainer_parts.h"

static void dense1_rows(Trainer *t, size_t from, size_t to) {
    const PackedNet *net = t->net;
    int rows = (int)(to - from);
    Panels out = panels_row(t->a[0], from);
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = net->x16 ? NULL : net->x,
                     .x16 = net->x16,
                     .x_rows = net->x_rows,
                     .start = t->states.start + from,
                     .index = t->states.index,
                     .base = net->bias[0],
                     .base_rows = 1,
                     .out = out.f32,
                     .out_rows = t->rows};
    t->k->sparse_sum(rows, &sum);
    GemmEnd end = {
        .add = true, .relu = true, .out = out.f32, .out16 = out.bf16, .out_rows = t->rows};
    matrix_gemm(t->k, &net->dense1_h, rows,
                trainer_operand(t, panels_row(t->h, (OBS_STEPS - 1) * t->rows + from)),
                OBS_STEPS * t->rows, &end);
}

void trainer_dense_forward(Trainer *t) {
    const PackedNet *net = t->net;
    int rows = (int)t->rows;
    for (size_t r = 0; r < t->rows; r += ROW_STEP)
        dense1_rows(t, r, t->rows < r + ROW_STEP ? t->rows : r + ROW_STEP);
    for (int i = 0; i < N_HIDDEN; i++) {
        bool last = i == N_HIDDEN - 1;
        Panels out = t->a[i + 1];
        GemmEnd end = {.bias = net->bias[i + 1],
                       .relu = true,
                       .out = last || !t->half ? out.f32 : NULL,
                       .out16 = last ? NULL : out.bf16,
                       .out_rows = t->rows};
        matrix_gemm(t->k, &net->hidden[i], rows, trainer_operand(t, t->a[i]), t->rows, &end);
    }
    t->k->head(HIDDEN_PANELS, rows, t->a[N_HIDDEN].f32, t->rows, net->w6, net->b6, t->q);
}

static void dense6_back(Trainer *t, const Out *o) {
    const float *a5 = t->a[N_HIDDEN].f32;
    int rows = (int)t->rows;
    t->k->col_sum(HIDDEN_PANELS, rows, a5, t->rows, t->dq, trainer_grad(t, o, T_WEIGHT(6)));
    double sum = 0;
    for (size_t r = 0; r < t->rows; r++) sum += (double)t->dq[r];
    *trainer_grad(t, o, T_BIAS(6)) = (float)sum;
    trainer_ready(t, o, T_WEIGHT(6));
    trainer_ready(t, o, T_BIAS(6));
    t->k->head_back(HIDDEN_PANELS, rows, a5, t->rows, t->net->w6, t->dq, t->dy[0].f32,
                    t->dy[0].bf16, t->rows);
}

/* dense5..dense2; returns the gradient before dense1's relu. */
static Panels square_back(Trainer *t, const Out *o) {
    int rows = (int)t->rows;
    Panels dy = t->dy[0], next = t->dy[1];
    for (int i = N_HIDDEN - 1; i >= 0; i--) {
        int weight = T_WEIGHT(i + 2), bias = T_BIAS(i + 2);
        trainer_bias_gradient(t, HIDDEN_PANELS, rows, dy, t->rows, trainer_grad(t, o, bias));
        trainer_weight_gradient(t, rows, NET_HIDDEN, NET_HIDDEN, dy, t->rows, t->a[i], t->rows,
                                trainer_grad(t, o, weight), NET_HIDDEN, false);
        trainer_ready(t, o, weight);
        trainer_ready(t, o, bias);
        GemmEnd end = {.mask = t->half ? NULL : t->a[i].f32,
                       .mask16 = t->half ? t->a[i].bf16 : NULL,
                       .out = next.f32,
                       .out16 = next.bf16,
                       .out_rows = t->rows};
        matrix_gemm(t->k, &t->hidden_back[i], rows, trainer_operand(t, dy), t->rows, &end);
        Panels was = dy;
        dy = next;
        next = was;
    }
    return dy;
}

static void dense1_back(Trainer *t, const Out *o, Panels dy) {
    const PackedNet *net = t->net;
    int rows = (int)t->rows, n_sets = net->layout->role == ROLE_LANDLORD ? 5 : 7;
    size_t ld = NET_LSTM + net->x_rows;
    float *g = trainer_grad(t, o, T_WEIGHT(1));
    trainer_bias_gradient(t, HIDDEN_PANELS, rows, dy, t->rows, trainer_grad(t, o, T_BIAS(1)));
    trainer_weight_gradient(t, rows, NET_HIDDEN, NET_LSTM, dy, t->rows,
                            panels_row(t->h, (OBS_STEPS - 1) * t->rows), OBS_STEPS * t->rows, g, ld,
                            false);
    trainer_places_gradient(t, &t->states, dy, t->rows, net->x_rows, t->x_grad);
    rows_suffix(t->x_grad, HIDDEN_PANELS, net->x_rows, 0, n_sets);
    rows_suffix(t->x_grad, HIDDEN_PANELS, net->x_rows, (size_t)net->layout->x_dim, 1);
    t->k->unpack(NET_HIDDEN, (int)net->x_rows, t->x_grad, g + NET_LSTM, ld);
    trainer_ready(t, o, T_WEIGHT(1));
    trainer_ready(t, o, T_BIAS(1));
    GemmEnd end = {.out = t->dh, .out_rows = t->rows};
    matrix_gemm(t->k, &t->dense1_back, rows, trainer_operand(t, dy), t->rows, &end);
}

void trainer_dense_back(Trainer *t, const Out *o) {
    dense6_back(t, o);
    dense1_back(t, o, square_back(t, o));
}
