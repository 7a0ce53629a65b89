/* The progress line: what it says, what it leaves out, and rates from totals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "learner/gauge.h"
#include "learner/progress.h"

static Progress well(void) {
    Progress p = {.seconds = 100,
                  .frames = 1234567,
                  .fps = 24130,
                  .act = 0.61,
                  .learn = 0.38,
                  .learner_waits = 0.05,
                  .inbox_waits = 0.21,
                  .actors = 2};
    for (int r = 0; r < N_ROLES; r++) {
        p.role[r].steps = 1000 + (uint64_t)r;
        p.role[r].fps = 8043;
        p.role[r].loss = 0.6 + 0.1 * r;
        p.role[r].staleness = 14 + r;
    }
    return p;
}

static void says_everything(void **state) {
    (void)state;
    char text[640];
    Progress p = well();
    ProgressLine l = {.max_frames = 2000000, .wins = "wins random 98%/99%"};
    int n = progressline_text(&l, &p, text, sizeof text, 639);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text,
                        "1.23M frames  24.1k/s  (L 8.04k D 8.04k U 8.04k)  loss 0.600 0.700 0.800  "
                        "steps 1.00k  stale 15  act 61% learn 38%  wait 5%/21%  actors 2  wins "
                        "random 98%/99%  ETA 32s");
    p.refused = 3;
    p.lost = 1;
    strcpy(l.doing, "evaluating against rule 12s");
    progressline_text(&l, &p, text, sizeof text, 639);
    assert_non_null(strstr(text, "  refused 3  lost 1  wins"));
    assert_non_null(strstr(text, "evaluating against rule 12s  ETA"));
}

static void the_beginning(void **state) {
    (void)state;
    char text[640];
    Progress p = {.actors = 0};
    ProgressLine l = {.max_seconds = 900};
    for (int r = 0; r < N_ROLES; r++) p.role[r].loss = NAN;
    progressline_text(&l, &p, text, sizeof text, 639);
    assert_string_equal(text, "0 frames  no games yet  actors 0  ETA 15m00s");
    p.role[1].loss = 0.5;
    progressline_text(&l, &p, text, sizeof text, 639);
    assert_non_null(strstr(text, "loss - 0.500 -"));
}

/* The frames of a run are shared among its ranks. */
static void several_ranks(void **state) {
    (void)state;
    char text[640];
    Progress p = well();
    ProgressLine l = {.max_frames = 2000000};
    p.frames = 100000, p.fps = 10000;
    p.all.ranks = 4;
    strcpy(p.all.algo, "adpsgd");
    progressline_text(&l, &p, text, sizeof text, 639);
    assert_non_null(strstr(text, "4 ranks adpsgd"));
    assert_non_null(strstr(text, "ETA 40s"));
    p.all.frames = 1000000; // the others are ahead
    progressline_text(&l, &p, text, sizeof text, 639);
    assert_non_null(strstr(text, "all 1.00M"));
    assert_non_null(strstr(text, "ETA 25s"));
}

/* Less and less room: pieces go, the least important first; nothing is cut in the middle. */
static void narrow_terminals(void **state) {
    (void)state;
    char whole[640], text[640];
    Progress p = well();
    ProgressLine l = {.max_frames = 2000000, .wins = "wins random 98%/99%"};
    int longest = progressline_text(&l, &p, whole, sizeof whole, 639), last = longest;
    for (int room = longest; room >= 22; room--) {
        int n = progressline_text(&l, &p, text, sizeof text, room);
        assert_true(n <= room && n <= last);
        last = n;
        assert_non_null(strstr(text, "1.23M frames"));
        if (room >= 80) assert_true(strstr(text, "wins random") && strstr(text, "ETA 32s"));
    }
    assert_string_equal(text, "1.23M frames  24.1k/s");
    progressline_text(&l, &p, text, 10, 639); // a buffer that is too small
    assert_string_equal(text, "1.23M fra");
}

static void times(void **state) {
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {{3.2, "ETA 3s"},
                {59.6, "ETA 1m00s"},
                {754, "ETA 12m34s"},
                {3599.9, "ETA 1h00m"},
                {86400.0, "ETA 24h00m"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[640];
        Progress p = well();
        ProgressLine l = {.max_seconds = p.seconds + rows[i].seconds};
        progressline_text(&l, &p, text, sizeof text, 639);
        assert_non_null(strstr(text, rows[i].text));
    }
}

static GaugeSample sample_at(double clock, uint64_t steps) {
    GaugeSample s = {.clock = clock,
                     .inbox = {.frames = 5000 * steps,
                               .games = 100 * steps,
                               .bytes = 15000 * steps,
                               .landlord_wins = 40 * steps},
                     .buffers = {.take_wait_s = 0.5 * (double)steps},
                     .roster = {.live = 2, .busy_s = (double)steps}};
    for (int r = 0; r < N_ROLES; r++) {
        s.inbox.decisions[r] = 1000 * steps;
        s.inbox.staleness_sum[r] = 300 * (double)steps;
        s.net[r] = (NetLearnerState){.steps = 40 + steps,
                                     .samples = 500 * steps,
                                     .loss_sum = 250 * (double)steps,
                                     .norm_sum = 3 * (double)steps,
                                     .norm_steps = steps,
                                     .busy_s = 0.1 * (double)steps};
    }
    return s;
}

static void rates(void **state) {
    (void)state;
    Gauge g;
    Progress p;
    gauge_init(&g, 4, 2);
    double start = g.start;
    GaugeSample s = sample_at(start + 0.5, 0);
    gauge_read(&g, &s, &p);
    assert_true(p.fps == 0 && isnan(p.role[0].loss));
    for (uint64_t i = 1; i <= 30; i++) { // more than the window holds
        s = sample_at(start + (double)i, i);
        gauge_read(&g, &s, &p);
    }
    assert_true(fabs(p.fps - 5000) < 1);
    assert_true(fabs(p.role[1].fps - 1000) < 1);
    assert_true(fabs(p.role[2].loss - 0.5) < 1e-9 && fabs(p.role[2].norm - 3) < 1e-9);
    assert_true(fabs(p.role[0].staleness - 3) < 1e-9);
    assert_true(fabs(p.landlord_wins - 0.4) < 1e-9 && fabs(p.record_bytes - 3) < 1e-9);
    assert_true(fabs(p.act - 0.25) < 1e-3);              // 1 of 4 cores
    assert_true(fabs(p.learn - 0.3 / 4) < 1e-3);         // 3 x 0.1
    assert_true(fabs(p.learner_waits - 0.5 / 2) < 1e-3); // of 2 threads
    assert_int_equal(p.role[0].steps, 70);
    for (int i = 31; i <= 60; i++) { // no more steps: the loss is what it was
        GaugeSample still = s;
        still.clock = start + i;
        gauge_read(&g, &still, &p);
    }
    assert_true(p.fps == 0 && fabs(p.role[2].loss - 0.5) < 1e-9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_everything), cmocka_unit_test(the_beginning),
        cmocka_unit_test(several_ranks),   cmocka_unit_test(narrow_terminals),
        cmocka_unit_test(times),           cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
