/* 1-bit Adam on a small net whose inputs are partly rare: bytes, and quality against Adam; what
 * error feedback is for; what happens without care for coordinates that have no variance; QAdam,
 * the automatic warm-up, the refresh of a frozen variance, RMSprop.                             */
#include "tests/learner/gauss.h"
#include "tests/learner/trial.h"

#include "engine/base/log.h"

enum {
    DENSE = 20,
    RARE = 80,
    IN = DENSE + RARE,
    HIDDEN = 16,
    N = IN * HIDDEN + HIDDEN + HIDDEN + 1,
    RANKS = 4,
    BATCH = 16,
    STEPS = 3000,
    WARMUP = STEPS / 10
};

static struct {
    bool rare;                       // else the rare inputs are as common as coins
    double rate[RARE], weight[RARE]; // of each rare input: how often it is 1, what it adds
    double teacher[DENSE * 4 + 4], noise;
    const char *codec;
    bool feedback, rmsprop, plain;
    uint64_t warmup, refresh_every, refresh_steps;
    double refresh_part;
    Adam adam[RANKS];
} task;

typedef struct {
    double in[IN], out;
} Sample;

static void draw(Rng *r, Sample *s) {
    s->out = 0;
    for (int k = 0; k < DENSE; k++) s->in[k] = gauss(r);
    for (int h = 0; h < 4; h++) {
        double z = 0;
        for (int k = 0; k < DENSE; k++) z += task.teacher[h * DENSE + k] * s->in[k];
        s->out += task.teacher[4 * DENSE + h] * tanh(z);
    }
    for (int k = 0; k < RARE; k++) {
        double rate = task.rare ? task.rate[k] : .1;
        s->in[DENSE + k] = (double)rng_u32(r) < rate * 4294967296.0;
        s->out += s->in[DENSE + k] * task.weight[k];
    }
}

/* w1[HIDDEN][IN], b1, w2[HIDDEN], b2. */
static double forward(const Real *x, const Sample *s, double *hidden) {
    const Real *b1 = x + IN * HIDDEN, *w2 = b1 + HIDDEN;
    double y = (double)w2[HIDDEN];
    for (int h = 0; h < HIDDEN; h++) {
        double z = (double)b1[h];
        for (int k = 0; k < IN; k++)
            if (s->in[k] != 0) z += (double)x[h * IN + k] * s->in[k];
        hidden[h] = tanh(z);
        y += (double)w2[h] * hidden[h];
    }
    return y;
}

static void gradient(const void *ctx, int rank, int step, const Real *x, Real *g) {
    (void)ctx;
    Rng r;
    rng_init(&r, 1000 + (uint64_t)step, (uint64_t)rank);
    memset(g, 0, N * sizeof *g);
    Real *gb1 = g + IN * HIDDEN, *gw2 = gb1 + HIDDEN;
    const Real *w2 = x + IN * HIDDEN + HIDDEN;
    for (int b = 0; b < BATCH; b++) {
        Sample s;
        double hidden[HIDDEN];
        draw(&r, &s);
        double d = 2 * (forward(x, &s, hidden) - s.out - task.noise * gauss(&r)) / BATCH;
        gw2[HIDDEN] += (Real)d;
        for (int h = 0; h < HIDDEN; h++) {
            gw2[h] += (Real)(d * hidden[h]);
            double dz = d * (double)w2[h] * (1 - hidden[h] * hidden[h]);
            gb1[h] += (Real)dz;
            for (int k = 0; k < IN; k++)
                if (s.in[k] != 0) g[h * IN + k] += (Real)(dz * s.in[k]);
        }
    }
}

static double validate(const Real *x) {
    Rng r;
    rng_init(&r, 99, 99);
    double sum = 0, hidden[HIDDEN];
    for (int i = 0; i < 4000; i++) {
        Sample s;
        draw(&r, &s);
        double e = forward(x, &s, hidden) - s.out;
        sum += e * e;
    }
    return sum / 4000;
}

static void make(bool rare) {
    Rng r;
    rng_init(&r, 7, 0);
    memset(&task, 0, sizeof task);
    task.rare = rare;
    for (size_t k = 0; k < sizeof task.teacher / sizeof task.teacher[0]; k++)
        task.teacher[k] = .35 * gauss(&r);
    for (int k = 0; k < RARE; k++) {
        task.rate[k] = .02 * pow(5e-4, (double)k / RARE); // from one in 50 to one in 100,000
        task.weight[k] = .7 * gauss(&r);
    }
    task.noise = .4;
    task.codec = "sign";
    task.feedback = true;
    task.warmup = WARMUP;
}

static void tune(AlgoConfig *c, const void *ctx) {
    (void)ctx;
    if (strcmp(c->name, "allreduce") == 0) return;
    assert_int_equal(codec_parse(task.codec, &c->up), ST_OK);
    c->down = c->up;
    c->feedback_up = c->feedback_down = task.feedback;
    c->momentum.rmsprop = task.rmsprop;
    c->momentum.plain = task.plain;
    c->momentum.warmup = task.warmup;
    c->momentum.refresh_part = task.refresh_part;
    c->momentum.refresh_every = task.refresh_every;
    c->momentum.refresh_steps = task.refresh_steps;
    if (task.rmsprop) c->momentum.beta2 = .99, c->momentum.eps = 1e-5;
}

