/* ref.c - the definition of every operation: plain loops, one rounding per operation, no
 * contraction, the same bits on every machine. Slow on purpose.                             */
#include "kernels/tables.h"
#include <math.h>
#include <string.h>

/* Where element c of row r lies in panels whose distance is `rows`. */
static size_t at(size_t rows, size_t r, size_t c) {
    return (c / PANEL * rows + r) * PANEL + c % PANEL;
}

static bool always(void) { return true; }

static void store(const GemmEnd *e, int r, int n, float y) {
    size_t i = at(e->out_rows, (size_t)r, (size_t)n);
    if (e->bias) y += e->bias[n];
    if (e->add) y += e->out[i];
    if (e->relu && !(y > 0)) y = 0;
    if (e->mask && !(e->mask[i] > 0)) y = 0;
    if (e->mask16 && !(bf16_value(e->mask16[i]) > 0)) y = 0;
    if (e->out) e->out[i] = y;
    if (e->out16) e->out16[i] = bf16_round(y);
}

static void gemm(int rows, int K, int N, const float *a, size_t a_rows, const float *w,
                 const GemmEnd *end) {
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < N; n++) {
            float y = 0;
            for (int k = 0; k < K; k++)
                y += a[at(a_rows, (size_t)r, (size_t)k)] * w[at((size_t)K, (size_t)k, (size_t)n)];
            store(end, r, n, y);
        }
}

static void gemm_bf16(int rows, int K, int N, const uint16_t *a, size_t a_rows, const uint16_t *w,
                      const GemmEnd *end) {
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < N; n++) {
            float y = 0;
            for (int k = 0; k < K; k++) {
                size_t i = at((size_t)K / 2, (size_t)k / 2, (size_t)n) * 2 + (size_t)(k & 1);
                y += bf16_value(a[at(a_rows, (size_t)r, (size_t)k)]) * bf16_value(w[i]);
            }
            store(end, r, n, y);
        }
}

static void gemm_i8(int rows, int K, int N, const uint8_t *a, size_t a_rows, const float *a_scale,
                    const int8_t *w, const float *w_scale, const GemmEnd *end) {
    for (int r = 0; r < rows; r++)
        for (int n = 0; n < N; n++) {
            int32_t y = 0;
            for (int k = 0; k < K; k++)
                y += a[at(a_rows, (size_t)r, (size_t)k)] *
                     w[at((size_t)K / 4, (size_t)k / 4, (size_t)n) * 4 + (size_t)(k & 3)];
            store(end, r, n, (float)y * (a_scale[r] * w_scale[n]));
        }
}

static void wgrad(int rows, int N, int K, const float *dy, size_t dy_rows, const float *x,
                  size_t x_rows, float *g, size_t ldg, bool add) {
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++) {
            float y = 0;
            for (int r = 0; r < rows; r++)
                y += dy[at(dy_rows, (size_t)r, (size_t)n)] * x[at(x_rows, (size_t)r, (size_t)k)];
            float *p = &g[(size_t)n * ldg + (size_t)k];
            *p = add ? *p + y : y;
        }
}

static void wgrad_bf16(int pairs, int N, int K, const uint32_t *dy, size_t dy_pairs,
                       const uint32_t *x, size_t x_pairs, float *g, size_t ldg, bool add) {
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++) {
            float y = 0;
            for (int r = 0; r < pairs; r++) {
                uint32_t d = dy[at(dy_pairs, (size_t)r, (size_t)n)];
                uint32_t v = x[at(x_pairs, (size_t)r, (size_t)k)];
                y += bf16_value((uint16_t)d) * bf16_value((uint16_t)v);
                y += bf16_value((uint16_t)(d >> 16)) * bf16_value((uint16_t)(v >> 16));
            }
            float *p = &g[(size_t)n * ldg + (size_t)k];
            *p = add ? *p + y : y;
        }
}

static void sparse_sum(int n_out, const SparseSum *s) {
    for (size_t r = 0; r < (size_t)n_out; r++)
        for (size_t c = 0; c < (size_t)s->n_panels * PANEL; c++) {
            float y = 0;
            if (s->base) y = s->base[at(s->base_rows, s->base_index ? s->base_index[r] : 0, c)];
            for (uint32_t e = s->start[r]; e < s->start[r + 1]; e++) {
                size_t i = at(s->x_rows, s->index[e], c);
                y += s->x ? s->x[i] : bf16_value(s->x16[i]);
            }
            if (s->relu && !(y > 0)) y = 0;
            if (s->out) s->out[at(s->out_rows, r, c)] = y;
            if (s->out16) s->out16[at(s->out_rows, r, c)] = bf16_round(y);
        }
}

