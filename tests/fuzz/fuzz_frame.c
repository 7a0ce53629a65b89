/* Any bytes are a frame or an error; a frame that was read is written back the same. */
#include "engine/base/frame.h"
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Frame f;
    const uint8_t *body;
    if (frame_read(data, size, &f, &body) == ST_OK) {
        uint8_t *again = malloc(size);
        memcpy(again + FRAME_HEADER_BYTES, body, f.length);
        frame_write(&f, again);
        assert(memcmp(again, data, size) == 0);
        free(again);
    }
    if (size < FRAME_HEADER_BYTES) return 0;
    // The checksum keeps the fuzzer out of what lies behind it: sign the input for it.
    uint8_t *signed_copy = malloc(size);
    memcpy(signed_copy, data, size);
    Frame g = {.kind = (uint16_t)(1 + data[4] % (FRAME_N_KINDS - 1)),
               .length = (uint32_t)(size - FRAME_HEADER_BYTES)};
    frame_write(&g, signed_copy);
    assert(frame_read(signed_copy, size, &f, &body) == ST_OK && f.kind == g.kind);
    free(signed_copy);
    return 0;
}