static Rule adam_of(int rank) {
    adam_init(&task.adam[rank], N);
    return rule_adam(&task.adam[rank]);
}

typedef struct {
    double mse, bytes;
    AlgoStats stats;
    bool finite;
} Result;

static Result run(const char *algo, const char *label) {
    Real x0[N];
    Rng r;
    rng_init(&r, 5, 0);
    for (int i = 0; i < N; i++) x0[i] = (Real)(.2 * gauss(&r));
    bool plain = strcmp(algo, "allreduce") == 0;
    Trial t = {.algo = algo,
               .ranks = RANKS,
               .n = N,
               .steps = STEPS,
               .lr = 2e-3,
               .x0 = x0,
               .gradient = gradient,
               .tune = tune,
               .rule = plain ? adam_of : NULL,
               .lr_2 = 4e-4,
               .lr_change = STEPS * 3 / 4};
    trial_run(&t);
    Result result = {validate(t.x[0]), (double)t.traffic[0].tx_bytes, t.stats[0],
                     real_finite(t.x[0], N)};
    for (int i = 1; i < RANKS; i++) assert_memory_equal(t.x[i], t.x[0], N * sizeof(Real));
    print_message("%-28s mse %.4f, %.2f MB, dead %llu, drift %.2f\n", label, result.mse,
                  result.bytes / 1e6, (unsigned long long)result.stats.dead, result.stats.drift);
    for (int i = 0; i < RANKS && plain; i++) adam_deinit(&task.adam[i]);
    trial_free(&t);
    return result;
}

static void ordinary_inputs(void **state) {
    (void)state;
    make(false);
    Result adam = run("allreduce", "Adam"), one = run("onebit", "1-bit Adam");
    task.refresh_every = 900, task.refresh_steps = 50;
    Result fresh = run("onebit", "1-bit Adam, 3 refreshes");
    task.refresh_part = 1. / 3, task.refresh_every = 500, task.refresh_steps = 5;
    Result rarer = run("onebit", "1-bit Adam, ever rarer");
    task.refresh_every = 0;
    // the loss includes the noise of the targets; this one is still falling when v is frozen, so
    // that a v which is never refreshed costs something
    double floor = task.noise * task.noise;
    assert_true(floor + one.mse <= 1.08 * (floor + adam.mse));
    assert_true(floor + fresh.mse <= 1.05 * (floor + adam.mse));
    assert_true(floor + rarer.mse <= 1.05 * (floor + adam.mse));
    assert_true(rarer.bytes <= .2 * adam.bytes);
    // bytes: the warm-up's share at 32 bits, the rest at one, and a header and scale a message
    double w = .1, overhead = (STEPS - WARMUP) * 2.0 * (RANKS - 1) * (16 + 4);
    assert_true(one.bytes <= (w + (1 - w) / 32) * 1.05 * adam.bytes + overhead);
    print_message("bytes: %.3f of Adam's, %.3f without headers\n", one.bytes / adam.bytes,
                  (one.bytes - overhead) / adam.bytes);
    assert_int_equal(one.stats.dead, 0);
    task.codec = "u8", task.feedback = false;
    Result q = run("qadam", "QAdam");
    assert_true(floor + q.mse <= 1.08 * (floor + adam.mse));
    assert_true(q.bytes < .4 * adam.bytes);
}

static void rare_inputs(void **state) {
    (void)state;
    make(true);
    Result adam = run("allreduce", "rare inputs: Adam"), one = run("onebit", "1-bit Adam");
    assert_true(one.stats.dead > N / 20);
    assert_true(one.finite && one.mse <= 1.35 * adam.mse);
    task.plain = true;
    Result plain = run("onebit", "1-bit Adam, as published");
    assert_true(plain.finite && plain.mse <= 1.5 * adam.mse);
    task.plain = task.feedback = false;
    Result without = run("onebit", "1-bit Adam, no feedback");
    assert_true(without.mse >= 2.5 * adam.mse);
}

/* What the list of dead coordinates is for: a sign cannot be 0, and over the root of no variance it
 * is a step of 1/eps. One rank, no care taken.                                              */
