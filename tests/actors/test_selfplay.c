/* Self-play: records replay, games do not depend on what runs beside them, exploration is as often
 * as told, weights can be exchanged in mid-game.                                             */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "actors/selfplay.h"

enum { MAX_GAMES = 4096 };

/* Records by game number. */
typedef struct {
    uint64_t first, stride;
    int n;
    Record record[MAX_GAMES];
    bool have[MAX_GAMES];
} Shelf;

static void shelve(void *ctx, const uint8_t *bytes, size_t n) {
    Shelf *s = ctx;
    Record r;
    size_t used;
    assert_int_equal(record_read(bytes, n, &r, &used), ST_OK);
    assert_int_equal(used, n);
    uint64_t at = (r.game - s->first) / s->stride;
    assert_int_equal((r.game - s->first) % s->stride, 0);
    if (at >= MAX_GAMES) return;
    assert_false(s->have[at]);
    s->have[at] = true;
    s->record[at] = r;
    s->n++;
}

typedef struct {
    PackedNet *net[N_ROLES];
    Policy *policy;
} Nets;

static void nets_new(Nets *n, uint64_t seed) {
    assert_int_equal(policy_from_nets(&n->policy), ST_OK);
    for (Role r = 0; r < N_ROLES; r++) {
        float *params = malloc(net_layout(r)->n_params * sizeof *params);
        net_init(r, seed, params);
        assert_int_equal(packednet_new(r, PRECISION_FP32, kernels_get(), &n->net[r]), ST_OK);
        packednet_set(n->net[r], params);
        free(params);
    }
    const PackedNet *const nets[N_ROLES] = {n->net[0], n->net[1], n->net[2]};
    policy_set_nets(n->policy, nets);
}

static void nets_free(Nets *n) {
    policy_free(n->policy);
    for (int r = 0; r < N_ROLES; r++) packednet_free(n->net[r]);
}

/* Plays `games` games to the end. */
static Shelf *play(const Policy *p, RulesetId rules, int games, int at_once, double epsilon,
                   PoolStats *stats) {
    Shelf *s = calloc(1, sizeof *s);
    s->first = (7ull << 32) + 1;
    s->stride = 3;
    const Policy *const policies[N_ROLES] = {p, p, p};
    SelfplayConfig c = {.rules = rules,
                        .seed = 77,
                        .first = s->first,
                        .stride = s->stride,
                        .n_games = at_once,
                        .epsilon = epsilon,
                        .emit = shelve,
                        .ctx = s};
    Selfplay *sp;
    assert_int_equal(selfplay_new(&c, policies, &sp), ST_OK);
    const uint32_t version[N_ROLES] = {11, 12, 13};
    selfplay_set_versions(sp, version);
    selfplay_allow(sp, (uint64_t)games);
    while (selfplay_tick(sp)) {}
    assert_int_equal(s->n, games);
    if (stats) *stats = *selfplay_stats(sp);
    selfplay_free(sp);
    return s;
}

static bool is_explored(const Record *r, int i) { return r->explored[i / 8] >> i % 8 & 1; }

typedef struct {
    const Record *record;
    int unforced;
    bool ok;
} Replay;

static void count_unforced(void *ctx, const Game *g, int index, Hand move) {
    (void)move;
    Replay *r = ctx;
    Hand legal[MOVEGEN_MAX];
    int n = game_legal(g, legal);
    r->unforced += n > 1;
    if (n == 1 && is_explored(r->record, index)) r->ok = false; /* forced plays explore nothing */
}

static void records_replay(void **state) {
    (void)state;
    for (RulesetId rules = 0; rules < N_RULESETS; rules++) {
        Policy *p;
        assert_int_equal(policy_open("rule", rules, PRECISION_FP32, false, &p), ST_OK);
        PoolStats stats;
        Shelf *s = play(p, rules, 1000, 100, 0.05, &stats);
        int unforced = 0, explored = 0, moves = 0, voids = 0;
        for (int i = 0; i < s->n; i++) {
            const Record *r = &s->record[i];
            assert_true(s->have[i]);
            Deal deal;
            deal_random(77, r->game, &deal);
            assert_memory_equal(&deal, &r->deal, sizeof deal);
            Game end;
            const char *why = NULL;
            int at = 0;
            Replay replay = {.record = r, .ok = true};
            assert_int_equal(record_replay(r, &end, count_unforced, &replay, &why, &at), ST_OK);
            assert_true(replay.ok);
            voids += end.phase == PHASE_VOID;
            for (int seat = 0; seat < N_SEATS && end.phase == PHASE_OVER; seat++)
                assert_int_equal(r->version[seat], 11 + game_role(&end, seat));
            unforced += replay.unforced;
            moves += r->n_moves;
            for (int k = 0; k < r->n_moves; k++) explored += is_explored(r, k);
        }
        assert_int_equal(stats.games, 1000);
        assert_int_equal(stats.decisions, moves);
        assert_int_equal(stats.explored, explored);
        assert_int_equal(stats.scored + stats.explored, unforced);
        assert_int_equal(stats.forced, moves - unforced);
        assert_true(voids == 0 || ruleset_get(rules)->redeal);
        free(s);
        policy_free(p);
    }
}

