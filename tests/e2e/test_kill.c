/* kill -9 at random moments: of an actor, of the learner, of both. The supervisor goes on from the
 * last checkpoint, no count goes back by more than one checkpoint, no record file is damaged and no
 * game is in them twice.                                                                    */
#include "tests/e2e/train.h"

#include "engine/base/rng.h"
#include "engine/recordfile.h"

enum { ROUNDS = 10, ACTORS = 2 };

typedef enum { ACTOR = 1, LEARNER = 2, BOTH = 3 } Victim;

static int by_value(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Every file is readable to its end, every game plays back, none is there twice. Returns games. */
static size_t check_records(const Place *p) {
    char path[PATH_BYTES + 64];
    uint64_t *games = NULL;
    size_t n = 0, cap = 0;
    for (unsigned i = 1;; i++) {
        snprintf(path, sizeof path, "%s/records/%06u.dzr", p->run, i);
        if (access(path, F_OK) != 0) break;
        RecordReader *reader;
        bool end;
        Record r;
        Game g;
        assert_int_equal(recordreader_open(path, &reader), ST_OK);
        while (assert_int_equal(recordreader_next(reader, &r, &end), ST_OK), !end) {
            assert_int_equal(record_replay(&r, &g, NULL, NULL, NULL, NULL), ST_OK);
            if (n == cap) games = realloc(games, (cap = cap ? 2 * cap : 1024) * sizeof *games);
            assert_non_null(games);
            games[n++] = r.game;
        }
        recordreader_close(reader);
    }
    qsort(games, n, sizeof *games, by_value);
    for (size_t i = 1; i < n; i++) assert_true(games[i] != games[i - 1]);
    free(games);
    return n;
}

static void strike(const Train *t, Victim who, Rng *rng) {
    pid_t learner = 0, actor[ACTORS];
    double end = clock_s() + LONG_S;
    int n;
    while ((who & LEARNER && children(t->pid, "learner", &learner, 1) == 0) ||
           (n = children(t->pid, "actor", actor, ACTORS)) == 0)
        if (clock_s() > end) fail_with_words(t->place, "a child is missing");
    if (who & LEARNER) assert_int_equal(kill(learner, SIGKILL), 0);
    if (who & ACTOR) kill(actor[rng_below(rng, (uint32_t)n)], SIGKILL);
}

/* What was said of checkpoints from the n-th on: numbers rise, frames never fall. */
static Stored check_stored(const Place *p, Stored last, int *n) {
    Stored s;
    for (; stored_at(p, *n, &s); ++*n) {
        if (s.number <= last.number || s.frames < last.frames)
            fail_with_words(p, "a checkpoint went back");
        last = s;
    }
    return last;
}

/* The learner says from where it goes on: never from before the last that was stored. */
static void check_resumption(const Place *p, Stored last) {
    char *text = said(p), *at = text, *found = NULL;
    unsigned long long number, frames;
    while ((at = strstr(at, "going on from checkpoint ")) != NULL) found = at++;
    assert_non_null(found);
    assert_int_equal(sscanf(found, "going on from checkpoint %llu at %llu", &number, &frames), 2);
    if (number < last.number || frames < last.frames) fail_with_words(p, "it went back too far");
    free(text);
}

static void ten_deaths(void **state) {
    (void)state;
    Place place;
    Train t = {0};
    Stored last = {0};
    Rng rng;
    int n = 0;
    uint64_t seed = (uint64_t)clock_ns();
    rng_init(&rng, seed, 0);
    print_message("seed %llu\n", (unsigned long long)seed);
    place_make(&place);
    train_start(&t, &place, NULL);
    wait_said(&place, "info  checkpoint ", 1);
    for (int round = 0; round < ROUNDS; round++) {
        Victim who = (Victim)(1 + (round + (int)rng_below(&rng, 2)) % 3);
        clock_sleep_ms(100 + (int)rng_below(&rng, 1500));
        last = check_stored(&place, last, &n);
        int resumed = times_said(&place, "going on from checkpoint ");
        int again = times_said(&place, "starting another");
        strike(&t, who, &rng);
        if (who & ACTOR) wait_said(&place, "starting another", again + 1);
        if (who & LEARNER) {
            wait_said(&place, "going on from checkpoint ", resumed + 1);
            check_resumption(&place, last);
        }
        wait_said(&place, "info  checkpoint ", n + 2); // and it is at work again
    }
    Stored before = last = check_stored(&place, last, &n);
    kill(t.pid, SIGINT);
    int code = train_end(&t, 30);
    if (code != 0) fail_with_words(&place, "it failed");
    last = check_stored(&place, last, &n);
    assert_true(last.number > before.number && last.frames >= before.frames);
    assert_true(check_records(&place) > 100);
    assert_int_equal(times_said(&place, " error "), 0);
    place_remove(&place);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(ten_deaths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
