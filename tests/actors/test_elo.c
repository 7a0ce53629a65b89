/* Ratings: found again from games that were drawn from them; extremes; symmetry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "actors/elo.h"

static double chance(double difference) { return 1 / (1 + pow(10, -difference / 400)); }

/* Expected results of many games: the ratings come out as they went in. */
static void ratings_are_found_again(void **state) {
    (void)state;
    static const double l[4] = {100, 40, -60, -80}, p[4] = {70, -30, 10, -50};
    const double seat = -35;
    EloPairing games[64];
    int n = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            for (int k = j; k < 4; k++)
                games[n++] = (EloPairing){(uint8_t)i,
                                          {(uint8_t)j, (uint8_t)k},
                                          1e6,
                                          1e6 * chance(l[i] - (p[j] + p[k]) / 2 + seat)};
    EloRatings r;
    elo_fit(4, games, n, &r);
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(r.landlord[i] - l[i]) < 0.1);
        assert_true(fabs(r.peasant[i] - p[i]) < 0.1);
        assert_true(fabs(r.rating[i] - (l[i] + p[i]) / 2) < 0.1);
    }
    assert_true(fabs(r.seat - seat) < 0.1);
}

/* Two agents over both roles: a share w of wins is 400 log10(w / (1 - w)) apart. */
static void a_pair_is_rated_by_its_share(void **state) {
    (void)state;
    static const EloPairing games[] = {{0, {1, 1}, 10000, 5800}, {1, {0, 0}, 10000, 4200}};
    EloRatings r;
    elo_fit(2, games, 2, &r);
    double expected = 400 * log10(0.58 / 0.42);
    assert_true(fabs(r.rating[0] - r.rating[1] - expected) < 0.1);
    assert_true(fabs(r.rating[0] + r.rating[1]) < 1e-6);
}

static void winning_everything_is_finite(void **state) {
    (void)state;
    static const EloPairing games[] = {{0, {1, 1}, 100, 100}, {1, {0, 0}, 100, 0}};
    EloRatings r;
    elo_fit(2, games, 2, &r);
    assert_true(isfinite(r.rating[0]) && r.rating[0] > 200 && r.rating[0] < 3000);
    elo_fit(3, games, 2, &r); /* one who has not played is in the middle */
    assert_true(isfinite(r.rating[2]) && fabs(r.rating[2]) < 1e-6 + fabs(r.rating[0]));
    elo_fit(2, games, 0, &r);
    assert_true(fabs(r.rating[0]) < 1e-9 && fabs(r.seat) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratings_are_found_again),
        cmocka_unit_test(a_pair_is_rated_by_its_share),
        cmocka_unit_test(winning_everything_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
