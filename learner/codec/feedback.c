#include "learner/codec/feedback.h"

#include <stdlib.h>
#include <string.h>

Status feedback_init(Feedback *f, size_t n, bool on) {
    *f = (Feedback){.n = on ? n : 0};
    if (!on) return ST_OK;
    f->e = calloc(n + 1, sizeof *f->e);
    f->pending = calloc(n + 1, sizeof *f->pending);
    if (f->e && f->pending) return ST_OK;
    feedback_deinit(f);
    return ST_NOMEM;
}

void feedback_deinit(Feedback *f) {
    free(f->e);
    free(f->pending);
    *f = (Feedback){0};
}

void feedback_rate(Feedback *f, double lr) {
    if (!f->e || lr == 0 || lr == f->rate) return;
    if (f->rate != 0) {
        Real ratio = (Real)(f->rate / lr);
        for (size_t i = 0; i < f->n; i++) f->e[i] *= ratio;
    }
    f->rate = lr;
}

// The living numbers of x, close together.
static size_t gather(const Real *x, const uint8_t *dead, size_t n, Real *out) {
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (!dead[i]) out[k++] = x[i];
    return k;
}

size_t feedback_encode(Feedback *f, const Codec *c, const Real *x, const uint8_t *dead, size_t at,
                       size_t n, uint64_t seed, uint8_t *out, Real *spare) {
    if (!f->e) {
        if (!dead) return codec_encode(c, x, n, seed, out);
        return codec_encode(c, spare, gather(x, dead, n, spare), seed, out);
    }
    Real *v = f->pending + at, *code = dead ? spare : v;
    for (size_t i = 0; i < n; i++) v[i] = x[i] + f->e[at + i];
    size_t k = dead ? gather(v, dead, n, spare) : n;
    size_t bytes = codec_encode(c, code, k, seed, out);
    (void)codec_decode_add(c, out, bytes, k, seed, -1, code); // our own code: never corrupt
    for (size_t i = 0, j = 0; dead && i < n; i++) v[i] = dead[i] ? 0 : spare[j++];
    return bytes;
}

Status feedback_decode_add(const Codec *c, const uint8_t *in, size_t bytes, const uint8_t *dead,
                           size_t n, uint64_t seed, Real scale, Real *y, Real *spare) {
    if (!dead) return codec_decode_add(c, in, bytes, n, seed, scale, y);
    size_t k = gather(y, dead, n, spare);
    TRY(codec_decode_add(c, in, bytes, k, seed, scale, spare));
    for (size_t i = 0, j = 0; i < n; i++)
        if (!dead[i]) y[i] = spare[j++];
    return ST_OK;
}

void feedback_settle(Feedback *f, size_t at, size_t n, bool keep) {
    if (f->e && keep && n > 0) memcpy(f->e + at, f->pending + at, n * sizeof *f->e);
}

double feedback_norm(const Feedback *f) {
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) sum += (double)f->e[i] * (double)f->e[i];
    return sqrt(sum);
}
