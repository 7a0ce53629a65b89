/* Bots: answers from threads and batches are those of one thread and one job; strength; nets that
 * are exchanged while games go on.                                                          */
#include "world.h"
#include <math.h>

static char model[96], dir[64];

/* A game after some random moves, the seat to act having a choice. */
static Game position(uint64_t seed, RulesetId rules) {
    Deal d;
    Game g;
    Rng r;
    rng_init(&r, seed, 77);
    deal_random(seed, 8, &d);
    game_init(&g, rules, &d, (int)(seed % 3));
    while (g.phase == PHASE_BID) game_bid(&g, g.n_bids == 2 && !g.bid ? 1 : 0, NULL);
    for (int moves = (int)rng_below(&r, 20);;) {
        Hand legal[MOVEGEN_MAX];
        int n = game_legal(&g, legal);
        if (moves-- <= 0 && n > 1) return g;
        Game next = g;
        game_apply(&next, legal[rng_below(&r, (uint32_t)n)]);
        if (next.phase == PHASE_OVER) return g;
        g = next;
    }
}

static Job *move_job(uint64_t seed, int strength) {
    Job *j = job_new(JOB_MOVE);
    j->strength = (uint8_t)strength;
    j->game = position(seed, seed % 2 ? RULES_CLASSIC : RULES_DOUZERO);
    j->stamp = seed;
    return j;
}

static bool is_legal(const Game *g, Hand move) {
    Hand legal[MOVEGEN_MAX];
    int n = game_legal(g, legal);
    for (int i = 0; i < n; i++)
        if (legal[i] == move) return true;
    return false;
}

static Bots *open_bots(int workers) {
    BotsConfig c = {.workers = workers, .model = model};
    Bots *b;
    assert_int_equal(bots_new(&c, &b), ST_OK);
    return b;
}

static Job *wait_all(Bots *b, int n) {
    Job *all = NULL;
    for (int got = 0; got < n;) {
        Job *list = bots_take(b);
        if (!list) clock_sleep_ms(1);
        for (Job *next; list; list = next, got++) {
            next = list->next;
            list->next = all;
            all = list;
        }
    }
    return all;
}

static void test_batches(void **state) {
    (void)state;
    enum { N = 150 };
    static Hand alone[N];
    NetSet *nets;
    Thinker *t;
    assert_int_equal(netset_load(model, PRECISION_FP32, &nets), ST_OK);
    assert_int_equal(thinker_new(1, &t), ST_OK);
    for (int i = 0; i < N; i++) {
        Job *j = move_job((uint64_t)i, STRENGTH_BEST);
        thinker_run(t, nets, &j, 1);
        alone[i] = j->choice.cards;
        assert_true(is_legal(&j->game, alone[i]));
        assert_true(j->choice.win >= 0 && j->choice.win <= 1);
        job_free(j);
    }
    thinker_free(t);
    netset_unref(nets);
    Bots *b = open_bots(3);
    for (int i = 0; i < N; i++) bots_submit(b, move_job((uint64_t)i, STRENGTH_BEST));
    int same = 0;
    for (Job *j = wait_all(b, N), *next; j; j = next) {
        next = j->next;
        same += j->choice.cards == alone[j->stamp];
        job_free(j);
    }
    assert_true(same >= N - 2); // (two moves may be worth the same to the last bit but one)
    BotsStats s;
    bots_stats(b, &s);
    assert_int_equal(s.jobs, N);
    assert_true(s.batches < N);
    bots_free(b);
}

/* Scales a role's tensors from..to, and moves its output. */
static void rescale(Weights *w, int from, int to, float by, float move) {
    for (int r = 0; r < N_ROLES; r++) {
        const NetTensor *t = net_layout((Role)r)->tensor;
        for (int k = from; k <= to; k++)
            for (size_t i = 0; i < t[k].size; i++) w->params[r][t[k].offset + i] *= by;
        w->params[r][t[NET_TENSORS - 1].offset] += move;
    }
}

/* Mean Q of the best move, and how far the third is behind it, over some positions. */
static void look_at(const char *path, float *mean, float *gap) {
    NetSet *nets;
    Thinker *t;
    enum { N = 40 };
    assert_int_equal(netset_load(path, PRECISION_FP32, &nets), ST_OK);
    assert_int_equal(thinker_new(1, &t), ST_OK);
    *mean = *gap = 0;
    for (int i = 0; i < N; i++) {
        Job *j = move_job((uint64_t)i, STRENGTH_BEST);
        j->kind = JOB_ADVISE;
        thinker_run(t, nets, &j, 1);
        const Advice *a = &j->advice;
        *mean += a->best[0].exp / N;
        *gap += (a->best[0].exp - a->best[a->n - 1].exp) / N;
        job_free(j);
    }
    thinker_free(t);
    netset_unref(nets);
}

