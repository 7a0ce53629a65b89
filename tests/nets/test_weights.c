/* Weights files: round trips in every dtype, files of other programs, the page that describes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "engine/base/bytes.h"
#include "nets/safetensors.h"
#include "nets/weights.h"
#include "tests/nets/fixtures.h"

static const WeightsInfo example_info = {.ruleset = RULES_DOUZERO,
                                         .objective = OBJECTIVE_ADP,
                                         .version = 812,
                                         .run = 18446744073709551615u,
                                         .steps = 40600,
                                         .frames = 129920000,
                                         .command = "dizhu train --objective adp"};

static void make_weights(Weights *w) {
    assert_int_equal(weights_new(w), ST_OK);
    w->info = example_info;
    for (int r = 0; r < N_ROLES; r++) fixture_weights(r, w->params[r]);
}

static void drop_role(Weights *w, Role role) {
    free(w->params[role]);
    w->params[role] = NULL;
}

static void check_info(const WeightsInfo *a, const WeightsInfo *b) {
    assert_int_equal(a->ruleset, b->ruleset);
    assert_int_equal(a->objective, b->objective);
    assert_int_equal(a->version, b->version);
    assert_true(a->run == b->run);
    assert_true(a->steps == b->steps);
    assert_true(a->frames == b->frames);
    assert_string_equal(a->command, b->command);
}

static void through_bytes(const Weights *w, Dtype dtype, Weights *out) {
    uint8_t *p, *again;
    size_t n, n_again;
    assert_int_equal(weights_encode(w, dtype, &p, &n), ST_OK);
    assert_int_equal(weights_decode(p, n, out), ST_OK);
    check_info(&w->info, &out->info);
    if (dtype !=
        DTYPE_INT8) { // what was read is written the same; int8 scales may move by rounding
        assert_int_equal(weights_encode(out, dtype, &again, &n_again), ST_OK);
        assert_int_equal(n, n_again);
        assert_memory_equal(p, again, n);
        free(again);
    }
    free(p);
}

static void test_fp32(void **state) {
    (void)state;
    Weights w, back;
    make_weights(&w);
    w.params[ROLE_LANDLORD][7] = -0.0f;
    w.params[ROLE_LANDLORD][8] = 1e-42f; // subnormal
    w.params[ROLE_LANDLORD][9] = 3.4028234e38f;
    through_bytes(&w, DTYPE_F32, &back);
    for (int r = 0; r < N_ROLES; r++)
        assert_memory_equal(w.params[r], back.params[r], net_layout(r)->n_params * sizeof(float));
    weights_free(&w);
    weights_free(&back);
}

/* The bf16 nearest to v, by trying the two around it; of two as near the one with an even last bit.
 */
static float nearest_bf16(float v) {
    uint32_t bits, low, high;
    float a, b;
    memcpy(&bits, &v, 4);
    low = bits & 0xffff0000u;
    high = low + 0x10000u;
    memcpy(&a, &low, 4);
    memcpy(&b, &high, 4);
    double to_a = fabs((double)v - (double)a), to_b = fabs((double)b - (double)v);
    if (to_a != to_b) return to_a < to_b ? a : b;
    return low & 0x10000u ? b : a;
}

static void test_bf16(void **state) {
    (void)state;
    Weights w, back;
    make_weights(&w);
    // ties: the first two lie exactly between two values
    const float special[] = {1 + 0x1p-8f,    1 + 3 * 0x1p-8f, -1 - 0x1p-8f,
                             1 + 0x1.01p-8f, 0x1p-140f,       -0.0f};
    memcpy(w.params[ROLE_LANDLORD_UP], special, sizeof special);
    through_bytes(&w, DTYPE_BF16, &back);
    assert_true(back.params[ROLE_LANDLORD_UP][0] == 1);
    assert_true(back.params[ROLE_LANDLORD_UP][1] == 1 + 0x1p-6f);
    for (int r = 0; r < N_ROLES; r++)
        for (int t = 0; t < NET_TENSORS; t++) {
            const NetTensor *l = &net_layout(r)->tensor[t];
            for (size_t i = l->offset; i < l->offset + l->size; i++) {
                float want = l->cols ? nearest_bf16(w.params[r][i]) : w.params[r][i];
                if (memcmp(&want, &back.params[r][i], 4) != 0)
                    fail_msg("%s[%zu]: %a, not %a", l->name, i, (double)back.params[r][i],
                             (double)want);
            }
        }
    weights_free(&w);
    weights_free(&back);
}

