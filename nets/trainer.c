/* trainer.c - loss and gradient of a batch, layer by layer over the whole batch.
 *
 * Rows are padded to an even number R; the padding is a sample without ones and with dq = 0, which
 * adds nothing to any gradient. The LSTM keeps its five steps one after another in the same panels
 * (row t R + r), so that its input sums and weight gradients are one operation each. Inputs are
 * sums of few rows (places.h): forward sums rows of weights per sample, backward sums rows of
 * gradients per weight row, with the lists of places turned round. */
#include "nets/trainer.h"
#include "nets/packed.h"
#include "nets/places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

    Places steps, states;
    Panels gates, h;         /* 5 R rows */
    float *c;                /* 5 R rows */
    float *dh, *dc;          /* R rows */
    Panels a[NET_DENSE - 1]; /* outputs of dense1..dense5 */
    Panels dy[2];            /* gradient before relu of the layer at hand, and the next */
    float *q, *dq;
    float *ih_grad, *x_grad;      /* of prefix rows, as PackedNet.ih and .x */
    uint32_t *x_pairs, *dy_pairs; /* row pairs for wgrad_bf16 */
    void *scratch;                /* [512][512] bf16 */
    Block block;
};

static size_t rows_for(int n) { return ((size_t)n + 1) / 2 * 2; }

/* ---- memory ---- */

static void panels_take(Panels *p, Block *b, size_t rows, size_t cols, bool f32, bool bf16) {
    if (f32) p->f32 = block_take(b, rows * cols, sizeof(float));
    if (bf16) p->bf16 = block_take(b, rows * cols, sizeof(uint16_t));
}

static void places_take(Places *p, Block *b, size_t rows, size_t per_row, size_t n_places) {
    p->start = block_take(b, rows + 1, sizeof(uint32_t));
    p->index = block_take(b, rows * per_row, sizeof(uint32_t));
    p->at_start = block_take(b, n_places + 2, sizeof(uint32_t));
    p->at_row = block_take(b, rows * per_row, sizeof(uint32_t));
}

static void layout(Trainer *t) {
    Block *b = &t->block;
    size_t rows = rows_for(t->max_rows), all = OBS_STEPS * rows, x_rows = t->net->x_rows;
    Precision p = t->half ? PRECISION_BF16 : PRECISION_FP32;
    matrix_take(&t->hh_back, b, NET_LSTM, NET_GATES, p);
    matrix_take(&t->dense1_back, b, NET_LSTM, NET_HIDDEN, p);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_take(&t->hidden_back[i], b, NET_HIDDEN, NET_HIDDEN, p);
    places_take(&t->steps, b, all, STEP_PLACES, STEP_DIM);
    places_take(&t->states, b, rows, STATE_PLACES + SET_PLACES, x_rows);
    panels_take(&t->gates, b, all, NET_GATES, true, t->half);
    panels_take(&t->h, b, all, NET_LSTM, !t->half, t->half);
    t->c = block_take(b, all * NET_LSTM, sizeof(float));
    t->dh = block_take(b, rows * NET_LSTM, sizeof(float));
    t->dc = block_take(b, rows * NET_LSTM, sizeof(float));
    /* fp32 of dense1 is summed up in pieces, that of dense5 meets the last layer. */
    for (int i = 0; i < NET_DENSE - 1; i++) {
        bool end = i == 0 || i == NET_DENSE - 2;
        panels_take(&t->a[i], b, rows, NET_HIDDEN, !t->half || end, t->half);
    }
    for (int i = 0; i < 2; i++)
        panels_take(&t->dy[i], b, rows, NET_HIDDEN, !t->half || i == 0, t->half);
    t->q = block_take(b, rows, sizeof(float));
    t->dq = block_take(b, rows, sizeof(float));
    t->ih_grad = block_take(b, NET_GATES * STEP_DIM, sizeof(float));
    t->x_grad = block_take(b, NET_HIDDEN * x_rows, sizeof(float));
    if (t->half) {
        t->x_pairs = block_take(b, rows / 2 * NET_HIDDEN, /* and 4 rows of h */ sizeof(uint32_t));
        t->dy_pairs = block_take(b, all / 2 * NET_GATES, sizeof(uint32_t));
    }
    t->scratch = block_take(b, NET_HIDDEN * NET_HIDDEN, sizeof(uint16_t));
}

