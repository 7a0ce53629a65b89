/* The small parts: JSON out, timers, ratings, buckets. */
#include "engine/base/rng.h"
#include "server/jsonout.h"
#include "server/lobby.h"
#include "server/rating.h"
#include "server/timers.h"
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_json(void **state) {
    (void)state;
    JsonOut o;
    uint8_t v[] = {1, 2, 54};
    size_t n;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "a\"b", "x\\y\n\x01 青\"");
    jsonout_int(&o, "min", INT64_MIN);
    jsonout_real(&o, "r", -0.12345);
    jsonout_real(&o, "nan", NAN);
    jsonout_real(&o, "whole", 100);
    jsonout_ints(&o, "v", v, 3);
    jsonout_ints(&o, "none", v, 0);
    jsonout_open(&o, "deep", '[');
    jsonout_open(&o, NULL, '{');
    jsonout_close(&o, '}');
    jsonout_null(&o, NULL);
    jsonout_close(&o, ']');
    jsonout_str(&o, "gone", NULL);
    jsonout_close(&o, '}');
    char *text = jsonout_take(&o, &n);
    assert_string_equal(text,
                        "{\"a\\\"b\":\"x\\\\y\\u000a\\u0001 青\\\"\",\"min\":-9223372036854775808,"
                        "\"r\":-0.1235,\"nan\":null,\"whole\":100,\"v\":[1,2,54],\"none\":[],"
                        "\"deep\":[{},null],\"gone\":null}");
    json_t *j = json_loadb(text, n, 0, NULL);
    assert_non_null(j);
    json_decref(j);
    free(text);
}

enum { N_TIMERS = 500 };
static int64_t fired[N_TIMERS], now;
static int n_fired;

static void on_timer(void *owner) {
    fired[n_fired++] = ((Timer *)owner)->due_us;
    assert_true(((Timer *)owner)->due_us <= now);
}

static void test_timers(void **state) {
    (void)state;
    Timers t;
    static Timer timer[N_TIMERS];
    Rng r;
    int set = 0;
    rng_init(&r, 3, 0);
    timers_init(&t);
    assert_true(timers_next(&t) == INT64_MAX);
    for (int i = 0; i < N_TIMERS; i++)
        timers_set(&t, &timer[i], rng_below(&r, 1000), on_timer, &timer[i]);
    for (int i = 0; i < N_TIMERS; i++) { // some move, some go
        uint32_t what = rng_below(&r, 3);
        if (what == 0) timers_set(&t, &timer[i], rng_below(&r, 1000), on_timer, &timer[i]);
        if (what == 1) timers_cancel(&t, &timer[i]);
    }
    for (int i = 0; i < N_TIMERS; i++) set += timer[i].place != 0;
    assert_int_equal(set, t.n);
    for (now = 0; now < 1000; now += 7) {
        timers_run(&t, now);
        assert_true(timers_next(&t) > now);
    }
    timers_run(&t, now);
    assert_int_equal(n_fired, set);
    for (int i = 1; i < n_fired; i++) assert_true(fired[i - 1] <= fired[i]);
    timers_deinit(&t);
}

/* The example of Glickman's paper. */
static void test_glicko(void **state) {
    (void)state;
    Rating r = {1500, 200, 0.06, 0};
    const Rating o[] = {{1400, 30, 0.06, 0}, {1550, 100, 0.06, 0}, {1700, 300, 0.06, 0}};
    const double scores[] = {1, 0, 0};
    Rating after = rating_update(&r, 3, o, scores);
    assert_true(fabs(after.rating - 1464.06) < 0.02);
    assert_true(fabs(after.deviation - 151.52) < 0.02);
    assert_true(fabs(after.volatility - 0.05999) < 1e-5);
}

/* Of three with equal strength nobody drifts; who wins more ends above, and uncertainty falls. */
static void test_rating_games(void **state) {
    (void)state;
    Rating r[3] = {rating_new(), rating_new(), rating_new()};
    Rng rng;
    rng_init(&rng, 1, 0);
    for (int i = 0; i < 400; i++) {
        int landlord = i % 3;
        double chance = landlord == 0 ? 0.7 : 0.4; // seat 0 plays better
        rating_game(r, landlord, rng_float(&rng) < chance, 1000 + i);
    }
    assert_true(r[0].rating > r[1].rating + 40 && r[0].rating > r[2].rating + 40);
    for (int s = 0; s < 3; s++) assert_true(r[s].deviation < 100 && r[s].deviation >= 30);
    Rating later = rating_age(&r[0], r[0].at_ms + 400ll * 86400000);
    assert_true(later.deviation > r[0].deviation && later.deviation <= 350);
}

static void test_bucket(void **state) {
    (void)state;
    Bucket b = {0};
    int64_t t = 1000000;
    int taken = 0;
    for (int i = 0; i < 100; i++) taken += bucket_take(&b, t, 40, 20);
    assert_int_equal(taken, 40);
    for (int i = 0; i < 100; i++) taken += bucket_take(&b, t += 10000, 40, 20); // a second
    assert_in_range(taken, 59, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),   cmocka_unit_test(test_timers),
        cmocka_unit_test(test_glicko), cmocka_unit_test(test_rating_games),
        cmocka_unit_test(test_bucket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
