/* The rings between inbox and workers: order, room, waiting, ending. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"
#include "learner/buffers.h"

enum { BATCH = 32, CAPACITY = 100, ALL = (1 << N_ROLES) - 1 };

static Sample sample_of(int role, float target) {
    return (Sample){.obs = {.role = (uint8_t)role}, .target = target, .weight = 1};
}

static Status make(int batch, int advance, int capacity, int pool, Buffers **out) {
    BuffersConfig c = {batch, advance, capacity, pool, 7};
    return buffers_new(&c, out);
}

static Buffers *buffers_of(int batch, int capacity) {
    Buffers *b;
    assert_int_equal(make(batch, batch, capacity, 0, &b), ST_OK);
    return b;
}

static void smaller_than_a_batch(void **state) {
    (void)state;
    Buffers *b;
    log_level(LOG_NONE);
    assert_int_equal(make(BATCH, BATCH, BATCH - 1, 0, &b), ST_INVALID);
    assert_int_equal(make(BATCH, 2 * BATCH, 2 * BATCH - 1, 0, &b), ST_INVALID);
    assert_int_equal(make(0, 1, 10, 0, &b), ST_INVALID);
    assert_int_equal(make(1, 0, 10, 0, &b), ST_INVALID);
    assert_int_equal(make(1, 1, 10, -1, &b), ST_INVALID);
    log_level(LOG_INFO);
    buffers_free(buffers_of(BATCH, BATCH));
}

/* Samples of a role come out in the order they were put in, over many times round the ring. */
static void first_in_first_out(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    Sample game[GAME_MAX_MOVES], batch[BATCH];
    float put[N_ROLES] = {0}, taken[N_ROLES] = {0};
    BuffersState s;
    Rng rng;
    rng_init(&rng, 1, 0);
    for (int round = 0; round < 2000; round++) {
        int n = 0;
        while (n < 40) {
            int role = (int)rng_below(&rng, N_ROLES);
            game[n++] = sample_of(role, put[role]++);
        }
        assert_true(buffers_put(b, game, n));
        for (buffers_state(b, &s); s.fill[0] >= BATCH || s.fill[1] >= BATCH || s.fill[2] >= BATCH;
             buffers_state(b, &s)) {
            int role;
            assert_true(buffers_take(b, ALL, &role, batch));
            for (int i = 0; i < BATCH; i++) {
                assert_int_equal(batch[i].obs.role, role);
                assert_true(batch[i].target == taken[role]++);
            }
            buffers_done(b, role);
        }
        for (int r = 0; r < N_ROLES; r++) assert_true(put[r] - taken[r] == (float)s.fill[r]);
    }
    buffers_free(b);
}

/* Every sample comes out once but for those in the pool; how long they stay there is geometric: the
 * mean distance of what follows one another is about the pool's size; a seed repeats.        */
