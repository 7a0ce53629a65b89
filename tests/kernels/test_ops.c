/* Every operation but the matrix products, of every table, against ref; and the choice of a table.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/kernels/check.h"

static const int counts[] = {0, 1, 7, 8, 17, 33, 192, 373};
enum { N_COUNTS = sizeof counts / sizeof *counts, UNITS = 128 };
static const double U = 1.0 / (1 << 24);
static char text[96];

static void sparse_case(int n_out, int n_panels, int base, bool relu, bool half, bool from16) {
    snprintf(text, sizeof text, "n %d panels %d base %d relu %d half %d from16 %d", n_out, n_panels,
             base, relu, half, from16);
    size_t cols = (size_t)n_panels * PANEL, out_rows = (size_t)n_out + 2, size = out_rows * cols;
    enum { X_ROWS = 41, BASE_ROWS = 5, MOST = 9 };
    uint32_t *start = buffer((size_t)n_out + 1, sizeof *start);
    uint32_t *index = buffer((size_t)n_out * MOST, sizeof *index);
    uint32_t *base_index = buffer((size_t)n_out, sizeof *base_index);
    for (int r = 0; r < n_out; r++) {
        uint32_t n = rng_below(&rng, MOST + 1);
        for (uint32_t e = 0; e < n; e++) index[start[r] + e] = rng_below(&rng, X_ROWS);
        start[r + 1] = start[r] + n;
        base_index[r] = rng_below(&rng, BASE_ROWS);
    }
    float *x = floats(X_ROWS * cols, -1, 1), *b = floats(BASE_ROWS * cols, -1, 1);
    SparseSum got = {.n_panels = n_panels,
                     .x = x,
                     .x_rows = X_ROWS,
                     .start = start,
                     .index = index,
                     .base = base ? b : NULL,
                     .base_rows = BASE_ROWS,
                     .base_index = base == 2 ? base_index : NULL,
                     .relu = relu,
                     .out_rows = out_rows};
    SparseSum want = got, terms = got;
    got.out = floats(size, -1, 1);
    want.out = copy(got.out, size, sizeof(float));
    terms.out = buffer(size, sizeof(float));
    terms.x = absolute(x, X_ROWS * cols);
    if (base) terms.base = absolute(b, BASE_ROWS * cols);
    if (half) {
        got.out16 = halves(size, -1, 1);
        want.out16 = copy(got.out16, size, sizeof(uint16_t));
    }
    if (from16) {
        got.x = want.x = terms.x = NULL;
        got.x16 = want.x16 = halves(X_ROWS * cols, -1, 1);
        terms.x16 = absolute16(got.x16, X_ROWS * cols);
    }
    table->sparse_sum(n_out, &got);
    definition->sparse_sum(n_out, &want);
    definition->sparse_sum(n_out, &terms);
    compare("sparse_sum", text, size, got.out, want.out, terms.out, 2 * (MOST + 1) * U, 0);
    if (half)
        compare16("sparse_sum", text, size, got.out16, want.out16, terms.out, 2 * (MOST + 1) * U);
    buffers_check("sparse_sum", text);
}

static void head_case(int rows, int n_panels) {
    snprintf(text, sizeof text, "rows %d panels %d", rows, n_panels);
    size_t cols = (size_t)n_panels * PANEL, stride = (size_t)rows + 1, size = stride * cols;
    float *x = floats(size, -1, 1), *w = floats(cols, -1, 1), *dq = floats((size_t)rows, -1, 1);
    float *q[3], *sums[3];
    for (int i = 0; i < 3; i++) {
        q[i] = buffer((size_t)rows, sizeof(float));
        sums[i] = buffer(cols, sizeof(float));
    }
    float *x_abs = absolute(x, size);
    table->head(n_panels, rows, x, stride, w, 0.5f, q[0]);
    definition->head(n_panels, rows, x, stride, w, 0.5f, q[1]);
    definition->head(n_panels, rows, x_abs, stride, absolute(w, cols), 0.5f, q[2]);
    compare("head", text, (size_t)rows, q[0], q[1], q[2], 2 * (double)cols * U, 0);

    for (int weighted = 0; weighted < 2; weighted++) {
        table->col_sum(n_panels, rows, x, stride, weighted ? dq : NULL, sums[0]);
        definition->col_sum(n_panels, rows, x, stride, weighted ? dq : NULL, sums[1]);
        definition->col_sum(n_panels, rows, x_abs, stride,
                            weighted ? absolute(dq, (size_t)rows) : NULL, sums[2]);
        compare("col_sum", text, cols, sums[0], sums[1], sums[2], 2 * (rows + 1) * U, 0);
    }
    uint16_t *half = halves(size, -1, 1);
    table->col_sum16(n_panels, rows, half, stride, sums[0]);
    definition->col_sum16(n_panels, rows, half, stride, sums[1]);
    definition->col_sum16(n_panels, rows, absolute16(half, size), stride, sums[2]);
    compare("col_sum16", text, cols, sums[0], sums[1], sums[2], 2 * (rows + 1) * U, 0);

    float *got = floats(size, -1, 1), *want = copy(got, size, sizeof *got);
    uint16_t *got16 = halves(size, -1, 1), *want16 = copy(got16, size, sizeof *got16);
    table->head_back(n_panels, rows, x, stride, w, dq, got, got16, stride);
    definition->head_back(n_panels, rows, x, stride, w, dq, want, want16, stride);
    compare("head_back", text, size, got, want, NULL, 0, 0);
    compare16("head_back", text, size, got16, want16, NULL, 0);
    buffers_check("head", text);
}

/* A block of lstm operands; what the two tables get is equal. */
static LstmStep lstm_operands(size_t stride, bool first, const float *gates, const float *c_prev,
                              const float *c, const float *dh, const float *dc) {
    size_t size = stride * UNITS;
    return (LstmStep){.gates = copy(gates, 4 * size, sizeof(float)),
                      .c_prev = first ? NULL : c_prev,
                      .c = copy(c, size, sizeof(float)),
                      .h = copy(c, size, sizeof(float)),
                      .h16 = buffer(size, sizeof(uint16_t)),
                      .rows_stride = stride,
                      .dh = dh,
                      .dc = copy(dc, size, sizeof(float)),
                      .d_rows = stride};
}

