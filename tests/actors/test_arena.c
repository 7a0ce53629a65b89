/* Arenas: lineups, equality with matches, threads, resuming, what is refused, external agents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "actors/arena_stats.h"
#include "actors/match.h"
#include "engine/base/log.h"

enum { MAX_AGENTS = 4 };

typedef struct {
    Agent agents[MAX_AGENTS];
    ArenaConfig config;
    ArenaDb *db;
    char path[64];
    atomic_bool stop;
    int64_t stop_at; /* games, 0: never */
    int64_t emitted;
} Fixture;

static bool is_there(void *ctx, int64_t deal, const Lineup *l) {
    return arenadb_has(((Fixture *)ctx)->db, deal, l);
}

static Status store(void *ctx, const ArenaGame *games, int n, int64_t played, int64_t all) {
    Fixture *f = ctx;
    assert_true(played <= all);
    f->emitted += n;
    if (f->stop_at && f->emitted >= f->stop_at) atomic_store(&f->stop, true);
    return arenadb_add(f->db, games, n);
}

static void open_fixture(Fixture *f, RulesetId rules, ArenaFormat format, int n,
                         const char *const *names) {
    memset(f, 0, sizeof *f);
    ExternalConfig limits = external_defaults("", false);
    limits.time_ms = limits.first_ms = 300000;
    limits.memory_mb = 1 << 24; /* our own program, if built with sanitizers, maps terabytes */
    for (int i = 0; i < n; i++)
        assert_int_equal(agent_open(names[i], rules, PRECISION_FP32, true, &limits, &f->agents[i]),
                         ST_OK);
    f->config = (ArenaConfig){.rules = rules,
                              .format = format,
                              .seed = 5,
                              .deals = 60,
                              .n_agents = n,
                              .agents = f->agents,
                              .threads = 2,
                              .stop = &f->stop,
                              .done = is_there,
                              .emit = store,
                              .ctx = f};
    strcpy(f->path, "/tmp/dizhu-test-arena-XXXXXX");
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    close(fd);
}

static void close_db(Fixture *f) {
    arenadb_close(f->db);
    f->db = NULL;
}

static void close_fixture(Fixture *f) {
    char other[96];
    close_db(f);
    for (int i = 0; i < f->config.n_agents; i++) agent_close(&f->agents[i]);
    remove(f->path);
    snprintf(other, sizeof other, "%s-wal", f->path);
    remove(other);
    snprintf(other, sizeof other, "%s-shm", f->path);
    remove(other);
}

static Status run(Fixture *f) {
    if (!f->db) TRY(arenadb_open(f->path, &f->config, &f->db));
    return arena_run(&f->config);
}

static ArenaStats *stats_of(Fixture *f) {
    ArenaRow *rows;
    int64_t n;
    ArenaStats *s = malloc(sizeof *s);
    assert_int_equal(arenadb_rows(f->db, INT64_MAX, &rows, &n), ST_OK);
    assert_int_equal(arena_stats(rows, n, f->config.n_agents, 50, s), ST_OK);
    free(rows);
    return s;
}

