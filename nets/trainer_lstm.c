/* trainer_lstm.c - the LSTM's part of a training step.
 *
 * ROW_STEP rows run through all five steps while their gates are in cache, forward and back. Weight
 * gradients are products over all rows of a step.                                            */
#include "nets/trainer_parts.h"

#include <string.h>

static LstmStep step_at(const Trainer *t, size_t step, size_t row) {
    size_t at = (step * t->rows + row) * PANEL;
    return (LstmStep){.gates = t->gates.f32 + at,
                      .gates16 = t->half ? t->gates.bf16 + at : NULL,
                      .c_prev = step ? t->c + at - t->rows * PANEL : NULL,
                      .c = t->c + at,
                      .h = t->h.f32 ? t->h.f32 + at : NULL,
                      .h16 = t->h.bf16 ? t->h.bf16 + at : NULL,
                      .rows_stride = OBS_STEPS * t->rows,
                      .dh = t->dh + row * PANEL,
                      .dc = t->dc + row * PANEL,
                      .d_rows = t->rows};
}

/* Rows from..to of step - 1 (h, and c if it is wanted) get the state after `zeros` zero steps. */
static void put_start(Trainer *t, size_t step, size_t zeros, size_t from, size_t to) {
    size_t all = OBS_STEPS * t->rows;
    for (size_t p = 0; p < STATE_PANELS && from < to; p++) {
        const float *h = t->net->h_start + (p * STARTS + zeros) * PANEL;
        const float *c = t->net->c_start + (p * STARTS + zeros) * PANEL;
        uint16_t h16[PANEL];
        if (t->half) t->k->to_bf16(PANEL, h, h16);
        for (size_t r = from; r < to; r++) {
            size_t at = (p * all + (step - 1) * t->rows + r) * PANEL;
            memcpy(t->c + at, c, PANEL * sizeof *c);
            if (t->half) memcpy(t->h.bf16 + at, h16, sizeof h16);
            else memcpy(t->h.f32 + at, h, PANEL * sizeof *h);
        }
    }
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Rows from..to through all steps. */
static void forward_rows(Trainer *t, size_t from, size_t to) {
    const PackedNet *net = t->net;
    size_t all = OBS_STEPS * t->rows, old = from;
    for (size_t step = 0; step < OBS_STEPS; step++) {
        size_t end = least(to, (size_t)t->active[step]), row = step * t->rows + from;
        if (end <= from) continue;
        LstmStep s = step_at(t, step, from);
        SparseSum input = {.n_panels = GATE_PANELS,
                           .x = net->ih16 ? NULL : net->ih,
                           .x16 = net->ih16,
                           .x_rows = STEP_DIM,
                           .start = t->steps.start + row,
                           .index = t->steps.index,
                           .base = net->gate_start,
                           .base_rows = STARTS,
                           .base_index = t->step_base + row,
                           .out = s.gates,
                           .out_rows = all};
        t->k->sparse_sum((int)(end - from), &input);
        GemmEnd add = {.add = true, .out = s.gates, .out_rows = all};
        if (old > from)
            matrix_gemm(t->k, &net->hh, (int)(old - from),
                        trainer_operand(t, panels_row(t->h, row - t->rows)), all, &add);
        if (step) put_start(t, step, step, old, end);
        t->k->lstm_step((int)(end - from), &s);
        old = end;
    }
}

void trainer_lstm_forward(Trainer *t) {
    for (size_t r = 0; r < t->rows; r += ROW_STEP) forward_rows(t, r, least(t->rows, r + ROW_STEP));
    put_start(t, OBS_STEPS, OBS_STEPS, (size_t)t->active[OBS_STEPS - 1], t->rows);
}

/* to[128] += the sum over rows from..end of panels. */
static void add_rows(const Trainer *t, const float *panels, size_t from, size_t end, float *to) {
    float sum[NET_LSTM];
    if (end <= from) return;
    t->k->col_sum(STATE_PANELS, (int)(end - from), panels + from * PANEL, t->rows, NULL, sum);
    t->k->axpy(NET_LSTM, 1, sum, to);
}

/* dh of rows from..to back through all steps; leaves gradients before activation in gates. */
static void back_rows(Trainer *t, size_t from, size_t to) {
    size_t all = OBS_STEPS * t->rows;
    for (size_t p = 0; p < STATE_PANELS; p++)
        memset(t->dc + (p * t->rows + from) * PANEL, 0, (to - from) * PANEL * sizeof(float));
    add_rows(t, t->dh, least(to, from > (size_t)t->active[4] ? from : (size_t)t->active[4]), to,
             t->zero_dh + OBS_STEPS * NET_LSTM);
    for (size_t step = OBS_STEPS; step-- > 0;) {
        size_t end = least(to, (size_t)t->active[step]);
        if (end <= from) break;
        LstmStep s = step_at(t, step, from);
        t->k->lstm_back((int)(end - from), &s);
        if (step == 0) break;
        GemmEnd out = {.out = t->dh + from * PANEL, .out_rows = t->rows};
        matrix_gemm(t->k, &t->hh_back, (int)(end - from),
                    trainer_operand(t, panels_row(t->gates, step * t->rows + from)), all, &out);
        size_t old = (size_t)t->active[step - 1] > from ? (size_t)t->active[step - 1] : from;
        add_rows(t, t->dh, old, end, t->zero_dh + step * NET_LSTM);
        add_rows(t, t->dc, old, end, t->zero_dc + step * NET_LSTM);
    }
}

/* The zero steps that samples share, last first: what has arrived at h_start and c_start goes on
 * to the step before; gradients before activation are left in zero_gates.                     */
static void back_zero_steps(Trainer *t) {
    const PackedNet *net = t->net;
    Panels gates = t->zero_gates;
    memcpy(gates.f32, net->gate_zero, NET_GATES * STARTS * sizeof(float));
    for (size_t step = OBS_STEPS; step-- > 0;) {
        float *dh = t->zero_dh + (step + 1) * NET_LSTM, *dc = t->zero_dc + (step + 1) * NET_LSTM;
        LstmStep s = {.gates = gates.f32 + step * PANEL,
                      .c_prev = net->c_start + step * PANEL,
                      .c = net->c_start + (step + 1) * PANEL,
                      .rows_stride = STARTS,
                      .dh = dh,
                      .dc = dc,
                      .d_rows = 1};
        t->k->lstm_back(1, &s);
        if (t->half) t->k->to_bf16(NET_GATES * STARTS, gates.f32, gates.bf16);
        if (step == 0) break;
        GemmEnd add = {.add = true, .out = t->zero_dh + step * NET_LSTM, .out_rows = 1};
        matrix_gemm(t->k, &t->hh_back, 1, trainer_operand(t, panels_row(gates, step)), STARTS,
                    &add);
        t->k->axpy(NET_LSTM, 1, dc, t->zero_dc + step * NET_LSTM);
    }
}

static void bias_gradients(Trainer *t, const Out *o) {
    float *bias = trainer_grad(t, o, T_BIAS_IH), sum[NET_GATES];
    memset(bias, 0, NET_GATES * sizeof(float));
    for (size_t step = 0; step < OBS_STEPS; step++) {
        trainer_bias_gradient(t, GATE_PANELS, t->active[step], panels_row(t->gates, step * t->rows),
                              OBS_STEPS * t->rows, sum);
        t->k->axpy(NET_GATES, 1, sum, bias);
    }
    t->k->col_sum(GATE_PANELS, OBS_STEPS, t->zero_gates.f32, STARTS, NULL, sum);
    t->k->axpy(NET_GATES, 1, sum, bias);
    memcpy(trainer_grad(t, o, T_BIAS_HH), bias, NET_GATES * sizeof(float));
}

static void recurrent_gradient(Trainer *t, const Out *o) {
    float *g = trainer_grad(t, o, T_WEIGHT_HH);
    size_t all = OBS_STEPS * t->rows;
    /* Zero step s reads h_start[s]; h_start[0] is zero. */
    t->k->wgrad(OBS_STEPS - 1, NET_GATES, NET_LSTM, t->zero_gates.f32 + PANEL, STARTS,
                t->net->h_start + PANEL, STARTS, g, NET_LSTM, false);
    for (size_t step = 1; step < OBS_STEPS; step++)
        trainer_weight_gradient(t, t->active[step], NET_GATES, NET_LSTM,
                                panels_row(t->gates, step * t->rows), all,
                                panels_row(t->h, (step - 1) * t->rows), all, g, NET_LSTM, true);
}

void trainer_lstm_back(Trainer *t, const Out *o) {
    memset(t->zero_dh, 0, STARTS * NET_LSTM * sizeof(float));
    memset(t->zero_dc, 0, STARTS * NET_LSTM * sizeof(float));
    for (size_t r = 0; r < t->rows; r += ROW_STEP) back_rows(t, r, least(t->rows, r + ROW_STEP));
    back_zero_steps(t);
    bias_gradients(t, o);
    recurrent_gradient(t, o);
    trainer_places_gradient(t, &t->steps, t->gates, OBS_STEPS * t->rows, STEP_DIM, t->ih_grad);
    rows_suffix(t->ih_grad, GATE_PANELS, STEP_DIM, 0, 3);
    t->k->unpack(NET_GATES, STEP_DIM, t->ih_grad, trainer_grad(t, o, T_WEIGHT_IH), STEP_DIM);
    for (int tensor = T_BIAS_HH; tensor >= T_WEIGHT_IH; tensor--) trainer_ready(t, o, tensor);
}