static void lstm_case(int rows, bool first) {
    snprintf(text, sizeof text, "rows %d first %d", rows, first);
    size_t stride = (size_t)rows + 2, size = stride * UNITS;
    float *gates = floats(4 * size, -9, 9), *c_prev = floats(size, -4, 4), *c = floats(size, -4, 4);
    for (size_t i = 0; i < 4 * size; i += 97) gates[i] *= 20; /* saturated ones too */
    float *dh = floats(size, -1, 1), *dc = floats(size, -1, 1),
          *terms = buffer(4 * size, sizeof(float));
    for (size_t i = 0; i < 4 * size; i++) terms[i] = i / PANEL % stride < (size_t)rows ? 5 : 0;
    LstmStep got = lstm_operands(stride, first, gates, c_prev, c, dh, dc);
    LstmStep want = lstm_operands(stride, first, gates, c_prev, c, dh, dc);
    table->lstm_step(rows, &got);
    definition->lstm_step(rows, &want);
    const double forward = 1.0 / (1 << 20), back = 1.0 / (1 << 19);
    compare("lstm_step gates", text, 4 * size, got.gates, want.gates, terms, forward, 0);
    compare("lstm_step c", text, size, got.c, want.c, terms, forward, 0);
    compare("lstm_step h", text, size, got.h, want.h, terms, forward, 0);
    compare16("lstm_step h16", text, size, got.h16, want.h16, terms, forward);
    memcpy(got.gates, want.gates, 4 * size * sizeof(float));
    memcpy(got.c, want.c, size * sizeof(float));
    table->lstm_back(rows, &got);
    definition->lstm_back(rows, &want);
    for (size_t i = 0; i < 4 * size; i++) terms[i] *= 2;
    compare("lstm_back gates", text, 4 * size, got.gates, want.gates, terms, back, 0);
    compare("lstm_back dc", text, size, got.dc, want.dc, terms, back, 0);
    float *kept = copy(got.gates, 4 * size, sizeof(float)),
          *kept_dc = copy(dc, size, sizeof(float));
    got.gates16 = buffer(4 * size, sizeof(uint16_t));
    want.gates16 = buffer(4 * size, sizeof(uint16_t));
    memcpy(want.gates, got.gates, 4 * size * sizeof(float));
    memcpy(got.dc, kept_dc, size * sizeof(float));
    memcpy(want.dc, kept_dc, size * sizeof(float));
    table->lstm_back(rows, &got);
    definition->lstm_back(rows, &want);
    compare16("lstm_back gates16", text, 4 * size, got.gates16, want.gates16, terms, back);
    compare("lstm_back kept gates", text, 4 * size, got.gates, kept, NULL, 0, 0);
    buffers_check("lstm", text);
}

