/* Deals: pinned for ever by a hash, whole decks, no card more likely here than there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/game.h"
#include <cmocka.h>

static void pinned(void **state) {
    (void)state;
    uint64_t h = 0xcbf29ce484222325ull;
    for (uint64_t i = 0; i < 1000; i++) {
        Deal d;
        deal_random(i % 7, i, &d);
        for (int c = 0; c < N_CARDS; c++) h = (h ^ d.owner[c]) * 0x100000001b3ull;
    }
    assert_int_equal(h, 0xe5a26889f4a10b2d);
}

/* Every card goes to every owner as often as it should; neighbours go together as often as they
 * should. Bounds: five standard deviations.                                                 */
static void fair(void **state) {
    (void)state;
    enum { DEALS = 40000 };
    static int owned[N_CARDS][4];
    int together = 0;
    for (uint64_t i = 0; i < DEALS; i++) {
        Deal d;
        deal_random(99, i, &d);
        assert_int_equal(deal_check(&d), ST_OK);
        for (int c = 0; c < N_CARDS; c++) owned[c][d.owner[c]]++;
        for (int c = 1; c < N_CARDS; c++) together += d.owner[c] == d.owner[c - 1];
    }
    for (int c = 0; c < N_CARDS; c++) {
        for (int s = 0; s < 3; s++)
            assert_in_range(owned[c][s], DEALS * 17 / 54 - 465, DEALS * 17 / 54 + 465);
        assert_in_range(owned[c][DEAL_BOTTOM], DEALS * 3 / 54 - 230, DEALS * 3 / 54 + 230);
    }
    double pairs = 53.0 * DEALS, p = (3 * 17 * 16 + 3 * 2) / (54.0 * 53);
    assert_in_range(together, (int)(pairs * p - 4000), (int)(pairs * p + 4000));
}

static void checked(void **state) {
    (void)state;
    Deal d;
    deal_random(1, 1, &d);
    assert_int_equal(deal_check(&d), ST_OK);
    for (int c = 0; c < N_CARDS; c++)
        for (int owner = 0; owner < 256; owner++) {
            Deal e = d;
            e.owner[c] = (uint8_t)owner;
            assert_int_equal(deal_check(&e), owner == d.owner[c] ? ST_OK : ST_INVALID);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pinned),
        cmocka_unit_test(fair),
        cmocka_unit_test(checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