static void mixed(void **state) {
    (void)state;
    enum { POOL = 8 * BATCH, PUT = 400 * BATCH };
    static bool came[2][PUT];
    static int order[2][PUT];
    int n[2] = {0}, role;
    Sample batch[BATCH];
    memset(came, 0, sizeof came);
    for (int run = 0; run < 2; run++) {
        Buffers *b;
        BuffersState s;
        assert_int_equal(make(BATCH, BATCH, CAPACITY, POOL, &b), ST_OK);
        for (int i = 0; i < PUT; i++) {
            Sample one = sample_of(ROLE_LANDLORD_UP, (float)i);
            assert_true(buffers_put(b, &one, 1));
            buffers_state(b, &s);
            if (s.fill[ROLE_LANDLORD_UP] < BATCH) continue;
            assert_true(buffers_take(b, ALL, &role, batch));
            for (int k = 0; k < BATCH; k++) {
                int at = (int)batch[k].target;
                assert_false(came[run][at]);
                came[run][at] = true;
                order[run][n[run]++] = at;
            }
            buffers_done(b, role);
        }
        assert_int_equal(n[run], PUT - POOL);
        buffers_free(b);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
    double distance = 0;
    for (int i = 1; i < n[0]; i++) distance += abs(order[0][i] - order[0][i - 1]);
    distance /= n[0] - 1;
    assert_true(distance > 0.9 * POOL && distance < 1.1 * POOL);
}

/* How often each of the first samples came out when a batch moves the ring on by so many. */
static void check_uses(int advance, int uses_of_first, int uses_of_later, int left_out_from) {
    enum { PUT = 40 * BATCH };
    static int used[PUT];
    Buffers *b;
    Sample batch[BATCH];
    int role;
    memset(used, 0, sizeof used);
    assert_int_equal(make(BATCH, advance, 3 * BATCH, 0, &b), ST_OK);
    for (int i = 0; i < PUT; i++) {
        Sample one = sample_of(ROLE_LANDLORD, (float)i);
        BuffersState s;
        assert_true(buffers_put(b, &one, 1));
        for (buffers_state(b, &s); s.fill[0] >= 2 * BATCH; buffers_state(b, &s)) {
            assert_true(buffers_take(b, ALL, &role, batch));
            for (int k = 0; k < BATCH; k++) used[(int)batch[k].target]++;
            buffers_done(b, role);
        }
    }
    assert_int_equal(used[0], uses_of_first);
    for (int i = BATCH; i < PUT - 4 * BATCH; i++) {
        bool left_out = left_out_from && i % (2 * left_out_from) >= left_out_from;
        assert_int_equal(used[i], left_out ? 0 : uses_of_later);
    }
    buffers_free(b);
}

static void uses(void **state) {
    (void)state;
    check_uses(BATCH, 1, 1, 0);
    check_uses(BATCH / 2, 1, 2, 0);
    check_uses(BATCH / 4, 1, 4, 0);
    check_uses(2 * BATCH, 1, 1, BATCH);
}

typedef struct {
    Buffers *b;
    int role; // put: of these; take: what came
    unsigned mask;
    Sample batch[BATCH];
    atomic_bool done;
    bool ok;
    pthread_t thread;
} Call;

static void *put_main(void *arg) {
    Call *c = arg;
    Sample one = sample_of(c->role, 1);
    c->ok = buffers_put(c->b, &one, 1);
    atomic_store(&c->done, true);
    return NULL;
}

static void *take_main(void *arg) {
    Call *c = arg;
    c->ok = buffers_take(c->b, c->mask, &c->role, c->batch);
    atomic_store(&c->done, true);
    return NULL;
}

static void start(Call *c, void *(*fn)(void *)) {
    atomic_store(&c->done, false);
    assert_int_equal(pthread_create(&c->thread, NULL, fn, c), 0);
}

static bool waits(Call *c) {
    clock_sleep_ms(50);
    return !atomic_load(&c->done);
}

static void fill(Buffers *b, int role, int n) {
    Sample one = sample_of(role, 0);
    for (int i = 0; i < n; i++) assert_true(buffers_put(b, &one, 1));
}

/* A full ring holds up its own samples, not those of others; a batch taken makes room. */
static void a_full_ring_waits(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    Sample batch[BATCH];
    BuffersState before, after;
    int role;
    fill(b, ROLE_LANDLORD, CAPACITY + GAME_MAX_MOVES);
    fill(b, ROLE_LANDLORD_UP, 1);
    buffers_state(b, &before);
    Call c = {.b = b, .role = ROLE_LANDLORD};
    start(&c, put_main);
    assert_true(waits(&c));
    buffers_state(b, &after);
    assert_true(after.put_wait_s > before.put_wait_s + 0.03); // counted while it lasts
    assert_true(buffers_take(b, ALL, &role, batch));
    assert_int_equal(role, ROLE_LANDLORD);
    pthread_join(c.thread, NULL);
    assert_true(c.ok);
    buffers_state(b, &after);
    assert_int_equal(after.fill[ROLE_LANDLORD], CAPACITY + GAME_MAX_MOVES - BATCH + 1);
    buffers_free(b);
}

/* One worker at a role; the mask; settling. */
static void a_role_is_in_one_hand(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    Sample batch[BATCH];
    int role;
    fill(b, ROLE_LANDLORD_DOWN, 2 * BATCH);
    assert_true(buffers_take(b, ALL, &role, batch));
    assert_int_equal(role, ROLE_LANDLORD_DOWN);
    Call second = {.b = b, .mask = ALL}, other = {.b = b, .mask = 1u << ROLE_LANDLORD};
    start(&second, take_main); // there is a batch, but the role is busy
    start(&other, take_main);
    assert_true(waits(&second) && waits(&other));
    buffers_done(b, ROLE_LANDLORD_DOWN);
    pthread_join(second.thread, NULL);
    assert_true(second.ok && second.role == ROLE_LANDLORD_DOWN);
    assert_true(waits(&other));
    fill(b, ROLE_LANDLORD, BATCH);
    pthread_join(other.thread, NULL);
    assert_true(other.ok && other.role == ROLE_LANDLORD);
    buffers_done(b, ROLE_LANDLORD);
    buffers_done(b, ROLE_LANDLORD_DOWN);
    assert_true(buffers_settle(b));
    buffers_free(b);
}

/* A role that lacks games is not held up by another's full ring: that one forgets its oldest. */
static void a_full_ring_forgets(void **state) {
    (void)state;
    Sample batch[4], s = {.obs = {.role = ROLE_LANDLORD}};
    Buffers *b;
    BuffersState now;
    int role;
    BuffersConfig c = {.batch = 4, .advance = 4, .capacity = 8};
    assert_int_equal(buffers_new(&c, &b), ST_OK);
    buffers_forget(b);
    int room = 8 + GAME_MAX_MOVES;
    for (int i = 0; i < room + 5; i++) {
        s.target = (float)i;
        assert_true(buffers_put(b, &s, 1)); // the peasants have none: it must not wait
    }
    buffers_state(b, &now);
    assert_int_equal(now.fill[ROLE_LANDLORD], room);
    assert_int_equal(buffers_forgotten(b), 5);
    assert_true(buffers_take(b, 1u << ROLE_LANDLORD, &role, batch));
    for (int i = 0; i < 4; i++) assert_float_equal(batch[i].target, (float)(5 + i), 0);
    buffers_done(b, role);
    buffers_hurry(b); // and nobody waits for what does not come
    assert_false(buffers_take(b, 1u << ROLE_LANDLORD_UP, &role, batch));
    assert_true(buffers_take(b, 1u << ROLE_LANDLORD, &role, batch));
    buffers_free(b);
}

static void *settle_main(void *arg) {
    Call *c = arg;
    c->ok = buffers_settle(c->b);
    atomic_store(&c->done, true);
    return NULL;
}

static void settling_waits_for_the_last_step(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    Sample batch[BATCH];
    int role;
    fill(b, ROLE_LANDLORD_UP, BATCH + 3);
    Call c = {.b = b};
    start(&c, settle_main);
    assert_true(waits(&c));
    assert_true(buffers_take(b, ALL, &role, batch));
    assert_true(waits(&c));
    buffers_done(b, role);
    pthread_join(c.thread, NULL);
    assert_true(c.ok);
    buffers_free(b);
}

static void closing_wakes_everybody(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    fill(b, ROLE_LANDLORD, CAPACITY + GAME_MAX_MOVES);
    Call put = {.b = b, .role = ROLE_LANDLORD}, take = {.b = b, .mask = 1u << ROLE_LANDLORD_UP},
         settle = {.b = b};
    start(&put, put_main);
    start(&take, take_main);
    start(&settle, settle_main);
    assert_true(waits(&put) && waits(&take) && waits(&settle));
    buffers_close(b);
    pthread_join(put.thread, NULL);
    pthread_join(take.thread, NULL);
    pthread_join(settle.thread, NULL);
    assert_false(put.ok || take.ok || settle.ok);
    Sample one = sample_of(ROLE_LANDLORD_DOWN, 0), batch[BATCH];
    int role;
    assert_false(buffers_put(b, &one, 1));
    assert_false(buffers_take(b, ALL, &role, batch));
    buffers_free(b);
}

/* Two threads put, three take: nothing is lost or doubled, and each putter's order is kept. */
enum { PUTS = 4000, PUTTERS = 2, TAKERS = 3 };

static void *putter_main(void *arg) {
    Call *c = arg;
    float next[N_ROLES] = {0};
    for (int i = 0; i < PUTS; i++) {
        Sample game[3];
        for (int r = 0; r < N_ROLES; r++) {
            game[r] = sample_of(r, next[r]++);
            game[r].action = (Hand)c->role; // whose
        }
        if (!buffers_put(c->b, game, 3)) break;
    }
    return NULL;
}

static pthread_mutex_t seen_lock[N_ROLES];
static float seen[N_ROLES][PUTTERS];

static void *taker_main(void *arg) {
    Call *c = arg;
    while (buffers_take(c->b, ALL, &c->role, c->batch)) {
        pthread_mutex_lock(&seen_lock[c->role]); // free: the role is ours
        for (int i = 0; i < BATCH; i++) {
            const Sample *s = &c->batch[i];
            c->ok = c->ok && s->target == seen[c->role][s->action]++ && s->obs.role == c->role;
        }
        pthread_mutex_unlock(&seen_lock[c->role]);
        buffers_done(c->b, c->role);
    }
    return NULL;
}

static void many_threads(void **state) {
    (void)state;
    Buffers *b = buffers_of(BATCH, CAPACITY);
    Call put[PUTTERS], take[TAKERS];
    for (int r = 0; r < N_ROLES; r++) pthread_mutex_init(&seen_lock[r], NULL);
    for (int i = 0; i < TAKERS; i++) {
        take[i] = (Call){.b = b, .ok = true};
        pthread_create(&take[i].thread, NULL, taker_main, &take[i]);
    }
    for (int i = 0; i < PUTTERS; i++) {
        put[i] = (Call){.b = b, .role = i};
        pthread_create(&put[i].thread, NULL, putter_main, &put[i]);
    }
    for (int i = 0; i < PUTTERS; i++) pthread_join(put[i].thread, NULL);
    assert_true(buffers_settle(b));
    buffers_close(b);
    for (int i = 0; i < TAKERS; i++) {
        pthread_join(take[i].thread, NULL);
        assert_true(take[i].ok);
    }
    for (int r = 0; r < N_ROLES; r++)
        assert_true(seen[r][0] + seen[r][1] == PUTTERS * PUTS / BATCH * BATCH);
    buffers_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_than_a_batch),
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(mixed),
        cmocka_unit_test(uses),
        cmocka_unit_test(a_full_ring_waits),
        cmocka_unit_test(a_full_ring_forgets),
        cmocka_unit_test(a_role_is_in_one_hand),
        cmocka_unit_test(settling_waits_for_the_last_step),
        cmocka_unit_test(closing_wakes_everybody),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