static void head(int n_panels, int rows, const float *x, size_t x_rows, const float *w, float bias,
                 float *q) {
    for (int r = 0; r < rows; r++) {
        float y = 0;
        for (size_t c = 0; c < (size_t)n_panels * PANEL; c++)
            y += x[at(x_rows, (size_t)r, c)] * w[c];
        q[r] = y + bias;
    }
}

static void head_back(int n_panels, int rows, const float *x, size_t x_rows, const float *w,
                      const float *dq, float *out, uint16_t *out16, size_t out_rows) {
    for (int r = 0; r < rows; r++)
        for (size_t c = 0; c < (size_t)n_panels * PANEL; c++) {
            float y = x[at(x_rows, (size_t)r, c)] > 0 ? dq[r] * w[c] : 0;
            if (out) out[at(out_rows, (size_t)r, c)] = y;
            if (out16) out16[at(out_rows, (size_t)r, c)] = bf16_round(y);
        }
}

static void col_sum(int n_panels, int rows, const float *x, size_t x_rows, const float *weight,
                    float *out) {
    for (size_t c = 0; c < (size_t)n_panels * PANEL; c++) {
        float y = 0;
        for (int r = 0; r < rows; r++) y += (weight ? weight[r] : 1) * x[at(x_rows, (size_t)r, c)];
        out[c] = y;
    }
}

static void col_sum16(int n_panels, int rows, const uint16_t *x, size_t x_rows, float *out) {
    for (size_t c = 0; c < (size_t)n_panels * PANEL; c++) {
        float y = 0;
        for (int r = 0; r < rows; r++) y += bf16_value(x[at(x_rows, (size_t)r, c)]);
        out[c] = y;
    }
}

enum { UNITS = 128 };

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static void lstm_step(int rows, const LstmStep *s) {
    for (size_t r = 0; r < (size_t)rows; r++)
        for (size_t u = 0; u < UNITS; u++) {
            float *g[4];
            for (size_t k = 0; k < 4; k++) g[k] = &s->gates[at(s->rows_stride, r, k * UNITS + u)];
            for (int k = 0; k < 4; k++) *g[k] = k == 2 ? tanhf(*g[k]) : sigmoid(*g[k]);
            size_t i = at(s->rows_stride, r, u);
            float c = *g[1] * (s->c_prev ? s->c_prev[i] : 0) + *g[0] * *g[2];
            float h = *g[3] * tanhf(c);
            s->c[i] = c;
            if (s->h) s->h[i] = h;
            if (s->h16) s->h16[i] = bf16_round(h);
        }
}

static void lstm_back(int rows, const LstmStep *s) {
    for (size_t r = 0; r < (size_t)rows; r++)
        for (size_t u = 0; u < UNITS; u++) {
            float *g[4];
            for (size_t k = 0; k < 4; k++) g[k] = &s->gates[at(s->rows_stride, r, k * UNITS + u)];
            float i = *g[0], f = *g[1], z = *g[2], o = *g[3];
            size_t p = at(s->rows_stride, r, u), d = at(s->d_rows, r, u);
            float t = tanhf(s->c[p]);
            float dc = s->dc[d] + s->dh[d] * o * (1 - t * t);
            float before[4] = {dc * z * i * (1 - i),
                               dc * (s->c_prev ? s->c_prev[p] : 0) * f * (1 - f),
                               dc * i * (1 - z * z), s->dh[d] * t * o * (1 - o)};
            for (size_t k = 0; k < 4; k++)
                if (s->gates16)
                    s->gates16[at(s->rows_stride, r, k * UNITS + u)] = bf16_round(before[k]);
                else *g[k] = before[k];
            s->dc[d] = dc * f;
        }
}

static void pack(int N, int K, const void *src, size_t ld, void *dst) {
    for (size_t n = 0; n < (size_t)N; n++)
        for (size_t k = 0; k < (size_t)K; k++)
            memcpy((char *)dst + 4 * at((size_t)K, k, n), (const char *)src + 4 * (n * ld + k), 4);
}

static void unpack(int N, int K, const void *src, void *dst, size_t ld) {
    for (size_t n = 0; n < (size_t)N; n++)
        for (size_t k = 0; k < (size_t)K; k++)
            memcpy((char *)dst + 4 * (n * ld + k), (const char *)src + 4 * at((size_t)K, k, n), 4);
}

static void pair16(int n_panels, int rows, const uint16_t *x, size_t x_panel, size_t x_row,
                   uint32_t *out, size_t out_pairs) {
    for (size_t p = 0; p < (size_t)n_panels; p++)
        for (size_t r = 0; r < (size_t)rows; r += 2)
            for (size_t c = 0; c < PANEL; c++) {
                const uint16_t *a = x + p * x_panel + r * x_row + c;
                uint32_t b = r + 1 < (size_t)rows ? a[x_row] : 0;
                out[(p * out_pairs + r / 2) * PANEL + c] = *a | b << 16;
            }
}