static void test_int8(void **state) {
    (void)state;
    Weights w, back;
    make_weights(&w);
    memset(w.params[ROLE_LANDLORD], 0, STEP_DIM * sizeof(float)); // a row of zeros
    w.params[ROLE_LANDLORD][STEP_DIM] = 1e-44f;                   // a row whose scale is subnormal
    for (int i = 1; i < STEP_DIM; i++) w.params[ROLE_LANDLORD][STEP_DIM + i] = 0;
    through_bytes(&w, DTYPE_INT8, &back);
    for (int r = 0; r < N_ROLES; r++)
        for (int t = 0; t < NET_TENSORS; t++) {
            const NetTensor *l = &net_layout(r)->tensor[t];
            for (int row = 0; row < l->rows; row++) {
                int n = l->cols ? l->cols : 1;
                const float *v = w.params[r] + l->offset + (size_t)row * n;
                const float *is = back.params[r] + l->offset + (size_t)row * n;
                float largest = 0;
                for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(v[i]));
                float bound = l->cols ? largest / 254 * 1.0001f + 1e-43f : 0; // half a step
                for (int i = 0; i < n; i++) assert_true(fabsf(v[i] - is[i]) <= bound);
            }
        }
    weights_free(&w);
    weights_free(&back);
}

static void test_some_roles(void **state) {
    (void)state;
    for (int d = 0; d < N_DTYPES; d++) {
        Weights w, back;
        make_weights(&w);
        drop_role(&w, ROLE_LANDLORD_DOWN);
        through_bytes(&w, d, &back);
        assert_null(back.params[ROLE_LANDLORD_DOWN]);
        assert_non_null(back.params[ROLE_LANDLORD]);
        assert_non_null(back.params[ROLE_LANDLORD_UP]);
        weights_free(&w);
        weights_free(&back);
    }
}

/* Texts that would break a careless writer. */
static void test_commands(void **state) {
    (void)state;
    const char *const commands[][2] = {
        {"\"checksum\":\"0000000000000000\"", NULL},
        {"tab\t newline\n backslash\\ quote\"", NULL},
        {"r\xc3\xa4ume \xe6\x96\x97\xe5\x9c\xb0\xe4\xb8\xbb", NULL},
        {"\xff\xfe no UTF-8", "?? no UTF-8"},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        Weights w, back;
        uint8_t *p;
        size_t n;
        make_weights(&w);
        drop_role(&w, ROLE_LANDLORD_DOWN);
        drop_role(&w, ROLE_LANDLORD_UP);
        snprintf(w.info.command, sizeof w.info.command, "%s", commands[i][0]);
        assert_int_equal(weights_encode(&w, DTYPE_INT8, &p, &n), ST_OK);
        assert_int_equal(weights_decode(p, n, &back), ST_OK);
        assert_string_equal(back.info.command, commands[i][1] ? commands[i][1] : commands[i][0]);
        free(p);
        weights_free(&w);
        weights_free(&back);
    }
}

static void test_not_finite(void **state) {
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++)
        for (int d = 0; d < N_DTYPES; d++) {
            Weights w;
            uint8_t *p = NULL;
            size_t n;
            make_weights(&w);
            w.params[ROLE_LANDLORD_UP][net_layout(ROLE_LANDLORD_UP)->n_params - 1 - i] = bad[i];
            assert_int_equal(weights_encode(&w, d, &p, &n), ST_CORRUPT);
            assert_null(p);
            weights_free(&w);
        }
    Weights w; // finite, but no bf16
    uint8_t *p = NULL;
    size_t n;
    make_weights(&w);
    w.params[ROLE_LANDLORD][0] = 3.4028234e38f;
    assert_int_equal(weights_encode(&w, DTYPE_BF16, &p, &n), ST_CORRUPT);
    weights_free(&w);
}

/* A landlord's file as another program would write it: tensors sorted by name, no metadata but a
 * format, a header of any length, spaces where it likes.                                     */