static void pack_case(int N, int K) {
    snprintf(text, sizeof text, "N %d K %d", N, K);
    size_t ld = (size_t)K + 3, from_size = ld * (size_t)N, size = (size_t)N * (size_t)K;
    float *from = floats(from_size, -1, 1);
    float *got = buffer(size, sizeof *got), *want = buffer(size, sizeof *want);
    table->pack(N, K, from, ld, got);
    definition->pack(N, K, from, ld, want);
    compare("pack", text, size, got, want, NULL, 0, 0);
    float *back = buffer(from_size, sizeof *back), *back_want = buffer(from_size, sizeof *back);
    table->unpack(N, K, got, back, ld);
    definition->unpack(N, K, want, back_want, ld);
    compare("unpack", text, from_size, back, back_want, NULL, 0, 0);
    for (size_t i = 0; i < from_size; i++)
        if (i % ld < (size_t)K && back[i] != from[i])
            differ("unpack of pack", text, i, (double)back[i], (double)from[i], 0);
    buffers_check("pack", text);
}

static void pair_case(int rows, bool panels) {
    snprintf(text, sizeof text, "rows %d panels %d", rows, panels);
    enum { P = 3 };
    size_t stride = (size_t)rows + 1, pairs = stride / 2 + 1, size = pairs * P * PANEL;
    uint16_t *x = halves(stride * P * PANEL, -1, 1);
    uint32_t *got = buffer(size, sizeof *got), *want = buffer(size, sizeof *want);
    size_t panel = panels ? stride * PANEL : PANEL, row = panels ? PANEL : P * PANEL;
    table->pair16(P, rows, x, panel, row, got, pairs);
    definition->pair16(P, rows, x, panel, row, want, pairs);
    compare_bytes("pair16", text, size * sizeof *got, got, want, 0);
    buffers_check("pair16", text);
}

static void bf16_case(int count) {
    size_t n = (size_t)count;
    snprintf(text, sizeof text, "n %d", count);
    float *x = floats(n, -100, 100), *got = buffer(n, sizeof *got), *want = buffer(n, sizeof *want);
    for (size_t i = 0; i < n; i++) {
        uint32_t halfway; /* ties go to even */
        if (i % 3 == 0) {
            memcpy(&halfway, &x[i], 4);
            halfway = (halfway & 0xffff0000u) | 0x8000u;
            memcpy(&x[i], &halfway, 4);
        }
        if (i % 11 == 5) x[i] = i % 2 ? INFINITY : -INFINITY;
    }
    uint16_t *half = buffer(n, sizeof *half), *half_want = buffer(n, sizeof *half);
    table->to_bf16(n, x, half);
    definition->to_bf16(n, x, half_want);
    compare_bytes("to_bf16", text, n * sizeof *half, half, half_want, 0);
    table->from_bf16(n, half, got);
    definition->from_bf16(n, half, want);
    compare("from_bf16", text, n, got, want, NULL, 0, 0);
    buffers_check("bf16", text);
}

