/* The inbox believes nothing: good games become samples, everything else is refused and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/inbox.h"
#include "tests/learner/games.h"

enum { SEED = 9, RUN = 77, ME = 4, FRAME_BYTES = 60000, VERSION = 12 };

typedef struct {
    LinkContext *context;
    Link *pull, *push;
    Buffers *buffers;
    Roster *roster;
    Inbox *inbox;
    _Atomic uint64_t settled;
    uint64_t sequence;
    uint8_t body[FRAME_BYTES];
    size_t n;
    uint64_t decisions; /* in the games put in */
} Bed;

/* libzmq is not built for the thread sanitizer, which cannot see how it hands messages over. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void) { return "called_from_lib:libzmq.so\n"; }

static uint32_t newest(void *ctx, int role) {
    (void)ctx;
    return VERSION + (uint32_t)role;
}

static void settled(void *ctx, uint64_t sequence) {
    Bed *b = ctx;
    atomic_store(&b->settled, sequence);
}

static Bed *bed_new(InboxConfig c) {
    Bed *b = calloc(1, sizeof *b);
    LinkOptions pull = {.kind = LINK_PULL, .bind = true, .high_water = 4},
                push = {.kind = LINK_PUSH, .high_water = 4};
    assert_int_equal(link_context_new(&b->context), ST_OK);
    assert_int_equal(link_open(b->context, &pull, "tcp://127.0.0.1:*", &b->pull), ST_OK);
    assert_int_equal(link_open(b->context, &push, link_endpoint(b->pull), &b->push), ST_OK);
    BuffersConfig rings = {.batch = 512, .advance = 512, .capacity = 20000};
    assert_int_equal(buffers_new(&rings, &b->buffers), ST_OK);
    assert_int_equal(roster_new(&b->roster), ST_OK);
    c.run = RUN;
    c.seed = SEED;
    c.pull = b->pull;
    c.buffers = b->buffers;
    c.roster = b->roster;
    c.version = newest;
    c.settled = settled;
    c.ctx = b;
    assert_int_equal(inbox_start(&c, &b->inbox), ST_OK);
    return b;
}

static void bed_free(Bed *b) {
    buffers_close(b->buffers);
    inbox_stop(b->inbox);
    buffers_free(b->buffers);
    roster_free(b->roster);
    link_close(b->push);
    link_close(b->pull);
    link_context_free(b->context);
    free(b);
}

static void add(Bed *b, const Record *r) {
    assert_true(b->n + RECORD_MAX_BYTES <= FRAME_BYTES);
    b->n += record_write(r, b->body + b->n);
    b->decisions += r->n_moves;
}

static void add_games(Bed *b, RulesetId rules, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        Record r;
        random_record(rules, SEED, i, &r);
        for (int s = 0; s < N_SEATS; s++) r.version[s] = VERSION - 2;
        add(b, &r);
    }
}

static Frame frame_of(Bed *b) {
    return (Frame){.kind = FRAME_RECORDS,
                   .ruleset = RULES_DOUZERO,
                   .objective = OBJECTIVE_WP,
                   .run = RUN,
                   .sender = ME,
                   .sequence = ++b->sequence,
                   .length = (uint32_t)b->n};
}

static void send_as(Bed *b, Frame f) {
    assert_int_equal(link_send(b->push, &f, b->body, 5000), ST_OK);
    b->n = 0;
}

static InboxState state_of(Bed *b) {
    InboxState s;
    inbox_state(b->inbox, &s);
    return s;
}

static void wait_games(Bed *b, uint64_t games) {
    for (int i = 0; i < 2000 && state_of(b).games < games; i++) clock_sleep_ms(5);
    assert_int_equal(state_of(b).games, games);
}

static void wait_refused(Bed *b, uint64_t refused) {
    RosterTotals t;
    for (int i = 0; i < 2000; i++, clock_sleep_ms(5)) {
        roster_totals(b->roster, &t);
        if (t.refused >= refused) break;
    }
    assert_int_equal(t.refused, refused);
}

static const InboxConfig plain = {.rules = {RULES_DOUZERO, OBJECTIVE_WP, false}};

static void games_become_samples(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    BuffersState fill;
    add_games(b, RULES_DOUZERO, 0, 50);
    size_t bytes = b->n;
    send_as(b, frame_of(b));
    wait_games(b, 50);
    InboxState s = state_of(b);
    clock_sleep_ms(50); // counted first, then put
    buffers_state(b->buffers, &fill);
    assert_int_equal(s.frames, b->decisions);
    assert_int_equal(s.bytes, bytes);
    assert_true(bytes < 4 * b->decisions);
    assert_true(s.landlord_wins > 0 && s.landlord_wins < 50);
    for (int r = 0; r < N_ROLES; r++) {
        assert_int_equal(s.samples[r], s.decisions[r]);
        assert_int_equal((uint64_t)fill.fill[r], s.samples[r]);
        assert_true(s.staleness_sum[r] == 50 * (2 + r));
    }
    bed_free(b);
}

static void forced_decisions_are_counted_not_kept(void **state) {
    (void)state;
    InboxConfig c = plain;
    c.rules.unforced_only = true;
    Bed *b = bed_new(c);
    add_games(b, RULES_DOUZERO, 0, 50);
    send_as(b, frame_of(b));
    wait_games(b, 50);
    InboxState s = state_of(b);
    assert_int_equal(s.frames, b->decisions);
    for (int r = 0; r < N_ROLES; r++) assert_true(s.samples[r] < s.decisions[r]);
    bed_free(b);
}

static void foreign_frames(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    for (int i = 0; i < 4; i++) {
        add_games(b, RULES_DOUZERO, 0, 1);
        Frame f = frame_of(b);
        if (i == 0) f.run++;
        else if (i == 1) f.ruleset = RULES_RLCARD;
        else if (i == 2) f.objective = OBJECTIVE_ADP;
        else f.kind = FRAME_WEIGHTS;
        send_as(b, f);
    }
    wait_refused(b, 4);
    add_games(b, RULES_RLCARD, 0, 1); // the frame lies
    send_as(b, frame_of(b));
    wait_refused(b, 5);
    assert_int_equal(state_of(b).games, 0);
    add_games(b, RULES_DOUZERO, 1, 2);
    send_as(b, frame_of(b));
    wait_games(b, 1);
    bed_free(b);
}

/* A bad game among good ones: it alone is left out. Of bytes that are no record the rest cannot be
 * read, so that ends the frame. */
