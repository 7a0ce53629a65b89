/* scorer.c - Q of many decisions at once.
 *
 * Decisions are sorted by how many zero steps their history begins with, so that the ones active in
 * an LSTM step are always the first m rows: a newly active one starts from the state that the
 * weights alone determine, and its first product is already part of gate_start. Actions of all
 * decisions then pass through the hidden layers in blocks of ROWS rows.                      */
#include "nets/packed.h"
#include "nets/places.h"

#include <stdlib.h>
#include <string.h>

enum {
    DECISIONS = 256, /* at once */
    ROWS = 192,      /* actions at once: both activation blocks stay in the second cache */
    SLICE = 12,      /* int8: rows between a product and their next scale, in the first cache */
};

struct Scorer {
    const KernelTable *k;
    int pos[DECISIONS];             /* decision -> row */
    const Obs *sorted[DECISIONS];   /* row -> decision */
    int active[OBS_STEPS];          /* rows active in step t */
    uint32_t *start, *index, *base; /* of a SparseSum */
    float *gates, *c, *h;           /* panels of DECISIONS rows */
    uint16_t *h16;
    float *state;    /* the same: dense1 before the action and relu */
    float *in, *out; /* panels of ROWS rows */
    uint16_t *in16, *out16;
    uint8_t *in8, *out8;
    float *in_scale, *out_scale; /* [ROWS] */
    float *slice;                /* panels of SLICE rows */
    Block block;
};

static void layout(Scorer *s) {
    Block *b = &s->block;
    s->start = block_take(b, DECISIONS + 1, sizeof(uint32_t));
    s->index = block_take(b, (size_t)DECISIONS * STATE_PLACES, sizeof(uint32_t));
    s->base = block_take(b, DECISIONS, sizeof(uint32_t));
    s->gates = block_take(b, (size_t)DECISIONS * NET_GATES, sizeof(float));
    s->c = block_take(b, (size_t)DECISIONS * NET_LSTM, sizeof(float));
    s->h = block_take(b, (size_t)DECISIONS * NET_LSTM, sizeof(float));
    s->h16 = block_take(b, (size_t)DECISIONS * NET_LSTM, sizeof(uint16_t));
    s->state = block_take(b, (size_t)DECISIONS * NET_HIDDEN, sizeof(float));
    s->in = block_take(b, ROWS * NET_HIDDEN, sizeof(float));
    s->out = block_take(b, ROWS * NET_HIDDEN, sizeof(float));
    s->in16 = block_take(b, ROWS * NET_HIDDEN, sizeof(uint16_t));
    s->out16 = block_take(b, ROWS * NET_HIDDEN, sizeof(uint16_t));
    s->in8 = block_take(b, ROWS * NET_HIDDEN, sizeof(uint8_t));
    s->out8 = block_take(b, ROWS * NET_HIDDEN, sizeof(uint8_t));
    s->in_scale = block_take(b, ROWS, sizeof(float));
    s->out_scale = block_take(b, ROWS, sizeof(float));
    s->slice = block_take(b, SLICE * NET_HIDDEN, sizeof(float));
}

Status scorer_new(const KernelTable *k, Scorer **out) {
    Scorer *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->k = k;
    layout(s);
    Status st = block_make(&s->block);
    if (st != ST_OK) {
        free(s);
        return st;
    }
    layout(s);
    *out = s;
    return ST_OK;
}

void scorer_free(Scorer *s) {
    if (!s) return;
    block_free(&s->block);
    free(s);
}

static void sort_decisions(Scorer *s, int n, const Obs *obs) {
    int zero[DECISIONS], next[STARTS + 1] = {0};
    for (int i = 0; i < n; i++) {
        zero[i] = places_zero_steps(&obs[i]);
        next[zero[i] + 1]++;
    }
    for (int t = 0; t < STARTS; t++) next[t + 1] += next[t];
    for (int t = 0; t < OBS_STEPS; t++) s->active[t] = next[t + 1];
    for (int i = 0; i < n; i++) {
        s->pos[i] = next[zero[i]]++;
        s->sorted[s->pos[i]] = &obs[i];
    }
}