static void int8_case(int count) {
    size_t n = (size_t)count;
    snprintf(text, sizeof text, "n %d", count);
    float *x = floats(n, -3, 3);
    int8_t *got = buffer(n, 1), *want = buffer(n, 1);
    float scale = table->to_int8(n, x, got), want_scale = definition->to_int8(n, x, want);
    compare("to_int8 scale", text, 1, &scale, &want_scale, NULL, 0, 2 * U);
    for (size_t i = 0; i < n; i++)
        if (abs(got[i] - want[i]) > 1) differ("to_int8", text, i, got[i], want[i], 1);
    memset(x, 0, n * sizeof *x);
    scale = table->to_int8(n, x, got);
    for (size_t i = 0; i < n; i++)
        if (got[i] || scale != 0) differ("to_int8 of zeros", text, i, got[i], 0, 0);
    buffers_check("to_int8", text);
}

static void quantise_case(int rows) {
    snprintf(text, sizeof text, "rows %d", rows);
    enum { P = 5 };
    size_t stride = (size_t)rows + 1, out_stride = (size_t)rows + 2, size = stride * P * PANEL;
    float *x = floats(size, 0, 3), *scale = buffer((size_t)rows, sizeof *scale);
    for (size_t p = 0; p < P && rows > 2; p++)
        memset(x + (p * stride + 1) * PANEL, 0, PANEL * sizeof *x);
    uint8_t *got = buffer(out_stride * P * PANEL, 1), *want = buffer(out_stride * P * PANEL, 1);
    float *unit = buffer((size_t)rows, sizeof *unit);
    table->quantise(P, rows, x, stride, got, out_stride, scale);
    definition->quantise(P, rows, x, stride, want, out_stride, unit);
    for (size_t r = 0; r < (size_t)rows; r++) unit[r] *= 255.0f / (float)table->u8_max;
    compare("quantise scale", text, (size_t)rows, scale, unit, NULL, 0, 4 * U);
    if (table->u8_max == 255) compare_bytes("quantise", text, out_stride * P * PANEL, got, want, 1);
    for (size_t i = 0; i < out_stride * P * PANEL; i++) {
        size_t p = i / PANEL / out_stride, r = i / PANEL % out_stride;
        if (r >= (size_t)rows) {
            if (got[i]) differ("quantise padding", text, i, got[i], 0, 0);
            continue;
        }
        double exact = (double)x[(p * stride + r) * PANEL + i % PANEL], step = (double)scale[r];
        if (fabs(got[i] * step - exact) > 0.5001 * step || got[i] > table->u8_max)
            differ("quantise", text, i, got[i] * step, exact, 0.5 * step);
    }
    buffers_check("quantise", text);
}

