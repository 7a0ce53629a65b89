/* weights.h - the weights file: safetensors with the tensor names of the PyTorch original.
 *
 * Tensors `landlord.lstm.weight_ih_l0` ... `landlord_up.dense6.bias` in fp32, or matrices in bf16
 * or int8 (one scale per row in `NAME.scale`) and the rest in fp32; metadata: format, features,
 * ruleset, objective, version, run, steps, frames, command, checksum. Layout: docs/weights.md. A
 * reader takes any mixture of these types, and files of other programs without our metadata. Files
 * are saved whole (engine/base/file.h): a reader sees the old file or the new one.
 */
#ifndef DIZHU_NETS_WEIGHTS_H
#define DIZHU_NETS_WEIGHTS_H
#include "engine/base/status.h"
#include "nets/net.h"

typedef enum { DTYPE_F32, DTYPE_BF16, DTYPE_INT8, N_DTYPES } Dtype;
const char *dtype_name(Dtype d);

typedef struct {
    uint8_t ruleset, objective; /* RulesetId, Objective */
    uint32_t version;           /* counts publications within a run */
    uint64_t run;               /* run id; 0 unknown */
    uint64_t steps, frames;     /* optimizer steps, decisions generated */
    char command[256];          /* the training command, cut if longer */
} WeightsInfo;

typedef struct {
    WeightsInfo info;
    float *params[N_ROLES]; /* flat blocks, net_layout order; NULL: role absent (a file may hold
                               only some roles) */
} Weights;

/* Allocates all three roles, zeroed. */
Status weights_new(Weights *out);
void weights_free(Weights *w);

/* To and from memory (the body of FRAME_WEIGHTS). *out is malloced, the caller frees it.
 * Writing: ST_CORRUPT: a number is not finite, or too large for bf16; the roles that are NULL are
 * left out. Reading: ST_TRUNCATED, ST_CORRUPT (malformed, overlapping, duplicate, a wrong checksum,
 * non-finite values), ST_VERSION (a later format), ST_MISMATCH (a tensor missing, unknown, of
 * another shape or type; another ruleset, objective or feature set than are known); the log names
 * the tensor. */
Status weights_encode(const Weights *w, Dtype dtype, uint8_t **out, size_t *n);
Status weights_decode(const uint8_t *p, size_t n, Weights *out);

Status weights_save(const Weights *w, Dtype dtype, const char *path);
Status weights_load(const char *path, Weights *out);

#endif
