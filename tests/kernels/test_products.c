/* Matrix products of every table against ref. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/kernels/check.h"

static const int row_counts[] = {0, 1, 5, 7, 8, 12, 13, 17, 33, 191, 193, 373};
static const struct { int K, N; } shapes[] = {{32, 32}, {128, 96}, {512, 64}, {96, 160}};
enum { N_ROWS = sizeof row_counts / sizeof *row_counts, N_SHAPES = sizeof shapes / sizeof *shapes };
static const double U = 1.0 / (1 << 24);

typedef enum { PLAIN, BIAS_RELU, ADD, ADD_RELU, MASK, MASK16, HALF_OUT, N_ENDS } EndKind;

/* One product three times: the table's, ref's, and ref's with absolute values, which is S. */
typedef struct {
    size_t size, out_rows;
    GemmEnd got, want, terms;
    char text[64];
} Ends;

static Ends ends_new(EndKind kind, int rows, int K, int N) {
    Ends e = {.out_rows = (size_t)rows + 3};
    e.size = e.out_rows * (size_t)N;
    snprintf(e.text, sizeof e.text, "rows %d K %d N %d end %d", rows, K, N, kind);
    float *out = floats(e.size, -1, 1), *bias = floats((size_t)N, -1, 1);
    GemmEnd base = {.out_rows = e.out_rows,
                    .add = kind == ADD || kind == ADD_RELU,
                    .relu = kind == BIAS_RELU || kind == ADD_RELU || kind == HALF_OUT,
                    .mask = kind == MASK ? floats(e.size, -1, 1) : NULL,
                    .mask16 = kind == MASK16 ? halves(e.size, -1, 1) : NULL};
    e.got = e.want = e.terms = base;
    if (kind == BIAS_RELU || kind == HALF_OUT) {
        e.got.bias = e.want.bias = bias;
        e.terms.bias = absolute(bias, (size_t)N);
    }
    if (kind != HALF_OUT) {
        e.got.out = out;
        e.want.out = copy(out, e.size, sizeof(float));
    }
    if (kind == HALF_OUT || kind == MASK16 || kind == ADD_RELU) {
        e.got.out16 = halves(e.size, -1, 1);
        e.want.out16 = copy(e.got.out16, e.size, sizeof(uint16_t));
    }
    e.terms.out = base.add ? absolute(out, e.size) : buffer(e.size, sizeof(float));
    if (base.add) /* rows that are not written have no terms */
        for (size_t i = 0; i < e.size; i++)
            if (i / PANEL % e.out_rows >= (size_t)rows) e.terms.out[i] = 0;
    return e;
}

static void ends_compare(const char *op, const Ends *e, double factor, double relative) {
    if (e->got.out)
        compare(op, e->text, e->size, e->got.out, e->want.out, e->terms.out, factor, relative);
    if (e->got.out16)
        compare16(op, e->text, e->size, e->got.out16, e->want.out16, e->terms.out, factor);
    buffers_check(op, e->text);
}

static void gemm_case(EndKind kind, int rows, int K, int N) {
    size_t a_rows = (size_t)rows + 1, a_size = a_rows * (size_t)K, w_size = (size_t)K * (size_t)N;
    Ends e = ends_new(kind, rows, K, N);
    float *a = floats(a_size, -1, 1), *w = floats(w_size, -1, 1);
    table->gemm(rows, K, N, a, a_rows, w, &e.got);
    definition->gemm(rows, K, N, a, a_rows, w, &e.want);
    definition->gemm(rows, K, N, absolute(a, a_size), a_rows, absolute(w, w_size), &e.terms);
    ends_compare("gemm", &e, 2 * K * U, 0);
}

static void gemm_bf16_case(EndKind kind, int rows, int K, int N) {
    size_t a_rows = (size_t)rows + 1, a_size = a_rows * (size_t)K, w_size = (size_t)K * (size_t)N;
    Ends e = ends_new(kind, rows, K, N);
    uint16_t *a = halves(a_size, -1, 1), *w = halves(w_size, -1, 1);
    table->gemm_bf16(rows, K, N, a, a_rows, w, &e.got);
    definition->gemm_bf16(rows, K, N, a, a_rows, w, &e.want);
    definition->gemm_bf16(rows, K, N, absolute16(a, a_size), a_rows, absolute16(w, w_size),
                          &e.terms);
    ends_compare("gemm_bf16", &e, 2 * K * U, 0);
}

static void gemm_i8_case(EndKind kind, int rows, int K, int N) {
    size_t a_rows = (size_t)rows + 1, a_size = a_rows * (size_t)K, w_size = (size_t)K * (size_t)N;
    Ends e = ends_new(kind, rows, K, N);
    uint8_t *a = buffer(a_size, 1);
    int8_t *w = buffer(w_size, 1), *w_abs = buffer(w_size, 1);
    /* Extremes often: they are what saturates. */
    for (size_t i = 0; i < a_size; i++)
        a[i] = (uint8_t)(i % 3 ? (uint32_t)table->u8_max
                               : rng_below(&rng, (uint32_t)table->u8_max + 1));
    for (size_t i = 0; i < w_size; i++) {
        w[i] =
            (int8_t)(rng_below(&rng, 3) ? (i % 7 ? 127 : -127) : (int)rng_below(&rng, 255) - 127);
        w_abs[i] = (int8_t)abs(w[i]);
    }
    float *a_scale = floats((size_t)rows, 0.001f, 0.01f),
          *w_scale = floats((size_t)N, 0.001f, 0.01f);
    table->gemm_i8(rows, K, N, a, a_rows, a_scale, w, w_scale, &e.got);
    definition->gemm_i8(rows, K, N, a, a_rows, a_scale, w, w_scale, &e.want);
    definition->gemm_i8(rows, K, N, a, a_rows, a_scale, w_abs, w_scale, &e.terms);
    ends_compare("gemm_i8", &e, 4 * U, 4 * U);
}