static void lineups_are_complete(void **state) {
    (void)state;
    static Lineup l[ARENA_MAX_LINEUPS];
    static const struct {
        ArenaFormat format;
        int agents, lineups;
    } cases[] = {{FORMAT_SIDES, 2, 2},   {FORMAT_SIDES, 4, 12},  {FORMAT_SEATS, 2, 6},
                 {FORMAT_SEATS, 3, 18},  {FORMAT_TRIPLES, 3, 6}, {FORMAT_TRIPLES, 5, 60},
                 {FORMAT_TRIPLES, 2, 0}, {FORMAT_SIDES, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n = arena_lineups(cases[i].format, cases[i].agents, l);
        assert_int_equal(n, cases[i].lineups);
        for (int a = 0; a < n; a++)
            for (int b = 0; b < a; b++) assert_memory_not_equal(&l[a], &l[b], sizeof *l);
    }
    /* seats: each of the two sits in each seat equally often */
    int seats[2][N_SEATS] = {{0}}, n = arena_lineups(FORMAT_SEATS, 2, l);
    for (int i = 0; i < n; i++)
        for (int s = 0; s < N_SEATS; s++) seats[l[i].agent[s]][s]++;
    for (int s = 0; s < N_SEATS; s++) assert_true(seats[0][s] == 3 && seats[1][s] == 3);
}

/* `sides` plays the games of a match, and says the same of them. */
static void sides_are_a_match(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    for (RulesetId rules = 0; rules < N_RULESETS; rules++) {
        Fixture f;
        open_fixture(&f, rules, FORMAT_SIDES, 2, names);
        assert_int_equal(run(&f), ST_OK);
        MatchConfig c = {.rules = rules, .seed = 5, .decks = 60, .threads = 2};
        MatchResult m;
        assert_int_equal(match_play(&c, f.agents[0].policy, f.agents[1].policy, &m), ST_OK);
        ArenaStats *s = stats_of(&f);
        assert_int_equal(s->games, m.games);
        assert_true(fabs(s->pair[0][1].won.mean - m.wp.mean) < 1e-9);
        assert_true(fabs(s->pair[0][1].won.ci95 - m.wp.ci95) < 1e-9);
        assert_true(fabs(s->pair[1][0].won.mean + m.wp.mean - 1) < 1e-9);
        assert_true(fabs(s->agent[0].landlord.mean - m.wp_landlord.mean) < 1e-9);
        assert_true(fabs(s->agent[0].peasants.mean - m.wp_peasants.mean) < 1e-9);
        /* resampling finds about the interval that the counts give */
        double exact = m.wp_landlord.ci95, boot = s->agent[0].landlord.ci95;
        assert_true(exact == 0 || fabs(boot / exact - 1) < 0.5);
        free(s);
        close_fixture(&f);
    }
}

typedef struct {
    int64_t n;
    uint64_t hash;
} Content;

/* A hash over all games that does not depend on their order in the file. */
static Content content_of(Fixture *f) {
    ArenaRow *rows;
    Content c = {0, 0};
    assert_int_equal(arenadb_rows(f->db, INT64_MAX, &rows, &c.n), ST_OK);
    for (int64_t i = 0; i < c.n; i++) {
        const ArenaRow *r = &rows[i];
        uint64_t h = (uint64_t)r->deal * 1000003 + r->landlord * 77u + r->landlord_won * 13u;
        for (int s = 0; s < N_SEATS; s++)
            h = h * 31 + r->agent[s] * 7u + (uint64_t)(int64_t)(r->score[s] * 100) + r->faults;
        c.hash += h * 0x9e3779b97f4a7c15ull;
    }
    free(rows);
    return c;
}

static void threads_change_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    Content first = {0, 0};
    for (int threads = 1; threads <= 5; threads += 2) {
        Fixture f;
        open_fixture(&f, RULES_BOTZONE, FORMAT_SEATS, 2, names);
        f.config.threads = threads;
        assert_int_equal(run(&f), ST_OK);
        Content c = content_of(&f);
        assert_int_equal(c.n, 360);
        if (threads == 1) first = c;
        assert_true(c.hash == first.hash);
        close_fixture(&f);
    }
}

/* Stopped and begun again until it is whole: the same games, each once. */
static void stopped_arenas_go_on(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    Fixture whole, f;
    open_fixture(&whole, RULES_CLASSIC, FORMAT_SEATS, 2, names);
    whole.config.deals = 300;
    assert_int_equal(run(&whole), ST_OK);
    open_fixture(&f, RULES_CLASSIC, FORMAT_SEATS, 2, names);
    f.config.deals = 300;
    int parts = 0;
    Status st;
    do {
        atomic_store(&f.stop, false);
        f.stop_at = f.emitted + 1;
        st = run(&f);
        assert_true(st == ST_OK || st == ST_INTERRUPTED);
        close_db(&f); /* a new process */
    } while (st != ST_OK && ++parts < 1000);
    assert_int_equal(st, ST_OK);
    assert_int_equal(arenadb_open(f.path, &f.config, &f.db), ST_OK);
    Content a = content_of(&whole), b = content_of(&f);
    assert_true(a.n == 1800 && b.n == 1800 && a.hash == b.hash);
    assert_int_equal(f.emitted, 1800);
    close_fixture(&whole);
    close_fixture(&f);
}

