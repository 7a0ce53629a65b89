/* The decoder of clients' messages: what it takes, what it refuses and how it says so. */
#include "engine/ruleset.h"
#include "server/auth.h"
#include "server/protocol.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static ClientMessage ok(const char *text) {
    ClientMessage m;
    const char *code = NULL, *why = NULL;
    if (protocol_decode(text, strlen(text), &m, &code, &why) != ST_OK)
        fail_msg("%s: %s (%s)", text, code, why);
    return m;
}

static int64_t bad(const char *text, size_t n, const char *code_wanted) {
    ClientMessage m;
    const char *code = NULL, *why = NULL;
    assert_int_equal(protocol_decode(text, n, &m, &code, &why), ST_INVALID);
    assert_string_equal(code, code_wanted);
    assert_non_null(why);
    return m.id;
}
#define BAD(text) bad(text, strlen(text), "bad_message")

static void test_every_type(void **state) {
    (void)state;
    ClientMessage m =
        ok("{\"t\":\"hello\",\"ver\":\"1.0\",\"lang\":\"en\",\"room\":\"7kq2-m9xa\",\"seq\":41}");
    assert_int_equal(m.kind, CMD_HELLO);
    assert_string_equal(m.room, "7KQ2M9XA");
    assert_int_equal(m.seq, 41);
    assert_int_equal(m.lang, LANG_EN);
    assert_string_equal(m.token, "");
    assert_int_equal(m.id, -1);
    m = ok("{\"t\":\"quick\",\"id\":1,\"strength\":\"mid\",\"role\":\"farmer\",\"time\":20,"
           "\"rules\":\"douzero\",\"help\":false}");
    assert_int_equal(m.strength, STRENGTH_MID);
    assert_int_equal(m.role, WISH_FARMER);
    assert_int_equal(m.time, 20);
    assert_int_equal(m.rules, RULES_DOUZERO);
    assert_int_equal(m.help, 0);
    assert_int_equal(m.think, -1);
    m = ok("{\"t\":\"play\",\"id\":3,\"ply\":3,\"cards\":[2,0]}");
    assert_int_equal(m.n_cards, 2);
    assert_int_equal(m.cards[0], 2);
    m = ok(" {\"t\":\"play\",\"id\":3,\"ply\":3,\"cards\":[],\"more\":{\"a\":[1]}} ");
    assert_int_equal(m.n_cards, 0);
    m = ok("{\"t\":\"room_set\",\"id\":3,\"private\":true,\"time\":null}");
    assert_int_equal(m.private_, 1);
    assert_int_equal(m.time, -1);
    assert_int_equal(m.rules, -1);
    assert_int_equal(ok("{\"t\":\"bid\",\"id\":9,\"ply\":0,\"points\":3}").points, 3);
    assert_int_equal(ok("{\"t\":\"ping\",\"c\":-5}").c, -5);
}

static void test_refused(void **state) {
    (void)state;
    BAD("");
    BAD("[]");
    BAD("7");
    BAD("{\"t\":\"bid\"");
    BAD("{}");
    BAD("{\"t\":7}");
    assert_int_equal(BAD("{\"t\":\"nothing\",\"id\":12}"), 12);
    assert_int_equal(BAD("{\"t\":\"bid\",\"id\":12,\"ply\":0}"), 12);
    BAD("{\"t\":\"bid\",\"ply\":0,\"points\":1}");
    BAD("{\"t\":\"bid\",\"id\":0,\"ply\":0,\"points\":1}");
    BAD("{\"t\":\"bid\",\"id\":1,\"ply\":0,\"points\":4}");
    BAD("{\"t\":\"bid\",\"id\":1,\"ply\":0,\"points\":1.5}");
    BAD("{\"t\":\"bid\",\"id\":1,\"ply\":0,\"points\":\"1\"}");
    BAD("{\"t\":\"bid\",\"id\":1,\"ply\":-1,\"points\":1}");
    BAD("{\"t\":\"bid\",\"id\":1,\"ply\":99999999999999999999,\"points\":1}");
    BAD("{\"t\":\"ready\",\"id\":1,\"on\":1}");
    BAD("{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[1,1]}");
    BAD("{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[54]}");
    BAD("{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[-1]}");
    BAD("{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,"
        "18,19,20]}");
    BAD("{\"t\":\"play\",\"id\":1,\"ply\":0,\"cards\":\"34\"}");
    BAD("{\"t\":\"ping\",\"c\":1,\"c\":2}");
    BAD("{\"t\":\"room_join\",\"id\":1,\"room\":\"../../etc\"}");
    BAD("{\"t\":\"room_join\",\"id\":1,\"room\":\"AAAAAAA0\"}");
    BAD("{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"has spaces\"}");
    BAD("{\"t\":\"hello\",\"ver\":\"1.0\",\"token\":\"012345678901234567890123456789012\"}");
    BAD("{\"t\":\"review\",\"id\":1,\"game\":\"a'b\"}");
    BAD("{\"t\":\"quick\",\"id\":1,\"strength\":\"best\",\"role\":\"bid\",\"time\":15,\"rules\":"
        "\"classic\",\"help\":true}");
    BAD("{\"t\":\"quick\",\"id\":1,\"strength\":\"best\",\"role\":\"bid\",\"time\":20,\"rules\":"
        "\"botzone\",\"help\":true}");
    bad("{\"t\":\"ping\",\"c\":1}\0x", 20, "bad_message");
}

