/* The table of codecs, and codecs by name. Each row's functions are in the file named after it. */
#include "learner/codec/codec.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/codec/codec_rows.h"

static const CodecOps *const table[] = {
    &codec_row_none,    &codec_row_fp16, &codec_row_bf16, &codec_row_u8,    &codec_row_sign,
    &codec_row_sign_l2, &codec_row_qsgd, &codec_row_topk, &codec_row_randk,
};
enum { N_CODECS = sizeof table / sizeof table[0], BLOCK = 2048 };

const CodecOps *codec_ops(int index) {
    return index >= 0 && index < N_CODECS ? table[index] : NULL;
}

Codec codec_none(void) { return (Codec){.ops = &codec_row_none, .block = BLOCK}; }

static Status refuse(const char *text) {
    log_error("no codec \"%s\"; there are none fp16 bf16 u8 sign sign-l2 qsgd:2|4|8 topk:F randk:F "
              "(0 < F <= 1)",
              text);
    return ST_INVALID;
}

Status codec_parse(const char *text, Codec *out) {
    size_t length = strcspn(text, ":");
    Codec c = {.block = BLOCK, .fraction = 0.01, .bits = 4};
    for (int i = 0; i < N_CODECS; i++)
        if (strlen(table[i]->name) == length && memcmp(table[i]->name, text, length) == 0)
            c.ops = table[i];
    if (!c.ops) return refuse(text);
    if (text[length] == ':') {
        char *end;
        double value = strtod(text + length + 1, &end);
        if (end == text + length + 1 || *end != '\0') return refuse(text);
        if (c.ops == &codec_row_qsgd) {
            if (value != 2 && value != 4 && value != 8) return refuse(text);
            c.bits = (int)value;
        } else if (c.ops == &codec_row_topk || c.ops == &codec_row_randk) {
            if (!(value > 0 && value <= 1)) return refuse(text);
            c.fraction = value;
        } else {
            return refuse(text);
        }
    }
    *out = c;
    return ST_OK;
}

Status codec_decode(const Codec *c, const uint8_t *in, size_t bytes, size_t n, uint64_t seed,
                    Real *y) {
    memset(y, 0, n * sizeof *y);
    return codec_decode_add(c, in, bytes, n, seed, 1, y);
}
