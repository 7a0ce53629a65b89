/* safetensors.c - reads and writes the container. The JSON is jansson's work; everything that the
 * JSON claims is checked here before anyone follows an offset.                               */
#include "nets/safetensors.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* the state on the stack */
#include <xxhash.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"

#define METADATA    "__metadata__"
#define CHECKSUM    "checksum"
#define NO_CHECKSUM "0000000000000000"
#define CHECKSUM_AT "\"" CHECKSUM "\":\""

enum { LENGTH_BYTES = 8, CHECKSUM_DIGITS = 16, MAX_NAME = 100 };

static const struct {
    const char *name;
    size_t bytes;
} dtypes[] = {{"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},
              {"I32", 4}, {"I16", 2}, {"I8", 1},  {"U8", 1},   {"BOOL", 1}};

static size_t dtype_bytes(const char *name) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(dtypes[i].name, name) == 0) return dtypes[i].bytes;
    return 0;
}

/* ---- reading ---- */

static Status corrupt(const char *what, const char *name, const char *fault) {
    log_error("%s: tensor %s: %s", what, name, fault);
    return ST_CORRUPT;
}

/* A JSON integer >= 0, or -1. */
static json_int_t count_value(const json_t *v) {
    return json_is_integer(v) && json_integer_value(v) >= 0 ? json_integer_value(v) : -1;
}

/* Shape and number of bytes that it asks for. */
static Status read_shape(const char *what, const json_t *shape, SafeTensor *t, uint64_t *bytes) {
    if (!json_is_array(shape)) return corrupt(what, t->name, "no shape");
    if (json_array_size(shape) > SAFETENSORS_MAX_DIMS)
        return corrupt(what, t->name, "more than 4 dimensions");
    t->n_dims = (int)json_array_size(shape);
    *bytes = dtype_bytes(t->dtype);
    for (int i = 0; i < t->n_dims; i++) {
        json_int_t d = count_value(json_array_get(shape, (size_t)i));
        if (d < 0) return corrupt(what, t->name, "a dimension that is no count");
        t->dims[i] = (uint64_t)d;
        if (__builtin_mul_overflow(*bytes, t->dims[i], bytes))
            return corrupt(what, t->name, "shape overflows");
    }
    return ST_OK;
}

/* Names end up in the log: one line, of bounded length. */
static Status check_name(const char *what, const char *name) {
    size_t n = strnlen(name, MAX_NAME + 1);
    for (size_t i = 0; i < n && n <= MAX_NAME; i++)
        if (name[i] <= ' ' || name[i] > '~') n = MAX_NAME + 1;
    if (n <= MAX_NAME) return ST_OK;
    log_error("%s: a tensor's name is longer than %d bytes or unprintable", what, MAX_NAME);
    return ST_CORRUPT;
}

static Status read_tensor(const char *what, const char *name, const json_t *entry, size_t n_data,
                          SafeTensor *t) {
    TRY(check_name(what, name));
    *t = (SafeTensor){.name = name, .dtype = json_string_value(json_object_get(entry, "dtype"))};
    if (!t->dtype) return corrupt(what, name, "no dtype");
    if (!dtype_bytes(t->dtype)) return corrupt(what, name, "unknown dtype");
    uint64_t bytes = 0; // gcc 12 with -fsanitize=thread does not see that it is set
    TRY(read_shape(what, json_object_get(entry, "shape"), t, &bytes));

    const json_t *offsets = json_object_get(entry, "data_offsets");
    json_int_t begin = count_value(json_array_get(offsets, 0));
    json_int_t end = count_value(json_array_get(offsets, 1));
    if (json_array_size(offsets) != 2 || begin < 0 || end < begin)
        return corrupt(what, name, "data_offsets are not [begin, end]");
    if ((uint64_t)(end - begin) != bytes)
        return corrupt(what, name, "data_offsets do not span what dtype and shape ask for");
    if ((uint64_t)end > n_data) {
        log_error("%s: tensor %s: ends at byte %lld of %zu", what, name, (long long)end, n_data);
        return ST_TRUNCATED;
    }
    t->begin = (size_t)begin;
    t->size = (size_t)bytes;
    return ST_OK;
}

static int by_begin(const void *a, const void *b) {
    const SafeTensor *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->size < y->size ? -1 : x->size > y->size; /* empty ones before their neighbour */
}