static void to_bf16(size_t n, const float *src, uint16_t *dst) {
    for (size_t i = 0; i < n; i++) dst[i] = bf16_round(src[i]);
}

static void from_bf16(size_t n, const uint16_t *src, float *dst) {
    for (size_t i = 0; i < n; i++) dst[i] = bf16_value(src[i]);
}

static float to_int8(size_t n, const float *x, int8_t *out) {
    float top = 0;
    for (size_t i = 0; i < n; i++) top = fmaxf(top, fabsf(x[i]));
    float inverse = top > 0 ? 127 / top : 0;
    for (size_t i = 0; i < n; i++) out[i] = (int8_t)lrintf(x[i] * inverse);
    return top / 127;
}

enum { U8_MAX = 255 };

static void quantise(int n_panels, int rows, const float *x, size_t x_rows, uint8_t *out,
                     size_t out_rows, float *scale) {
    for (int r = 0; r < rows; r++) {
        float top = 0;
        for (size_t c = 0; c < (size_t)n_panels * PANEL; c++)
            top = fmaxf(top, x[at(x_rows, (size_t)r, c)]);
        scale[r] = top / U8_MAX;
        float inverse = top > 0 ? U8_MAX / top : 0;
        for (size_t c = 0; c < (size_t)n_panels * PANEL; c++)
            out[at(out_rows, (size_t)r, c)] =
                (uint8_t)lrintf(x[at(x_rows, (size_t)r, c)] * inverse);
    }
}

static double norm2(size_t n, const float *x) {
    double y = 0;
    for (size_t i = 0; i < n; i++) y += (double)x[i] * x[i];
    return y;
}

static void axpy(size_t n, float alpha, const float *x, float *y) {
    for (size_t i = 0; i < n; i++) y[i] += alpha * x[i];
}

static void scale(size_t n, float alpha, float *x) {
    for (size_t i = 0; i < n; i++) x[i] *= alpha;
}

static void rmsprop(size_t n, float *w, float *v, const float *grad, float grad_scale, float lr,
                    float alpha, float eps) {
    for (size_t i = 0; i < n; i++) {
        float g = grad_scale * grad[i];
        v[i] = alpha * v[i] + (1 - alpha) * g * g;
        w[i] -= lr * g / (sqrtf(v[i]) + eps);
    }
}

static void adam(size_t n, float *w, float *m, float *v, const float *grad, const AdamStep *s) {
    for (size_t i = 0; i < n; i++) {
        float g = s->grad_scale * grad[i];
        m[i] = s->beta1 * m[i] + (1 - s->beta1) * g;
        v[i] = s->beta2 * v[i] + (1 - s->beta2) * g * g;
        w[i] -= s->lr * s->decay * w[i];
        w[i] -= s->lr * (m[i] * s->correct1) / (sqrtf(v[i] * s->correct2) + s->eps);
    }
}

static void ema(size_t n, float d, const float *w, float *average) {
    for (size_t i = 0; i < n; i++) average[i] += (1 - d) * (w[i] - average[i]);
}

static double peak(int kind, int rounds) {
    enum { CHAINS = 8 };
    volatile float seed = 0.5f;
    float x = seed, y[CHAINS] = {0};
    if (kind != 0) return 0;
    for (int i = 0; i < rounds; i++)
        for (int j = 0; j < CHAINS; j++) y[j] = y[j] * x + x;
    for (int j = 0; j < CHAINS; j++) seed = y[j];
    return 2.0 * CHAINS * rounds;
}

const KernelTable kernels_ref = {
    .name = "ref",
    .usable = always,
    .vector_bytes = 4,
    .u8_max = U8_MAX,
    .gemm = gemm,
    .gemm_bf16 = gemm_bf16,
    .gemm_i8 = gemm_i8,
    .wgrad = wgrad,
    .wgrad_bf16 = wgrad_bf16,
    .sparse_sum = sparse_sum,
    .head = head,
    .head_back = head_back,
    .col_sum = col_sum,
    .col_sum16 = col_sum16,
    .lstm_step = lstm_step,
    .lstm_back = lstm_back,
    .pack = pack,
    .unpack = unpack,
    .pair16 = pair16,
    .to_bf16 = to_bf16,
    .from_bf16 = from_bf16,
    .to_int8 = to_int8,
    .quantise = quantise,
    .norm2 = norm2,
    .axpy = axpy,
    .scale = scale,
    .rmsprop = rmsprop,
    .adam = adam,
    .ema = ema,
    .peak = peak,
};
