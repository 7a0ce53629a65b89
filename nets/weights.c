/* weights.c - which tensors a weights file holds, and how their numbers are written.
 *
 * Matrices are written in the file's dtype, vectors (biases, 0.3% of the parameters) always in
 * fp32. Everything in fp32 comes first, so that each tensor begins at a multiple of its element's
 * size. The container is safetensors.c's business. */
#include "nets/weights.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/file.h"
#include "engine/base/log.h"
#include "nets/safetensors.h"

#define FORMAT       "dizhu-weights"
#define FORMAT_NOW   FORMAT "/1"
#define FEATURES     "douzero"
#define SCALE_SUFFIX ".scale"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "tensors are copied as they lie in memory");

enum { MAX_FILE_BYTES = 64 << 20, MAX_TENSORS = 2 * N_ROLES * NET_TENSORS, NAME_BYTES = 48 };

const char *dtype_name(Dtype d) {
    static const char *const names[N_DTYPES] = {"fp32", "bf16", "int8"};
    return names[d];
}

Status weights_new(Weights *out) {
    Weights w = {0};
    for (int r = 0; r < N_ROLES; r++) {
        w.params[r] = calloc(net_layout(r)->n_params, sizeof(float));
        if (!w.params[r]) {
            weights_free(&w);
            return ST_NOMEM;
        }
    }
    *out = w;
    return ST_OK;
}

void weights_free(Weights *w) {
    for (int r = 0; r < N_ROLES; r++) {
        free(w->params[r]);
        w->params[r] = NULL;
    }
}

static void tensor_name(Role role, const NetTensor *t, const char *suffix, char out[NAME_BYTES]) {
    snprintf(out, NAME_BYTES, "%s.%s%s", role_name(role), t->name, suffix);
}

/* ---- numbers ---- */

/* Index of the first infinity or NaN, n if there is none. */
static size_t find_nonfinite(const float *v, size_t n) {
    bool any = false; /* a pass without branches first: the usual answer is no */
    for (size_t i = 0; i < n; i++) any |= !isfinite(v[i]);
    if (!any) return n;
    size_t i = 0;
    while (isfinite(v[i])) i++;
    return i;
}