Status trainer_new(Role role, Precision p, const KernelTable *k, int max_batch, Trainer **out) {
    if (p == PRECISION_INT8 || !precision_usable(k, p)) return ST_UNSUPPORTED;
    if (max_batch < 1) return ST_INVALID;
    Trainer *t = calloc(1, sizeof *t);
    if (!t) return ST_NOMEM;
    Status st;
    t->k = k;
    t->half = p == PRECISION_BF16;
    t->max_rows = max_batch;
    TRY_TO(st, packednet_new(role, p, k, &t->net), free_trainer);
    layout(t);
    TRY_TO(st, block_make(&t->block), free_net);
    layout(t);
    *out = t;
    return ST_OK;
free_net:
    packednet_free(t->net);
free_trainer:
    free(t);
    return st;
}

void trainer_free(Trainer *t) {
    if (!t) return;
    packednet_free(t->net);
    block_free(&t->block);
    free(t);
}

static const NetTensor *tensors(const Trainer *t) { return t->net->layout->tensor; }

void trainer_set(Trainer *t, const float *params) {
    const NetTensor *tensor = tensors(t);
    packednet_set(t->net, params);
    matrix_pack_back(t->k, &t->hh_back, params + tensor[T_WEIGHT_HH].offset, NET_LSTM, t->scratch);
    matrix_pack_back(t->k, &t->dense1_back, params + tensor[T_WEIGHT(1)].offset,
                     NET_LSTM + t->net->x_rows, t->scratch);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_pack_back(t->k, &t->hidden_back[i], params + tensor[T_WEIGHT(i + 2)].offset,
                         NET_HIDDEN, t->scratch);
}

/* ---- panels ---- */

static Panels panels_row(Panels p, size_t row) {
    if (p.f32) p.f32 += row * PANEL;
    if (p.bf16) p.bf16 += row * PANEL;
    return p;
}

/* What products read. */
static const void *operand(const Trainer *t, Panels p) {
    return t->half ? (const void *)p.bf16 : (const void *)p.f32;
}

/* g[N][ldg] = sum over rows of dy x^T. */
static void weight_gradient(Trainer *t, int rows, int N, int K, Panels dy, size_t dy_rows, Panels x,
                            size_t x_rows, float *g, size_t ldg) {
    if (!t->half) {
        t->k->wgrad(rows, N, K, dy.f32, dy_rows, x.f32, x_rows, g, ldg, false);
        return;
    }
    size_t pairs = (size_t)rows / 2;
    t->k->pair16(N / PANEL, rows, dy.bf16, dy_rows * PANEL, PANEL, t->dy_pairs, pairs);
    t->k->pair16(K / PANEL, rows, x.bf16, x_rows * PANEL, PANEL, t->x_pairs, pairs);
    t->k->wgrad_bf16((int)pairs, N, K, t->dy_pairs, pairs, t->x_pairs, pairs, g, ldg, false);
}

/* ---- places ---- */

/* rows by place out of places by row: a counting sort. */
static void places_turn(Places *p, size_t rows, size_t n_places) {
    uint32_t *next = p->at_start + 1; /* next[i]: where place i's next row goes */
    memset(p->at_start, 0, (n_places + 2) * sizeof *p->at_start);
    for (uint32_t e = 0; e < p->start[rows]; e++) next[p->index[e] + 1]++;
    for (size_t i = 0; i < n_places; i++) next[i + 1] += next[i];
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t e = p->start[r]; e < p->start[r + 1]; e++) p->at_row[next[p->index[e]]++] = r;
}