/* More deals come to what is there; the order of agents does not matter. */
static void arenas_grow(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    Fixture f;
    open_fixture(&f, RULES_DOUZERO, FORMAT_SIDES, 2, names);
    assert_int_equal(run(&f), ST_OK);
    close_db(&f);
    f.config.deals = 80;
    assert_int_equal(run(&f), ST_OK);
    assert_int_equal(f.emitted, 160);
    close_db(&f);
    /* in another order */
    Agent t = f.agents[0];
    f.agents[0] = f.agents[1];
    f.agents[1] = t;
    assert_int_equal(run(&f), ST_OK);
    assert_int_equal(f.emitted, 160);
    ArenaStats *s = stats_of(&f);
    assert_true(s->pair[1][0].won.mean > 0.8);
    free(s);
    close_fixture(&f);
}

static void other_arenas_are_refused(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    Fixture f;
    open_fixture(&f, RULES_DOUZERO, FORMAT_SIDES, 2, names);
    assert_int_equal(run(&f), ST_OK);
    close_db(&f);
    log_level(LOG_NONE);
    ArenaConfig other = f.config;
    other.seed = 6;
    assert_int_equal(arenadb_open(f.path, &other, &f.db), ST_MISMATCH);
    other = f.config;
    other.rules = RULES_RLCARD;
    assert_int_equal(arenadb_open(f.path, &other, &f.db), ST_MISMATCH);
    other = f.config;
    other.format = FORMAT_SEATS;
    assert_int_equal(arenadb_open(f.path, &other, &f.db), ST_MISMATCH);
    f.agents[0].fingerprint = 7; /* other weights under the same name */
    assert_int_equal(arenadb_open(f.path, &f.config, &f.db), ST_MISMATCH);
    f.agents[0].fingerprint = 0;
    FILE *file = fopen(f.path, "w");
    for (int i = 0; i < 1000; i++) fputs("no database ", file);
    fclose(file);
    assert_int_equal(arenadb_open(f.path, &f.config, &f.db), ST_IO);
    log_level(LOG_INFO);
    close_fixture(&f);
}

/* Records of an arena replay to the scores beside them. */
static Status check_records(void *ctx, const ArenaGame *games, int n, int64_t played, int64_t all) {
    Fixture *f = ctx;
    (void)played, (void)all;
    for (int i = 0; i < n; i++) {
        const ArenaGame *g = &games[i];
        Record r;
        size_t used;
        Game end;
        double score[N_SEATS];
        assert_int_equal(record_read(g->record, g->n_record, &r, &used), ST_OK);
        assert_int_equal(used, g->n_record);
        assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
        game_scores(&end, score);
        for (int s = 0; s < N_SEATS; s++) assert_true(score[s] == g->score[s]);
        assert_int_equal(end.landlord, g->landlord);
        f->emitted++;
    }
    return ST_OK;
}

static void records_are_the_games(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "random"};
    for (RulesetId rules = 0; rules < N_RULESETS; rules++) {
        Fixture f;
        open_fixture(&f, rules, FORMAT_SEATS, 2, names);
        f.config.done = NULL;
        f.config.emit = check_records;
        assert_int_equal(arena_run(&f.config), ST_OK);
        assert_int_equal(f.emitted, 360);
        close_fixture(&f);
    }
}

/* ---- external agents ---- */

/* Our own bot in a process of its own, in both modes, plays as it does in here: no faults, and
 * against itself nobody wins more. */