static void all_gemm(void) {
    for (int s = 0; s < N_SHAPES; s++)
        for (int r = 0; r < N_ROWS; r++)
            for (int kind = 0; kind < N_ENDS; kind++) {
                if (row_counts[r] > 33 && kind > BIAS_RELU && s != 1) continue; /* ref is slow */
                gemm_case(kind, row_counts[r], shapes[s].K, shapes[s].N);
                if (table->gemm_bf16) gemm_bf16_case(kind, row_counts[r], shapes[s].K, shapes[s].N);
                if (table->gemm_i8) gemm_i8_case(kind, row_counts[r], shapes[s].K, shapes[s].N);
            }
    printf("%s: gemm%s%s\n", table->name, table->gemm_bf16 ? " gemm_bf16" : "",
           table->gemm_i8 ? " gemm_i8" : "");
}

static void wgrad_case(int rows, int N, int K, bool add) {
    char text[64];
    snprintf(text, sizeof text, "rows %d N %d K %d add %d", rows, N, K, add);
    size_t dy_rows = (size_t)rows + 2, x_rows = (size_t)rows + 1, ldg = (size_t)K + 5;
    size_t dy_size = dy_rows * (size_t)N, x_size = x_rows * (size_t)K, g_size = ldg * (size_t)N;
    float *dy = floats(dy_size, -1, 1), *x = floats(x_size, -1, 1), *got = floats(g_size, -1, 1);
    float *want = copy(got, g_size, sizeof *got), *terms = buffer(g_size, sizeof *terms);
    for (size_t i = 0; add && i < g_size; i++) terms[i] = i % ldg < (size_t)K ? fabsf(got[i]) : 0;
    table->wgrad(rows, N, K, dy, dy_rows, x, x_rows, got, ldg, add);
    definition->wgrad(rows, N, K, dy, dy_rows, x, x_rows, want, ldg, add);
    definition->wgrad(rows, N, K, absolute(dy, dy_size), dy_rows, absolute(x, x_size), x_rows,
                      terms, ldg, add);
    compare("wgrad", text, g_size, got, want, terms, 2 * (rows + 1) * U, 0);
    buffers_check("wgrad", text);
}

static void wgrad_bf16_case(int pairs, int N, int K, bool add) {
    char text[64];
    snprintf(text, sizeof text, "pairs %d N %d K %d add %d", pairs, N, K, add);
    size_t dy_pairs = (size_t)pairs + 2, x_pairs = (size_t)pairs + 1, ldg = (size_t)K + 5;
    size_t dy_size = 2 * dy_pairs * (size_t)N, x_size = 2 * x_pairs * (size_t)K;
    size_t g_size = ldg * (size_t)N;
    uint16_t *dy = halves(dy_size, -1, 1), *x = halves(x_size, -1, 1);
    float *got = floats(g_size, -1, 1);
    float *want = copy(got, g_size, sizeof *got), *terms = buffer(g_size, sizeof *terms);
    for (size_t i = 0; add && i < g_size; i++) terms[i] = i % ldg < (size_t)K ? fabsf(got[i]) : 0;
    table->wgrad_bf16(pairs, N, K, (uint32_t *)dy, dy_pairs, (uint32_t *)x, x_pairs, got, ldg, add);
    definition->wgrad_bf16(pairs, N, K, (uint32_t *)dy, dy_pairs, (uint32_t *)x, x_pairs, want, ldg,
                           add);
    definition->wgrad_bf16(pairs, N, K, (uint32_t *)absolute16(dy, dy_size), dy_pairs,
                           (uint32_t *)absolute16(x, x_size), x_pairs, terms, ldg, add);
    compare("wgrad_bf16", text, g_size, got, want, terms, 4 * (pairs + 1) * U, 0);
    buffers_check("wgrad_bf16", text);
}

static void all_wgrad(void) {
    static const int counts[] = {0, 1, 7, 8, 17, 33, 128, 129, 373};
    for (size_t r = 0; r < sizeof counts / sizeof *counts; r++)
        for (int add = 0; add < 2; add++)
            for (int s = 0; s < 2; s++) {
                int N = s ? 64 : 32, K = s ? 32 : 96;
                wgrad_case(counts[r], N, K, add);
                if (table->wgrad_bf16) wgrad_bf16_case(counts[r], N, K, add);
            }
    printf("%s: wgrad%s\n", table->name, table->wgrad_bf16 ? " wgrad_bf16" : "");
}

static void test_gemm(void **state) {
    (void)state;
    n_failures = 0;
    each_table(all_gemm);
    assert_int_equal(n_failures, 0);
}

static void test_wgrad(void **state) {
    (void)state;
    n_failures = 0;
    each_table(all_wgrad);
    assert_int_equal(n_failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gemm), cmocka_unit_test(test_wgrad)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
