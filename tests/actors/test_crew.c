/* The playing threads: parcels of whole records, back-pressure, stopping, weights exchanged under
 * way, and lockstep rounds that one seed determines. Run under TSan by the thread tests.     */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "actors/crew.h"
#include "engine/base/clock.h"

enum { MAX_GAMES = 20000, PARCELS = 6 /* of three threads */ };

static const double patience_s = 120; /* of a busy machine, under sanitizers */
static float *params[N_ROLES];

static int make_params(void **state) {
    (void)state;
    for (Role r = 0; r < N_ROLES; r++) {
        params[r] = malloc(net_layout(r)->n_params * sizeof(float));
        net_init(r, 3, params[r]);
    }
    return 0;
}

static int free_params(void **state) {
    (void)state;
    for (Role r = 0; r < N_ROLES; r++) free(params[r]);
    return 0;
}

static NetHub *hub_new(void) {
    NetHub *hub;
    assert_int_equal(nethub_new(PRECISION_FP32, kernels_get(), &hub), ST_OK);
    return hub;
}

static void put_all(NetHub *hub, uint32_t version) {
    for (Role r = 0; r < N_ROLES; r++)
        while (!nethub_put(hub, r, version, params[r])) clock_sleep_ms(1);
}

static Crew *crew_of(NetHub *hub, int threads, int n_games, int lockstep) {
    CrewConfig c = {.rules = RULES_DOUZERO,
                    .seed = 4,
                    .first = 100,
                    .epsilon = 0.9,
                    .threads = threads,
                    .n_games = n_games,
                    .lockstep = lockstep,
                    .hub = hub};
    Crew *crew;
    assert_int_equal(crew_new(&c, &crew), ST_OK);
    return crew;
}

/* Checks every record of a parcel and marks its game. */
static int read_parcel(const Parcel *p, bool *seen, uint32_t *version) {
    int n = 0;
    for (size_t at = 0, used; at < p->n; at += used, n++) {
        Record r;
        Game end;
        assert_int_equal(record_read(p->bytes + at, p->n - at, &r, &used), ST_OK);
        assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
        assert_in_range(r.game, 100, 100 + MAX_GAMES - 1);
        assert_false(seen[r.game - 100]);
        seen[r.game - 100] = true;
        if (r.version[0] > *version) *version = r.version[0];
    }
    return n;
}

static void threads_play_distinct_games(void **state) {
    (void)state;
    NetHub *hub = hub_new();
    Crew *crew = crew_of(hub, 3, 4, 0);
    bool *seen = calloc(MAX_GAMES, sizeof *seen);
    assert_null(crew_take(crew, 50)); /* no nets yet */
    int games = 0;
    uint32_t version = 0, put = 0;
    double until = clock_s() + patience_s;
    while ((games < 40 || version < 3) && clock_s() < until) {
        if (games >= (int)put * 10) put_all(hub, ++put);
        Parcel *p = crew_take(crew, 100);
        if (!p) continue;
        games += read_parcel(p, seen, &version);
        crew_give_back(crew, p);
    }
    assert_true(games >= 40 && version >= 3);
    CrewStats stats;
    crew_stats(crew, &stats);
    assert_true(stats.pool.games >= (uint64_t)games);
    assert_true(stats.pool.decisions > stats.pool.scored && stats.busy_s > 0);
    crew_free(crew);
    nethub_free(hub);
    free(seen);
}

/* Untaken parcels stop the threads, taking one lets them go on; stopping ends those that wait. */
static void untaken_parcels_hold_the_threads(void **state) {
    (void)state;
    NetHub *hub = hub_new();
    put_all(hub, 1);
    Crew *crew = crew_of(hub, 3, 4, 0);
    bool *seen = calloc(MAX_GAMES, sizeof *seen);
    /* Still for three seconds, on a machine that may be busy with other things. */
    CrewStats stats;
    uint64_t decisions = 0;
    double until = clock_s() + patience_s, still = clock_s();
    while (clock_s() - still < 3 && clock_s() < until) {
        crew_stats(crew, &stats);
        if (stats.pool.decisions != decisions || decisions == 0) still = clock_s();
        decisions = stats.pool.decisions;
        clock_sleep_ms(50);
    }
    assert_true(clock_s() < until);
    uint32_t version = 0;
    int parcels = 0, games = 0;
    crew_stop(crew);
    for (Parcel *p; (p = crew_take(crew, 200)) != NULL; parcels++) {
        games += read_parcel(p, seen, &version);
        crew_give_back(crew, p);
    }
    assert_true(parcels >= PARCELS && games > 0);
    crew_free(crew);
    nethub_free(hub);
    free(seen);
}

static size_t play_round(int n_games, uint8_t *bytes, size_t cap) {
    NetHub *hub = hub_new();
    put_all(hub, 1);
    Crew *crew = crew_of(hub, 1, n_games, 12);
    bool *seen = calloc(MAX_GAMES, sizeof *seen);
    uint32_t version = 0;
    assert_null(crew_take(crew, 100)); /* not before it is told to */
    size_t n = 0;
    for (int round = 0; round < 2; round++) {
        Parcel *p = NULL;
        crew_round(crew);
        for (double until = clock_s() + patience_s; !p && clock_s() < until;)
            p = crew_take(crew, 100);
        assert_non_null(p);
        assert_int_equal(read_parcel(p, seen, &version), 12);
        assert_true(n + p->n <= cap);
        memcpy(bytes + n, p->bytes, p->n);
        n += p->n;
        crew_give_back(crew, p);
        assert_null(crew_take(crew, 50));
    }
    for (int i = 0; i < 24; i++) assert_true(seen[i]);
    crew_free(crew);
    nethub_free(hub);
    free(seen);
    return n;
}

static void lockstep_rounds_repeat(void **state) {
    (void)state;
    enum { CAP = 24 * RECORD_MAX_BYTES };
    uint8_t *a = malloc(CAP), *b = malloc(CAP);
    size_t n = play_round(12, a, CAP);
    assert_int_equal(play_round(12, b, CAP), n);
    assert_memory_equal(a, b, n);
    assert_int_equal(play_round(5, b, CAP), n); /* fewer at once: another order, the same games */
    free(a);
    free(b);
}

static void bad_settings_are_errors(void **state) {
    (void)state;
    NetHub *hub = hub_new();
    Crew *crew = NULL;
    CrewConfig c = {.rules = RULES_DOUZERO, .threads = 0, .n_games = 1, .hub = hub};
    assert_int_equal(crew_new(&c, &crew), ST_INVALID);
    c.threads = 1;
    c.n_games = 0;
    assert_int_equal(crew_new(&c, &crew), ST_INVALID);
    c.threads = 2;
    c.n_games = 1;
    c.lockstep = 5;
    assert_int_equal(crew_new(&c, &crew), ST_INVALID);
    assert_null(crew);
    nethub_free(hub);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_play_distinct_games),
        cmocka_unit_test(untaken_parcels_hold_the_threads),
        cmocka_unit_test(lockstep_rounds_repeat),
        cmocka_unit_test(bad_settings_are_errors),
    };
    return cmocka_run_group_tests(tests, make_params, free_params);
}
