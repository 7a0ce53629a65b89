/* Records as bytes: the worked example of docs/record.md, damage, and what replay refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/playout.h"
#include "engine/record.h"
#include "page.h"
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* A finished game with different versions per seat and some explored moves. */
static void sample(RulesetId rules, uint64_t index, Record *r) {
    Game g;
    Rng rng;
    memset(r, 0, sizeof *r);
    r->game = index;
    for (int s = 0; s < N_SEATS; s++) r->version[s] = index % 2 ? 812 : 812 + (uint32_t)s;
    deal_random(51, index, &r->deal);
    rng_init(&rng, 52, index);
    game_init(&g, rules, &r->deal, (int)(index % 3));
    playout_random(&g, &rng);
    record_from_game(r, &g);
    for (int i = 0; i < r->n_moves && index % 3; i++)
        if (rng_below(&rng, 10) == 0) r->explored[i / 8] |= (uint8_t)(1 << i % 8);
}

static void worked_example(void **state) {
    (void)state;
    uint8_t page[RECORD_MAX_BYTES], bytes[RECORD_MAX_BYTES];
    size_t n = page_hex("record.md", page, sizeof page), used;
    Record r = {0}, want;
    Game end;
    sample(RULES_BOTZONE, 11585, &want);
    assert_int_equal(record_read(page, n, &r, &used), ST_OK);
    assert_int_equal(used, n);
    assert_int_equal(record_write(&want, bytes), n);
    assert_memory_equal(bytes, page, n);
    assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
}

/* Every value of every byte: an error, or a record that is written as these very bytes; whatever
 * is read can be replayed without harm.                                                     */
static void damage(void **state) {
    (void)state;
    int read = 0, refused = 0, replayed = 0;
    for (int rules = 0; rules < N_RULESETS; rules++) {
        Record r, back;
        uint8_t bytes[RECORD_MAX_BYTES], again[RECORD_MAX_BYTES];
        size_t used;
        Game end;
        sample((RulesetId)rules, 4 + (uint64_t)rules, &r);
        size_t n = record_write(&r, bytes);
        for (size_t i = 0; i < n; i++)
            for (int x = 1; x < 256; x++) {
                bytes[i] ^= (uint8_t)x;
                Record untouched = back = (Record){.game = 1};
                Status st = record_read(bytes, n, &back, &used);
                if (st == ST_OK) {
                    read++;
                    assert_true(used <= n);
                    assert_int_equal(record_write(&back, again), used);
                    assert_memory_equal(again, bytes, used);
                    replayed += record_replay(&back, &end, NULL, NULL, NULL, NULL) == ST_OK;
                } else {
                    refused++;
                    assert_true(st == ST_CORRUPT || st == ST_VERSION || st == ST_TRUNCATED);
                    assert_memory_equal(&back, &untouched, sizeof back);
                }
                bytes[i] ^= (uint8_t)x;
            }
    }
    print_message("damaged bytes: %d refused when read, %d of %d read replay\n", refused, replayed,
                  read);
    assert_true(refused > 0 && read > 0 && replayed < read / 2);
}

static void truncated(void **state) {
    (void)state;
    Record r, back;
    uint8_t bytes[RECORD_MAX_BYTES];
    size_t used = 99;
    for (uint64_t i = 0; i < 20; i++) {
        sample((RulesetId)(i % N_RULESETS), i, &r);
        size_t n = record_write(&r, bytes);
        for (size_t k = 0; k < n; k++) {
            uint8_t *exact = malloc(k + 1); /* so that a sanitizer sees one byte too many */
            memcpy(exact + 1, bytes, k);
            assert_int_equal(record_read(exact + 1, k, &back, &used), ST_TRUNCATED);
            free(exact);
        }
        assert_int_equal(used, 99);
        bytes[n] = 0xff; /* what follows is not looked at */
        assert_int_equal(record_read(bytes, n + 1, &back, &used), ST_OK);
        assert_int_equal(used, n);
        used = 99;
    }
}

static void version_and_kind(void **state) {
    (void)state;
    Record r, back;
    uint8_t bytes[RECORD_MAX_BYTES];
    size_t used;
    sample(RULES_DOUZERO, 1, &r);
    size_t n = record_write(&r, bytes);
    bytes[0] = 0xd2;
    assert_int_equal(record_read(bytes, n, &back, &used), ST_VERSION);
    bytes[0] = 0x7b;
    assert_int_equal(record_read(bytes, n, &back, &used), ST_CORRUPT);
    assert_int_equal(record_read(bytes, 0, &back, &used), ST_TRUNCATED);
}

