/* Search: worlds, rollouts, the choice. */
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

#include "actors/rollout.h"
#include "actors/search.h"
#include "actors/solver.h"
#include "actors/worlds.h"
#include "engine/base/log.h"

static char net_path[] = "/tmp/dizhu-test-search-XXXXXX";

/* A net with random weights, drawn so that plays differ in value. */
static int make_net(void **state) {
    (void)state;
    Weights w;
    int fd = mkstemp(net_path);
    if (fd < 0 || weights_new(&w) != ST_OK) return -1;
    close(fd);
    for (Role r = 0; r < N_ROLES; r++) {
        net_init(r, 5, w.params[r]);
        for (size_t i = 0; i < net_layout(r)->n_params; i++) w.params[r][i] *= 1.8f;
    }
    Status st = weights_save(&w, DTYPE_F32, net_path);
    weights_free(&w);
    return st == ST_OK ? 0 : -1;
}

static int remove_net(void **state) {
    (void)state;
    return remove(net_path);
}

static Policy *open_policy(const char *format) {
    char name[256];
    Policy *p;
    snprintf(name, sizeof name, format, net_path);
    assert_int_equal(policy_open(name, RULES_DOUZERO, PRECISION_FP32, true, &p), ST_OK);
    return p;
}

/* A position after some random plays; false: the game is over. */
static bool make_position(RulesetId rules, uint64_t i, int cards_left, Game *g) {
    Deal deal;
    Rng rng;
    deal_random(41, i, &deal);
    rng_init(&rng, 42, i);
    game_init(g, rules, &deal, 0);
    for (int bid = 1; g->phase == PHASE_BID; bid = 0) game_bid(g, bid, NULL);
    while (g->phase == PHASE_PLAY && g->left[0] + g->left[1] + g->left[2] > cards_left) {
        static Hand legal[MOVEGEN_MAX];
        int n = game_legal(g, legal);
        game_apply(g, legal[rng_below(&rng, (uint32_t)n)]);
    }
    return g->phase == PHASE_PLAY;
}

/* ---- worlds ---- */

/* Hands of every world fit what is known; the true one is among them. */
static void worlds_are_consistent(void **state) {
    (void)state;
    Rng rng;
    rng_init(&rng, 1, 2);
    int with_bottom = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        Game g, w;
        Unknown u;
        if (!make_position((RulesetId)(i % N_RULESETS), i, 6 + (int)(i % 48), &g)) continue;
        worlds_unknown(&g, &u);
        assert_int_equal(hand_size(u.unseen), u.need[0] + u.need[1]);
        Hand truth = g.hand[u.seat[0]] - u.known[0];
        assert_true(hand_contains(g.hand[u.seat[0]], u.known[0]));
        assert_true(hand_contains(g.hand[u.seat[1]], u.known[1]));
        with_bottom += u.known[0] + u.known[1] != 0;
        w = g;
        worlds_set(&u, truth, &w);
        assert_memory_equal(&w, &g, sizeof g);
        for (int k = 0; k < 5; k++) {
            Hand first = worlds_sample(&u, &rng);
            assert_int_equal(hand_size(first), u.need[0]);
            assert_true(hand_contains(u.unseen, first));
            worlds_set(&u, first, &w);
            assert_true(game_validate(&w, NULL));
            assert_true(w.hand[g.turn] == g.hand[g.turn]);
        }
    }
    assert_true(with_bottom > 100);
}

/* The list holds every world once, with the share that sampling gives it. */
static void listed_worlds_are_all_there_is(void **state) {
    (void)state;
    enum { MAX = 200, SAMPLES = 20000 };
    static Hand first[MAX];
    static double share[MAX], seen[MAX];
    Rng rng;
    rng_init(&rng, 3, 4);
    int positions = 0;
    for (uint64_t i = 0; positions < 40; i++) {
        Game g;
        Unknown u;
        if (!make_position(RULES_DOUZERO, i, 8 + (int)(i % 6), &g)) continue;
        worlds_unknown(&g, &u);
        int n = worlds_list(&u, MAX, first, share);
        if (n == 0) continue;
        assert_int_equal(worlds_list(&u, n, first, share), n);
        if (n > 1) assert_int_equal(worlds_list(&u, n - 1, first, share), 0);
        assert_int_equal(worlds_list(&u, MAX, first, share), n);
        memset(seen, 0, sizeof seen);
        for (int k = 0; k < SAMPLES; k++) {
            Hand h = worlds_sample(&u, &rng);
            int at = 0;
            while (at < n && first[at] != h) at++;
            assert_true(at < n);
            seen[at]++;
        }
        for (int k = 0; k < n; k++) {
            double sd = sqrt(SAMPLES * share[k] * (1 - share[k]));
            assert_true(fabs(seen[k] - SAMPLES * share[k]) <= 5 * sd + 1);
        }
        positions++;
    }
}

