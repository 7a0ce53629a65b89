/* Weights files from an enemy or a dying disk: an error that names the place, never a crash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "nets/safetensors.h"
#include "nets/weights.h"
#include "tests/nets/fixtures.h"

/* A file of the landlord alone. */
static void landlord_file(Dtype dtype, uint8_t **p, size_t *n) {
    Weights w;
    assert_int_equal(weights_new(&w), ST_OK);
    w.info = (WeightsInfo){
        .steps = 5, .frames = 16000, .run = 77, .version = 3, .command = "dizhu train"};
    for (int r = 0; r < N_ROLES; r++)
        if (r != ROLE_LANDLORD) {
            free(w.params[r]);
            w.params[r] = NULL;
        }
    fixture_weights(ROLE_LANDLORD, w.params[ROLE_LANDLORD]);
    assert_int_equal(weights_encode(&w, dtype, p, n), ST_OK);
    weights_free(&w);
}

static bool same_weights(const Weights *a, const Weights *b) {
    return memcmp(&a->info, &b->info, sizeof a->info) == 0 &&
           memcmp(a->params[0], b->params[0], net_layout(0)->n_params * sizeof(float)) == 0 &&
           !a->params[1] && !b->params[1] && !a->params[2] && !b->params[2];
}

/* Decodes; what is read must equal `whole`. Counts the refusals. */
static void try_damaged(const uint8_t *p, size_t n, const Weights *whole, int *refused) {
    Weights w = {0};
    if (weights_decode(p, n, &w) != ST_OK) {
        for (int r = 0; r < N_ROLES; r++) assert_null(w.params[r]); // untouched
        ++*refused;
        return;
    }
    if (!same_weights(&w, whole)) fail_msg("damage was not noticed");
    weights_free(&w);
}

static void test_flipped_bytes(void **state) {
    (void)state;
    Rng rng;
    rng_init(&rng, 1, 2);
    for (int d = 0; d < N_DTYPES; d++) {
        uint8_t *p;
        size_t n;
        Weights whole;
        int refused = 0, tried = 0;
        landlord_file(d, &p, &n);
        assert_int_equal(weights_decode(p, n, &whole), ST_OK);
        size_t n_header = 8 + (size_t)get_u64(p);
        for (size_t i = 0; i < n_header; i++)
            for (int k = 0; k < 2; k++, tried++) { // all bits of the byte, then one
                uint8_t flip = (uint8_t)(k ? 1u << rng_below(&rng, 8) : 0xff);
                p[i] ^= flip;
                try_damaged(p, n, &whole, &refused);
                p[i] ^= flip;
            }
        for (int k = 0; k < 200; k++, tried++) {
            size_t i = k < 2 ? (k ? n - 1 : n_header)
                             : n_header + rng_below(&rng, (uint32_t)(n - n_header));
            uint8_t flip = (uint8_t)(1u << rng_below(&rng, 8));
            p[i] ^= flip;
            try_damaged(p, n, &whole, &refused);
            p[i] ^= flip;
        }
        print_message("%s: %d of %d damaged files refused\n", dtype_name(d), refused, tried);
        assert_int_equal(refused, tried); // the checksum covers every byte
        free(p);
        weights_free(&whole);
    }
}

static void test_truncated(void **state) {
    (void)state;
    Rng rng;
    rng_init(&rng, 1, 3);
    uint8_t *p;
    size_t n;
    Weights w;
    landlord_file(DTYPE_INT8, &p, &n);
    size_t n_header = 8 + (size_t)get_u64(p);
    for (size_t k = 0; k < n_header + 200; k++) {
        size_t at = k < n_header ? k : n_header + rng_below(&rng, (uint32_t)(n - n_header));
        uint8_t *cut = malloc(at ? at : 1); // of exactly this size: reading on is found by ASan
        assert_non_null(cut);
        memcpy(cut, p, at);
        assert_int_equal(weights_decode(cut, at, &w), ST_TRUNCATED);
        free(cut);
    }
    uint8_t *longer = malloc(n + 1);
    memcpy(longer, p, n);
    longer[n] = 0;
    assert_int_equal(weights_decode(longer, n + 1, &w), ST_CORRUPT);
    free(longer);
    free(p);
}