/* The extremes of every field survive. */
static void extremes(void **state) {
    (void)state;
    static const uint64_t games[] = {0, 127, 128, 1u << 21, UINT64_MAX};
    for (size_t i = 0; i < sizeof games / sizeof *games; i++)
        for (uint32_t v = 0; v < 4; v++) {
            Record r, back;
            uint8_t bytes[RECORD_MAX_BYTES];
            size_t used;
            sample(RULES_CLASSIC, i, &r);
            r.game = games[i];
            r.version[0] = v % 2 ? UINT32_MAX : 0;
            r.version[1] = v / 2 ? UINT32_MAX : 0;
            r.version[2] = v % 2 ? UINT32_MAX : 0;
            size_t n = record_write(&r, bytes);
            assert_int_equal(record_read(bytes, n, &back, &used), ST_OK);
            assert_int_equal(used, n);
            assert_memory_equal(&back, &r, sizeof r);
        }
    Record r, back;
    uint8_t bytes[RECORD_MAX_BYTES];
    size_t used;
    memset(&r, 0xff, sizeof r);
    r.ruleset = RULES_CLASSIC;
    r.first_bidder = 2;
    r.n_bids = 3;
    memcpy(r.bids, (uint8_t[]){3, 3, 3}, 3);
    r.n_moves = GAME_MAX_MOVES;
    r.version[1] = 5;
    deal_random(1, 1, &r.deal);
    for (int i = 0; i < GAME_MAX_MOVES; i++) r.moves[i] = N_MOVE_IDS - 1;
    size_t n = record_write(&r, bytes);
    assert_in_range(n, 300, RECORD_MAX_BYTES); /* the longest record there can be */
    assert_int_equal(record_read(bytes, n, &back, &used), ST_OK);
    assert_memory_equal(&back, &r, sizeof r);
}

static void replay_says(const Record *r, const char *want_why, int want_at) {
    const char *why = "";
    int at = -1;
    Game end;
    assert_int_equal(record_replay(r, &end, NULL, NULL, &why, &at), ST_ILLEGAL);
    assert_string_equal(why, want_why);
    assert_int_equal(at, want_at);
    assert_int_equal(record_replay(r, &end, NULL, NULL, NULL, NULL), ST_ILLEGAL);
}

static void replay_refuses(void **state) {
    (void)state;
    Record good, r;
    sample(RULES_BOTZONE, 5, &good);
    r = good;
    r.n_moves--;
    replay_says(&r, "the game is not finished", r.n_moves);
    r = good;
    r.result = (int8_t)-r.result;
    replay_says(&r, "the result is not that of the moves", r.n_moves);
    r = good;
    r.moves[0] = MOVE_ID_PASS;
    replay_says(&r, "the leader may not pass", 0);
    r = good;
    r.moves[r.n_moves++] = 1;
    replay_says(&r, "not the playing phase", good.n_moves);
    r = good;
    r.moves[3] = N_MOVE_IDS;
    replay_says(&r, "an unknown move", 3);
    r = good;
    r.bids[0] = 2, r.bids[1] = 1, r.n_bids = 2;
    replay_says(&r, "not above the highest bid", 0);
    r = good;
    r.n_bids = 0;
    replay_says(&r, "not the playing phase", 0);
    r = good;
    r.deal.owner[0] = (uint8_t)((r.deal.owner[0] + 1) % 3);
    replay_says(&r, "a field out of range", 0);
    r = good;
    r.ruleset = N_RULESETS;
    replay_says(&r, "a field out of range", 0);
    r = good;
    r.n_moves = GAME_MAX_MOVES + 1;
    replay_says(&r, "a field out of range", 0);
}

typedef struct {
    const Record *r;
    int seen;
} Seen;

static void see(void *ctx, const Game *g, int index, Hand move) {
    Seen *s = ctx;
    assert_int_equal(index, s->seen++);
    assert_int_equal(g->n_moves, index);
    assert_true(move == move_from_id(s->r->moves[index]));
    assert_true(hand_contains(g->hand[g->turn], move));
    assert_int_equal(g->phase, PHASE_PLAY);
}

static void visits_every_move(void **state) {
    (void)state;
    Record r;
    Game end;
    sample(RULES_CLASSIC, 7, &r);
    Seen s = {&r, 0};
    assert_int_equal(record_replay(&r, &end, see, &s, NULL, NULL), ST_OK);
    assert_int_equal(s.seen, r.n_moves);
    assert_int_equal(end.n_moves, r.n_moves);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),    cmocka_unit_test(damage),
        cmocka_unit_test(truncated),         cmocka_unit_test(version_and_kind),
        cmocka_unit_test(extremes),          cmocka_unit_test(replay_refuses),
        cmocka_unit_test(visits_every_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
