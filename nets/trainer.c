/* trainer.c - loss and gradient of a batch: memory, samples, and the order of things.
 *
 * Inputs are sums of few rows (places.h): forward sums rows of weights per sample, backward sums
 * rows of gradients per weight row, with the lists of places turned round. trainer_parts.h says how
 * the rest is laid out.                                                                      */
#include "nets/trainer.h"
#include "nets/trainer_parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
    size_t rows = (size_t)t->max_rows, all = OBS_STEPS * rows, x_rows = t->net->x_rows;
    Precision p = t->half ? PRECISION_BF16 : PRECISION_FP32;
    matrix_take(&t->hh_back, b, NET_LSTM, NET_GATES, p);
    matrix_take(&t->dense1_back, b, NET_LSTM, NET_HIDDEN, p);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_take(&t->hidden_back[i], b, NET_HIDDEN, NET_HIDDEN, p);
    t->sorted = block_take(b, rows, sizeof *t->sorted);
    places_take(&t->steps, b, all, STEP_PLACES, STEP_DIM);
    places_take(&t->states, b, rows, STATE_PLACES + SET_PLACES, x_rows);
    t->step_base = block_take(b, all, sizeof(uint32_t));
    panels_take(&t->gates, b, all, NET_GATES, true, t->half);
    panels_take(&t->h, b, all, NET_LSTM, !t->half, t->half);
    t->c = block_take(b, all * NET_LSTM, sizeof(float));
    t->dh = block_take(b, rows * NET_LSTM, sizeof(float));
    t->dc = block_take(b, rows * NET_LSTM, sizeof(float));
    panels_take(&t->zero_gates, b, STARTS, NET_GATES, true, t->half);
    t->zero_dh = block_take(b, STARTS * NET_LSTM, sizeof(float));
    t->zero_dc = block_take(b, STARTS * NET_LSTM, sizeof(float));
    /* fp32 of dense1 is summed up in pieces, that of dense5 meets the last layer. */
    for (int i = 0; i < NET_DENSE - 1; i++) {
        bool end = i == 0 || i == NET_DENSE - 2;
        panels_take(&t->a[i], b, rows, NET_HIDDEN, !t->half || end, t->half);
    }
    for (int i = 0; i < 2; i++) panels_take(&t->dy[i], b, rows, NET_HIDDEN, !t->half, t->half);
    t->q = block_take(b, rows, sizeof(float));
    t->dq = block_take(b, rows, sizeof(float));
    t->ih_grad = block_take(b, NET_GATES * STEP_DIM, sizeof(float));
    t->x_grad = block_take(b, NET_HIDDEN * x_rows, sizeof(float));
    if (t->half) {
        t->x_pairs = block_take(b, (rows + 1) / 2 * NET_HIDDEN, sizeof(uint32_t));
        t->dy_pairs = block_take(b, (rows + 1) / 2 * NET_HIDDEN, sizeof(uint32_t));
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

void trainer_set(Trainer *t, const float *params) {
    const NetTensor *tensor = trainer_tensors(t);
    packednet_set(t->net, params);
    matrix_pack_back(t->k, &t->hh_back, params + tensor[T_WEIGHT_HH].offset, NET_LSTM, t->scratch);
    matrix_pack_back(t->k, &t->dense1_back, params + tensor[T_WEIGHT(1)].offset,
                     NET_LSTM + t->net->x_rows, t->scratch);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_pack_back(t->k, &t->hidden_back[i], params + tensor[T_WEIGHT(i + 2)].offset,
                         NET_HIDDEN, t->scratch);
}

/* ---- gradients ---- */

void trainer_ready(const Trainer *t, const Out *o, int tensor) {
    const NetTensor *slice = &trainer_tensors(t)[tensor];
    if (o->ready) o->ready(o->ctx, slice->offset, slice->size);
}

void trainer_weight_gradient(Trainer *t, int rows, int N, int K, Panels dy, size_t dy_rows,
                             Panels x, size_t x_rows, float *g, size_t ldg, bool add) {
    if (!t->half) {
        t->k->wgrad(rows, N, K, dy.f32, dy_rows, x.f32, x_rows, g, ldg, add);
        return;
    }
    size_t pairs = ((size_t)rows + 1) / 2;
    t->k->pair16(N / PANEL, rows, dy.bf16, dy_rows * PANEL, PANEL, t->dy_pairs, pairs);
    t->k->pair16(K / PANEL, rows, x.bf16, x_rows * PANEL, PANEL, t->x_pairs, pairs);
    t->k->wgrad_bf16((int)pairs, N, K, t->dy_pairs, pairs, t->x_pairs, pairs, g, ldg, add);
}

void trainer_bias_gradient(Trainer *t, int n_panels, int rows, Panels dy, size_t dy_rows,
                           float *out) {
    if (t->half) t->k->col_sum16(n_panels, rows, dy.bf16, dy_rows, out);
    else t->k->col_sum(n_panels, rows, dy.f32, dy_rows, NULL, out);
}

void trainer_places_gradient(Trainer *t, const Places *places, Panels dy, size_t dy_rows,
                             size_t n_places, float *sums) {
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = t->half ? NULL : dy.f32,
                     .x16 = dy.bf16,
                     .x_rows = dy_rows,
                     .start = places->at_start,
                     .index = places->at_row,
                     .out = sums,
                     .out_rows = n_places};
    t->k->sparse_sum((int)n_places, &sum);
}

