/* The learner's way from a record's bytes to published weights allocates nothing: malloc and its
 * kin are counted (linked with --wrap) over thousands of samples, in every precision and split.  */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "learner/inbox.h"
#include "learner/publish.h"
#include "tests/learner/games.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
int __real_posix_memalign(void **out, size_t align, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
int __wrap_posix_memalign(void **out, size_t align, size_t n);
void __wrap_free(void *p);

static atomic_long calls;

static void count(void) { atomic_fetch_add(&calls, 1); }

void *__wrap_malloc(size_t n) {
    count();
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    count();
    return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n) {
    count();
    return __real_realloc(p, n);
}
void *__wrap_aligned_alloc(size_t align, size_t n) {
    count();
    return __real_aligned_alloc(align, n);
}
int __wrap_posix_memalign(void **out, size_t align, size_t n) {
    count();
    return __real_posix_memalign(out, align, n);
}
void __wrap_free(void *p) {
    count();
    __real_free(p);
}

enum { BATCH = 16, GAMES = 6 };

typedef struct {
    NetLearner *net[N_ROLES];
    Buffers *buffers;
    Publisher *publisher;
    Roster *roster;
    uint8_t bytes[GAMES * RECORD_MAX_BYTES];
    size_t n;
} Bed;

static Bed *bed_new(Precision p, int parts, bool ema) {
    Bed *b = calloc(1, sizeof *b);
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerConfig c = {.role = (Role)r,
                              .seed = 1,
                              .batch = BATCH,
                              .parts = parts,
                              .precision = p,
                              .optim = optim_defaults(OPTIM_RMSPROP)};
        c.optim.ema = ema ? 0.99 : 0;
        assert_int_equal(netlearner_new(&c, kernels_get(), &b->net[r]), ST_OK);
    }
    PublisherConfig c = {.run = 0xa110c, .ema = ema, .every = 1, .nets = b->net};
    assert_int_equal(publisher_new(&c, &b->publisher), ST_OK);
    BuffersConfig rings = {.batch = BATCH, .advance = BATCH, .capacity = 4 * BATCH, .pool = BATCH};
    assert_int_equal(buffers_new(&rings, &b->buffers), ST_OK);
    assert_int_equal(roster_new(&b->roster), ST_OK);
    for (uint64_t i = 0; i < GAMES; i++) {
        Record r;
        random_record(RULES_DOUZERO, 3, i, &r);
        b->n += record_write(&r, b->bytes + b->n);
    }
    return b;
}

static void bed_free(Bed *b) {
    buffers_free(b->buffers);
    publisher_free(b->publisher);
    roster_free(b->roster);
    for (int r = 0; r < N_ROLES; r++) netlearner_free(b->net[r]);
    free(b);
}

static void learn_what_is_there(Bed *b) {
    static Sample batch[BATCH];
    BuffersState s;
    for (buffers_state(b->buffers, &s);
         s.fill[0] >= BATCH || s.fill[1] >= BATCH || s.fill[2] >= BATCH;
         buffers_state(b->buffers, &s)) {
        int role;
        NetLearnerState state;
        assert_true(buffers_take(b->buffers, (1 << N_ROLES) - 1, &role, batch));
        netlearner_step(b->net[role], batch);
        netlearner_state(b->net[role], &state);
        publisher_step(b->publisher, b->net[role], (Role)role, state.steps);
        buffers_done(b->buffers, role);
    }
}

/* All games of the bed, as the inbox and the crew treat them. */
static void pass_through(Bed *b) {
    static GameSamples samples;
    SampleRules rules = {RULES_DOUZERO, OBJECTIVE_ADP, true};
    Record r;
    for (size_t at = 0, used; at < b->n; at += used) {
        const char *why;
        Deal deal;
        roster_frame(b->roster, 1, 1);
        assert_int_equal(record_read(b->bytes + at, b->n - at, &r, &used), ST_OK);
        deal_random(3, r.game, &deal);
        assert_int_equal(samples_from_record(&rules, &r, &samples, &why), ST_OK);
        assert_true(buffers_put(b->buffers, samples.sample, samples.n));
        learn_what_is_there(b);
    }
}

static void the_counter_counts(void **state) {
    (void)state;
    long before = calls;
    bed_free(bed_new(PRECISION_FP32, 1, false));
    assert_true(calls - before > 10);
}

static void learning_allocates_nothing(void **state) {
    (void)state;
    for (Precision p = PRECISION_FP32; p <= PRECISION_BF16; p++)
        for (int parts = 1; parts <= 3; parts += 2) {
            if (!precision_usable(kernels_get(), p)) {
                print_message("%s: not run, these kernels do not have it\n", precision_name(p));
                continue;
            }
            Bed *b = bed_new(p, parts, parts == 3);
            NetLearnerState s;
            pass_through(b); // what a library may keep from its first use
            long before = calls;
            pass_through(b);
            assert_int_equal(calls, before);
            netlearner_state(b->net[ROLE_LANDLORD], &s);
            assert_true(s.steps > 1);
            bed_free(b);
        }
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_counts),
        cmocka_unit_test(learning_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