/* Rows from..to of a state get what t zero steps lead to. */
static void start_rows(float *state, const float *start, int t, int from, int to) {
    for (size_t p = 0; p < STATE_PANELS; p++)
        for (int r = from; r < to; r++)
            memcpy(state + (p * DECISIONS + (size_t)r) * PANEL,
                   start + (p * STARTS + (size_t)t) * PANEL, PANEL * sizeof(float));
}

static void rows_to_bf16(const Scorer *s, int from, int to) {
    for (size_t p = 0; p < STATE_PANELS; p++) {
        size_t at = (p * DECISIONS + (size_t)from) * PANEL;
        s->k->to_bf16((size_t)(to - from) * PANEL, s->h + at, s->h16 + at);
    }
}

static const void *hidden_state(const Scorer *s, const Matrix *m) {
    return m->f32 ? (const void *)s->h : (const void *)s->h16;
}

static void run_lstm(Scorer *s, const PackedNet *net, int n) {
    int old = 0;
    for (int t = 0; t < OBS_STEPS; old = s->active[t++]) {
        int m = s->active[t];
        uint32_t *end = s->index;
        for (int r = 0; r < m; r++) {
            s->start[r] = (uint32_t)(end - s->index);
            s->base[r] = r < old ? 0 : (uint32_t)t;
            end = places_step(s->sorted[r], t, end);
        }
        s->start[m] = (uint32_t)(end - s->index);
        SparseSum input = {.n_panels = GATE_PANELS,
                           .x = net->ih16 ? NULL : net->ih,
                           .x16 = net->ih16,
                           .x_rows = STEP_DIM,
                           .start = s->start,
                           .index = s->index,
                           .base = net->gate_start,
                           .base_rows = STARTS,
                           .base_index = s->base,
                           .out = s->gates,
                           .out_rows = DECISIONS};
        s->k->sparse_sum(m, &input);
        GemmEnd add = {.add = true, .out = s->gates, .out_rows = DECISIONS};
        matrix_gemm(s->k, &net->hh, old, hidden_state(s, &net->hh), DECISIONS, &add);
        start_rows(s->c, net->c_start, t, old, m);
        LstmStep step = {.gates = s->gates,
                         .c_prev = s->c,
                         .c = s->c,
                         .h = s->h,
                         .h16 = net->hh.f32 ? NULL : s->h16,
                         .rows_stride = DECISIONS};
        s->k->lstm_step(m, &step);
    }
    if (old == n) return;
    start_rows(s->h, net->h_start, OBS_STEPS, old, n);
    if (!net->hh.f32) rows_to_bf16(s, old, n);
}

static void run_state(Scorer *s, const PackedNet *net, int n) {
    uint32_t *end = s->index;
    for (int r = 0; r < n; r++) {
        s->start[r] = (uint32_t)(end - s->index);
        end = places_state(s->sorted[r], end);
    }
    s->start[n] = (uint32_t)(end - s->index);
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = net->x16 ? NULL : net->x,
                     .x16 = net->x16,
                     .x_rows = net->x_rows,
                     .start = s->start,
                     .index = s->index,
                     .base = net->bias[0],
                     .base_rows = 1,
                     .out = s->state,
                     .out_rows = DECISIONS};
    s->k->sparse_sum(n, &sum);
    GemmEnd add = {.add = true, .out = s->state, .out_rows = DECISIONS};
    matrix_gemm(s->k, &net->dense1_h, n, hidden_state(s, &net->dense1_h), DECISIONS, &add);
}

static void swap(void *a, void *b) {
    void *x, *y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    memcpy(a, &y, sizeof y);
    memcpy(b, &x, sizeof x);
}

/* dense2..dense5 on s->in (s->in16), then dense6. */
static void run_hidden(Scorer *s, const PackedNet *net, int rows, float *q) {
    bool half = net->precision == PRECISION_BF16;
    for (int i = 0; i < N_HIDDEN; i++) {
        bool last = i == N_HIDDEN - 1;
        GemmEnd end = {.bias = net->bias[i + 1],
                       .relu = true,
                       .out_rows = ROWS,
                       .out = half && !last ? NULL : s->out,
                       .out16 = half && !last ? s->out16 : NULL};
        matrix_gemm(s->k, &net->hidden[i], rows, half ? (void *)s->in16 : (void *)s->in, ROWS,
                    &end);
        swap(&s->in, &s->out);
        swap(&s->in16, &s->out16);
    }
    s->k->head(HIDDEN_PANELS, rows, s->in, ROWS, net->w6, net->b6, q);
}