static void find_places(Trainer *t, int n, const Sample *samples) {
    size_t rows = rows_for(n);
    uint32_t *end = t->steps.index;
    for (size_t i = 0; i < OBS_STEPS * rows; i++) {
        size_t r = i % rows;
        t->steps.start[i] = (uint32_t)(end - t->steps.index);
        if (r < (size_t)n) end = places_step(&samples[r].obs, (int)(i / rows), end);
    }
    t->steps.start[OBS_STEPS * rows] = (uint32_t)(end - t->steps.index);
    places_turn(&t->steps, OBS_STEPS * rows, STEP_DIM);

    end = t->states.index;
    for (size_t r = 0; r < rows; r++) {
        t->states.start[r] = (uint32_t)(end - t->states.index);
        if (r >= (size_t)n) continue;
        end = places_state(&samples[r].obs, end);
        end = places_cards(samples[r].action, (uint32_t)t->net->layout->x_dim, end);
    }
    t->states.start[rows] = (uint32_t)(end - t->states.index);
    places_turn(&t->states, rows, t->net->x_rows);
}

/* ---- forward ---- */

static LstmStep step_at(const Trainer *t, size_t rows, size_t step) {
    size_t at = step * rows * PANEL;
    Panels h = panels_row(t->h, step * rows);
    return (LstmStep){.gates = t->gates.f32 + at,
                      .c_prev = step ? t->c + at - rows * PANEL : NULL,
                      .c = t->c + at,
                      .h = h.f32,
                      .h16 = h.bf16,
                      .rows_stride = OBS_STEPS * rows,
                      .dh = t->dh,
                      .dc = t->dc,
                      .d_rows = rows};
}

static void forward_lstm(Trainer *t, size_t rows) {
    const PackedNet *net = t->net;
    size_t all = OBS_STEPS * rows;
    SparseSum input = {.n_panels = GATE_PANELS,
                       .x = net->ih,
                       .x_rows = STEP_DIM,
                       .start = t->steps.start,
                       .index = t->steps.index,
                       .base = net->gate_start,
                       .base_rows = STARTS,
                       .out = t->gates.f32,
                       .out_rows = all};
    t->k->sparse_sum((int)all, &input);
    for (size_t step = 0; step < OBS_STEPS; step++) {
        LstmStep s = step_at(t, rows, step);
        GemmEnd add = {.add = true, .out = s.gates, .out_rows = all};
        if (step)
            matrix_gemm(t->k, &net->hh, (int)rows, operand(t, panels_row(t->h, (step - 1) * rows)),
                        all, &add);
        t->k->lstm_step((int)rows, &s);
    }
}

static void forward_dense(Trainer *t, size_t rows) {
    const PackedNet *net = t->net;
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = net->x,
                     .x_rows = net->x_rows,
                     .start = t->states.start,
                     .index = t->states.index,
                     .base = net->bias[0],
                     .base_rows = 1,
                     .out = t->a[0].f32,
                     .out_rows = rows};
    t->k->sparse_sum((int)rows, &sum);
    Panels last_h = panels_row(t->h, (OBS_STEPS - 1) * rows);
    GemmEnd end = {
        .add = true, .relu = true, .out = t->a[0].f32, .out16 = t->a[0].bf16, .out_rows = rows};
    matrix_gemm(t->k, &net->dense1_h, (int)rows, operand(t, last_h), OBS_STEPS * rows, &end);
    for (int i = 0; i < N_HIDDEN; i++) {
        Panels out = t->a[i + 1];
        end = (GemmEnd){.bias = net->bias[i + 1],
                        .relu = true,
                        .out = out.f32,
                        .out_rows = rows,
                        .out16 = i < N_HIDDEN - 1 ? out.bf16 : NULL};
        matrix_gemm(t->k, &net->hidden[i], (int)rows, operand(t, t->a[i]), rows, &end);
    }
    t->k->head(HIDDEN_PANELS, (int)rows, t->a[N_HIDDEN].f32, rows, net->w6, net->b6, t->q);
}