static void external_programs_play_alike(void **state) {
    (void)state;
    static const char *const modes[] = {"cmdkeep:" PROGRAM_DIR "/dizhu botzone rule --keep-running",
                                        "cmd:" PROGRAM_DIR "/dizhu botzone rule"};
    static const RulesetId rules[] = {RULES_BOTZONE, RULES_BOTZONE1};
    for (int mode = 0; mode < 2; mode++)
        for (int i = 0; i < 2; i++) {
            const char *const names[] = {"rule", modes[mode]};
            Fixture f;
            open_fixture(&f, rules[i], FORMAT_SEATS, 2, names);
            f.config.deals = mode == 0 ? 5 : 1;
            assert_int_equal(run(&f), ST_OK);
            ArenaStats *s = stats_of(&f);
            assert_int_equal(s->agent[1].faults, 0);
            /* the six games of a deal are one and the same */
            ArenaRow *rows;
            int64_t n;
            assert_int_equal(arenadb_rows(f.db, INT64_MAX, &rows, &n), ST_OK);
            assert_int_equal(n, 6 * f.config.deals);
            for (int64_t k = 0; k < n; k++) {
                assert_int_equal(rows[k].landlord, rows[k / 6 * 6].landlord);
                for (int seat = 0; seat < N_SEATS; seat++)
                    assert_true(rows[k].score[seat] == rows[k / 6 * 6].score[seat]);
            }
            free(rows);
            free(s);
            close_fixture(&f);
        }
}

/* A program that always crashes is hosted, loses, and is counted. */
static void faults_are_counted(void **state) {
    (void)state;
    static const char *const names[] = {"rule", "cmd:exit 3"};
    Fixture f;
    open_fixture(&f, RULES_DOUZERO, FORMAT_SIDES, 2, names);
    f.config.deals = 10;
    assert_int_equal(run(&f), ST_OK);
    ArenaStats *s = stats_of(&f);
    assert_int_equal(s->agent[0].faults, 0);
    assert_int_equal(s->agent[1].faults, 30);
    assert_true(s->pair[0][1].won.mean > 0.9);
    free(s);
    close_fixture(&f);
}

/* The example of docs/arena.md, as it stands there. */
static void the_example_of_the_docs_plays(void **state) {
    (void)state;
    char path[] = "/tmp/dizhu-test-example-XXXXXX", line[1024], name[256];
    FILE *doc = fopen(SOURCE_DIR "/docs/arena.md", "r");
    int fd = mkstemp(path), lines = 0;
    assert_true(doc && fd >= 0);
    FILE *script = fdopen(fd, "w");
    bool inside = false;
    while (fgets(line, sizeof line, doc)) {
        if (strcmp(line, "```\n") == 0) inside = false;
        if (inside) lines += fputs(line, script) >= 0;
        if (strcmp(line, "```python\n") == 0) inside = true;
    }
    fclose(doc);
    fclose(script);
    assert_in_range(lines, 8, 16);
    snprintf(name, sizeof name, "cmd:PATH=" PROGRAM_DIR ":$PATH python3 %s", path);
    const char *const names[] = {"random", name};
    Fixture f;
    open_fixture(&f, RULES_DOUZERO, FORMAT_SIDES, 2, names);
    f.config.deals = 2;
    assert_int_equal(run(&f), ST_OK);
    ArenaStats *s = stats_of(&f);
    assert_int_equal(s->games, 4);
    assert_int_equal(s->agent[1].faults, 0);
    free(s);
    close_fixture(&f);
    remove(path);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lineups_are_complete),
        cmocka_unit_test(sides_are_a_match),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(stopped_arenas_go_on),
        cmocka_unit_test(arenas_grow),
        cmocka_unit_test(other_arenas_are_refused),
        cmocka_unit_test(records_are_the_games),
        cmocka_unit_test(external_programs_play_alike),
        cmocka_unit_test(faults_are_counted),
        cmocka_unit_test(the_example_of_the_docs_plays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
