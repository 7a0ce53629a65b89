/* The database: what was put is there after a restart; commits tell the truth; versions. */
#include "world.h"
#include <sqlite3.h>

typedef struct {
    int rooms, lives, acts;
    StoreRoom room;
    StoreLive live;
    StoreAct act[MAX_ACTS];
} Seen;

static void see_room(void *ctx, const StoreRoom *r) {
    Seen *s = ctx;
    s->rooms++;
    s->room = *r;
}

static void see_live(void *ctx, const StoreLive *l, int n, const StoreAct *acts) {
    Seen *s = ctx;
    s->lives++;
    s->live = *l;
    s->acts = n;
    memcpy(s->act, acts, (size_t)n * sizeof *acts);
}

static Seen see(Reader *r) {
    Seen s = {0};
    StoreRestore to = {see_room, see_live, &s};
    assert_int_equal(reader_restore(r, &to), ST_OK);
    return s;
}

typedef struct {
    char dir[64], db[96];
    Store *s;
    Reader *r;
} Base;

static void open_base(Base *b) {
    assert_int_equal(store_open(b->db, 0, NULL, NULL, &b->s), ST_OK);
    assert_int_equal(reader_open(b->db, &b->r), ST_OK);
}

static void close_base(Base *b) {
    reader_close(b->r);
    store_close(b->s);
}

static int setup(void **state) {
    Base *b = calloc(1, sizeof *b);
    log_level(LOG_ERROR);
    move_init();
    snprintf(b->dir, sizeof b->dir, "/tmp/dizhu-test-XXXXXX");
    assert_non_null(mkdtemp(b->dir));
    snprintf(b->db, sizeof b->db, "%s/db.sqlite", b->dir);
    open_base(b);
    *state = b;
    return 0;
}

static int teardown(void **state) {
    Base *b = *state;
    char command[128];
    close_base(b);
    snprintf(command, sizeof command, "rm -r %s", b->dir);
    assert_int_equal(system(command), 0);
    free(b);
    return 0;
}

static void wait_for(Base *b, uint64_t write) {
    while (store_committed(b->s) < write) clock_sleep_ms(1);
}

static StoreRoom a_room(void) {
    StoreRoom r = {.code = "ABCD2345",
                   .name = "it's \"x\"; DROP TABLE",
                   .mode = 1,
                   .rules = 4,
                   .time = 20,
                   .help = 1,
                   .allpass = 1,
                   .think = 800,
                   .wish = 2,
                   .host = 1,
                   .user = {3, 1000, 0}};
    return r;
}

static StoreLive a_live(uint64_t game) {
    StoreLive l = {.game = game,
                   .room = "ABCD2345",
                   .rules = 4,
                   .first = 2,
                   .allpass = 1,
                   .rated = 1,
                   .chosen = -1,
                   .user = {3, 1000, 2}};
    deal_random(game, 0, &l.deal);
    return l;
}

static void test_rooms_and_games(void **state) {
    Base *b = *state;
    StoreRoom r = a_room();
    StoreLive l = a_live(41);
    StoreAct bid = {.bid = 2, .why = 1}, play = {.bid = -1, .n_cards = 3, .cards = {53, 0, 7}},
             pass = {.bid = -1, .why = 3};
    store_put_room(b->s, &r);
    store_put_live(b->s, &l);
    store_put_act(b->s, 41, 0, &bid);
    store_put_act(b->s, 41, 1, &play);
    wait_for(b, store_put_act(b->s, 41, 2, &pass));
    close_base(b);
    open_base(b);
    Seen s = see(b->r);
    assert_int_equal(s.rooms, 1);
    assert_memory_equal(&s.room, &r, sizeof r);
    assert_int_equal(s.lives, 1);
    assert_memory_equal(&s.live, &l, sizeof l);
    assert_int_equal(s.acts, 3);
    assert_memory_equal(&s.act[0], &bid, sizeof bid);
    assert_memory_equal(&s.act[1], &play, sizeof play);
    assert_memory_equal(&s.act[2], &pass, sizeof pass);
    store_cut_acts(b->s, 41, 1);
    r.user[2] = 2;
    r.host = -1;
    wait_for(b, store_put_room(b->s, &r));
    s = see(b->r);
    assert_int_equal(s.acts, 1);
    assert_memory_equal(&s.room, &r, sizeof r);
    l = a_live(42); // another deal in the same room
    wait_for(b, store_put_live(b->s, &l));
    s = see(b->r);
    assert_int_equal(s.lives, 1);
    assert_int_equal(s.live.game, 42);
    assert_int_equal(s.acts, 0);
    wait_for(b, store_drop_room(b->s, r.code));
    s = see(b->r);
    assert_int_equal(s.rooms + s.lives, 0);
}

static void test_users(void **state) {
    Base *b = *state;
    StoreUser u = {.rating = rating_new()}, got;
    char token[TOKEN_CHARS + 1];
    assert_int_equal(auth_init(), ST_OK);
    auth_token_new(token, &u.key);
    snprintf(u.name, sizeof u.name, "Robert'); --");
    assert_int_equal(reader_user(b->r, u.key.user, &got), ST_MISMATCH);
    wait_for(b, store_put_user(b->s, &u));
    assert_int_equal(reader_user(b->r, u.key.user, &got), ST_OK);
    assert_memory_equal(&got, &u, sizeof u);
    snprintf(u.name, sizeof u.name, "青山");
    wait_for(b, store_put_user(b->s, &u));
    assert_int_equal(reader_user(b->r, u.key.user, &got), ST_OK);
    assert_string_equal(got.name, "青山");
    for (int s = 0; s < N_STRENGTHS; s++) {
        assert_int_equal(reader_user(b->r, bot_user(s), &got), ST_OK);
        assert_string_equal(got.name, strength_name((Strength)s));
    }
}