static void bad_games(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    Record r;
    add_games(b, RULES_DOUZERO, 0, 5);
    random_record(RULES_DOUZERO, SEED, 5, &r);
    r.result = (int8_t)-r.result;
    add(b, &r);
    random_record(RULES_DOUZERO, SEED + 1, 6, &r); // a game, but not of this run's deals
    add(b, &r);
    add_games(b, RULES_DOUZERO, 7, 10);
    send_as(b, frame_of(b));
    wait_games(b, 8);
    wait_refused(b, 2);
    add_games(b, RULES_DOUZERO, 10, 12);
    memset(b->body + b->n, 0xee, 40);
    b->n += 40;
    send_as(b, frame_of(b));
    wait_games(b, 10);
    wait_refused(b, 3);
    bed_free(b);
}

/* Each byte of a frame's body flipped in turn behind a checksum that was made to fit: whatever is
 * counted are games that the rules allow. */
static void flipped_bytes(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    add_games(b, RULES_DOUZERO, 0, 2);
    size_t n = b->n;
    uint8_t good[2 * RECORD_MAX_BYTES];
    memcpy(good, b->body, n);
    for (size_t i = 0; i < n; i++) {
        memcpy(b->body, good, n);
        b->body[i] ^= (uint8_t)(1 << i % 8);
        b->n = n;
        send_as(b, frame_of(b));
    }
    memcpy(b->body, good, n);
    b->n = n;
    send_as(b, frame_of(b));
    RosterTotals t;
    uint64_t last = 0;
    for (int i = 0; i < 2000; i++, clock_sleep_ms(5)) { // until all are in
        roster_totals(b->roster, &t);
        if (state_of(b).games + t.refused == last && last >= n) break;
        last = state_of(b).games + t.refused;
    }
    assert_true(t.refused >= n * 9 / 10 - 20); // versions and flags of exploration may be anything
    assert_true(state_of(b).games >= n / 2);   // the other game of the frame is good
    bed_free(b);
}