/* The last line of the log; the log goes to a file of this test. */
static char log_path[] = "/tmp/dizhu-log-XXXXXX";

static void last_log_line(char out[2048]) {
    char text[2048];
    FILE *f = fopen(log_path, "r");
    assert_non_null(f);
    out[0] = 0;
    while (fgets(text, sizeof text, f)) snprintf(out, 2048, "%s", text);
    fclose(f);
}

#define F32_AT(name, shape, begin, end)                                                            \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" #begin "," #end "]" \
    "}"

static const struct {
    const char *header;
    size_t n_data;
    Status status;
    const char *names; /* what the log line must contain */
} hostile[] = {
    {"{" F32_AT("a", "2", 0, 8) "}", 8, ST_MISMATCH, "tensor a belongs to no net"},
    {"{" F32_AT("landlord.dense6.bias", "2", 0, 8) "}", 8, ST_MISMATCH,
     "landlord.lstm.weight_ih_l0 is missing"},
    {"{" F32_AT("landlord.dense6.bias.scale", "1", 0, 4) "}", 4, ST_MISMATCH, "belongs to no net"},
    {"{" F32_AT("a", "3", 0, 8) "}", 8, ST_CORRUPT, "tensor a"},
    {"{" F32_AT("a", "2", 0, 8) "}", 7, ST_TRUNCATED, "tensor a"},
    {"{" F32_AT("a", "2", 0, 8) "}", 9, ST_CORRUPT, "1 bytes after the last tensor"},
    {"{" F32_AT("a", "2", 8, 0) "}", 8, ST_CORRUPT, "tensor a"},
    {"{" F32_AT("a", "-2", 0, 8) "}", 8, ST_CORRUPT, "tensor a: a dimension"},
    {"{" F32_AT("a", "2.0", 0, 8) "}", 8, ST_CORRUPT, "tensor a: a dimension"},
    {"{" F32_AT("a", "4611686018427387904", 0, 0) "}", 8, ST_CORRUPT, "tensor a: shape overflows"},
    {"{" F32_AT("a", "4294967296,4294967296", 0, 0) "}", 8, ST_CORRUPT,
     "tensor a: shape overflows"},
    {"{" F32_AT("a", "99999999999999999999", 0, 0) "}", 8, ST_CORRUPT, "header"},
    {"{" F32_AT("a", "1,1,1,1,1", 0, 4) "}", 4, ST_CORRUPT, "tensor a: more than 4"},
    {"{" F32_AT("a", "2", -8, 0) "}", 8, ST_CORRUPT, "tensor a"},
    {"{" F32_AT("a", "2", 9223372036854775800, 9223372036854775807) "}", 8, ST_CORRUPT, "tensor a"},
    {"{" F32_AT("a", "2", 9223372036854775799, 9223372036854775807) "}", 8, ST_TRUNCATED,
     "tensor a"},
    {"{" F32_AT("a", "2", 0, 8) "," F32_AT("b", "2", 4, 12) "}", 12, ST_CORRUPT,
     "tensor b: overlaps"},
    {"{" F32_AT("a", "2", 0, 8) "," F32_AT("b", "2", 0, 8) "}", 8, ST_CORRUPT, "overlaps"},
    {"{" F32_AT("a", "2", 0, 8) "," F32_AT("b", "1", 12, 16) "}", 16, ST_CORRUPT,
     "tensor b: bytes before"},
    {"{" F32_AT("a", "2", 0, 8) "," F32_AT("a", "2", 8, 16) "}", 16, ST_CORRUPT, "duplicate"},
    {"{\"a\":{\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ST_CORRUPT, "tensor a: no dtype"},
    {"{\"a\":{\"dtype\":\"F31\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ST_CORRUPT,
     "tensor a: unknown dtype"},
    {"{\"a\":{\"dtype\":7,\"shape\":[2],\"data_offsets\":[0,8]}}", 8, ST_CORRUPT,
     "tensor a: no dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":2,\"data_offsets\":[0,8]}}", 8, ST_CORRUPT,
     "tensor a: no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, ST_CORRUPT, "tensor a: data_offsets"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", 8, ST_CORRUPT,
     "tensor a: data_offsets"},
    {"{\"a\":7}", 8, ST_CORRUPT, "tensor a: no dtype"},
    {"{\"a\\nb\":7}", 8, ST_CORRUPT, "unprintable"},
    {"{\"\\u0000\":7}", 8, ST_CORRUPT, "header"},
    {"{\"\xff\":7}", 8, ST_CORRUPT, "header"},
    {"{\"__metadata__\":7}", 0, ST_CORRUPT, "__metadata__"},
    {"{\"__metadata__\":{\"steps\":7}}", 0, ST_CORRUPT, "metadata steps"},
    {"{\"__metadata__\":{\"steps\":\"-7\"}}", 0, ST_CORRUPT, "metadata steps"},
    {"{\"__metadata__\":{\"version\":\"4294967296\"}}", 0, ST_CORRUPT, "metadata version"},
    {"{\"__metadata__\":{\"frames\":\"99999999999999999999\"}}", 0, ST_CORRUPT, "metadata frames"},
    {"{\"__metadata__\":{\"ruleset\":\"bridge\"}}", 0, ST_MISMATCH,
     "metadata ruleset is \"bridge\""},
    {"{\"__metadata__\":{\"objective\":\"fun\"}}", 0, ST_MISMATCH, "metadata objective is \"fun\""},
    {"{\"__metadata__\":{\"features\":\"other\"}}", 0, ST_MISMATCH, "features"},
    {"{\"__metadata__\":{\"format\":\"dizhu-weights/2\"}}", 0, ST_VERSION, "dizhu-weights/2"},
    {"{\"__metadata__\":{\"format\":\"dizhu-weights/1\"}}", 0, ST_CORRUPT, "checksum"},
    {"{\"__metadata__\":{\"checksum\":\"0123456789abcdef\"}}", 0, ST_CORRUPT, "checksum"},
    {"{\"__metadata__\":{\"checksum\":\"0\"}}", 0, ST_CORRUPT, "checksum"},
    {"{\"__metadata__\":{\"\\u0063hecksum\":\"0\"}}", 0, ST_CORRUPT, "checksum"},
    {"{}", 0, ST_MISMATCH, "holds no tensor"},
    {"[]", 0, ST_CORRUPT, "no JSON object"},
    {"", 0, ST_CORRUPT, "no JSON object"},
    {"{", 0, ST_CORRUPT, "no JSON object"},
    {"{}{}", 0, ST_CORRUPT, "no JSON object"},
};

static void test_hostile_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        size_t n_header = strlen(hostile[i].header), n = 8 + n_header + hostile[i].n_data;
        uint8_t *p = calloc(1, n);
        Weights w;
        char line[2048];
        assert_non_null(p);
        put_u64(p, n_header);
        memcpy(p + 8, hostile[i].header, n_header);
        Status st = weights_decode(p, n, &w);
        last_log_line(line);
        if (st != hostile[i].status || !strstr(line, hostile[i].names))
            fail_msg("%s: status \"%s\", log: %s", hostile[i].header, status_text(st), line);
        free(p);
    }
}