/* Round to nearest, ties to even; too large becomes infinite. v must be finite. */
static uint16_t bf16_from_float(float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_from_bf16(uint16_t v) {
    uint32_t bits = (uint32_t)v << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The largest magnitude of a row becomes 127. */
static float row_scale(const float *row, int n) {
    float largest = 0;
    for (int i = 0; i < n; i++) largest = fmaxf(largest, fabsf(row[i]));
    return largest / 127;
}

static int8_t int8_from_float(float v, float scale) {
    if (scale == 0) return 0;
    return (int8_t)fmaxf(-127, fminf(127, nearbyintf(v / scale)));
}

/* ---- writing ---- */

typedef enum { PART_F32, PART_BF16, PART_INT8, PART_SCALE } Part;

typedef struct {
    size_t n;
    SafeTensor tensor[MAX_TENSORS];
    char name[MAX_TENSORS][NAME_BYTES];
    struct {
        Part part;
        const float *v;
        int rows, cols;
    } source[MAX_TENSORS];
} Plan;

static void plan_add(Plan *plan, Part part, Role role, const NetTensor *t, const float *params) {
    static const char *const dtypes[] = {"F32", "BF16", "I8", "F32"};
    size_t i = plan->n++;
    bool matrix = t->cols && part != PART_SCALE;
    tensor_name(role, t, part == PART_SCALE ? SCALE_SUFFIX : "", plan->name[i]);
    plan->tensor[i] = (SafeTensor){.name = plan->name[i],
                                   .dtype = dtypes[part],
                                   .n_dims = matrix ? 2 : 1,
                                   .dims = {(uint64_t)t->rows, matrix ? (uint64_t)t->cols : 0}};
    plan->source[i].part = part;
    plan->source[i].v = params + t->offset;
    plan->source[i].rows = t->rows;
    plan->source[i].cols = t->cols ? t->cols : 1;
}

static void plan_all(const Weights *w, Dtype dtype, Plan *plan) {
    plan->n = 0;
    for (int narrow = 0; narrow < 2; narrow++)
        for (int r = 0; r < N_ROLES; r++)
            for (int i = 0; w->params[r] && i < NET_TENSORS; i++) {
                const NetTensor *t = &net_layout(r)->tensor[i];
                bool as_f32 = dtype == DTYPE_F32 || !t->cols;
                if (narrow && !as_f32)
                    plan_add(plan, dtype == DTYPE_BF16 ? PART_BF16 : PART_INT8, r, t, w->params[r]);
                if (!narrow && as_f32) plan_add(plan, PART_F32, r, t, w->params[r]);
                if (!narrow && !as_f32 && dtype == DTYPE_INT8)
                    plan_add(plan, PART_SCALE, r, t, w->params[r]);
            }
}

static Status refuse_value(const char *name, size_t index) {
    log_error("weights: %s[%zu] is not finite, not written", name, index);
    return ST_CORRUPT;
}

static Status write_part(const Plan *plan, size_t at, uint8_t *out) {
    const float *v = plan->source[at].v;
    int rows = plan->source[at].rows, cols = plan->source[at].cols;
    size_t n = (size_t)rows * cols, bad = find_nonfinite(v, n);
    if (bad < n) return refuse_value(plan->name[at], bad);
    switch (plan->source[at].part) {
    case PART_F32: memcpy(out, v, n * sizeof *v); break;
    case PART_BF16:
        for (size_t i = 0; i < n; i++) {
            uint16_t b = bf16_from_float(v[i]);
            if (!isfinite(float_from_bf16(b))) return refuse_value(plan->name[at], i);
            memcpy(out + 2 * i, &b, 2);
        }
        break;
    case PART_INT8:
        for (int r = 0; r < rows; r++) {
            float scale = row_scale(v + (size_t)r * cols, cols);
            for (size_t i = (size_t)r * cols; i < (size_t)(r + 1) * cols; i++)
                out[i] = (uint8_t)int8_from_float(v[i], scale);
        }
        break;
    case PART_SCALE:
        for (int r = 0; r < rows; r++) {
            float scale = row_scale(v + (size_t)r * cols, cols);
            memcpy(out + (size_t)r * sizeof scale, &scale, sizeof scale);
        }
        break;
    }
    return ST_OK;
}

static Status layout_file(const WeightsInfo *info, Plan *plan, uint8_t **file, size_t *n,
                          uint8_t **data) {
    char number[4][24];
    snprintf(number[0], sizeof number[0], "%" PRIu32, info->version);
    snprintf(number[1], sizeof number[1], "%" PRIu64, info->run);
    snprintf(number[2], sizeof number[2], "%" PRIu64, info->steps);
    snprintf(number[3], sizeof number[3], "%" PRIu64, info->frames);
    const SafeText text[] = {{"format", FORMAT_NOW},
                             {"features", FEATURES},
                             {"ruleset", ruleset_get(info->ruleset)->name},
                             {"objective", objective_name(info->objective)},
                             {"version", number[0]},
                             {"run", number[1]},
                             {"steps", number[2]},
                             {"frames", number[3]},
                             {"command", info->command}};
    return safetensors_layout(plan->tensor, plan->n, text, sizeof text / sizeof text[0], file, n,
                              data);
}

Status weights_encode(const Weights *w, Dtype dtype, uint8_t **out, size_t *n) {
    Plan plan;
    uint8_t *file, *data;
    size_t total;
    plan_all(w, dtype, &plan);
    TRY(layout_file(&w->info, &plan, &file, &total, &data));
    for (size_t i = 0; i < plan.n; i++) {
        Status st = write_part(&plan, i, data + plan.tensor[i].begin);
        if (st != ST_OK) {
            free(file);
            return st;
        }
    }
    safetensors_seal(file, total);
    *out = file;
    *n = total;
    return ST_OK;
}

Status weights_save(const Weights *w, Dtype dtype, const char *path) {
    uint8_t *p;
    size_t n;
    TRY(weights_encode(w, dtype, &p, &n));
    Status st = file_save(path, p, n);
    free(p);
    return st;
}

/* ---- reading ---- */

static Status mismatch(const char *what, const char *name, const char *fault) {
    log_error("%s: tensor %s %s", what, name, fault);
    return ST_MISMATCH;
}

/* A decimal number in the metadata; 0 if it is absent. */
static Status read_number(const char *what, const SafeTensors *s, const char *key, uint64_t max,
                          uint64_t *out) {
    const char *text = safetensors_text(s, key);
    *out = 0;
    if (!text) return ST_OK;
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && errno == 0 && *out <= max) return ST_OK;
    log_error("%s: metadata %s is \"%.40s\", no number that fits", what, key, text);
    return ST_CORRUPT;
}

/* One of the names that find knows; its first row if it is absent. */
static Status read_choice(const char *what, const SafeTensors *s, const char *key,
                          int (*find)(const char *), uint8_t *out) {
    const char *text = safetensors_text(s, key);
    int found = text ? find(text) : 0;
    if (found >= 0) {
        *out = (uint8_t)found;
        return ST_OK;
    }
    log_error("%s: metadata %s is \"%.40s\", which is unknown here", what, key, text);
    return ST_MISMATCH;
}

/* Files of other programs need not have any metadata. Ours name their format and carry a checksum
 * (which safetensors_read has verified): one without it was tampered with.                   */
static Status check_format(const char *what, const SafeTensors *s) {
    const char *format = safetensors_text(s, "format"), *features = safetensors_text(s, "features");
    bool ours = format && strncmp(format, FORMAT, strlen(FORMAT)) == 0;
    if (ours && strcmp(format, FORMAT_NOW) != 0) {
        log_error("%s: format \"%.40s\", only %s is known here", what, format, FORMAT_NOW);
        return ST_VERSION;
    }
    if (ours != (safetensors_text(s, "checksum") != NULL)) {
        log_error("%s: format and checksum must go together", what);
        return ST_CORRUPT;
    }
    if (features && strcmp(features, FEATURES) != 0) {
        log_error("%s: features \"%.40s\", only %s is known here", what, features, FEATURES);
        return ST_MISMATCH;
    }
    return ST_OK;
}

static Status read_info(const char *what, const SafeTensors *s, WeightsInfo *info) {
    uint64_t version;
    TRY(check_format(what, s));
    TRY(read_choice(what, s, "ruleset", ruleset_find, &info->ruleset));
    TRY(read_choice(what, s, "objective", objective_find, &info->objective));
    TRY(read_number(what, s, "version", UINT32_MAX, &version));
    TRY(read_number(what, s, "run", UINT64_MAX, &info->run));
    TRY(read_number(what, s, "steps", UINT64_MAX, &info->steps));
    TRY(read_number(what, s, "frames", UINT64_MAX, &info->frames));
    info->version = (uint32_t)version;
    const char *command = safetensors_text(s, "command");
    snprintf(info->command, sizeof info->command, "%s", command ? command : "");
    return ST_OK;
}

static Status check_shape(const char *what, const SafeTensor *t, int rows, int cols) {
    bool fits = t->n_dims == (cols ? 2 : 1) && t->dims[0] == (uint64_t)rows &&
                (!cols || t->dims[1] == (uint64_t)cols);
    if (fits) return ST_OK;
    char want[32];
    snprintf(want, sizeof want, cols ? "[%d, %d]" : "[%d]", rows, cols);
    log_error("%s: tensor %s has another shape than %s", what, t->name, want);
    return ST_MISMATCH;
}

/* The scales of an int8 matrix: NAME.scale, one fp32 per row. */
static Status find_scale(const char *what, const SafeTensors *s, Role role, const NetTensor *t,
                         const uint8_t **scale) {
    char name[NAME_BYTES];
    tensor_name(role, t, SCALE_SUFFIX, name);
    const SafeTensor *f = safetensors_find(s, name);
    if (!f) return mismatch(what, name, "is missing");
    if (strcmp(f->dtype, "F32") != 0) return mismatch(what, name, "is not F32");
    *scale = s->data + f->begin;
    return check_shape(what, f, t->rows, 0);
}

static Status read_values(const char *what, const SafeTensors *s, Role role, const NetTensor *t,
                          const SafeTensor *f, float *v) {
    const uint8_t *p = s->data + f->begin; /* of any alignment */
    if (strcmp(f->dtype, "F32") == 0) {
        memcpy(v, p, t->size * sizeof *v);
    } else if (strcmp(f->dtype, "BF16") == 0) {
        for (size_t i = 0; i < t->size; i++) {
            uint16_t b;
            memcpy(&b, p + 2 * i, 2);
            v[i] = float_from_bf16(b);
        }
    } else if (strcmp(f->dtype, "I8") == 0 && t->cols) {
        const uint8_t *scales;
        TRY(find_scale(what, s, role, t, &scales));
        for (int r = 0; r < t->rows; r++) {
            float scale;
            memcpy(&scale, scales + (size_t)r * sizeof scale, sizeof scale);
            for (size_t i = (size_t)r * t->cols; i < (size_t)(r + 1) * t->cols; i++)
                v[i] = (float)(int8_t)p[i] * scale;
        }
    } else {
        log_error("%s: tensor %s has dtype %s", what, f->name, f->dtype);
        return ST_MISMATCH;
    }
    return ST_OK;
}

static Status read_tensor(const char *what, const SafeTensors *s, Role role, const NetTensor *t,
                          float *params) {
    char name[NAME_BYTES];
    tensor_name(role, t, "", name);
    const SafeTensor *f = safetensors_find(s, name);
    if (!f) return mismatch(what, name, "is missing");
    TRY(check_shape(what, f, t->rows, t->cols));
    float *v = params + t->offset;
    TRY(read_values(what, s, role, t, f, v));
    size_t bad = find_nonfinite(v, t->size);
    if (bad == t->size) return ST_OK;
    log_error("%s: tensor %s: value %zu is not finite", what, name, bad);
    return ST_CORRUPT;
}

/* Is it one of ours: a tensor of some net, or the scales of an int8 one? Marks its role as present.
 */
static bool known_tensor(const SafeTensors *s, const char *name, bool present[N_ROLES]) {
    char ours[NAME_BYTES];
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; i < NET_TENSORS; i++) {
            const NetTensor *t = &net_layout(r)->tensor[i];
            tensor_name(r, t, "", ours);
            if (strcmp(name, ours) == 0) return present[r] = true;
            if (strncmp(name, ours, strlen(ours)) != 0) continue;
            const SafeTensor *matrix = safetensors_find(s, ours);
            if (matrix && strcmp(matrix->dtype, "I8") == 0)
                return strcmp(name + strlen(ours), SCALE_SUFFIX) == 0;
        }
    return false;
}