/* A net with opinions: random weights hardly tell moves apart. Its Q is centred and spread. */
static void opinionated(const char *path) {
    Weights w;
    float mean, gap;
    assert_int_equal(weights_load(model, &w), ST_OK);
    rescale(&w, 4, NET_TENSORS - 3, 2, 0);
    w.info.objective = OBJECTIVE_SCORE; // exp is Q itself
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);
    look_at(path, &mean, &gap);
    rescale(&w, NET_TENSORS - 2, NET_TENSORS - 1, 0.2f / gap, -mean * 0.2f / gap);
    w.info.objective = OBJECTIVE_WP;
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);
    weights_free(&w);
}

/* Weaker bots differ from the best one, and lose win chance by it. */
static void test_strength(void **state) {
    (void)state;
    enum { N = 120 };
    NetSet *nets;
    Thinker *t;
    int differs[N_STRENGTHS] = {0};
    double cost[N_STRENGTHS] = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/opinions", dir);
    opinionated(path);
    assert_int_equal(netset_load(path, PRECISION_FP32, &nets), ST_OK);
    unlink(path);
    assert_int_equal(thinker_new(1, &t), ST_OK);
    for (int i = 0; i < N; i++) {
        Choice best = {0};
        for (int s = STRENGTH_BEST; s >= STRENGTH_EASY; s--) {
            Job *j = move_job((uint64_t)i, s);
            thinker_run(t, nets, &j, 1);
            assert_true(is_legal(&j->game, j->choice.cards));
            if (s == STRENGTH_BEST) best = j->choice;
            differs[s] += j->choice.cards != best.cards;
            cost[s] += (double)(best.win - j->choice.win);
            job_free(j);
        }
    }
    print_message("differs %d %d, cost %.3f %.3f\n", differs[0], differs[1], cost[0], cost[1]);
    assert_int_equal(differs[STRENGTH_BEST], 0);
    assert_true(differs[STRENGTH_EASY] > differs[STRENGTH_MID] / 2 && differs[STRENGTH_MID] > 0);
    assert_true(cost[STRENGTH_EASY] > cost[STRENGTH_MID] && cost[STRENGTH_MID] > 0);
    thinker_free(t);
    netset_unref(nets);
}

/* Without a net: the first legal move, chances unknown, bids by high cards and never too low. */
static void test_no_net(void **state) {
    (void)state;
    Thinker *t;
    assert_int_equal(thinker_new(1, &t), ST_OK);
    int bids[4] = {0};
    for (int i = 0; i < 200; i++) {
        Job *j = move_job((uint64_t)i, STRENGTH_BEST), *bid = job_new(JOB_BID);
        Hand legal[MOVEGEN_MAX];
        Deal d;
        deal_random((uint64_t)i, 3, &d);
        game_init(&bid->game, RULES_CLASSIC, &d, 0);
        game_bid(&bid->game, i % 3, NULL);
        Job *both[] = {j, bid};
        thinker_run(t, NULL, both, 2);
        game_legal(&j->game, legal);
        assert_true(j->choice.cards == legal[0] && isnan(j->choice.win));
        assert_true(bid->choice.points == 0 || bid->choice.points > i % 3);
        bids[bid->choice.points]++;
        job_free(j);
        job_free(bid);
    }
    assert_true(bids[0] > 50 && bids[3] > 5);
    thinker_free(t);
}

/* The bid does not depend on what the others hold: only on the own hand and chance. */
static void test_bids_blind(void **state) {
    (void)state;
    NetSet *nets;
    assert_int_equal(netset_load(model, PRECISION_FP32, &nets), ST_OK);
    for (int i = 0; i < 20; i++) {
        Choice c[2];
        Deal d;
        deal_random((uint64_t)i, 3, &d);
        for (int k = 0; k < 2; k++) {
            Thinker *t;
            Job *j = job_new(JOB_ADVISE);
            assert_int_equal(thinker_new(9, &t), ST_OK);
            game_init(&j->game, RULES_CLASSIC, &d, 0);
            thinker_run(t, nets, &j, 1);
            c[k] = j->advice.best[j->advice.n - 1];
            job_free(j);
            thinker_free(t);
            for (int card = 0; card < N_CARDS; card++) // others' cards and kitty, turned round
                if (d.owner[card] != 0) d.owner[card] = (uint8_t)(d.owner[card] % 3 + 1);
            int count[4] = {0};
            for (int card = 0; card < N_CARDS; card++) count[d.owner[card]]++;
            for (int card = 0; card < N_CARDS && count[3] > 3; card++)
                if (d.owner[card] == 3) d.owner[card] = 1, count[3]--, count[1]++;
            for (int card = 0; card < N_CARDS && count[1] > 17; card++)
                if (d.owner[card] == 1) d.owner[card] = 2, count[1]--, count[2]++;
            assert_int_equal(deal_check(&d), ST_OK);
        }
        assert_true(c[0].win == c[1].win && c[0].exp == c[1].exp);
    }
    netset_unref(nets);
}