static void flat_case(int count) {
    size_t n = (size_t)count;
    snprintf(text, sizeof text, "n %d", count);
    float *x = floats(n, -1, 1), *ones = buffer(n, sizeof *ones);
    for (size_t i = 0; i < n; i++) ones[i] = 2;
    double sum = table->norm2(n, x), want_sum = definition->norm2(n, x);
    if (fabs(sum - want_sum) > want_sum / (1 << 18)) differ("norm2", text, 0, sum, want_sum, 0);

    float *y[2] = {floats(n, -1, 1), NULL};
    y[1] = copy(y[0], n, sizeof(float));
    table->axpy(n, 0.3f, x, y[0]);
    definition->axpy(n, 0.3f, x, y[1]);
    compare("axpy", text, n, y[0], y[1], ones, 2 * U, 0);
    memcpy(y[0], y[1], n * sizeof(float));
    table->scale(n, 0.3f, y[0]);
    definition->scale(n, 0.3f, y[1]);
    compare("scale", text, n, y[0], y[1], NULL, 0, 0);
    table->ema(n, 0.99f, x, y[0]);
    definition->ema(n, 0.99f, x, y[1]);
    compare("ema", text, n, y[0], y[1], ones, 4 * U, 0);

    float *w[2] = {floats(n, -1, 1), NULL}, *v[2] = {floats(n, 0, 0.1f), NULL};
    float *m[2] = {floats(n, -1, 1), NULL};
    w[1] = copy(w[0], n, sizeof(float));
    v[1] = copy(v[0], n, sizeof(float));
    m[1] = copy(m[0], n, sizeof(float));
    table->rmsprop(n, w[0], v[0], x, 0.7f, 1e-2f, 0.99f, 1e-5f);
    definition->rmsprop(n, w[1], v[1], x, 0.7f, 1e-2f, 0.99f, 1e-5f);
    compare("rmsprop v", text, n, v[0], v[1], NULL, 0, 8 * U);
    compare("rmsprop w", text, n, w[0], w[1], ones, 8 * U, 0);
    AdamStep step = {.grad_scale = 0.7f,
                     .lr = 1e-2f,
                     .beta1 = 0.9f,
                     .beta2 = 0.999f,
                     .eps = 1e-8f,
                     .correct1 = 1.5f,
                     .correct2 = 2.5f,
                     .decay = 0.01f};
    memcpy(w[0], w[1], n * sizeof(float));
    memcpy(v[0], v[1], n * sizeof(float));
    table->adam(n, w[0], m[0], v[0], x, &step);
    definition->adam(n, w[1], m[1], v[1], x, &step);
    compare("adam m", text, n, m[0], m[1], ones, 8 * U, 0);
    compare("adam v", text, n, v[0], v[1], NULL, 0, 8 * U);
    compare("adam w", text, n, w[0], w[1], ones, 8 * U, 0);
    buffers_check("flat", text);
}

static void all_rows(void) {
    static const int panel_counts[] = {1, 2, 4, 5, 16};
    for (int c = 0; c < N_COUNTS; c++) {
        for (int p = 0; p < 5; p++) {
            for (int base = 0; base < 3; base++) {
                sparse_case(counts[c], panel_counts[p], base, base == 1, base != 1, false);
                sparse_case(counts[c], panel_counts[p], base, base == 1, base != 1, true);
            }
            head_case(counts[c], panel_counts[p]);
        }
        lstm_case(counts[c], false);
        lstm_case(counts[c], true);
    }
}

static void all_layouts(void) {
    for (int c = 0; c < N_COUNTS; c++) {
        pack_case(32, counts[c]);
        pack_case(96, counts[c]);
        pair_case(counts[c], true);
        pair_case(counts[c], false);
        bf16_case(counts[c]);
        int8_case(counts[c]);
        quantise_case(counts[c]);
    }
}

static void all_flat(void) {
    for (int c = 0; c < N_COUNTS; c++) flat_case(counts[c]);
    flat_case(100003);
}

static void run(void (*all)(void)) {
    n_failures = 0;
    each_table(all);
    assert_int_equal(n_failures, 0);
}

static void test_rows(void **state) {
    (void)state;
    run(all_rows);
}
static void test_layouts(void **state) {
    (void)state;
    run(all_layouts);
}
static void test_flat(void **state) {
    (void)state;
    run(all_flat);
}

static void test_choice(void **state) {
    (void)state;
    assert_null(kernels_find("avx9"));
    assert_string_equal(kernels_find("ref")->name, "ref");
    const char *was = getenv("DIZHU_KERNELS");
    char *kept = was ? strdup(was) : NULL;
    const KernelTable *k, *best = NULL;
    for (int i = 0; (k = kernels_at(i)); i++) {
        setenv("DIZHU_KERNELS", k->name, 1);
        assert_ptr_equal(kernels_get(), kernels_usable(k) ? k : NULL);
        if (kernels_usable(k)) best = k;
    }
    setenv("DIZHU_KERNELS", "nonsense", 1);
    assert_null(kernels_get());
    unsetenv("DIZHU_KERNELS");
    assert_ptr_equal(kernels_get(), best);
    if (kept) setenv("DIZHU_KERNELS", kept, 1);
    free(kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows), cmocka_unit_test(test_layouts),
                                       cmocka_unit_test(test_flat), cmocka_unit_test(test_choice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
