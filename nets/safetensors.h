/* safetensors.h - the container of a weights file: named tensors, and text about them.
 *
 *   0  8  H, length of the header, little-endian
 *   8  H  header: one JSON object, padded with spaces so that the data begin at a multiple of 8
 *   8+H   data: the tensors back to back, row-major, little-endian, no gaps
 *
 * {"__metadata__": {"key": "value", ...},
 *  "NAME": {"dtype": "F32", "shape": [512, 162], "data_offsets": [begin, end]}, ...}
 * offsets count from the first byte of the data. Our own files carry a `checksum` in the metadata:
 * XXH3-64, 16 hex digits, of header (with these digits as zeros) and data. Knows nothing of nets.
 * Format: https://github.com/huggingface/safetensors, version 0 of 2022.                    */
#ifndef DIZHU_NETS_SAFETENSORS_H
#define DIZHU_NETS_SAFETENSORS_H
#include "engine/base/status.h"
#include <stddef.h>
#include <stdint.h>

enum { SAFETENSORS_MAX_DIMS = 4, SAFETENSORS_MAX_HEADER = 1 << 20 };

typedef struct {
    const char *name;
    const char *dtype; /* "F32", "BF16", "I8", ... */
    int n_dims;
    uint64_t dims[SAFETENSORS_MAX_DIMS];
    size_t begin, size; /* in the data, in bytes */
} SafeTensor;

typedef struct {
    const char *key, *value;
} SafeText;

/* A parsed file; names, texts and data are borrowed from it and from the bytes it was read from. */
typedef struct {
    SafeTensor *tensor; /* in order of begin */
    size_t n;
    const uint8_t *data;
    struct json_t *header;
} SafeTensors;

/* Checks the container wholly: every byte belongs to exactly one tensor, shapes agree with sizes, a
 * checksum, if there is one, holds. ST_TRUNCATED or ST_CORRUPT: one line in the log, beginning with
 * `what` (a path), naming the tensor. Free with _deinit (only after ST_OK).                  */
Status safetensors_read(const char *what, const uint8_t *p, size_t n, SafeTensors *out);
void safetensors_deinit(SafeTensors *s);
/* NULL: no such tensor; no such key in the metadata. */
const SafeTensor *safetensors_find(const SafeTensors *s, const char *name);
const char *safetensors_text(const SafeTensors *s, const char *key);

/* Lays a file out: fills begin of every tensor (size from dtype and dims too), mallocs the whole
 * file and writes the header. The caller fills the data (*data, of *n bytes in all), then calls
 * safetensors_seal, then frees *file. Texts that are no UTF-8 get '?' for their odd bytes.   */
Status safetensors_layout(SafeTensor *tensor, size_t n_tensors, const SafeText *text,
                          size_t n_texts, uint8_t **file, size_t *n, uint8_t **data);
void safetensors_seal(uint8_t *file, size_t n);

#endif