/* The same in int8. A row's next scale needs the whole row: SLICE rows at a time. */
static void run_hidden_i8(Scorer *s, const PackedNet *net, int rows, float *q) {
    s->k->quantise(HIDDEN_PANELS, rows, s->in, ROWS, s->in8, ROWS, s->in_scale);
    for (int i = 0; i < N_HIDDEN; i++) {
        const Matrix *m = &net->hidden[i];
        GemmEnd end = {.bias = net->bias[i + 1], .relu = true, .out = s->slice, .out_rows = SLICE};
        for (int r = 0; r < rows; r += SLICE) {
            int n = rows - r < SLICE ? rows - r : SLICE;
            s->k->gemm_i8(n, m->k, m->n, s->in8 + r * PANEL, ROWS, s->in_scale + r, m->i8, m->scale,
                          &end);
            if (i == N_HIDDEN - 1)
                s->k->head(HIDDEN_PANELS, n, s->slice, SLICE, net->w6, net->b6, q + r);
            else
                s->k->quantise(HIDDEN_PANELS, n, s->slice, SLICE, s->out8 + r * PANEL, ROWS,
                               s->out_scale + r);
        }
        swap(&s->in8, &s->out8);
        swap(&s->in_scale, &s->out_scale);
    }
}

/* Rows of actions, their decisions' rows in s->base, through dense1 and the rest. */
static void run_actions(Scorer *s, const PackedNet *net, int rows, const Hand *actions, float *q) {
    uint32_t *end = s->index;
    for (int r = 0; r < rows; r++) {
        s->start[r] = (uint32_t)(end - s->index);
        end = places_cards(actions[r], (uint32_t)net->layout->x_dim, end);
    }
    s->start[rows] = (uint32_t)(end - s->index);
    bool half = net->precision == PRECISION_BF16;
    SparseSum sum = {.n_panels = HIDDEN_PANELS,
                     .x = net->x16 ? NULL : net->x,
                     .x16 = net->x16,
                     .x_rows = net->x_rows,
                     .start = s->start,
                     .index = s->index,
                     .base = s->state,
                     .base_rows = DECISIONS,
                     .base_index = s->base,
                     .relu = true,
                     .out = half ? NULL : s->in,
                     .out16 = half ? s->in16 : NULL,
                     .out_rows = ROWS};
    s->k->sparse_sum(rows, &sum);
    if (net->precision == PRECISION_INT8) run_hidden_i8(s, net, rows, q);
    else run_hidden(s, net, rows, q);
}

/* At most DECISIONS decisions; returns the number of their actions. */
static size_t run_decisions(Scorer *s, const PackedNet *net, int n, const Obs *obs,
                            const int *n_actions, const Hand *actions, float *q) {
    sort_decisions(s, n, obs);
    run_lstm(s, net, n);
    run_state(s, net, n);
    size_t done = 0;
    int rows = 0;
    for (int i = 0; i < n; i++)
        for (int a = 0; a < n_actions[i]; a++) {
            s->base[rows++] = (uint32_t)s->pos[i];
            if (rows < ROWS) continue;
            run_actions(s, net, rows, actions + done, q + done);
            done += (size_t)rows;
            rows = 0;
        }
    if (rows) run_actions(s, net, rows, actions + done, q + done);
    return done + (size_t)rows;
}

void scorer_run(Scorer *s, const PackedNet *net, int n, const Obs *obs, const int *n_actions,
                const Hand *actions, float *q) {
    for (int i = 0; i < n; i += DECISIONS) {
        int m = n - i < DECISIONS ? n - i : DECISIONS;
        size_t done = run_decisions(s, net, m, obs + i, n_actions + i, actions, q);
        actions += done;
        q += done;
    }
}