static void lost_frames_are_noticed(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    RosterTotals t;
    for (uint64_t i = 0; i < 4; i++) {
        if (i == 2) b->sequence += 5;
        if (i == 3) b->sequence = 0; // the actor began anew: nothing is missing
        add_games(b, RULES_DOUZERO, i, i + 1);
        send_as(b, frame_of(b));
    }
    wait_games(b, 4);
    roster_totals(b->roster, &t);
    assert_int_equal(t.lost, 5);
    assert_int_equal(t.refused, 0);
    assert_int_equal(t.live, 1);
    bed_free(b);
}

/* The game that reaches the limit is the last that counts. */
static void the_last_frame(void **state) {
    (void)state;
    InboxConfig c = plain;
    c.frames = 1000; // of earlier starts
    c.max_frames = 1400;
    Bed *b = bed_new(c);
    assert_false(inbox_full(b->inbox));
    add_games(b, RULES_DOUZERO, 0, 40);
    send_as(b, frame_of(b));
    for (int i = 0; i < 2000 && !inbox_full(b->inbox); i++) clock_sleep_ms(5);
    assert_true(inbox_full(b->inbox));
    InboxState s = state_of(b);
    assert_true(s.frames >= 1400 && s.frames < 1400 + GAME_MAX_MOVES);
    assert_true(s.games < 40);
    bed_free(b);
}

/* Full buffers: the inbox takes no more, so the sender's queue fills, so sending waits. */
static void back_pressure(void **state) {
    (void)state;
    Bed *b = bed_new(plain);
    Status st = ST_OK;
    uint64_t frames = 0;
    add_games(b, RULES_DOUZERO, 0, 400);
    size_t n = b->n;
    for (; st == ST_OK && frames < 2000; frames++) {
        Frame f = frame_of(b);
        f.length = (uint32_t)n;
        st = link_send(b->push, &f, b->body, 300);
    }
    assert_int_equal(st, ST_TIMEOUT);
    BuffersState full = {0}; // the inbox waits at them
    for (int i = 0; i < 2000 && full.put_wait_s < 0.2; i++, clock_sleep_ms(5))
        buffers_state(b->buffers, &full);
    InboxState s = state_of(b);
    assert_true(s.frames <= 3 * 20000 + N_ROLES * GAME_MAX_MOVES);
    clock_sleep_ms(100);
    assert_int_equal(state_of(b).games, s.games);
    static Sample batch[512];
    for (int i = 0; i < 60; i++) { // room again
        int role;
        assert_true(buffers_take(b->buffers, (1 << N_ROLES) - 1, &role, batch));
        buffers_done(b->buffers, role);
    }
    for (int i = 0; i < 2000 && state_of(b).games == s.games; i++) clock_sleep_ms(5);
    assert_true(state_of(b).games > s.games);
    bed_free(b);
}

static void lockstep_answers_each_frame(void **state) {
    (void)state;
    InboxConfig c = plain;
    c.lockstep = true;
    Bed *b = bed_new(c);
    for (uint64_t i = 0; i < 3; i++) {
        add_games(b, RULES_DOUZERO, i, i + 1);
        send_as(b, frame_of(b));
        for (int k = 0; k < 2000 && atomic_load(&b->settled) != i + 1; k++) clock_sleep_ms(5);
        assert_int_equal(atomic_load(&b->settled), i + 1);
    }
    bed_free(b);
}

int main(void) {
    move_init();
    log_level(LOG_NONE); // every refusal would be a line
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(games_become_samples),
        cmocka_unit_test(forced_decisions_are_counted_not_kept),
        cmocka_unit_test(foreign_frames),
        cmocka_unit_test(bad_games),
        cmocka_unit_test(flipped_bytes),
        cmocka_unit_test(lost_frames_are_noticed),
        cmocka_unit_test(the_last_frame),
        cmocka_unit_test(back_pressure),
        cmocka_unit_test(lockstep_answers_each_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