/* ---- samples ---- */

static void sort_samples(Trainer *t, int n, const Sample *samples) {
    int next[STARTS + 1] = {0};
    for (int i = 0; i < n; i++) next[places_zero_steps(&samples[i].obs) + 1]++;
    for (int z = 0; z < STARTS; z++) next[z + 1] += next[z];
    for (int z = 0; z < OBS_STEPS; z++) t->active[z] = next[z + 1];
    for (int i = 0; i < n; i++) t->sorted[next[places_zero_steps(&samples[i].obs)]++] = &samples[i];
}

/* rows by place out of places by row: a counting sort. */
static void places_turn(Places *p, size_t rows, size_t n_places) {
    uint32_t *next = p->at_start + 1; /* next[i]: where place i's next row goes */
    memset(p->at_start, 0, (n_places + 2) * sizeof *p->at_start);
    for (uint32_t e = 0; e < p->start[rows]; e++) next[p->index[e] + 1]++;
    for (size_t i = 0; i < n_places; i++) next[i + 1] += next[i];
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t e = p->start[r]; e < p->start[r + 1]; e++) p->at_row[next[p->index[e]]++] = r;
}

static void find_steps(Trainer *t) {
    Places *p = &t->steps;
    uint32_t *end = p->index;
    for (size_t step = 0, i = 0; step < OBS_STEPS; step++)
        for (size_t r = 0; r < t->rows; r++, i++) {
            bool fresh = step > 0 && r >= (size_t)t->active[step - 1];
            p->start[i] = (uint32_t)(end - p->index);
            t->step_base[i] = fresh ? (uint32_t)step : 0;
            end = places_step(&t->sorted[r]->obs, (int)step, end);
        }
    p->start[OBS_STEPS * t->rows] = (uint32_t)(end - p->index);
    places_turn(p, OBS_STEPS * t->rows, STEP_DIM);
}

static void find_states(Trainer *t) {
    Places *p = &t->states;
    uint32_t *end = p->index;
    for (size_t r = 0; r < t->rows; r++) {
        p->start[r] = (uint32_t)(end - p->index);
        end = places_state(&t->sorted[r]->obs, end);
        end = places_cards(t->sorted[r]->action, (uint32_t)t->net->layout->x_dim, end);
    }
    p->start[t->rows] = (uint32_t)(end - p->index);
    places_turn(p, t->rows, t->net->x_rows);
}

/* Fills dq, returns the loss. */
static double loss(Trainer *t, double divisor) {
    double sum = 0;
    for (size_t r = 0; r < t->rows; r++) {
        double w = (double)t->sorted[r]->weight;
        double error = (double)t->q[r] - (double)t->sorted[r]->target;
        sum += w * error * error;
        t->dq[r] = (float)(2 * w * error / divisor);
    }
    return sum / divisor;
}

double trainer_step(Trainer *t, int n, const Sample *samples, double divisor, float *grad,
                    GradientReady ready, void *ctx) {
    assert(n >= 0 && n <= t->max_rows);
    Out out = {grad, ready, ctx};
    t->rows = (size_t)n;
    sort_samples(t, n, samples);
    find_steps(t);
    find_states(t);
    trainer_lstm_forward(t);
    trainer_dense_forward(t);
    double sum = loss(t, divisor);
    trainer_dense_back(t, &out);
    trainer_lstm_back(t, &out);
    return sum;
}
