/* Cards and moves as text: every play there and back, foreign spellings, bad input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/rng.h"
#include "engine/move.h"
#include "engine/text.h"
#include "random_position.h"
#include <cmocka.h>
#include <string.h>

static void reads_as(const char *s, const char *canonical) {
    Hand h;
    char text[TEXT_MAX];
    assert_int_equal(text_to_hand(s, &h, NULL), ST_OK);
    assert_int_equal(text_from_hand(h, text), strlen(canonical));
    assert_string_equal(text, canonical);
}

static void spellings(void **state) {
    (void)state;
    reads_as("", "");
    reads_as("33344456", "33344456");
    reads_as("2A 10 9", "9TA2");
    reads_as("xd", "BR");
    reads_as("DX", "BR");
    reads_as("br", "BR");
    reads_as("tjqka", "TJQKA");
    reads_as("10 10\t1010", "TTTT");
    reads_as("RB2222AAAAKKKKQQQQJJJJTTTT9999888877776666555544443333",
             "3333444455556666777788889999TTTTJJJJQQQQKKKKAAAA2222BR");
}

static void bad(const char *s, Status want, int at) {
    Hand h = 77;
    int where = -1;
    assert_int_equal(text_to_hand(s, &h, &where), want);
    assert_int_equal(where, at);
    assert_true(h == 77); /* untouched */
    assert_int_equal(text_to_hand(s, &h, NULL), want);
}

static void bad_input(void **state) {
    (void)state;
    bad("33333", ST_INVALID, 4);
    bad("BB", ST_INVALID, 1);
    bad("RXD", ST_INVALID, 2);
    bad("34Z", ST_PARSE, 2);
    bad("1", ST_PARSE, 0);
    bad("11", ST_PARSE, 0);
    bad("10101010 10", ST_INVALID, 9);
    bad("pass", ST_PARSE, 0);
    bad("3,4", ST_PARSE, 1);
    bad("\xe2\x99\xa0", ST_PARSE, 0);
    Hand h;
    assert_int_equal(text_to_move("passs", &h, NULL), ST_PARSE);
    assert_int_equal(text_to_move("pas", &h, NULL), ST_PARSE);
}

static void moves(void **state) {
    (void)state;
    char text[TEXT_MAX];
    Hand h;
    assert_int_equal(text_from_move(0, text), 4);
    assert_string_equal(text, "pass");
    assert_int_equal(text_to_move("Pass", &h, NULL), ST_OK);
    assert_true(h == 0);
    assert_int_equal(text_to_move("", &h, NULL), ST_OK);
    assert_true(h == 0);
    for (int id = 0; id < N_MOVE_IDS; id++) {
        text_from_move(move_from_id((uint16_t)id), text);
        assert_int_equal(text_to_move(text, &h, NULL), ST_OK);
        assert_true(h == move_from_id((uint16_t)id));
    }
}

static void any_hand(void **state) {
    (void)state;
    Rng rng;
    rng_init(&rng, 5, 0);
    for (int i = 0; i < 20000; i++) {
        char text[TEXT_MAX];
        Hand hand = random_hand(&rng, HAND_FULL, (int)rng_below(&rng, 55)), back;
        assert_int_equal(text_from_hand(hand, text), hand_size(hand));
        assert_int_equal(text_to_hand(text, &back, NULL), ST_OK);
        assert_true(back == hand);
    }
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings),
        cmocka_unit_test(bad_input),
        cmocka_unit_test(moves),
        cmocka_unit_test(any_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
