/* ref_net.c - the value net in plain double arithmetic: no batching, no tricks.
 *
 * Forward keeps every intermediate value in a Trace; backward walks the Trace in reverse. LSTM
 * equations as in Hochreiter and Schmidhuber 1997 with forget gates (Gers et al. 2000), gate order
 * i, f, g, o and two biases as PyTorch has them.                                             */
#include "nets/ref_net.h"

#include <math.h>
#include <string.h>

enum { WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, DENSE1, INPUT_MAX = NET_LSTM + X_DIM_MAX };

typedef struct {
    double z[OBS_STEPS][STEP_DIM];
    double gate[OBS_STEPS][NET_GATES]; /* after their nonlinearity: i, f, g, o */
    double c[OBS_STEPS + 1][NET_LSTM]; /* [0] is the initial zero state */
    double h[OBS_STEPS + 1][NET_LSTM];
    double in[NET_DENSE][INPUT_MAX]; /* input of each dense layer; of 2.. the relu output before */
    double q;
} Trace; /* 70 kB: lives on the stack */

static double sigmoid(double v) { return 1.0 / (1.0 + exp(-v)); }

/* out[rows] += w[rows][cols] in[cols] */
static void multiply_add(const double *w, const double *in, int rows, int cols, double *out) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) out[r] += w[(size_t)r * cols + c] * in[c];
}

/* Given d(out) of out = w in: dw += d(out) in^T, din += w^T d(out) (din may be NULL). */
static void multiply_back(const double *w, const double *in, const double *dout, int rows, int cols,
                          double *dw, double *din) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            dw[(size_t)r * cols + c] += dout[r] * in[c];
            if (din) din[c] += w[(size_t)r * cols + c] * dout[r];
        }
}

static void add(const double *v, int n, double *out) {
    for (int i = 0; i < n; i++) out[i] += v[i];
}

static void lstm_forward(const NetLayout *l, const double *p, Trace *t) {
    for (int s = 0; s < OBS_STEPS; s++) {
        double *gate = t->gate[s];
        add(p + l->tensor[BIAS_IH].offset, NET_GATES, gate);
        add(p + l->tensor[BIAS_HH].offset, NET_GATES, gate);
        multiply_add(p + l->tensor[WEIGHT_IH].offset, t->z[s], NET_GATES, STEP_DIM, gate);
        multiply_add(p + l->tensor[WEIGHT_HH].offset, t->h[s], NET_GATES, NET_LSTM, gate);
        for (int j = 0; j < NET_LSTM; j++) {
            double i = sigmoid(gate[j]), f = sigmoid(gate[NET_LSTM + j]);
            double g = tanh(gate[2 * NET_LSTM + j]), o = sigmoid(gate[3 * NET_LSTM + j]);
            t->c[s + 1][j] = f * t->c[s][j] + i * g;
            t->h[s + 1][j] = o * tanh(t->c[s + 1][j]);
            gate[j] = i;
            gate[NET_LSTM + j] = f;
            gate[2 * NET_LSTM + j] = g;
            gate[3 * NET_LSTM + j] = o;
        }
    }
}

static void dense_forward(const NetLayout *l, const double *p, Trace *t) {
    for (int k = 0; k < NET_DENSE; k++) {
        const NetTensor *w = &l->tensor[DENSE1 + 2 * k], *b = w + 1;
        double out[NET_HIDDEN] = {0};
        add(p + b->offset, b->rows, out);
        multiply_add(p + w->offset, t->in[k], w->rows, w->cols, out);
        if (k == NET_DENSE - 1) t->q = out[0];
        else
            for (int r = 0; r < NET_HIDDEN; r++) t->in[k + 1][r] = out[r] > 0 ? out[r] : 0;
    }
}

static void forward(const NetLayout *l, const double *p, const float *x, const float *z, Trace *t) {
    for (int s = 0; s < OBS_STEPS; s++)
        for (int i = 0; i < STEP_DIM; i++) t->z[s][i] = z[s * STEP_DIM + i];
    lstm_forward(l, p, t);
    memcpy(t->in[0], t->h[OBS_STEPS], sizeof t->h[0]);
    for (int i = 0; i < l->x_dim + CARDS_DIM; i++) t->in[0][NET_LSTM + i] = x[i];
    dense_forward(l, p, t);
}

double ref_net_forward(Role role, const double *params, const float *x, const float *z) {
    Trace t = {0};
    forward(net_layout(role), params, x, z, &t);
    return t.q;
}

/* dh receives d(loss)/d(LSTM output). */
static void dense_backward(const NetLayout *l, const double *p, const Trace *t, double dq,
                           double *grad, double dh[NET_LSTM]) {
    double dout[NET_HIDDEN] = {dq}, din[INPUT_MAX];
    for (int k = NET_DENSE - 1; k >= 0; k--) {
        const NetTensor *w = &l->tensor[DENSE1 + 2 * k], *b = w + 1;
        memset(din, 0, sizeof din);
        add(dout, b->rows, grad + b->offset);
        multiply_back(p + w->offset, t->in[k], dout, w->rows, w->cols, grad + w->offset, din);
        for (int r = 0; k > 0 && r < NET_HIDDEN; r++) dout[r] = t->in[k][r] > 0 ? din[r] : 0;
    }
    memcpy(dh, din, NET_LSTM * sizeof *dh);
}

/* One step back: dh, dc are derivatives by h[s+1], c[s+1] and become those by h[s], c[s]. */
static void lstm_step_back(const NetLayout *l, const double *p, const Trace *t, int s, double *grad,
                           double dh[NET_LSTM], double dc[NET_LSTM]) {
    double dgate[NET_GATES];
    for (int j = 0; j < NET_LSTM; j++) {
        double i = t->gate[s][j], f = t->gate[s][NET_LSTM + j];
        double g = t->gate[s][2 * NET_LSTM + j], o = t->gate[s][3 * NET_LSTM + j];
        double tc = tanh(t->c[s + 1][j]);
        double dcj = dc[j] + dh[j] * o * (1 - tc * tc);
        dgate[j] = dcj * g * i * (1 - i);
        dgate[NET_LSTM + j] = dcj * t->c[s][j] * f * (1 - f);
        dgate[2 * NET_LSTM + j] = dcj * i * (1 - g * g);
        dgate[3 * NET_LSTM + j] = dh[j] * tc * o * (1 - o);
        dc[j] = dcj * f;
    }
    memset(dh, 0, NET_LSTM * sizeof *dh);
    add(dgate, NET_GATES, grad + l->tensor[BIAS_IH].offset);
    add(dgate, NET_GATES, grad + l->tensor[BIAS_HH].offset);
    size_t ih = l->tensor[WEIGHT_IH].offset, hh = l->tensor[WEIGHT_HH].offset;
    multiply_back(p + ih, t->z[s], dgate, NET_GATES, STEP_DIM, grad + ih, NULL);
    multiply_back(p + hh, t->h[s], dgate, NET_GATES, NET_LSTM, grad + hh, dh);
}

double ref_net_backward(Role role, const double *params, const float *x, const float *z,
                        double target, double weight, double *grad) {
    const NetLayout *l = net_layout(role);
    Trace t = {0};
    forward(l, params, x, z, &t);
    double error = t.q - target, dh[NET_LSTM], dc[NET_LSTM] = {0};
    dense_backward(l, params, &t, 2 * weight * error, grad, dh);
    for (int s = OBS_STEPS - 1; s >= 0; s--) lstm_step_back(l, params, &t, s, grad, dh, dc);
    return weight * error * error;
}
