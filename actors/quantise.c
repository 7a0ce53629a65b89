#include "actors/quantise.h"
#include <math.h>

static double error_of(const float *w, int n, float scale, int most) {
    double e = 0;
    for (int i = 0; i < n; i++) {
        float level = fminf(fmaxf(rintf(w[i] / scale), (float)-most), (float)most);
        double d = (double)(w[i] - level * scale);
        e += d * d;
    }
    return e;
}

static float best_scale(const float *w, int n, int most) {
    float top = 0;
    for (int i = 0; i < n; i++) top = fmaxf(top, fabsf(w[i]));
    if (top == 0) return 1;
    float best = top / (float)most;
    double least = error_of(w, n, best, most);
    for (int percent = 95; percent >= 30; percent -= 5) {
        float scale = top / (float)most * (float)percent / 100;
        double e = error_of(w, n, scale, most);
        if (e >= least) continue;
        least = e;
        best = scale;
    }
    return best;
}

size_t quantise_rows(Role role) {
    const NetLayout *l = net_layout(role);
    size_t n = 0;
    for (int t = 0; t < NET_TENSORS; t++)
        if (l->tensor[t].cols) n += (size_t)l->tensor[t].rows;
    return n;
}

void quantise_role(Role role, const float *params, int bits, int8_t *levels, float *scales) {
    const NetLayout *l = net_layout(role);
    int most = (1 << (bits - 1)) - 1;
    for (int t = 0; t < NET_TENSORS; t++) {
        const NetTensor *m = &l->tensor[t];
        for (int r = 0; m->cols && r < m->rows; r++) {
            size_t at = m->offset + (size_t)r * (size_t)m->cols;
            float scale = *scales++ = best_scale(params + at, m->cols, most);
            for (int c = 0; c < m->cols; c++) {
                float level = rintf(params[at + (size_t)c] / scale);
                levels[at + (size_t)c] = (int8_t)fminf(fmaxf(level, (float)-most), (float)most);
            }
        }
    }
}

void quantise_undo(Role role, const int8_t *levels, const float *scales, float *params) {
    const NetLayout *l = net_layout(role);
    for (int t = 0; t < NET_TENSORS; t++) {
        const NetTensor *m = &l->tensor[t];
        for (int r = 0; m->cols && r < m->rows; r++, scales++)
            for (int c = 0; c < m->cols; c++) {
                size_t at = m->offset + (size_t)r * (size_t)m->cols + (size_t)c;
                params[at] = *scales * (float)levels[at];
            }
    }
}