static Status find_roles(const char *what, const SafeTensors *s, bool present[N_ROLES]) {
    for (size_t i = 0; i < s->n; i++)
        if (!known_tensor(s, s->tensor[i].name, present))
            return mismatch(what, s->tensor[i].name, "belongs to no net of this program");
    for (int r = 0; r < N_ROLES; r++)
        if (present[r]) return ST_OK;
    log_error("%s: holds no tensor", what);
    return ST_MISMATCH;
}

static Status read_role(const char *what, const SafeTensors *s, Role role, float **params) {
    const NetLayout *l = net_layout(role);
    *params = malloc(l->n_params * sizeof **params);
    if (!*params) return ST_NOMEM;
    for (int i = 0; i < NET_TENSORS; i++) TRY(read_tensor(what, s, role, &l->tensor[i], *params));
    return ST_OK;
}

static Status decode(const char *what, const uint8_t *p, size_t n, Weights *out) {
    Weights w = {0};
    bool present[N_ROLES] = {false};
    SafeTensors s;
    Status st;
    TRY(safetensors_read(what, p, n, &s));
    TRY_TO(st, read_info(what, &s, &w.info), free_all);
    TRY_TO(st, find_roles(what, &s, present), free_all);
    for (int r = 0; r < N_ROLES; r++)
        if (present[r]) TRY_TO(st, read_role(what, &s, r, &w.params[r]), free_all);
    safetensors_deinit(&s);
    *out = w;
    return ST_OK;
free_all:
    safetensors_deinit(&s);
    weights_free(&w);
    return st;
}

Status weights_decode(const uint8_t *p, size_t n, Weights *out) {
    return decode("weights", p, n, out);
}

Status weights_load(const char *path, Weights *out) {
    uint8_t *p;
    size_t n;
    TRY(file_read(path, MAX_FILE_BYTES, &p, &n));
    Status st = decode(path, p, n, out);
    free(p);
    return st;
}
