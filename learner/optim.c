/* optim.c - see optim.h. The state is one allocation of up to three blocks of n floats. */
#include "learner/optim.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"

#define STATE_MAGIC "DZO1"

enum { STATE_HEADER_BYTES = 32, MAX_BLOCKS = 3 };

struct Optim {
    OptimConfig config;
    const KernelTable *k;
    size_t n;
    uint64_t steps;
    int n_blocks;
    float *block[MAX_BLOCKS];   /* in the order of the saved state; [0] owns the memory */
    float *square, *mean, *ema; /* each one of them, or NULL */
};

static int find_name(const char *name, int n, const char *(*name_of)(int)) {
    for (int i = 0; i < n; i++)
        if (strcmp(name, name_of(i)) == 0) return i;
    return -1;
}

static const char *kind_text(int i) { return i == OPTIM_RMSPROP ? "rmsprop" : "adam"; }
static const char *schedule_text(int i) {
    static const char *const names[N_SCHEDULES] = {"constant", "cosine", "sqrt"};
    return names[i];
}

const char *optim_name(OptimKind k) { return kind_text((int)k); }
int optim_find(const char *name) { return find_name(name, N_OPTIMS, kind_text); }
const char *schedule_name(Schedule s) { return schedule_text((int)s); }
int schedule_find(const char *name) { return find_name(name, N_SCHEDULES, schedule_text); }

OptimConfig optim_defaults(OptimKind kind) {
    return (OptimConfig){.kind = kind,
                         .lr = 1e-4,
                         .alpha = 0.99,
                         .beta1 = 0.9,
                         .beta2 = 0.999,
                         .eps = kind == OPTIM_RMSPROP ? 1e-5 : 1e-8,
                         .clip = 40,
                         .schedule = SCHEDULE_CONSTANT};
}

Status optim_check(const OptimConfig *c) {
    const struct {
        const char *name;
        bool good;
    } rules[] = {
        {"lr must be positive and finite", c->lr > 0 && isfinite(c->lr)},
        {"lr at the end must be from 0 to lr", c->lr_end >= 0 && c->lr_end <= c->lr},
        {"alpha must be in [0, 1)", c->alpha >= 0 && c->alpha < 1},
        {"beta1 must be in [0, 1)", c->beta1 >= 0 && c->beta1 < 1},
        {"beta2 must be in [0, 1)", c->beta2 >= 0 && c->beta2 < 1},
        {"eps must be positive", c->eps > 0 && isfinite(c->eps)},
        {"weight decay must be in [0, 1)", c->decay >= 0 && c->decay < 1},
        {"weight decay needs adam", c->decay == 0 || c->kind == OPTIM_ADAM},
        {"the clipping norm must be 0 or positive", c->clip >= 0},
        {"ema must be in [0, 1)", c->ema >= 0 && c->ema < 1},
        {"the decay of lr must end after it begins",
         c->schedule != SCHEDULE_COSINE || c->decay_to > c->decay_from},
        {"the decay of lr must begin after the warm-up",
         c->schedule == SCHEDULE_CONSTANT || c->decay_from >= c->warmup},
        {"the decay of lr as 1/sqrt must begin after step 0",
         c->schedule != SCHEDULE_SQRT || c->decay_from > 0},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!rules[i].good) {
            log_error("optimizer: %s", rules[i].name);
            return ST_INVALID;
        }
    return ST_OK;
}

double optim_lr(const OptimConfig *c, uint64_t step) {
    if (step < c->warmup) return c->lr * (double)(step + 1) / (double)c->warmup;
    if (c->schedule == SCHEDULE_CONSTANT || step <= c->decay_from) return c->lr;
    if (c->schedule == SCHEDULE_SQRT)
        return fmax(c->lr_end, c->lr * sqrt((double)c->decay_from / (double)step));
    if (step >= c->decay_to) return c->lr_end;
    double t = (double)(step - c->decay_from) / (double)(c->decay_to - c->decay_from);
    return c->lr_end + (c->lr - c->lr_end) * (1 + cos(acos(-1) * t)) / 2;
}

Status optim_new(const OptimConfig *c, size_t n, const KernelTable *k, Optim **out) {
    TRY(optim_check(c));
    int n_blocks = 1 + (c->kind == OPTIM_ADAM) + (c->ema > 0);
    Optim *o = calloc(1, sizeof *o);
    float *memory = calloc(n_blocks * n + 1, sizeof *memory);
    if (!o || !memory) {
        free(o);
        free(memory);
        return ST_NOMEM;
    }
    *o = (Optim){.config = *c, .k = k, .n = n, .n_blocks = n_blocks};
    for (int i = 0; i < n_blocks; i++) o->block[i] = memory + i * n;
    o->square = o->block[0];
    if (c->kind == OPTIM_ADAM) o->mean = o->block[1];
    if (c->ema > 0) o->ema = o->block[n_blocks - 1];
    *out = o;
    return ST_OK;
}

void optim_free(Optim *o) {
    if (!o) return;
    free(o->block[0]);
    free(o);
}

Status optim_configure(Optim *o, const OptimConfig *c) {
    TRY(optim_check(c));
    assert(c->kind == o->config.kind && (c->ema > 0) == (o->ema != NULL));
    o->config = *c;
    return ST_OK;
}

/* What the gradient is multiplied by; the 1e-6 is PyTorch's. */
static float clip_scale(double clip, double norm) {
    double scale = clip > 0 ? clip / (norm + 1e-6) : 1;
    return scale < 1 ? (float)scale : 1;
}