static void without_care_it_overflows(void **state) {
    (void)state;
    make(true);
    static Real x[N], g[N], m[N], v[N], e[N], q[N];
    static uint8_t code[N * sizeof(Real)];
    Rng r;
    Codec c;
    assert_int_equal(codec_parse("sign", &c), ST_OK);
    rng_init(&r, 5, 0);
    for (int i = 0; i < N; i++) x[i] = (Real)(.2 * gauss(&r));
    int died = 0;
    for (int t = 0; t < WARMUP + 200 && !died; t++) {
        gradient(NULL, 0, t, x, g);
        for (int i = 0; i < N; i++) {
            m[i] = (Real).9 * m[i] + (Real).1 * g[i];
            if (t < WARMUP) v[i] = (Real).999 * v[i] + (Real).001 * g[i] * g[i];
        }
        if (t >= WARMUP) {
            for (int i = 0; i < N; i++) q[i] = m[i] + e[i];
            size_t bytes = codec_encode(&c, q, N, 0, code);
            assert_int_equal(codec_decode(&c, code, bytes, N, 0, m), ST_OK);
            for (int i = 0; i < N; i++) e[i] = q[i] - m[i];
        }
        for (int i = 0; i < N; i++) x[i] -= (Real)2e-3 * m[i] / (real_sqrt(v[i]) + (Real)1e-8);
        Real most = 0;
        for (int i = 0; i < N; i++) most = real_abs(x[i]) > most ? real_abs(x[i]) : most;
        if (!real_finite(x, N) || most > 100) died = t - WARMUP + 1;
    }
    print_message("without care: parameters above 100 %d steps after the freeze\n", died);
    assert_true(died > 0 && died < 100);
}

static void automatic_warmup(void **state) {
    (void)state;
    make(false);
    task.warmup = 0;
    task.rmsprop = true; // memory of 100 steps: steady after some 400
    Result r = run("onebit", "RMSprop, automatic warm-up");
    assert_true(r.stats.compressed && r.finite);
    task.warmup = WARMUP;
    Result fixed = run("onebit", "RMSprop, warm-up of 10%");
    assert_true(r.bytes > fixed.bytes * .5 && r.bytes < fixed.bytes * 8);
    assert_true(fixed.mse < .05 && r.mse < .05);
}

/* Gradients whose size triples after the freeze: the refresh sees it and v follows; and steps that
 * are bounded grow less until then. */
static double noise_scale;
static void noisy(const void *ctx, int rank, int step, const Real *x, Real *g) {
    (void)ctx, (void)x;
    Rng r;
    rng_init(&r, 3 + (uint64_t)step, (uint64_t)rank);
    double size = step < 300 ? 1 : noise_scale;
    for (int i = 0; i < N; i++) g[i] = (Real)(size * gauss(&r) * (1 + i % 4));
}

static double spread(double scale, uint64_t every, AlgoStats *stats) {
    noise_scale = scale;
    task.refresh_every = every;
    task.refresh_steps = 50;
    Trial t = {.algo = "onebit",
               .ranks = 2,
               .n = N,
               .steps = 1500,
               .lr = 1e-3,
               .gradient = noisy,
               .tune = tune};
    trial_run(&t);
    double sum = 0;
    for (int i = 0; i < N; i++) sum += (double)(t.x[0][i] * t.x[0][i]);
    *stats = t.stats[0];
    trial_free(&t);
    return sqrt(sum / N);
}

static void refresh_follows_the_drift(void **state) {
    (void)state;
    make(false);
    task.warmup = 200;
    task.plain = true;
    AlgoStats s;
    double never = spread(3, 0, &s), follows = spread(3, 200, &s), steady = spread(1, 200, &s);
    double drift_steady = s.drift;
    spread(3, 900, &s);
    print_message("random walk of the parameters: %.4f steady, %.4f tripled, %.4f refreshed; drift "
                  "%.2f and %.2f\n",
                  steady, never, follows, drift_steady, s.drift);
    assert_true(fabs(drift_steady - 1) < .1);
    assert_true(fabs(s.drift - 9) < 1);
    assert_true(never > 2 * steady && follows < 1.5 * steady);
    task.plain = false;
    double bounded = spread(3, 0, &s);
    print_message("bounded: %.4f tripled\n", bounded);
    assert_true(bounded < .75 * never);
}

/* A gradient that is not finite on one rank: that step is nobody's, and training goes on. */
static void poisoned(const void *ctx, int rank, int step, const Real *x, Real *g) {
    gradient(ctx, rank, step, x, g);
    if (step % 500 == 499 && rank == step / 500 % RANKS) g[step % N] = NAN;
}

static void bad_steps_are_skipped(void **state) {
    (void)state;
    make(false);
    Real x0[N];
    Rng r;
    rng_init(&r, 5, 0);
    for (int i = 0; i < N; i++) x0[i] = (Real)(.2 * gauss(&r));
    Trial t = {.algo = "onebit",
               .ranks = RANKS,
               .n = N,
               .steps = STEPS,
               .lr = 2e-3,
               .x0 = x0,
               .gradient = poisoned,
               .tune = tune};
    trial_run(&t);
    assert_true(real_finite(t.x[0], N));
    for (int i = 0; i < RANKS; i++) assert_int_equal(t.stats[i].skipped, STEPS / 500);
    for (int i = 1; i < RANKS; i++) assert_memory_equal(t.x[i], t.x[0], N * sizeof(Real));
    assert_true(validate(t.x[0]) < .1);
    trial_free(&t);
}

int main(void) {
    log_level(LOG_WARN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_inputs),           cmocka_unit_test(rare_inputs),
        cmocka_unit_test(without_care_it_overflows), cmocka_unit_test(automatic_warmup),
        cmocka_unit_test(refresh_follows_the_drift), cmocka_unit_test(bad_steps_are_skipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
