/* Any bytes are a weights file or an error. A whole file is over a megabyte, too much for a fuzzer
 * to find; so the input is also taken as the header of a file whose data are zeros: its first byte
 * chooses how many, a checksum, if it has one, is made right.                                */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "nets/safetensors.h"
#include "nets/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LENGTH_BYTES = 8, MAX_HEADER = 1 << 16, MAX_DATA = 6 << 20 };

/* What was read can be written and read again. */
static void check_round_trip(const Weights *w) {
    Weights again;
    uint8_t *p;
    size_t n;
    Status st = weights_encode(w, DTYPE_F32, &p, &n);
    assert(st == ST_OK);
    st = weights_decode(p, n, &again);
    assert(st == ST_OK);
    for (int r = 0; r < N_ROLES; r++) {
        assert(!w->params[r] == !again.params[r]);
        size_t bytes = net_layout(r)->n_params * sizeof(float);
        assert(!w->params[r] || memcmp(w->params[r], again.params[r], bytes) == 0);
    }
    free(p);
    weights_free(&again);
}

static void try_file(const uint8_t *p, size_t n) {
    Weights w;
    if (weights_decode(p, n, &w) != ST_OK) return;
    check_round_trip(&w);
    weights_free(&w);
}

/* Bytes of data of a file of the landlord alone in each dtype, as weights_encode writes it. */
static size_t landlord_data(int dtype) {
    size_t bytes = 0;
    for (int i = 0; i < NET_TENSORS; i++) {
        const NetTensor *t = &net_layout(ROLE_LANDLORD)->tensor[i];
        bool wide = dtype == DTYPE_F32 || !t->cols;
        bytes += wide                  ? 4 * t->size
                 : dtype == DTYPE_BF16 ? 2 * t->size
                                       : t->size + 4 * (size_t)t->rows;
    }
    return bytes;
}

/* The header is put right before the zeros, wherever it then begins. */
static void try_header(const uint8_t *header, size_t n_header, size_t n_data) {
    static uint8_t file[LENGTH_BYTES + MAX_HEADER + MAX_DATA];
    uint8_t *p = file + MAX_HEADER - n_header;
    size_t n = LENGTH_BYTES + n_header + n_data;
    put_u64(p, n_header);
    memcpy(p + LENGTH_BYTES, header, n_header);
    try_file(p, n);
    static const char pattern[] = "\"checksum\":\"";
    size_t n_pattern = sizeof pattern - 1;
    uint8_t *at = memmem(p + LENGTH_BYTES, n_header, pattern, n_pattern);
    if (!at || at + n_pattern + 16 > p + LENGTH_BYTES + n_header) return;
    safetensors_seal(p, n);
    try_file(p, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    log_level(LOG_NONE);
    try_file(data, size);
    if (size == 0 || size > MAX_HEADER) return 0;
    int kind = data[0] % (N_DTYPES + 1);
    try_header(data + 1, size - 1, kind < N_DTYPES ? landlord_data(kind) : data[0]);
    return 0;
}
