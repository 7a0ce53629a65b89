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

size_t feedback_encode(Feedback *f, const Codec *c, const Real *x, size_t at, size_t n,
                       uint64_t seed, uint8_t *out) {
    if (!f->e) return codec_encode(c, x, n, seed, out);
    Real *v = f->pending + at;
    for (size_t i = 0; i < n; i++) v[i] = x[i] + f->e[at + i];
    size_t bytes = codec_encode(c, v, n, seed, out);
    (void)codec_decode_add(c, out, bytes, n, seed, -1, v); // our own code: it cannot be corrupt
    return bytes;
}

void feedback_settle(Feedback *f, size_t at, size_t n, bool keep) {
    if (f->e && keep && n > 0) memcpy(f->e + at, f->pending + at, n * sizeof *f->e);
}

double feedback_norm(const Feedback *f) {
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) sum += (double)f->e[i] * (double)f->e[i];
    return sqrt(sum);
}
