/* The exported bot: its rules against the engine's, its source under three compilers' modes, its
 * plays against the net's own, its manners. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/export.h"
#include "actors/policy.h"
#include "actors/quantise.h"
#include "actors/remote_seat.h"
#include "tests/actors/export_side.h"

/* ---- the rules ---- */

static int by_value(const void *a, const void *b) {
    Hand x = *(const Hand *)a, y = *(const Hand *)b;
    return x < y ? -1 : x > y;
}

static void compare_legal(RulesetId rules, const Game *g) {
    static Hand ours[MOVEGEN_MAX], theirs[MOVEGEN_MAX];
    int n = game_legal(g, ours);
    int m = side_legal(g->hand[g->turn], g->to_beat.cards, rules == RULES_BOTZONE1, theirs);
    assert_int_equal(n, m);
    qsort(ours, (size_t)n, sizeof *ours, by_value);
    qsort(theirs, (size_t)m, sizeof *theirs, by_value);
    assert_memory_equal(ours, theirs, (size_t)n * sizeof *ours);
}

/* Every position of many random games, those of rich hands first. */
static void legal_plays_are_the_engines(void **state) {
    (void)state;
    static const RulesetId both[] = {RULES_BOTZONE, RULES_BOTZONE1};
    assert_int_equal(side_unused(), 0);
    for (int b = 0; b < 2; b++)
        for (uint64_t i = 0; i < 2000; i++) {
            Deal d;
            Game g;
            Rng rng;
            deal_random(51, i, &d);
            rng_init(&rng, 52, i);
            game_init(&g, both[b], &d, 0);
            for (int bid = 3; g.phase == PHASE_BID; bid = 0) game_bid(&g, bid, NULL);
            while (g.phase == PHASE_PLAY) {
                static Hand legal[MOVEGEN_MAX];
                compare_legal(both[b], &g);
                int n = game_legal(&g, legal);
                game_apply(&g, legal[rng_below(&rng, (uint32_t)n)]);
            }
        }
}

/* Every rank multiset that is a play under some ruleset. */
static void plays_are_the_engines(void **state) {
    (void)state;
    static const RulesetId both[] = {RULES_BOTZONE, RULES_BOTZONE1};
    for (int b = 0; b < 2; b++)
        for (int id = 1; id < N_MOVE_IDS; id++) {
            Hand h = move_from_id((uint16_t)id);
            bool ours = move_classify(ruleset_get(both[b]), h).type != MOVE_NONE;
            if (side_is_play(h, both[b] == RULES_BOTZONE1) != ours) fail_msg("move id %d", id);
        }
}

/* ---- the source ---- */

static char dir[] = "/tmp/dizhu-test-export-XXXXXX";
static Weights weights;
static ExportResult with_file, kept, embedded;
static char quantised[80], bid_path[80];
static Bidder bidder = {.kind = "mlp", .ruleset = RULES_BOTZONE};

