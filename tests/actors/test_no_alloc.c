/* The game loop allocates nothing: malloc and its kin are counted (linked with --wrap) while pools
 * play by every policy, records are written and nets exchanged.                             */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "actors/nethub.h"
#include "actors/selfplay.h"

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

static long calls;

void *__wrap_malloc(size_t n) { return calls++, __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return calls++, __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return calls++, __real_realloc(p, n); }
void *__wrap_aligned_alloc(size_t align, size_t n) {
    return calls++, __real_aligned_alloc(align, n);
}
int __wrap_posix_memalign(void **out, size_t align, size_t n) {
    return calls++, __real_posix_memalign(out, align, n);
}
void __wrap_free(void *p) {
    calls++;
    __real_free(p);
}

static uint64_t bytes;

static void count_bytes(void *ctx, const uint8_t *record, size_t n) {
    (void)ctx, (void)record;
    bytes += n;
}

static Selfplay *selfplay_of(const Policy *p, RulesetId rules) {
    const Policy *const policies[N_ROLES] = {p, p, p};
    SelfplayConfig c = {.rules = rules,
                        .seed = 1,
                        .stride = 1,
                        .n_games = 64,
                        .epsilon = 0.05,
                        .emit = count_bytes};
    Selfplay *s;
    assert_int_equal(selfplay_new(&c, policies, &s), ST_OK);
    return s;
}

static void the_counter_counts(void **state) {
    (void)state;
    Policy *p;
    long before = calls;
    assert_int_equal(policy_open("rule", RULES_DOUZERO, PRECISION_FP32, false, &p), ST_OK);
    assert_true(calls > before);
    policy_free(p);
}

static void policies_allocate_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"random", "rule"};
    for (RulesetId rules = 0; rules < N_RULESETS; rules++)
        for (int i = 0; i < 2; i++) {
            Policy *p;
            assert_int_equal(policy_open(names[i], rules, PRECISION_FP32, false, &p), ST_OK);
            Selfplay *s = selfplay_of(p, rules);
            long before = calls;
            while (selfplay_stats(s)->games < 500) selfplay_tick(s);
            assert_int_equal(calls, before);
            selfplay_free(s);
            policy_free(p);
        }
    assert_true(bytes > 0);
}

static void put_all(NetHub *hub, float *const params[N_ROLES], uint32_t version) {
    for (Role r = 0; r < N_ROLES; r++) assert_true(nethub_put(hub, r, version, params[r]));
}

/* Every precision that the kernels have, with new weights every few ticks. */
static void nets_allocate_nothing(void **state) {
    (void)state;
    float *params[N_ROLES];
    for (Role r = 0; r < N_ROLES; r++) {
        params[r] = malloc(net_layout(r)->n_params * sizeof(float));
        net_init(r, 1, params[r]);
    }
    for (Precision precision = 0; precision < N_PRECISIONS; precision++) {
        if (!precision_usable(kernels_get(), precision)) {
            print_message("%s: not run, these kernels do not have it\n", precision_name(precision));
            continue;
        }
        NetHub *hub;
        Policy *p;
        assert_int_equal(nethub_new(precision, kernels_get(), &hub), ST_OK);
        assert_int_equal(policy_from_nets(&p), ST_OK);
        Selfplay *s = selfplay_of(p, RULES_DOUZERO);
        long before = calls;
        for (uint32_t tick = 0; tick < 40; tick++) {
            if (tick % 8 == 0) put_all(hub, params, tick + 1);
            NetHold hold;
            assert_true(nethub_hold(hub, &hold));
            policy_set_nets(p, hold.net);
            selfplay_set_versions(s, hold.version);
            selfplay_tick(s);
            nethub_release(hub, &hold);
        }
        assert_int_equal(calls, before);
        assert_true(selfplay_stats(s)->scored > 0);
        selfplay_free(s);
        policy_free(p);
        nethub_free(hub);
    }
    for (Role r = 0; r < N_ROLES; r++) free(params[r]);
}

/* New weights wait for the slowest reader of the place that they would go to, and no longer. */
static void a_held_net_is_not_overwritten(void **state) {
    (void)state;
    float *params[N_ROLES];
    NetHub *hub;
    NetHold old, new;
    assert_int_equal(nethub_new(PRECISION_FP32, kernels_get(), &hub), ST_OK);
    assert_false(nethub_hold(hub, &old));
    for (Role r = 0; r < N_ROLES; r++) {
        params[r] = malloc(net_layout(r)->n_params * sizeof(float));
        net_init(r, 1, params[r]);
    }
    put_all(hub, params, 1);
    assert_true(nethub_hold(hub, &old));
    put_all(hub, params, 2); /* the other place is free */
    assert_false(nethub_put(hub, ROLE_LANDLORD, 3, params[0]));
    assert_true(nethub_hold(hub, &new));
    assert_true(old.version[0] == 1 && new.version[0] == 2 && old.net[0] != new.net[0]);
    nethub_release(hub, &old);
    assert_true(nethub_put(hub, ROLE_LANDLORD, 3, params[0]));
    assert_true(nethub_has(hub, ROLE_LANDLORD, 3) && nethub_has(hub, ROLE_LANDLORD_UP, 2));
    assert_int_equal(nethub_version(hub), 3 + 2 + 2);
    nethub_release(hub, &new);
    nethub_free(hub);
    for (Role r = 0; r < N_ROLES; r++) free(params[r]);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_counts),
        cmocka_unit_test(policies_allocate_nothing),
        cmocka_unit_test(nets_allocate_nothing),
        cmocka_unit_test(a_held_net_is_not_overwritten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