static Status check_cover(const char *what, const SafeTensors *s, size_t n_data) {
    size_t end = 0;
    for (size_t i = 0; i < s->n; end = s->tensor[i].begin + s->tensor[i].size, i++) {
        if (s->tensor[i].begin < end) return corrupt(what, s->tensor[i].name, "overlaps another");
        if (s->tensor[i].begin > end)
            return corrupt(what, s->tensor[i].name, "bytes before it belong to no tensor");
    }
    if (end == n_data) return ST_OK;
    log_error("%s: %zu bytes after the last tensor", what, n_data - end);
    return ST_CORRUPT;
}

static Status read_tensors(const char *what, size_t n_data, SafeTensors *s) {
    const char *name;
    json_t *entry;
    s->n = 0;
    s->tensor = calloc(json_object_size(s->header) + 1, sizeof *s->tensor);
    if (!s->tensor) return ST_NOMEM;
    json_object_foreach(s->header, name, entry) {
        if (strcmp(name, METADATA) == 0) continue;
        TRY(read_tensor(what, name, entry, n_data, &s->tensor[s->n++]));
    }
    qsort(s->tensor, s->n, sizeof *s->tensor, by_begin);
    return check_cover(what, s, n_data);
}

static uint64_t checksum(const uint8_t *p, size_t n, size_t digits_at) {
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, p, digits_at);
    XXH3_64bits_update(&state, NO_CHECKSUM, CHECKSUM_DIGITS);
    digits_at += CHECKSUM_DIGITS;
    XXH3_64bits_update(&state, p + digits_at, n - digits_at);
    return XXH3_64bits_digest(&state);
}

/* Where the digits are, 0 if nowhere. The pattern cannot occur inside a JSON string: there its
 * quotes would be escaped.                                                                   */
static size_t find_checksum(const uint8_t *p, size_t n_header) {
    const uint8_t *at = memmem(p + LENGTH_BYTES, n_header, CHECKSUM_AT, strlen(CHECKSUM_AT));
    if (!at) return 0;
    size_t digits_at = (size_t)(at - p) + strlen(CHECKSUM_AT);
    return digits_at + CHECKSUM_DIGITS <= LENGTH_BYTES + n_header ? digits_at : 0;
}

static void checksum_text(uint64_t sum, char out[CHECKSUM_DIGITS]) {
    for (int i = 0; i < CHECKSUM_DIGITS; i++) out[i] = "0123456789abcdef"[sum >> (60 - 4 * i) & 15];
}

static Status check_sum(const char *what, const uint8_t *p, size_t n, size_t n_header,
                        const SafeTensors *s) {
    const char *said = safetensors_text(s, CHECKSUM);
    if (!said) return ST_OK;
    size_t at = find_checksum(p, n_header);
    char is[CHECKSUM_DIGITS + 1] = "";
    if (at) checksum_text(checksum(p, n, at), is);
    if (at && strcmp(is, said) == 0) return ST_OK;
    log_error("%s: the checksum is %s, the file says %.20s", what, is, said);
    return ST_CORRUPT;
}

static Status check_texts(const char *what, const json_t *metadata) {
    const char *key;
    json_t *value;
    if (metadata && !json_is_object(metadata)) return corrupt(what, METADATA, "is no object");
    json_object_foreach((json_t *)metadata, key, value) if (!json_is_string(value)) {
        log_error("%s: metadata %s is no text", what, key);
        return ST_CORRUPT;
    }
    return ST_OK;
}

/* The length of the JSON header, and the JSON. */
static Status read_header(const char *what, const uint8_t *p, size_t n, size_t *n_header,
                          json_t **header) {
    if (n < LENGTH_BYTES) {
        log_error("%s: %zu bytes are no weights file", what, n);
        return ST_TRUNCATED;
    }
    uint64_t length = get_u64(p);
    if (length > SAFETENSORS_MAX_HEADER) {
        log_error("%s: not a safetensors file (a header of %llu bytes)", what,
                  (unsigned long long)length);
        return ST_CORRUPT;
    }
    if (length > n - LENGTH_BYTES) {
        log_error("%s: ends within its header", what);
        return ST_TRUNCATED;
    }
    json_error_t error;
    *n_header = (size_t)length;
    *header = json_loadb((const char *)p + LENGTH_BYTES, *n_header, JSON_REJECT_DUPLICATES, &error);
    if (json_is_object(*header)) return ST_OK;
    log_error("%s: the header is no JSON object: %s", what, *header ? "other JSON" : error.text);
    json_decref(*header);
    return ST_CORRUPT;
}