/* ---- rollouts ---- */

/* Many games in step end as each does alone. */
static void rollouts_are_games(void **state) {
    (void)state;
    enum { GAMES = 60 };
    Policy *p = open_policy("net:%s");
    PolicyScratch *s;
    Rollout *r;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    assert_int_equal(rollout_new(GAMES, &r), ST_OK);
    int n = 0;
    static Game begin[GAMES];
    for (uint64_t i = 0; n < GAMES; i++)
        if (make_position(RULES_DOUZERO, i, 20 + (int)(i % 35), &begin[n])) n++;
    memcpy(rollout_games(r), begin, sizeof begin);
    rollout_run(r, p, s, n);
    for (int i = 0; i < n; i++) {
        Game g = begin[i];
        while (g.phase == PHASE_PLAY) {
            static Hand legal[MOVEGEN_MAX];
            Decision d = {.game = &g, .legal = legal, .n_legal = game_legal(&g, legal)};
            policy_choose(p, s, 1, &d);
            for (int k = 0; k < d.n_legal; k++)
                if (legal[k] == g.hand[g.turn]) d.choice = k;
            game_apply(&g, legal[d.choice]);
        }
        const Game *e = &rollout_games(r)[i];
        assert_int_equal(e->n_moves, g.n_moves);
        assert_memory_equal(e->moves, g.moves, g.n_moves * sizeof *g.moves);
    }
    rollout_free(r);
    policyscratch_free(s);
    policy_free(p);
}

/* ---- the choice ---- */

static int choose(const Policy *p, PolicyScratch *s, const Game *g, uint64_t seed) {
    static Hand legal[MOVEGEN_MAX];
    Rng rng;
    rng_init(&rng, seed, 7);
    Decision d = {
        .game = g, .legal = legal, .n_legal = game_legal(g, legal), .rng = &rng, .choice = -1};
    policy_choose(p, s, 1, &d);
    assert_in_range(d.choice, 0, d.n_legal - 1);
    return d.choice;
}

/* Exchanges cards between the hidden hands, as far as nothing public changes. */
static void shuffle_hidden(Game *g, Rng *rng) {
    Unknown u;
    worlds_unknown(g, &u);
    worlds_set(&u, worlds_sample(&u, rng), g);
}

/* With a number of playouts the choice is a function of the seed and of what the seat knows. */
static void playouts_are_deterministic(void **state) {
    (void)state;
    Policy *p = open_policy("search:%s,playouts=32,gap=5,window=5,solve_cards=0");
    PolicyScratch *one, *other;
    Rng rng;
    rng_init(&rng, 5, 6);
    assert_int_equal(policyscratch_new(&one), ST_OK);
    assert_int_equal(policyscratch_new(&other), ST_OK);
    int differ = 0, n = 0;
    for (uint64_t i = 0; n < 24; i++) {
        Game g, h;
        if (!make_position(RULES_DOUZERO, i, 14 + (int)(i % 30), &g)) continue;
        h = g;
        shuffle_hidden(&h, &rng);
        int first = choose(p, one, &g, i);
        assert_int_equal(choose(p, other, &g, i), first);
        assert_int_equal(choose(p, one, &h, i), first);
        for (uint64_t k = 1; k < 4; k++) differ += choose(p, one, &g, i + 1000 * k) != first;
        n++;
    }
    const SearchStats *stats = policy_search_stats(p, one);
    assert_true(stats->searched > 24);
    assert_true(stats->changed > 0);
    assert_true(differ > 0); /* chance has a say, or nothing was sampled */
    assert_true(stats->playouts <= stats->searched * 32 + stats->decisions);
    policyscratch_free(one);
    policyscratch_free(other);
    policy_free(p);
}

/* One play that wins at once is found by anyone. */
static void winning_plays_are_played(void **state) {
    (void)state;
    Policy *p = open_policy("search:%s,playouts=8");
    PolicyScratch *s;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    int n = 0;
    for (uint64_t i = 0; i < 20000 && n < 120; i++) {
        static Hand legal[MOVEGEN_MAX];
        Game g;
        if (!make_position(RULES_DOUZERO, i, 10, &g)) continue;
        int k = game_legal(&g, legal), win = -1;
        for (int a = 0; a < k; a++)
            if (legal[a] == g.hand[g.turn]) win = a;
        if (win < 0) continue;
        assert_int_equal(choose(p, s, &g, i), win);
        n++;
    }
    assert_true(n > 100);
    policyscratch_free(s);
    policy_free(p);
}