static void test_hostile_lengths(void **state) {
    (void)state;
    const uint64_t lengths[] = {0,          1,          9,          (1u << 20) + 1,
                                1ull << 32, 1ull << 63, UINT64_MAX, UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        uint8_t p[16] = {0};
        Weights w;
        put_u64(p, lengths[i]);
        Status st = weights_decode(p, sizeof p, &w);
        assert_true(st == ST_TRUNCATED || st == ST_CORRUPT);
    }
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    put_u64((uint8_t *)deep, sizeof deep - 8);
    Weights w;
    assert_int_equal(weights_decode((uint8_t *)deep, sizeof deep, &w), ST_CORRUPT);
}

/* Replaces a text in the header by one of the same length, makes the checksum right again. */
static void forge(uint8_t *p, size_t n, const char *old, const char *new) {
    assert_int_equal(strlen(old), strlen(new));
    uint8_t *at = memmem(p, 8 + (size_t)get_u64(p), old, strlen(old));
    assert_non_null(at);
    memcpy(at, new, strlen(new));
    safetensors_seal(p, n);
}

/* Files that are whole and well formed, but no net of ours. */
static void test_forged(void **state) {
    (void)state;
    static const struct {
        Dtype dtype;
        const char *old, *new;
        Status status;
        const char *names;
    } forgeries[] = {
        {DTYPE_F32, "[512,501]", "[501,512]", ST_MISMATCH,
         "landlord.dense1.weight has another shape"},
        {DTYPE_F32, "landlord.dense3.bias", "landlord.dense9.bias", ST_MISMATCH,
         "landlord.dense9.bias"},
        {DTYPE_F32, "\"F32\",\"shape\":[512,162]", "\"I32\",\"shape\":[512,162]", ST_MISMATCH,
         "landlord.lstm.weight_ih_l0"},
        {DTYPE_BF16, "\"BF16\",\"shape\":[512,501]", "\"I16\",\"shape\":[512, 501]", ST_MISMATCH,
         "landlord.dense1.weight"},
        {DTYPE_INT8, "landlord.dense1.weight.scale", "landlord.dense1.weight.scalp", ST_MISMATCH,
         "scalp"},
        {DTYPE_INT8, "\"I8\",\"shape\":[512,501]", "\"U8\",\"shape\":[512,501]", ST_MISMATCH,
         "landlord.dense1.weight"},
        {DTYPE_F32, "\"frames\":\"16000\"", "\"frames\":\"16o00\"", ST_CORRUPT, "frames"},
        {DTYPE_F32, "\"douzero\",\"objective\"", "\"douzera\",\"objective\"", ST_MISMATCH,
         "douzera"},
        {DTYPE_F32, "dizhu-weights/1", "dizhu-weights/9", ST_VERSION, "dizhu-weights/9"},
        {DTYPE_F32, "dizhu-weights/1", "dizhu-weightz/1", ST_CORRUPT, "format"},
    };
    for (size_t i = 0; i < sizeof forgeries / sizeof forgeries[0]; i++) {
        uint8_t *p;
        size_t n;
        Weights w;
        char line[2048];
        landlord_file(forgeries[i].dtype, &p, &n);
        forge(p, n, forgeries[i].old, forgeries[i].new);
        Status st = weights_decode(p, n, &w);
        last_log_line(line);
        if (st != forgeries[i].status || !strstr(line, forgeries[i].names))
            fail_msg("%s: status \"%s\", log: %s", forgeries[i].new, status_text(st), line);
        free(p);
    }
}