/* Epsilon 0.05: within four standard deviations. */
static void exploration_is_as_told(void **state) {
    (void)state;
    Policy *p;
    assert_int_equal(policy_open("rule", RULES_DOUZERO, PRECISION_FP32, false, &p), ST_OK);
    PoolStats stats;
    free(play(p, RULES_DOUZERO, MAX_GAMES, 300, 0.05, &stats));
    double n = (double)(stats.scored + stats.explored);
    double share = (double)stats.explored / n;
    assert_true(fabs(share - 0.05) < 4 * sqrt(0.05 * 0.95 / n));
    free(play(p, RULES_DOUZERO, 50, 10, 0, &stats));
    assert_int_equal(stats.explored, 0);
    free(play(p, RULES_DOUZERO, 50, 10, 1, &stats));
    assert_int_equal(stats.scored, 0);
    policy_free(p);
}

static void assert_same(const Shelf *a, const Shelf *b) {
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++)
        assert_memory_equal(&a->record[i], &b->record[i], sizeof(Record));
}

/* One game at a time, a few, more than there are: the same games, by nets and by the rule. */
static void concurrency_changes_nothing(void **state) {
    (void)state;
    Nets nets;
    nets_new(&nets, 21);
    Shelf *one = play(nets.policy, RULES_DOUZERO, 60, 1, 0.05, NULL);
    Shelf *some = play(nets.policy, RULES_DOUZERO, 60, 17, 0.05, NULL);
    Shelf *all = play(nets.policy, RULES_DOUZERO, 60, 200, 0.05, NULL);
    assert_same(one, some);
    assert_same(one, all);
    free(one);
    free(some);
    free(all);
    nets_free(&nets);
    Policy *p;
    assert_int_equal(policy_open("rule", RULES_BOTZONE, PRECISION_FP32, false, &p), ST_OK);
    Shelf *a = play(p, RULES_BOTZONE, 500, 1, 0.05, NULL),
          *b = play(p, RULES_BOTZONE, 500, 64, 0.05, NULL);
    assert_same(a, b);
    free(a);
    free(b);
    policy_free(p);
}

/* Weights exchanged between ticks: games go on, their records carry the versions of their start. */
static void weights_change_in_mid_game(void **state) {
    (void)state;
    Nets first, second;
    nets_new(&first, 1);
    nets_new(&second, 2);
    Policy *p;
    assert_int_equal(policy_from_nets(&p), ST_OK);
    const Policy *const policies[N_ROLES] = {p, p, p};
    Shelf *s = calloc(1, sizeof *s);
    s->stride = 1;
    SelfplayConfig c = {
        .rules = RULES_DOUZERO, .seed = 1, .stride = 1, .n_games = 32, .emit = shelve, .ctx = s};
    Selfplay *sp;
    assert_int_equal(selfplay_new(&c, policies, &sp), ST_OK);
    selfplay_allow(sp, 100);
    bool more = true;
    for (uint32_t tick = 0; more; tick++) {
        const Nets *n = tick % 2 ? &second : &first;
        const PackedNet *const nets[N_ROLES] = {n->net[0], n->net[1], n->net[2]};
        const uint32_t version[N_ROLES] = {tick + 1, tick + 1, tick + 1};
        policy_set_nets(p, nets);
        selfplay_set_versions(sp, version);
        more = selfplay_tick(sp);
    }
    assert_int_equal(s->n, 100);
    uint32_t latest = 0;
    for (int i = 0; i < s->n; i++) {
        Game end;
        assert_int_equal(record_replay(&s->record[i], &end, NULL, NULL, NULL, NULL), ST_OK);
        if (i < 32) assert_int_equal(s->record[i].version[0], 1);
        if (s->record[i].version[0] > latest) latest = s->record[i].version[0];
    }
    assert_true(latest > 10);
    selfplay_free(sp);
    policy_free(p);
    nets_free(&first);
    nets_free(&second);
    free(s);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_replay),
        cmocka_unit_test(exploration_is_as_told),
        cmocka_unit_test(concurrency_changes_nothing),
        cmocka_unit_test(weights_change_in_mid_game),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