Status safetensors_read(const char *what, const uint8_t *p, size_t n, SafeTensors *out) {
    SafeTensors s = {0};
    size_t n_header;
    Status st;
    TRY(read_header(what, p, n, &n_header, &s.header));
    s.data = p + LENGTH_BYTES + n_header;
    TRY_TO(st, check_texts(what, json_object_get(s.header, METADATA)), deinit);
    TRY_TO(st, read_tensors(what, n - LENGTH_BYTES - n_header, &s), deinit);
    TRY_TO(st, check_sum(what, p, n, n_header, &s), deinit);
    *out = s;
    return ST_OK;
deinit:
    safetensors_deinit(&s);
    return st;
}

void safetensors_deinit(SafeTensors *s) {
    free(s->tensor);
    json_decref(s->header);
}

const SafeTensor *safetensors_find(const SafeTensors *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->tensor[i].name, name) == 0) return &s->tensor[i];
    return NULL;
}

const char *safetensors_text(const SafeTensors *s, const char *key) {
    return json_string_value(json_object_get(json_object_get(s->header, METADATA), key));
}

/* ---- writing ---- */

static json_t *text_value(const char *text) {
    json_t *v = json_string(text);
    if (v) return v;
    char *ascii = strdup(text);
    for (char *c = ascii; c && *c; c++)
        if ((unsigned char)*c >= 128) *c = '?';
    v = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return v;
}

static json_t *tensor_entry(const SafeTensor *t) {
    json_t *shape = json_array();
    for (int i = 0; i < t->n_dims; i++)
        json_array_append_new(shape, json_integer((json_int_t)t->dims[i]));
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
                     (json_int_t)t->begin, (json_int_t)(t->begin + t->size));
}

/* The JSON text, malloced; NULL: out of memory. */
static char *header_text(const SafeTensor *tensor, size_t n_tensors, const SafeText *text,
                         size_t n_texts) {
    json_t *header = json_object(), *metadata = json_object();
    int bad = json_object_set_new(header, METADATA, metadata);
    for (size_t i = 0; i < n_texts; i++)
        bad |= json_object_set_new(metadata, text[i].key, text_value(text[i].value));
    bad |= json_object_set_new(metadata, CHECKSUM, json_string(NO_CHECKSUM));
    for (size_t i = 0; i < n_tensors; i++)
        bad |= json_object_set_new(header, tensor[i].name, tensor_entry(&tensor[i]));
    char *s = bad ? NULL : json_dumps(header, JSON_COMPACT);
    json_decref(header);
    return s;
}

Status safetensors_layout(SafeTensor *tensor, size_t n_tensors, const SafeText *text,
                          size_t n_texts, uint8_t **file, size_t *n, uint8_t **data) {
    size_t n_data = 0;
    for (size_t i = 0; i < n_tensors; i++) {
        SafeTensor *t = &tensor[i];
        t->begin = n_data;
        t->size = dtype_bytes(t->dtype);
        for (int d = 0; d < t->n_dims; d++) t->size *= (size_t)t->dims[d];
        n_data += t->size;
    }
    char *header = header_text(tensor, n_tensors, text, n_texts);
    if (!header) return ST_NOMEM;
    size_t n_text = strlen(header), n_header = (n_text + 7) / 8 * 8;
    size_t total = LENGTH_BYTES + n_header + n_data;
    uint8_t *p = malloc(total);
    if (p) {
        put_u64(p, n_header);
        memset(p + LENGTH_BYTES, ' ', n_header);
        memcpy(p + LENGTH_BYTES, header, n_text);
        *file = p;
        *n = total;
        *data = p + LENGTH_BYTES + n_header;
    }
    free(header);
    return p ? ST_OK : ST_NOMEM;
}

void safetensors_seal(uint8_t *file, size_t n) {
    size_t at = find_checksum(file, (size_t)get_u64(file));
    char digits[CHECKSUM_DIGITS];
    checksum_text(checksum(file, n, at), digits);
    memcpy(file + at, digits, CHECKSUM_DIGITS);
}