static void test_exchange(void **state) {
    (void)state;
    char name[96];
    log_level((LogLevel)-1); // that a broken file is no net need not be said here
    Bots *b = open_bots(2);
    BotsStats s;
    bots_net_name(b, name);
    assert_string_equal(name, "net-1");
    uint64_t submitted = 0;
    world_model(model, 123); // a new file under the old name
    for (double end = clock_s() + 200; clock_s() < end;) {
        for (int i = 0; i < 20; i++) bots_submit(b, move_job(submitted++ % 300, STRENGTH_BEST));
        for (Job *j = wait_all(b, 20), *next; j; j = next) {
            next = j->next;
            assert_true(is_legal(&j->game, j->choice.cards));
            job_free(j);
        }
        bots_stats(b, &s);
        if (s.loads == 2) break;
    }
    assert_int_equal(s.loads, 2);
    FILE *f = fopen(model, "w"); // a broken file leaves the old net in play
    fputs("no weights", f);
    fclose(f);
    for (double end = clock_s() + 200; s.refused == 0 && clock_s() < end; bots_stats(b, &s))
        clock_sleep_ms(20);
    assert_true(s.refused > 0);
    Job *j = move_job(3, STRENGTH_BEST);
    bots_submit(b, j);
    j = wait_all(b, 1);
    assert_false(isnan(j->choice.win));
    job_free(j);
    // what is not answered is dropped with the bots
    for (int i = 0; i < 100; i++) bots_submit(b, move_job((uint64_t)i, STRENGTH_BEST));
    bots_free(b);
    log_level(LOG_ERROR);
    world_model(model, 5);
}

/* Reviews wait for the tables, and are whole. */
static void test_review(void **state) {
    (void)state;
    Bots *b = open_bots(1);
    Table t;
    TableSetup u = {.number = 5, .rules = RULES_CLASSIC, .first = 1, .chosen = -1};
    Rng r;
    rng_init(&r, 1, 0);
    deal_random(4, 0, &u.deal);
    table_init(&t, &u);
    for (int i = 0; i < 3 && t.game.phase == PHASE_BID; i++)
        table_bid(&t, t.game.turn, i, WHY_PLAYER);
    while (t.game.phase == PHASE_PLAY) {
        Hand legal[MOVEGEN_MAX];
        uint8_t cards[PLAY_CARDS_MAX];
        Hand move = legal[rng_below(&r, (uint32_t)game_legal(&t.game, legal))];
        table_play(&t, t.game.turn, cards, table_pick(&t, move, cards), WHY_PLAYER);
    }
    Job *j = job_new(JOB_REVIEW);
    j->table = malloc(sizeof t);
    assert_non_null(j->table);
    *j->table = t;
    bots_submit(b, j);
    j = wait_all(b, 1);
    assert_int_equal(j->n_items, table_ply(&t));
    for (int i = 0; i < j->n_items; i++) {
        const ReviewItem *e = &j->items[i];
        assert_int_equal(e->ply, i);
        assert_int_equal(e->seat, table_seat_at(&t, i));
        assert_true(e->loss >= 0 && e->made.win <= e->best.win + 1e-6f);
        StoreAct a = table_act(&t, i);
        if (a.bid >= 0) assert_int_equal(e->made.points, a.bid);
        else assert_int_equal(hand_size(e->made.cards), a.n_cards);
    }
    for (int s = 0; s < 3; s++) assert_true(j->agree[s] >= 0 && j->agree[s] <= 1);
    job_free(j);
    bots_free(b);
}

static int setup(void **state) {
    (void)state;
    log_level(LOG_ERROR);
    move_init();
    snprintf(dir, sizeof dir, "/tmp/dizhu-test-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    snprintf(model, sizeof model, "%s/net.safetensors", dir);
    world_model(model, 5);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    unlink(model);
    return rmdir(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches),  cmocka_unit_test(test_strength),
        cmocka_unit_test(test_no_net),   cmocka_unit_test(test_bids_blind),
        cmocka_unit_test(test_exchange), cmocka_unit_test(test_review),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