static void test_foreign_file(void **state) {
    (void)state;
    const NetLayout *l = net_layout(ROLE_LANDLORD);
    Weights w, back;
    make_weights(&w);
    size_t header_bytes = 0, at = 0, n_data = l->n_params * sizeof(float);
    char header[4096];
    uint8_t *file = malloc(sizeof header + n_data), *data = malloc(n_data);
    assert_true(file && data);
#define PRINT(...)                                                                                 \
    (header_bytes +=                                                                               \
     (size_t)snprintf(header + header_bytes, sizeof header - header_bytes, __VA_ARGS__))
    PRINT("{ \"__metadata__\": {\"format\": \"pt\"}");
    for (int order = 0; order < NET_TENSORS; order++) {
        const NetTensor *t = &l->tensor[(order + 4) % NET_TENSORS]; // dense first, then lstm
        PRINT(", \"landlord.%s\": {\"shape\": [%d", t->name, t->rows);
        if (t->cols) PRINT(", %d", t->cols);
        PRINT("], \"dtype\": \"F32\", \"data_offsets\": [%zu, %zu]}", at, at + 4 * t->size);
        memcpy(data + at, w.params[ROLE_LANDLORD] + t->offset, 4 * t->size);
        at += 4 * t->size;
    }
    PRINT("}");
    while (header_bytes % 4 != 3) PRINT(" "); // every tensor misaligned
#undef PRINT
    put_u64(file, header_bytes);
    memcpy(file + 8, header, header_bytes);
    memcpy(file + 8 + header_bytes, data, n_data);
    assert_int_equal(weights_decode(file, 8 + header_bytes + n_data, &back), ST_OK);
    assert_memory_equal(back.params[ROLE_LANDLORD], w.params[ROLE_LANDLORD], n_data);
    assert_null(back.params[ROLE_LANDLORD_UP]);
    assert_int_equal(back.info.ruleset, RULES_DOUZERO);
    assert_string_equal(back.info.command, "");
    free(file);
    free(data);
    weights_free(&w);
    weights_free(&back);
}

/* The first ```json block of docs/weights.md. */
static json_t *documented_header(void) {
    char text[16384];
    FILE *f = fopen(SOURCE_DIR "/docs/weights.md", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    char *begin = strstr(text, "```json\n");
    assert_non_null(begin);
    begin += strlen("```json\n");
    json_error_t error;
    json_t *v = json_loadb(begin, (size_t)(strstr(begin, "```") - begin), 0, &error);
    if (!v) fail_msg("docs/weights.md: %s", error.text);
    return v;
}

static void test_documented_header(void **state) {
    (void)state;
    Weights w;
    uint8_t *p;
    size_t n;
    make_weights(&w);
    drop_role(&w, ROLE_LANDLORD_DOWN);
    drop_role(&w, ROLE_LANDLORD_UP);
    assert_int_equal(weights_encode(&w, DTYPE_INT8, &p, &n), ST_OK);
    json_t *is = json_loadb((const char *)p + 8, (size_t)get_u64(p), 0, NULL);
    json_t *said = documented_header();
    if (!json_equal(is, said)) fail_msg("is %s", json_dumps(is, JSON_INDENT(1)));
    json_decref(is);
    json_decref(said);
    free(p);
    weights_free(&w);
}

static void test_save_and_load(void **state) {
    (void)state;
    char dir[] = "/tmp/dizhu-weights-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/w.safetensors", dir);
    Weights w, back;
    make_weights(&w);
    assert_int_equal(weights_load(path, &back), ST_IO); // no such file
    for (int d = N_DTYPES - 1; d >= 0; d--) {
        assert_int_equal(weights_save(&w, d, path), ST_OK);
        assert_int_equal(weights_load(path, &back), ST_OK);
        check_info(&w.info, &back.info);
        if (d > 0) weights_free(&back);
    }
    for (int r = 0; r < N_ROLES; r++)
        assert_memory_equal(w.params[r], back.params[r], net_layout(r)->n_params * sizeof(float));
    weights_free(&back);
    w.params[ROLE_LANDLORD][5] = NAN; // refused: the good file stays
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_CORRUPT);
    assert_int_equal(weights_load(path, &back), ST_OK);
    weights_free(&back);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(weights_load(path, &back), ST_TRUNCATED);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(weights_load(path, &back), ST_TRUNCATED);
    assert_int_equal(truncate(path, 1ll << 40), 0); // sparse
    assert_int_equal(weights_load(path, &back), ST_CORRUPT);
    unlink(path);
    rmdir(dir);
    weights_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fp32),          cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_int8),          cmocka_unit_test(test_some_roles),
        cmocka_unit_test(test_commands),      cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_foreign_file),  cmocka_unit_test(test_documented_header),
        cmocka_unit_test(test_save_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