static void adam_step(Optim *o, float *params, const float *grads, float grad_scale, double lr) {
    const OptimConfig *c = &o->config;
    double t = (double)(o->steps + 1);
    AdamStep s = {.grad_scale = grad_scale,
                  .lr = (float)lr,
                  .beta1 = (float)c->beta1,
                  .beta2 = (float)c->beta2,
                  .eps = (float)c->eps,
                  .correct1 = (float)(1 / (1 - pow(c->beta1, t))),
                  .correct2 = (float)(1 / (1 - pow(c->beta2, t))),
                  .decay = (float)c->decay};
    o->k->adam(o->n, params, o->mean, o->square, grads, &s);
}

/* Short memory at first, so that the average is not of the first, random, weights for long. */
static double ema_decay(double longest, uint64_t steps) {
    double early = (double)(1 + steps) / (double)(10 + steps);
    return early < longest ? early : longest;
}

Status optim_step(Optim *o, float *params, const float *grads, double *norm) {
    return optim_step_at(o, params, grads, optim_lr(&o->config, o->steps), norm);
}

static void begin_average(Optim *o, const float *params) {
    if (o->ema && o->steps == 0) memcpy(o->ema, params, o->n * sizeof *params);
}

static void count_step(Optim *o, const float *params) {
    o->steps++;
    if (o->ema) o->k->ema(o->n, (float)ema_decay(o->config.ema, o->steps), params, o->ema);
}

void optim_follow(Optim *o, const float *before, const float *params) {
    begin_average(o, before);
    count_step(o, params);
}

Status optim_step_at(Optim *o, float *params, const float *grads, double lr, double *norm) {
    const OptimConfig *c = &o->config;
    double length = sqrt(o->k->norm2(o->n, grads));
    if (norm) *norm = length;
    if (!isfinite(length)) {
        log_error("optimizer: the gradient of step %llu is not finite",
                  (unsigned long long)o->steps);
        return ST_CORRUPT;
    }
    begin_average(o, params);
    float grad_scale = clip_scale(c->clip, length);
    if (c->kind == OPTIM_ADAM) adam_step(o, params, grads, grad_scale, lr);
    else
        o->k->rmsprop(o->n, params, o->square, grads, grad_scale, (float)lr, (float)c->alpha,
                      (float)c->eps);
    count_step(o, params);
    return ST_OK;
}

uint64_t optim_steps(const Optim *o) { return o->steps; }
const float *optim_ema(const Optim *o) { return o->steps ? o->ema : NULL; }

/* ---- the state as bytes ---- */

size_t optim_state_bytes(const Optim *o) {
    return STATE_HEADER_BYTES + (size_t)o->n_blocks * o->n * sizeof(float);
}

static void state_header(const Optim *o, uint64_t steps, uint8_t out[STATE_HEADER_BYTES]) {
    memcpy(out, STATE_MAGIC, 4);
    put_u32(out + 4, (uint32_t)o->config.kind);
    put_u64(out + 8, o->n);
    put_u64(out + 16, steps);
    put_u32(out + 24, (uint32_t)o->n_blocks);
    put_u32(out + 28, 0);
}

void optim_state_save(const Optim *o, uint8_t *out) {
    state_header(o, o->steps, out);
    memcpy(out + STATE_HEADER_BYTES, o->block[0], optim_state_bytes(o) - STATE_HEADER_BYTES);
}

/* Squares are finite and not negative, the rest is finite. */
static bool values_possible(const Optim *o, const uint8_t *p) {
    bool good = true;
    for (int b = 0; b < o->n_blocks; b++)
        for (size_t i = 0; i < o->n; i++, p += sizeof(float)) {
            float v;
            memcpy(&v, p, sizeof v);
            good &= isfinite(v) && (b > 0 || v >= 0);
        }
    return good;
}

Status optim_state_load(Optim *o, const uint8_t *p, size_t n) {
    if (n < STATE_HEADER_BYTES || memcmp(p, STATE_MAGIC, 4) != 0) {
        log_error("optimizer: %zu bytes that are no optimizer state", n);
        return n < STATE_HEADER_BYTES ? ST_TRUNCATED : ST_CORRUPT;
    }
    uint8_t header[STATE_HEADER_BYTES];
    uint64_t steps = get_u64(p + 16);
    state_header(o, steps, header);
    if (memcmp(header, p, sizeof header) != 0) {
        log_error(
            "optimizer: the state is of %s with %llu parameters and %u blocks, not of %s with "
            "%zu and %d",
            get_u32(p + 4) < N_OPTIMS ? kind_text((int)get_u32(p + 4)) : "another kind",
            (unsigned long long)get_u64(p + 8), get_u32(p + 24), optim_name(o->config.kind), o->n,
            o->n_blocks);
        return ST_MISMATCH;
    }
    if (n != optim_state_bytes(o)) {
        log_error("optimizer: a state of %zu bytes has %zu", optim_state_bytes(o), n);
        return n < optim_state_bytes(o) ? ST_TRUNCATED : ST_CORRUPT;
    }
    if (!values_possible(o, p + STATE_HEADER_BYTES)) {
        log_error("optimizer: the state holds values that cannot be");
        return ST_CORRUPT;
    }
    o->steps = steps;
    memcpy(o->block[0], p + STATE_HEADER_BYTES, n - STATE_HEADER_BYTES);
    return ST_OK;
}