/* Is there but one world for the seat to act? */
static bool all_known(const Game *g) {
    Unknown u;
    Hand first;
    double share;
    worlds_unknown(g, &u);
    return worlds_list(&u, 1, &first, &share) == 1;
}

static bool landlord_wins(Solver *s, const Game *g) {
    Ending e;
    ending_from_game(g, &e);
    return solver_run(s, &e, UINT64_MAX / 2) == SOLVED_WON;
}

/* A landlord who knows everything and can win does win, whatever the others play. */
static void known_endings_are_not_lost(void **state) {
    (void)state;
    Policy *p = open_policy("search:%s,playouts=8,solve_cards=20");
    PolicyScratch *s;
    Solver *solver;
    Rng rng;
    rng_init(&rng, 8, 9);
    assert_int_equal(policyscratch_new(&s), ST_OK);
    assert_int_equal(solver_new(ruleset_get(RULES_DOUZERO), 16, &solver), ST_OK);
    int n = 0, with_choice = 0;
    for (uint64_t i = 0; i < 300000 && n < 40; i++) {
        static Hand legal[MOVEGEN_MAX];
        Game g;
        if (!make_position(RULES_DOUZERO, i, 7 + (int)(i % 5), &g)) continue;
        if (g.turn != g.landlord || !all_known(&g) || !landlord_wins(solver, &g)) continue;
        with_choice += game_legal(&g, legal) > 2;
        while (g.phase == PHASE_PLAY) {
            int k = game_legal(&g, legal);
            int play =
                g.turn == g.landlord ? choose(p, s, &g, i) : (int)rng_below(&rng, (uint32_t)k);
            game_apply(&g, legal[play]);
        }
        if (!game_landlord_won(&g)) fail_msg("ending %d was lost", (int)i);
        n++;
    }
    print_message("%d known endings won, %d with a choice\n", n, with_choice);
    assert_true(n >= 30 && with_choice >= 10);
    solver_free(solver);
    policyscratch_free(s);
    policy_free(p);
}

/* The time limit is kept, in processor time and against a deadline. */
static void time_is_kept(void **state) {
    (void)state;
    Policy *p = open_policy("search:%s,cpu_ms=30,gap=5,window=5,solve_cards=0");
    PolicyScratch *s;
    assert_int_equal(policyscratch_new(&s), ST_OK);
    for (uint64_t i = 0; i < 20; i++) {
        Game g;
        if (!make_position(RULES_DOUZERO, i, 40, &g)) continue;
        choose(p, s, &g, i);
    }
    const SearchStats *stats = policy_search_stats(p, s);
    double each = stats->seconds / (double)stats->searched;
    print_message("30 ms asked, %.1f ms used, %.0f playouts each\n", 1e3 * each,
                  (double)stats->playouts / (double)stats->searched);
    assert_true(each > 0.02 && each < 0.2);
    policyscratch_free(s);
    policy_free(p);
}

static void options_are_checked(void **state) {
    (void)state;
    char path[64];
    SearchConfig c;
    log_level(LOG_NONE);
    assert_int_equal(searchconfig_parse("f", &c, path, sizeof path), ST_OK);
    assert_string_equal(path, "f");
    assert_int_equal(c.ms, 100);
    assert_int_equal(searchconfig_parse("a/b.c,ms=250,z=1.5,candidates=8", &c, path, sizeof path),
                     ST_OK);
    assert_string_equal(path, "a/b.c");
    assert_int_equal(c.ms, 250);
    assert_int_equal(c.candidates, 8);
    assert_true(c.z == 1.5);
    assert_int_equal(searchconfig_parse("f,playouts=160", &c, path, sizeof path), ST_OK);
    assert_int_equal(c.ms, 0);
    static const char *const bad[] = {"",         ",ms=3",          "f,",      "f,ms",
                                      "f,ms=",    "f,ms=0",         "f,ms=x",  "f,sm=10",
                                      "f,ms=10x", "f,candidates=1", "f,z=nan", "f,,ms=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (searchconfig_parse(bad[i], &c, path, sizeof path) != ST_INVALID)
            fail_msg("'%s' was taken", bad[i]);
    log_level(LOG_INFO);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worlds_are_consistent),
        cmocka_unit_test(listed_worlds_are_all_there_is),
        cmocka_unit_test(rollouts_are_games),
        cmocka_unit_test(playouts_are_deterministic),
        cmocka_unit_test(winning_plays_are_played),
        cmocka_unit_test(known_endings_are_not_lost),
        cmocka_unit_test(time_is_kept),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, make_net, remove_net);
}