static int run(const char *format, ...) {
    char command[4096];
    va_list ap;
    va_start(ap, format);
    vsnprintf(command, sizeof command, format, ap);
    va_end(ap);
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define SHIPPED SOURCE_DIR "/models/douzero-wp.safetensors"

static bool export_shipped(void) {
    char sub[128];
    Weights w;
    ExportResult r;
    snprintf(sub, sizeof sub, "%s/shipped", dir);
    ExportConfig c = {.directory = sub, .model = "shipped", .keep_running = true};
    if (weights_load(SHIPPED, &w) != ST_OK) return false;
    Status st = export_botzone(&c, &w, &r);
    weights_free(&w);
    return st == ST_OK;
}

/* A net whose plays are varied, in three exports, and the shipped one. */
static int make_bots(void **state) {
    (void)state;
    char sub[128];
    if (!mkdtemp(dir) || weights_new(&weights) != ST_OK) return -1;
    for (Role r = 0; r < N_ROLES; r++) {
        net_init(r, 11, weights.params[r]);
        for (size_t i = 0; i < net_layout(r)->n_params; i++) weights.params[r][i] *= 1.8f;
    }
    snprintf(quantised, sizeof quantised, "%s/quantised", dir);
    ExportConfig c = {.directory = sub, .model = "test"};
    snprintf(sub, sizeof sub, "%s/plain", dir);
    if (export_botzone(&c, &weights, &with_file) != ST_OK) return -1;
    c.keep_running = true;
    snprintf(sub, sizeof sub, "%s/kept", dir);
    if (export_botzone(&c, &weights, &kept) != ST_OK) return -1;
    for (size_t i = 0; i < sizeof bidder.net / sizeof(float); i++)
        ((float *)&bidder.net)[i] = 0.6f * (float)sin((double)(i * i % 7919));
    bidder.margin[1] = 0.25f;
    bidder.margin[3] = -1.1f;
    snprintf(bid_path, sizeof bid_path, "%s/bidder", dir);
    if (bidder_save(&bidder, bid_path) != ST_OK || bidder_load(bid_path, &bidder) != ST_OK)
        return -1;
    c.bidder = &bidder;
    c.embed = true;
    c.save_quantised = quantised;
    snprintf(sub, sizeof sub, "%s/embedded", dir);
    if (export_botzone(&c, &weights, &embedded) != ST_OK) return -1;
    if (!export_shipped()) return -1;
    /* where the bots look for the weights: data/NAME from the directory they run in */
    if (run("mkdir %s/data && cp %s/kept/*.weights %s/shipped/*.weights %s/data", dir, dir, dir,
            dir) != 0)
        return -1;
    return run("cd %s && g++ -x c++ -std=c++11 -O2 -mavx kept/bot.c -o kept/bot && "
               "g++ -x c++ -std=c++11 -O2 -mavx -DBOT_NO_FMA kept/bot.c -o kept/bot_avx && "
               "g++ -x c++ -std=c++11 -O2 -mavx plain/bot.c -o plain/bot && "
               "g++ -x c++ -std=c++11 -O2 -mavx shipped/bot.c -o shipped/bot && "
               "g++ -x c++ -std=c++11 -O2 -mavx embedded/bot.c -o embedded/bot",
               dir);
}

static int remove_bots(void **state) {
    (void)state;
    weights_free(&weights);
    return run("rm -r %s", dir);
}

static void compiles_without_a_word(void **state) {
    (void)state;
    static const char *const compilers[] = {"g++ -x c++ -std=c++11", "g++ -x c++ -std=c++1z",
                                            "gcc -std=c99", "gcc -std=gnu17"};
    static const char *const bots[] = {"kept", "embedded"};
    for (size_t i = 0; i < 4; i++)
        for (int b = 0; b < 2; b++) {
            assert_int_equal(run("%s -O2 -Wall -Wextra -Werror -mavx -c %s/%s/bot.c -o /dev/null",
                                 compilers[i], dir, bots[b]),
                             0);
        }
    assert_true(with_file.source_bytes < EXPORT_MAX_SOURCE);
    assert_true(embedded.source_bytes < EXPORT_MAX_SOURCE);
    assert_int_equal(embedded.weights_bytes, 0);
    assert_in_range(embedded.bits, 4, 8);
}

/* ---- its plays ---- */

typedef struct {
    Policy *policy;
    PolicyScratch *scratch;
    RemoteSeat *seats[N_SEATS];
    int plays, same;
} Table;

static void take_turn(Table *t, Judge *j) {
    static Hand legal[MOVEGEN_MAX];
    int seat = j->game.turn, bid = -1;
    Hand expected = 0;
    Rng rng;
    rng_init(&rng, 1, 1);
    if (j->game.phase == PHASE_BID) {
        bid = policy_bid(t->policy, t->scratch, &j->game, &rng);
    } else {
        Decision d = {
            .game = &j->game, .legal = legal, .n_legal = game_legal(&j->game, legal), .rng = &rng};
        if (d.n_legal > 1) policy_choose(t->policy, t->scratch, 1, &d);
        expected = legal[d.choice];
    }
    Verdict v = remoteseat_move(t->seats[seat], j);
    if (v != VERDICT_OK) fail_msg("%s", verdict_name(v));
    t->plays++;
    if (bid >= 0) t->same += j->game.bids[j->game.n_bids - 1] == bid;
    else t->same += j->game.moves[j->game.n_moves - 1] == expected;
}

/* Games of a bot against itself; counts the plays, and those that `net` would have made. */
static void play_games(const char *bot, const char *net, bool keep, RulesetId rules, int games,
                       Table *t) {
    char command[256], name[256];
    snprintf(command, sizeof command, "cd %s && exec %s/bot", dir, bot);
    snprintf(name, sizeof name, "net:%s", net);
    memset(t, 0, sizeof *t);
    assert_int_equal(policy_open(name, rules, PRECISION_FP32, true, &t->policy), ST_OK);
    assert_int_equal(policyscratch_new(&t->scratch), ST_OK);
    for (int i = 0; i < games; i++) {
        Deal d;
        Judge j;
        deal_random(61, (uint64_t)i, &d);
        judge_init(&j, rules, &d);
        ExternalConfig c = external_defaults(command, keep);
        c.time_ms = c.first_ms = 60000;
        for (int s = 0; s < N_SEATS; s++) assert_int_equal(remoteseat_new(&c, &t->seats[s]), ST_OK);
        while (judge_next(&j)) take_turn(t, &j);
        for (int s = 0; s < N_SEATS; s++) remoteseat_free(t->seats[s]);
    }
    policyscratch_free(t->scratch);
    policy_free(t->policy);
}

static void write_net(char path[96]) {
    snprintf(path, 96, "%s/net", dir);
    assert_int_equal(weights_save(&weights, DTYPE_F32, path), ST_OK);
}

static void plays_what_the_net_plays(void **state) {
    (void)state;
    char net[96];
    Table t;
    write_net(net);
    play_games("kept", net, true, RULES_BOTZONE, 15, &t);
    assert_true(t.plays > 400);
    assert_int_equal(t.same, t.plays);
    play_games("kept", net, true, RULES_BOTZONE1, 8, &t);
    assert_int_equal(t.same, t.plays);
    play_games("plain", net, false, RULES_BOTZONE, 2, &t);
    assert_int_equal(t.same, t.plays);
}

/* DIZHU_GAMES games, else few. */
static void plays_what_the_shipped_net_plays(void **state) {
    (void)state;
    const char *games = getenv("DIZHU_GAMES");
    Table t;
    play_games("shipped", SHIPPED, true, RULES_BOTZONE, games ? atoi(games) : 10, &t);
    print_message("%d of %d answers the same\n", t.same, t.plays);
    assert_int_equal(t.same, t.plays);
}

static void plays_the_same_with_avx_alone(void **state) {
    (void)state;
    char net[96];
    Table t;
    write_net(net);
    assert_int_equal(run("mkdir %s/avx && cp %s/kept/bot_avx %s/avx/bot", dir, dir, dir), 0);
    play_games("avx", net, true, RULES_BOTZONE, 10, &t);
    assert_int_equal(t.same, t.plays);
}

/* The embedded bot plays what the net of its few bits plays. */
static void embedded_plays_the_quantised_net(void **state) {
    (void)state;
    Table t;
    char net[200];
    snprintf(net, sizeof net, "%s,bid=%s", quantised, bid_path); /* it has a bidder too */
    play_games("embedded", net, true, RULES_BOTZONE, 12, &t);
    assert_int_equal(t.same, t.plays);
}

static void quantising_is_close(void **state) {
    (void)state;
    Role r = ROLE_LANDLORD;
    size_t n = net_layout(r)->n_params;
    int8_t *levels = calloc(n, 1);
    float *scales = calloc(quantise_rows(r), sizeof *scales), *back = malloc(n * sizeof *back);
    double before = 1e9;
    for (int bits = 3; bits <= 8; bits++) {
        double error = 0, size = 0;
        memcpy(back, weights.params[r], n * sizeof *back);
        quantise_role(r, weights.params[r], bits, levels, scales);
        quantise_undo(r, levels, scales, back);
        for (size_t i = 0; i < n; i++) {
            double e = (double)back[i] - (double)weights.params[r][i];
            error += e * e;
            size += (double)weights.params[r][i] * (double)weights.params[r][i];
            assert_true(abs(levels[i]) <= (1 << (bits - 1)) - 1);
        }
        assert_true(error / size < before / 3); /* a bit is a factor of four */
        before = error / size;
    }
    assert_true(before < 1e-4);
    free(levels);
    free(scales);
    free(back);
}

/* ---- its manners ---- */

/* The first line that a bot prints for an input. */
static json_t *answer_to(const char *bot, const char *input) {
    char command[512], path[96], line[4096] = "";
    snprintf(path, sizeof path, "%s/input", dir);
    FILE *f = fopen(path, "w");
    fputs(input, f);
    fclose(f);
    snprintf(command, sizeof command, "cd %s && %s < %s", dir, bot, path);
    f = popen(command, "r");
    assert_non_null(f);
    if (!fgets(line, sizeof line, f)) line[0] = '\0';
    assert_int_equal(pclose(f), 0);
    json_t *o = json_loads(line, 0, NULL);
    if (!o) fail_msg("'%s' for %s", line, input);
    return o;
}

static void nonsense_gets_the_safest_answer(void **state) {
    (void)state;
    static const struct {
        const char *input, *response;
    } cases[] = {
        {"nonsense\n", "[]"},
        {"[1,2,3]\n", "[]"},
        {"{}\n", "[]"},
        {"{\"requests\":[{}],\"responses\":[]}\n", "[]"},
        {"{\"requests\":[{\"own\":[0,1,2],\"bid\":[]}],\"responses\":[]}\n", "0"},
        {"{\"requests\":[{\"history\":[[],[]],\"own\":[30,19,48,16,31,28,9,11,23,29,49,33,3,20,45,"
         "4,"
         "99],\"publiccard\":[1,2,0],\"landlord\":1,\"pos\":1,\"finalbid\":1}],\"responses\":[]}\n",
         "[0]"},
        {"{\"requests\":[{\"history\":[[],[5,7]],\"own\":[30,19],\"publiccard\":[1,2,0],"
         "\"landlord\":1,\"pos\":1,\"finalbid\":1}],\"responses\":[]}\n",
         "[]"},
        {"{\"history\":[[1],[2]]}\n", "[]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *o = answer_to("plain/bot", cases[i].input);
        json_t *expected = json_loads(cases[i].response, JSON_DECODE_ANY, NULL);
        if (!json_equal(json_object_get(o, "response"), expected)) fail_msg("case %d", (int)i);
        json_decref(expected);
        json_decref(o);
    }
}

/* Without its weights it still plays legally, and says what is missing. */
static void missing_weights_are_told(void **state) {
    (void)state;
    json_t *o = answer_to(
        "cd plain && ./bot",
        "{\"requests\":[{\"history\":[[],[]],\"own\":[30,19,48,16,31,28,9,11,23,29,49,33,3,20,45,4,"
        "53],"
        "\"publiccard\":[1,2,0],\"landlord\":1,\"pos\":1,\"finalbid\":1}],\"responses\":[]}\n");
    json_t *r = json_object_get(o, "response");
    assert_int_equal(json_array_size(r), 1);
    assert_non_null(strstr(json_string_value(json_object_get(o, "debug")), "weights"));
    json_decref(o);
}

/* Bytes changed at random, under the sanitizers: an answer to each line, and no fault. */
static void mutated_input_does_no_harm(void **state) {
    (void)state;
    enum { CASES = 400 };
    char path[96], line[1024];
    uint32_t seed = 12345;
    assert_int_equal(run("cd %s && for bot in kept embedded; do gcc -std=gnu17 -O1 -mavx "
                         "-fsanitize=address,undefined -fno-sanitize-recover=all $bot/bot.c "
                         "-o $bot/checked || exit 1; done",
                         dir),
                     0);
    snprintf(path, sizeof path, "%s/mutated", dir);
    FILE *in = fopen(GOLDEN_DIR "/botzone_transcript.jsonl", "r"), *out = fopen(path, "w");
    assert_true(in && out);
    for (int i = 0; i < CASES; i++) {
        if (!fgets(line, sizeof line, in)) rewind(in);
        char *request = strstr(line, "\"request\":"), *end = strstr(line, ",\"response\"");
        if (!request || !end) continue;
        *end = '\0';
        char text[1200];
        bool whole = i % 3 == 0;
        snprintf(text, sizeof text, whole ? "{\"requests\":[%s],\"responses\":[]}" : "%s",
                 request + 10);
        size_t n = strlen(text);
        for (int k = 0; k < i % 5; k++) {
            seed = seed * 1664525 + 1013904223;
            char c = (char)(seed >> 24);
            text[(seed >> 4) % n] = c == '\n' || c == '\0' ? '9' : c;
        }
        fprintf(out, "%s\n", text);
    }
    fclose(in);
    fclose(out);
    static const char *const bots[] = {"kept", "embedded"};
    for (int b = 0; b < 2; b++)
        assert_int_equal(run("cd %s && %s/checked < mutated > answers && "
                             "test $(grep -c '^{\"response\":' answers) = $(wc -l < mutated)",
                             dir, bots[b]),
                         0);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legal_plays_are_the_engines),
        cmocka_unit_test(plays_are_the_engines),
        cmocka_unit_test(compiles_without_a_word),
        cmocka_unit_test(plays_what_the_net_plays),
        cmocka_unit_test(plays_what_the_shipped_net_plays),
        cmocka_unit_test(plays_the_same_with_avx_alone),
        cmocka_unit_test(embedded_plays_the_quantised_net),
        cmocka_unit_test(quantising_is_close),
        cmocka_unit_test(nonsense_gets_the_safest_answer),
        cmocka_unit_test(missing_weights_are_told),
        cmocka_unit_test(mutated_input_does_no_harm),
    };
    return cmocka_run_group_tests(tests, make_bots, remove_bots);
}
