/* packed.c - from the flat parameters to the layouts of the kernels.
 *
 * Everything that depends on the weights alone is computed here, once per version: prefix rows of
 * all card sets, the LSTM's state after zero steps, scales of int8 rows.                     */
#include "nets/packed.h"
#include "nets/places.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[N_PRECISIONS] = {"fp32", "bf16", "int8"};

const char *precision_name(Precision p) { return names[p]; }

int precision_find(const char *name) {
    for (int i = 0; i < N_PRECISIONS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

bool precision_usable(const KernelTable *k, Precision p) {
    return p == PRECISION_FP32 || (p == PRECISION_BF16 && k->gemm_bf16) ||
           (p == PRECISION_INT8 && k->gemm_i8);
}

void matrix_take(Matrix *m, Block *b, int n, int k, Precision p) {
    size_t size = (size_t)n * (size_t)k;
    *m = (Matrix){.n = n, .k = k};
    if (p == PRECISION_FP32) m->f32 = block_take(b, size, sizeof(float));
    if (p == PRECISION_BF16) m->bf16 = block_take(b, size, sizeof(uint16_t));
    if (p == PRECISION_INT8) {
        m->i8 = block_take(b, size, sizeof(int8_t));
        m->scale = block_take(b, (size_t)n, sizeof(float));
    }
}

void matrix_pack(const KernelTable *t, Matrix *m, const float *w, size_t ld, void *scratch) {
    size_t k = (size_t)m->k;
    if (m->f32) {
        t->pack(m->n, m->k, w, ld, m->f32);
    } else if (m->bf16) {
        uint16_t *rows = scratch;
        for (size_t i = 0; i < (size_t)m->n; i++) t->to_bf16(k, w + i * ld, rows + i * k);
        t->pack(m->n, m->k / 2, rows, k / 2, m->bf16);
    } else {
        int8_t *rows = scratch;
        for (size_t i = 0; i < (size_t)m->n; i++)
            m->scale[i] = t->to_int8(k, w + i * ld, rows + i * k);
        t->pack(m->n, m->k / 4, rows, k / 4, m->i8);
    }
}

void matrix_pack_back(const KernelTable *t, Matrix *m, const float *w, size_t ld, void *scratch) {
    size_t n = (size_t)m->n, k = (size_t)m->k;
    if (m->f32) {
        for (size_t p = 0; p < n / PANEL; p++)
            for (size_t i = 0; i < k; i++)
                memcpy(m->f32 + (p * k + i) * PANEL, w + i * ld + p * PANEL, PANEL * sizeof(float));
        return;
    }
    uint16_t *rows = scratch;
    for (size_t i = 0; i < k; i++) t->to_bf16(n, w + i * ld, rows + i * n);
    t->pair16((int)(n / PANEL), (int)k, rows, PANEL, n, (uint32_t *)m->bf16, k / 2);
}

void matrix_gemm(const KernelTable *k, const Matrix *m, int rows, const void *a, size_t a_rows,
                 const GemmEnd *end) {
    if (m->f32) k->gemm(rows, m->k, m->n, a, a_rows, m->f32, end);
    else k->gemm_bf16(rows, m->k, m->n, a, a_rows, m->bf16, end);
}

static void layout(PackedNet *net) {
    Block *b = &net->block;
    /* The LSTM is a twentieth of the work: where bf16 is fast it is used, int8 never. */
    Precision small =
        net->precision != PRECISION_FP32 && net->k->gemm_bf16 ? PRECISION_BF16 : PRECISION_FP32;
    net->ih = block_take(b, (size_t)NET_GATES * STEP_DIM, sizeof(float));
    net->x = block_take(b, NET_HIDDEN * net->x_rows, sizeof(float));
    if (net->precision != PRECISION_FP32) {
        net->ih16 = block_take(b, (size_t)NET_GATES * STEP_DIM, sizeof(uint16_t));
        net->x16 = block_take(b, NET_HIDDEN * net->x_rows, sizeof(uint16_t));
    }
    matrix_take(&net->hh, b, NET_GATES, NET_LSTM, small);
    matrix_take(&net->dense1_h, b, NET_HIDDEN, NET_LSTM, small);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_take(&net->hidden[i], b, NET_HIDDEN, NET_HIDDEN, net->precision);
    for (int i = 0; i < NET_DENSE - 1; i++) net->bias[i] = block_take(b, NET_HIDDEN, sizeof(float));
    net->w6 = block_take(b, NET_HIDDEN, sizeof(float));
    net->gate_start = block_take(b, NET_GATES * STARTS, sizeof(float));
    net->gate_zero = block_take(b, NET_GATES * STARTS, sizeof(float));
    net->h_start = block_take(b, NET_LSTM * STARTS, sizeof(float));
    net->c_start = block_take(b, NET_LSTM * STARTS, sizeof(float));
    net->scratch = block_take(b, NET_HIDDEN * NET_HIDDEN, sizeof(uint16_t));
    net->gates = block_take(b, NET_GATES, sizeof(float));
}

Status packednet_new(Role role, Precision p, const KernelTable *k, PackedNet **out) {
    if (!precision_usable(k, p)) return ST_UNSUPPORTED;
    PackedNet *net = calloc(1, sizeof *net);
    if (!net) return ST_NOMEM;
    net->k = k;
    net->layout = net_layout(role);
    net->precision = p;
    net->x_rows = (size_t)net->layout->x_dim + CARDS_DIM;
    layout(net);
    Status st = block_make(&net->block);
    if (st != ST_OK) {
        free(net);
        return st;
    }
    layout(net);
    *out = net;
    return ST_OK;
}

void packednet_free(PackedNet *net) {
    if (!net) return;
    block_free(&net->block);
    free(net);
}

/* Row r of n_panels panels of STARTS rows. */
static void put_row(float *panels, size_t n_panels, size_t r, const float *row) {
    for (size_t p = 0; p < n_panels; p++)
        memcpy(panels + (p * STARTS + r) * PANEL, row + p * PANEL, PANEL * sizeof(float));
}

/* Runs the LSTM over zero inputs and keeps every state on the way. */
static void zero_steps(PackedNet *net, const float *params) {
    const NetTensor *t = net->layout->tensor;
    const float *bias_ih = params + t[T_BIAS_IH].offset, *bias_hh = params + t[T_BIAS_HH].offset;
    float h[NET_LSTM] = {0}, c[NET_LSTM] = {0};
    uint16_t h16[NET_LSTM];
    for (size_t s = 0; s < STARTS; s++) {
        GemmEnd add = {.add = true, .out = net->gates, .out_rows = 1};
        for (int i = 0; i < NET_GATES; i++) net->gates[i] = bias_ih[i] + bias_hh[i];
        if (s > 0) matrix_gemm(net->k, &net->hh, 1, net->hh.f32 ? (void *)h : (void *)h16, 1, &add);
        put_row(net->gate_start, GATE_PANELS, s, net->gates);
        put_row(net->h_start, STATE_PANELS, s, h);
        put_row(net->c_start, STATE_PANELS, s, c);
        LstmStep step = {
            .gates = net->gates, .c_prev = c, .c = c, .h = h, .h16 = h16, .rows_stride = 1};
        net->k->lstm_step(1, &step);
        put_row(net->gate_zero, GATE_PANELS, s, net->gates);
    }
}

void packednet_set(PackedNet *net, const float *params) {
    const KernelTable *k = net->k;
    const NetTensor *t = net->layout->tensor;
    const float *dense1 = params + t[T_WEIGHT(1)].offset;
    size_t ld1 = NET_LSTM + net->x_rows;
    int n_sets = net->layout->role == ROLE_LANDLORD ? 5 : 7;

    k->pack(NET_GATES, STEP_DIM, params + t[T_WEIGHT_IH].offset, STEP_DIM, net->ih);
    rows_prefix(net->ih, GATE_PANELS, STEP_DIM, 0, 3);
    k->pack(NET_HIDDEN, (int)net->x_rows, dense1 + NET_LSTM, ld1, net->x);
    rows_prefix(net->x, HIDDEN_PANELS, net->x_rows, 0, n_sets);
    rows_prefix(net->x, HIDDEN_PANELS, net->x_rows, (size_t)net->layout->x_dim, 1);

    if (net->x16) {
        k->to_bf16((size_t)NET_GATES * STEP_DIM, net->ih, net->ih16);
        k->to_bf16(NET_HIDDEN * net->x_rows, net->x, net->x16);
    }

    matrix_pack(k, &net->hh, params + t[T_WEIGHT_HH].offset, NET_LSTM, net->scratch);
    matrix_pack(k, &net->dense1_h, dense1, ld1, net->scratch);
    for (int i = 0; i < N_HIDDEN; i++)
        matrix_pack(k, &net->hidden[i], params + t[T_WEIGHT(i + 2)].offset, NET_HIDDEN,
                    net->scratch);
    for (int i = 0; i < NET_DENSE - 1; i++)
        memcpy(net->bias[i], params + t[T_BIAS(i + 1)].offset, NET_HIDDEN * sizeof(float));
    memcpy(net->w6, params + t[T_WEIGHT(6)].offset, NET_HIDDEN * sizeof(float));
    net->b6 = params[t[T_BIAS(6)].offset];
    zero_steps(net, params);
}