static void play_out(Table *t, uint64_t seed) {
    TableSetup s = {.number = 90 + seed, .rules = RULES_DOUZERO, .chosen = -1};
    Rng r;
    deal_random(seed, 0, &s.deal);
    rng_init(&r, seed, 0);
    table_init(t, &s);
    while (t->game.phase == PHASE_PLAY) {
        Hand legal[MOVEGEN_MAX];
        uint8_t cards[PLAY_CARDS_MAX];
        Hand move = legal[rng_below(&r, (uint32_t)game_legal(&t->game, legal))];
        assert_null(table_play(t, t->game.turn, cards, table_pick(t, move, cards), WHY_BOT));
    }
}

static void test_finished(void **state) {
    Base *b = *state;
    Table t, back;
    StoreGame g, got;
    StoreRoom r = a_room();
    StoreUser u = {.key.user = 1000, .name = "Ann", .rating = rating_new()}, after;
    play_out(&t, 3);
    table_to_game(&t, &g);
    StoreLive l = a_live(g.id);
    g.at_ms = 1234567;
    g.rated = 1;
    for (int s = 0; s < 3; s++) {
        g.seat[s].user = (uint64_t[]){3, 1000, 2}[s];
        g.seat[s].bot = s != 1;
        snprintf(g.seat[s].name, sizeof g.seat[s].name, "n%d", s);
    }
    g.seat[1].rate = true;
    g.seat[1].rating = (Rating){1600, 90, 0.05, 777};
    store_put_user(b->s, &u);
    store_put_room(b->s, &r);
    store_put_live(b->s, &l);
    wait_for(b, store_put_game(b->s, &g));
    assert_int_equal(see(b->r).lives, 0);
    assert_int_equal(see(b->r).room.last, g.id);
    assert_int_equal(reader_game(b->r, g.id, &got), ST_OK);
    assert_int_equal(got.at_ms, g.at_ms);
    assert_int_equal(got.n_record, g.n_record);
    assert_memory_equal(got.record, g.record, g.n_record);
    assert_memory_equal(got.cards, g.cards, g.n_cards);
    for (int s = 0; s < 3; s++) {
        assert_string_equal(got.seat[s].name, g.seat[s].name);
        assert_int_equal(got.seat[s].user, g.seat[s].user);
        assert_true(got.seat[s].points == g.seat[s].points);
        assert_int_equal(got.seat[s].won, g.seat[s].won);
        assert_int_equal(got.seat[s].bombs, g.seat[s].bombs);
    }
    assert_int_equal(table_from_game(&got, &back), ST_OK);
    assert_memory_equal(back.cards, t.cards, t.n_cards);
    assert_int_equal(reader_user(b->r, 1000, &after), ST_OK);
    assert_true(after.rating.rating == 1600 && after.rating.at_ms == 777);
    assert_int_equal(reader_game(b->r, 4, &got), ST_MISMATCH);
}

/* Everything that is committed can be read; nothing before. */
static void test_commits(void **state) {
    Base *b = *state;
    StoreRoom r = a_room();
    StoreLive l = a_live(43);
    StoreAct a = {.bid = -1, .n_cards = 1};
    store_put_room(b->s, &r);
    uint64_t first = store_put_live(b->s, &l);
    for (int ply = 0; ply < 150; ply++) {
        a.cards[0] = (uint8_t)(ply % 54);
        store_put_act(b->s, 43, ply, &a);
        uint64_t committed = store_committed(b->s);
        int least = committed > first ? (int)(committed - first) : 0;
        if (committed >= first) assert_true(see(b->r).acts >= least);
        assert_true(see(b->r).acts <= ply + 1);
    }
    wait_for(b, store_last(b->s));
    assert_int_equal(see(b->r).acts, 150);
    StoreStats stats;
    store_stats(b->s, &stats);
    assert_int_equal(stats.writes, 152);
    assert_true(stats.commits >= 1 && stats.commits <= 152);
}

static void run_sql(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_versions(void **state) {
    Base *b = *state;
    Store *s;
    char path[160];
    close_base(b);
    run_sql(b->db, "PRAGMA user_version = 99");
    log_level((LogLevel)-1);
    assert_int_equal(store_open(b->db, 0, NULL, NULL, &s), ST_VERSION);
    snprintf(path, sizeof path, "%s/none/x.sqlite", b->dir);
    assert_int_equal(store_open(path, 0, NULL, NULL, &s), ST_IO);
    snprintf(path, sizeof path, "%s/text", b->dir);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 2000; i++) fputs("this is no database ", f);
    fclose(f);
    assert_int_equal(store_open(path, 0, NULL, NULL, &s), ST_CORRUPT);
    log_level(LOG_ERROR);
    run_sql(b->db, "PRAGMA user_version = 1");
    open_base(b);
}

/* A write that fails for good is skipped, the others of its transaction are kept. */
static void test_bad_write(void **state) {
    Base *b = *state;
    StoreAct a = {.bid = 1};
    StoreRoom r = a_room();
    log_level((LogLevel)-1);
    store_put_act(b->s, 12345, 0, &a); // no such live game
    wait_for(b, store_put_room(b->s, &r));
    log_level(LOG_ERROR);
    assert_int_equal(see(b->r).rooms, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_rooms_and_games), TEST(test_users),    TEST(test_finished),
        TEST(test_commits),         TEST(test_versions), TEST(test_bad_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