static void test_size_and_depth(void **state) {
    (void)state;
    char text[PROTOCOL_MAX_BYTES + 64];
    ok("{\"t\":\"ping\",\"c\":1,\"x\":[[[]]]}");
    BAD("{\"t\":\"ping\",\"c\":1,\"x\":[[[[]]]]}");
    ok("{\"t\":\"ping\",\"c\":1,\"x\":\"[[[[[[[[ \\\" {{{{{\"}");
    memset(text, ' ', sizeof text);
    memcpy(text, "{\"t\":\"ping\",\"c\":1}", 18);
    ClientMessage m;
    const char *code, *why;
    assert_int_equal(protocol_decode(text, PROTOCOL_MAX_BYTES, &m, &code, &why), ST_OK);
    bad(text, PROTOCOL_MAX_BYTES + 1, "bad_message");
    memset(text, '[', PROTOCOL_MAX_BYTES);
    bad(text, PROTOCOL_MAX_BYTES, "bad_message");
}

static bool clean(const char *s, const char *want) {
    char out[NAME_BYTES];
    if (!name_clean(s, strlen(s), out)) return false;
    assert_string_equal(out, want);
    return true;
}

static void test_names(void **state) {
    (void)state;
    assert_true(clean("青山", "青山"));
    assert_true(clean("  Ann Lee ", "Ann Lee"));
    assert_true(clean("十二个字的名字正好是这么", "十二个字的名字正好是这么"));
    assert_false(clean("十三个字的名字就是长了一些", ""));
    assert_true(clean("'; DROP TABLE", "'; DROP TABLE") == false); // 13 letters
    assert_true(clean("';DROP user;", "';DROP user;"));
    assert_false(clean("", ""));
    assert_false(clean("   ", ""));
    assert_false(clean("a\nb", ""));
    assert_false(clean("a\xe2\x80\xaeXb", "")); // right-to-left override
    assert_false(clean("a\xe2\x80\x8b", ""));   // zero width space
    assert_false(clean("\xc0\xaf", ""));        // overlong
    assert_false(clean("\xed\xa0\x80", ""));    // surrogate
    assert_false(clean("\xf4\x90\x80\x80", ""));
    assert_false(clean("\xe9\x9d", ""));
    assert_false(clean("\xff", ""));
    char *zero = "a\0b", out[NAME_BYTES];
    assert_false(name_clean(zero, 3, out));
    const char *empty = "{\"t\":\"rename\",\"id\":1,\"name\":\"\"}";
    assert_int_equal(bad(empty, strlen(empty), "name"), 1);
}

static void test_tokens(void **state) {
    (void)state;
    char token[TOKEN_CHARS + 1], other[TOKEN_CHARS + 1];
    TokenKey a, b;
    assert_int_equal(auth_init(), ST_OK);
    for (int i = 0; i < 100; i++) {
        auth_token_new(token, &a);
        assert_true(auth_token_key(token, &b));
        assert_int_equal(a.user, b.user);
        assert_true(auth_hash_equal(a.hash, b.hash));
        memcpy(other, token, sizeof other);
        other[31] = other[31] == 'A' ? 'B' : 'A';
        assert_true(auth_token_key(other, &b));
        assert_int_equal(a.user, b.user);
        assert_false(auth_hash_equal(a.hash, b.hash));
        assert_true(a.user > 3);
    }
    assert_false(auth_token_key("short", &b));
    assert_false(auth_token_key("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", &b)); // user 0
    assert_false(auth_token_key("****AAAAAAAAAAAAAAAAAAAAAAAAAAAA", &b));
}

static void test_game_ids(void **state) {
    (void)state;
    char text[GAME_ID_CHARS + 1];
    assert_int_equal(auth_init(), ST_OK);
    for (int i = 0; i < 1000; i++) {
        uint64_t n = auth_game_number();
        auth_game_text(n, text);
        assert_int_equal(strlen(text), 11);
        assert_int_equal(auth_game_parse(text), n);
    }
    assert_int_equal(auth_game_parse("zzzzzzzzzzz"), 0);
    assert_int_equal(auth_game_parse("1"), 0);
    assert_int_equal(auth_game_parse("0000000000-"), 0);
}

static void test_deals(void **state) {
    (void)state;
    int where[N_CARDS][4] = {0};
    assert_int_equal(auth_init(), ST_OK);
    for (int i = 0; i < 3000; i++) {
        Deal d;
        auth_deal(&d);
        assert_int_equal(deal_check(&d), ST_OK);
        for (int c = 0; c < N_CARDS; c++) where[c][d.owner[c]]++;
    }
    for (int c = 0; c < N_CARDS; c++) { // 3000 * 17/54 = 944 +- 25; six sigma
        for (int s = 0; s < 3; s++) assert_in_range(where[c][s], 944 - 153, 944 + 153);
        assert_in_range(where[c][3], 167 - 77, 167 + 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type),     cmocka_unit_test(test_refused),
        cmocka_unit_test(test_size_and_depth), cmocka_unit_test(test_names),
        cmocka_unit_test(test_tokens),         cmocka_unit_test(test_game_ids),
        cmocka_unit_test(test_deals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