/* Fills dq, returns the loss. */
static double loss(Trainer *t, int n, const Sample *samples, double divisor) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        double error = (double)t->q[i] - (double)samples[i].target, w = (double)samples[i].weight;
        sum += w * error * error;
        t->dq[i] = (float)(2 * w * error / divisor);
    }
    if (n % 2) t->dq[n] = 0;
    return sum / divisor;
}

/* ---- backward ---- */

typedef struct {
    float *grad;
    GradientReady ready;
    void *ctx;
} Out;

static float *tensor_grad(const Trainer *t, const Out *o, int tensor) {
    return o->grad + tensors(t)[tensor].offset;
}

static void tensor_ready(const Trainer *t, const Out *o, int tensor) {
    if (o->ready) o->ready(o->ctx, tensors(t)[tensor].offset, tensors(t)[tensor].size);
}

static void bias_gradient(Trainer *t, int rows, Panels dy, float *g) {
    if (t->half && !dy.f32) t->k->col_sum16(HIDDEN_PANELS, rows, dy.bf16, (size_t)rows, g);
    else t->k->col_sum(HIDDEN_PANELS, rows, dy.f32, (size_t)rows, NULL, g);
}

/* dense6..dense2; leaves the gradient before dense1's relu in dy[0], in fp32 too. */
static void backward_dense(Trainer *t, int rows, const Out *o) {
    const KernelTable *k = t->k;
    size_t stride = (size_t)rows;
    const float *a5 = t->a[N_HIDDEN].f32;
    k->col_sum(HIDDEN_PANELS, rows, a5, stride, t->dq, tensor_grad(t, o, T_WEIGHT(6)));
    double sum = 0;
    for (int r = 0; r < rows; r++) sum += (double)t->dq[r];
    *tensor_grad(t, o, T_BIAS(6)) = (float)sum;
    tensor_ready(t, o, T_WEIGHT(6));
    tensor_ready(t, o, T_BIAS(6));

    Panels dy = t->dy[0], next = t->dy[1];
    if (t->half) dy.f32 = next.f32 = NULL;
    k->head_back(HIDDEN_PANELS, rows, a5, stride, t->net->w6, t->dq, dy.f32, dy.bf16, stride);
    for (int i = N_HIDDEN - 1; i >= 0; i--) {
        int weight = T_WEIGHT(i + 2), bias = T_BIAS(i + 2);
        bias_gradient(t, rows, dy, tensor_grad(t, o, bias));
        weight_gradient(t, rows, NET_HIDDEN, NET_HIDDEN, dy, stride, t->a[i], stride,
                        tensor_grad(t, o, weight), NET_HIDDEN);
        tensor_ready(t, o, weight);
        tensor_ready(t, o, bias);
        if (i == 0) next.f32 = t->dy[0].f32;
        GemmEnd end = {.mask = t->half ? NULL : t->a[i].f32,
                       .mask16 = t->half ? t->a[i].bf16 : NULL,
                       .out = next.f32,
                       .out16 = next.bf16,
                       .out_rows = stride};
        matrix_gemm(k, &t->hidden_back[i], rows, operand(t, dy), stride, &end);
        Panels was = dy;
        dy = next;
        next = was;
    }
}

/* Sums over rows of gradient panels per place, back from prefix rows to rows, into row-major g. */
static void places_gradient(Trainer *t, const Places *places, const float *dy, size_t dy_rows,
                            size_t n_places, float *sums) {
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = dy,
                     .x_rows = dy_rows,
                     .start = places->at_start,
                     .index = places->at_row,
                     .out = sums,
                     .out_rows = n_places};
    t->k->sparse_sum((int)n_places, &sum);
}