/* Infinities and NaNs in otherwise good files, among the numbers and among the scales. */
static void test_not_finite(void **state) {
    (void)state;
    const uint16_t bad[] = {0x7f80, 0xff80, 0x7fc0, 0x7f81}; // the upper half of an fp32, or a bf16
    for (int d = 0; d < N_DTYPES; d++)
        for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
            uint8_t *p;
            size_t n;
            Weights w;
            char line[2048];
            landlord_file(d, &p, &n);
            size_t data = 8 + (size_t)get_u64(p);
            // fp32: the last number; bf16: the last number; int8: the first scale
            put_u16(p + (d == DTYPE_INT8 ? data + 2 : n - 2), bad[i]);
            safetensors_seal(p, n);
            assert_int_equal(weights_decode(p, n, &w), ST_CORRUPT);
            last_log_line(line);
            if (!strstr(line, "not finite") || !strstr(line, "tensor landlord."))
                fail_msg("%s", line);
            free(p);
        }
}

static int log_to_file(void **state) {
    (void)state;
    int fd = mkstemp(log_path);
    if (fd < 0) return -1;
    close(fd);
    return log_file(log_path);
}

static int remove_log(void **state) {
    (void)state;
    log_file(NULL);
    return unlink(log_path);
}

/* Thousands of lines that nobody looks at. */
static int quiet(void **state) {
    (void)state;
    log_level(LOG_NONE);
    return 0;
}

static int loud(void **state) {
    (void)state;
    log_level(LOG_INFO);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_hostile_lengths),
        cmocka_unit_test(test_forged),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test_setup_teardown(test_truncated, quiet, loud),
        cmocka_unit_test_setup_teardown(test_flipped_bytes, quiet, loud),
    };
    return cmocka_run_group_tests(tests, log_to_file, remove_log);
}