/* From dy[0] to dense1's gradients and dL/dh of the last step. */
static void backward_dense1(Trainer *t, int rows, const Out *o) {
    const PackedNet *net = t->net;
    Panels dy = t->dy[0];
    size_t stride = (size_t)rows, ld = NET_LSTM + net->x_rows;
    float *g = tensor_grad(t, o, T_WEIGHT(1));
    bias_gradient(t, rows, dy, tensor_grad(t, o, T_BIAS(1)));
    weight_gradient(t, rows, NET_HIDDEN, NET_LSTM, dy, stride,
                    panels_row(t->h, (OBS_STEPS - 1) * stride), OBS_STEPS * stride, g, ld);
    places_gradient(t, &t->states, dy.f32, stride, net->x_rows, t->x_grad);
    rows_suffix(t->x_grad, HIDDEN_PANELS, net->x_rows, 0,
                net->layout->role == ROLE_LANDLORD ? 5 : 7);
    rows_suffix(t->x_grad, HIDDEN_PANELS, net->x_rows, (size_t)net->layout->x_dim, 1);
    t->k->unpack(NET_HIDDEN, (int)net->x_rows, t->x_grad, g + NET_LSTM, ld);
    tensor_ready(t, o, T_WEIGHT(1));
    tensor_ready(t, o, T_BIAS(1));
    GemmEnd end = {.out = t->dh, .out_rows = stride};
    matrix_gemm(t->k, &t->dense1_back, rows, operand(t, dy), stride, &end);
}

static void backward_lstm(Trainer *t, int n, const Out *o) {
    const KernelTable *k = t->k;
    size_t rows = (size_t)n, all = OBS_STEPS * rows;
    memset(t->dc, 0, rows * NET_LSTM * sizeof(float));
    for (size_t step = OBS_STEPS; step-- > 0;) {
        LstmStep s = step_at(t, rows, step);
        k->lstm_back(n, &s);
        Panels gates = panels_row(t->gates, step * rows);
        for (size_t p = 0; p < GATE_PANELS && t->half; p++)
            k->to_bf16(rows * PANEL, gates.f32 + p * all * PANEL, gates.bf16 + p * all * PANEL);
        GemmEnd end = {.out = t->dh, .out_rows = rows};
        if (step) matrix_gemm(k, &t->hh_back, n, operand(t, gates), all, &end);
    }
    float *bias = tensor_grad(t, o, T_BIAS_IH);
    k->col_sum(GATE_PANELS, (int)all, t->gates.f32, all, NULL, bias);
    memcpy(tensor_grad(t, o, T_BIAS_HH), bias, NET_GATES * sizeof(float));
    weight_gradient(t, (int)(all - rows), NET_GATES, NET_LSTM, panels_row(t->gates, rows), all,
                    t->h, all, tensor_grad(t, o, T_WEIGHT_HH), NET_LSTM);
    places_gradient(t, &t->steps, t->gates.f32, all, STEP_DIM, t->ih_grad);
    rows_suffix(t->ih_grad, GATE_PANELS, STEP_DIM, 0, 3);
    k->unpack(NET_GATES, STEP_DIM, t->ih_grad, tensor_grad(t, o, T_WEIGHT_IH), STEP_DIM);
    for (int tensor = T_BIAS_HH; tensor >= T_WEIGHT_IH; tensor--) tensor_ready(t, o, tensor);
}

double trainer_step(Trainer *t, int n, const Sample *samples, double divisor, float *grad,
                    GradientReady ready, void *ctx) {
    assert(n >= 0 && n <= t->max_rows);
    size_t rows = rows_for(n);
    Out out = {grad, ready, ctx};
    find_places(t, n, samples);
    forward_lstm(t, rows);
    forward_dense(t, rows);
    double sum = loss(t, n, samples, divisor);
    backward_dense(t, (int)rows, &out);
    backward_dense1(t, (int)rows, &out);
    backward_lstm(t, (int)rows, &out);
    return sum;
}
