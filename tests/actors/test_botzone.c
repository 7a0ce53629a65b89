/* The player for Botzone's judge: the golden transcript, whole games in both modes, what it knows,
 * input that makes no sense. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "actors/botzone.h"
#include "actors/botzone_view.h"
#include "actors/judge.h"
#include "engine/base/log.h"

static Policy *open_policy(const char *name) {
    Policy *p;
    assert_int_equal(policy_open(name, RULES_BOTZONE, PRECISION_FP32, true, &p), ST_OK);
    return p;
}

static Botzone *open_bot(const Policy *p, int rules) {
    Botzone *b;
    BotzoneConfig c = {.policy = p, .rules = rules, .seed = 3};
    assert_int_equal(botzone_new(&c, &b), ST_OK);
    return b;
}

/* The response in a line that a bot printed. */
static json_t *response_of(const char *line) {
    json_error_t e;
    json_t *o = json_loads(line, 0, &e);
    if (!o) fail_msg("%s: %s", line, e.text);
    json_t *v = json_incref(json_object_get(o, "response"));
    assert_non_null(v);
    json_decref(o);
    return v;
}

/* ---- the golden transcript ---- */

typedef struct {
    int player;
    json_t *request, *response;
} Line;

static int read_transcript(Line *out, int max) {
    FILE *f = fopen(GOLDEN_DIR "/botzone_transcript.jsonl", "r");
    assert_non_null(f);
    char line[1024];
    int n = 0;
    while (n < max && fgets(line, sizeof line, f)) {
        json_t *o = json_loads(line, 0, NULL);
        assert_non_null(o);
        out[n].player = (int)json_integer_value(json_object_get(o, "player"));
        out[n].request = json_incref(json_object_get(o, "request"));
        out[n].response = json_incref(json_object_get(o, "response"));
        json_decref(o);
        n++;
    }
    fclose(f);
    return n;
}

/* The deal of the transcript, from its requests. */
static Deal transcript_deal(const Line *lines, int n) {
    Deal d;
    memset(d.owner, 0xff, sizeof d.owner);
    for (int i = 0; i < n; i++) {
        BotzoneRequest r;
        const char *why;
        assert_int_equal(botzone_request_read(lines[i].request, &r, &why), ST_OK);
        for (int k = 0; k < r.own.n; k++) d.owner[r.own.id[k]] = (uint8_t)lines[i].player;
        for (int k = 0; k < r.bottom.n; k++) d.owner[r.bottom.id[k]] = DEAL_BOTTOM;
    }
    assert_int_equal(deal_check(&d), ST_OK);
    return d;
}

static void sort_key(json_t *o, const char *key) {
    json_t *list = json_object_get(o, key), *sorted = json_array();
    if (!list) {
        json_decref(sorted);
        return;
    }
    for (int c = 0; c < N_CARDS; c++)
        for (size_t i = 0; i < json_array_size(list); i++)
            if (json_integer_value(json_array_get(list, i)) == c)
                json_array_append_new(sorted, json_integer(c));
    json_object_set_new(o, key, sorted);
}

/* Our judge asks what Botzone's asked, and accepts what was answered. Hands may be told in another
 * order. */
static void judge_repeats_the_transcript(void **state) {
    (void)state;
    static Line lines[64];
    int n = read_transcript(lines, 64);
    assert_int_equal(n, 40);
    Deal d = transcript_deal(lines, n);
    Judge j;
    judge_init(&j, RULES_BOTZONE, &d);
    for (int i = 0; i < n; i++) {
        BotzoneRequest r;
        assert_true(judge_next(&j));
        assert_int_equal(j.game.turn, lines[i].player);
        judge_request(&j, &r);
        json_t *asked = botzone_request_write(&r);
        sort_key(asked, "own");
        sort_key(asked, "publiccard");
        json_t *expected = json_deep_copy(lines[i].request);
        sort_key(expected, "own");
        sort_key(expected, "publiccard");
        if (!json_equal(asked, expected))
            fail_msg("line %d: asked %s", i + 1, json_dumps(asked, JSON_COMPACT));
        assert_int_equal(judge_response(&j, lines[i].response), VERDICT_OK);
        json_decref(asked);
        json_decref(expected);
    }
    for (int i = 0; i < n; i++) {
        json_decref(lines[i].request);
        json_decref(lines[i].response);
    }
}

/* Every request of the transcript is answered legally, by each of two policies. */
static void bot_answers_the_transcript(void **state) {
    (void)state;
    static Line lines[64];
    static const char *const names[] = {"rule", "random"};
    int n = read_transcript(lines, 64);
    Deal d = transcript_deal(lines, n);
    for (int p = 0; p < 2; p++) {
        Policy *policy = open_policy(names[p]);
        Botzone *bots[N_SEATS];
        json_t *requests[N_SEATS], *responses[N_SEATS];
        for (int s = 0; s < N_SEATS; s++) {
            bots[s] = open_bot(policy, RULES_BY_SHAPE);
            requests[s] = json_array();
            responses[s] = json_array();
        }
        Judge j;
        judge_init(&j, RULES_BOTZONE, &d);
        for (int i = 0; i < n; i++) {
            int s = lines[i].player;
            assert_true(judge_next(&j));
            json_array_append(requests[s], lines[i].request);
            json_t *input =
                json_pack("{s:O,s:O}", "requests", requests[s], "responses", responses[s]);
            char *text = json_dumps(input, JSON_COMPACT);
            json_t *answer = response_of(botzone_answer(bots[s], text, strlen(text), 0));
            Judge copy = j;
            assert_int_equal(judge_response(&copy, answer), VERDICT_OK);
            assert_int_equal(judge_response(&j, lines[i].response), VERDICT_OK);
            json_array_append(responses[s], lines[i].response);
            json_decref(answer);
            json_decref(input);
            free(text);
        }
        for (int s = 0; s < N_SEATS; s++) {
            botzone_free(bots[s]);
            json_decref(requests[s]);
            json_decref(responses[s]);
        }
        policy_free(policy);
    }
    for (int i = 0; i < n; i++) {
        json_decref(lines[i].request);
        json_decref(lines[i].response);
    }
}

/* ---- whole games ---- */

typedef struct {
    Botzone *bot[N_SEATS];
    json_t *requests[N_SEATS], *responses[N_SEATS];
    const Policy *policy;
    PolicyScratch *scratch;
} Table;

static void table_init(Table *t, const Policy *p, int rules) {
    t->policy = p;
    assert_int_equal(policyscratch_new(&t->scratch), ST_OK);
    for (int s = 0; s < N_SEATS; s++) {
        t->bot[s] = open_bot(p, rules);
        t->requests[s] = json_array();
        t->responses[s] = json_array();
    }
}

static void table_deinit(Table *t) {
    policyscratch_free(t->scratch);
    for (int s = 0; s < N_SEATS; s++) {
        botzone_free(t->bot[s]);
        json_decref(t->requests[s]);
        json_decref(t->responses[s]);
    }
}

/* One request as text and its answer; `whole`: the plain mode, everything told anew. */
static json_t *exchange(Table *t, Judge *j, bool whole) {
    int s = j->game.turn;
    BotzoneRequest r;
    judge_request(j, &r);
    json_t *request = botzone_request_write(&r);
    json_array_append(t->requests[s], request);
    bool first = json_array_size(t->requests[s]) == 1;
    json_t *input = whole || first ? json_pack("{s:O,s:O}", "requests", t->requests[s], "responses",
                                               t->responses[s])
                                   : json_incref(request);
    char *text = json_dumps(input, JSON_COMPACT);
    json_t *answer = response_of(botzone_answer(t->bot[s], text, strlen(text), 0));
    json_array_append(t->responses[s], answer);
    free(text);
    json_decref(input);
    json_decref(request);
    return answer;
}

/* What the policy plays when it is asked directly, seeing the real game. */
static Hand direct_choice(Table *t, const Game *g) {
    static Hand legal[MOVEGEN_MAX];
    Rng rng;
    rng_init(&rng, 3 ^ g->hand[g->turn], g->n_moves);
    Decision d = {.game = g, .legal = legal, .n_legal = game_legal(g, legal), .rng = &rng};
    if (d.n_legal > 1) policy_choose(t->policy, t->scratch, 1, &d);
    return legal[d.choice];
}

/* Plays a game; the answers must be legal and those of the policy asked directly: the game that a
 * bot rebuilds from its requests shows it all that it may know. */
static void play_game(Table *t, RulesetId rules, uint64_t index, bool whole) {
    Deal d;
    Judge j;
    deal_random(21, index, &d);
    judge_init(&j, rules, &d);
    for (int s = 0; s < N_SEATS; s++) {
        json_array_clear(t->requests[s]);
        json_array_clear(t->responses[s]);
    }
    while (judge_next(&j)) {
        bool play = j.game.phase == PHASE_PLAY;
        Hand direct = play ? direct_choice(t, &j.game) : 0;
        json_t *answer = exchange(t, &j, whole);
        Verdict v = judge_response(&j, answer);
        if (v != VERDICT_OK) fail_msg("%s in game %d", verdict_name(v), (int)index);
        if (play) assert_true(cardlist_hand(&j.plays[1]) == direct);
        json_decref(answer);
    }
    assert_true(j.game.phase == PHASE_OVER || j.game.phase == PHASE_VOID);
}

static void plays_what_the_policy_plays(const char *name, int games) {
    Policy *p = open_policy(name);
    for (RulesetId rules = 0; rules < N_RULESETS; rules++)
        for (int whole = 0; whole < 2; whole++) {
            bool by_shape = rules == RULES_BOTZONE || rules == RULES_BOTZONE1;
            Table t;
            table_init(&t, p, by_shape ? RULES_BY_SHAPE : (int)rules);
            for (int i = 0; i < games; i++) play_game(&t, rules, (uint64_t)i, whole);
            table_deinit(&t);
        }
    policy_free(p);
}

static void rule_in_both_modes(void **state) {
    (void)state;
    plays_what_the_policy_plays("rule", 30);
}

static void random_in_both_modes(void **state) {
    (void)state;
    plays_what_the_policy_plays("random", 60);
}

/* A net sees the history too. */
static void net_in_both_modes(void **state) {
    (void)state;
    char path[] = "/tmp/dizhu-test-botzone-XXXXXX", name[64];
    assert_true(mkstemp(path) >= 0);
    Weights w;
    assert_int_equal(weights_new(&w), ST_OK);
    for (Role r = 0; r < N_ROLES; r++) net_init(r, 5, w.params[r]);
    assert_int_equal(weights_save(&w, DTYPE_F32, path), ST_OK);
    weights_free(&w);
    snprintf(name, sizeof name, "net:%s", path);
    plays_what_the_policy_plays(name, 1);
    remove(path);
}

/* The number of games of the round trip: DIZHU_GAMES, else few. */
static int round_trip_games(void) {
    const char *text = getenv("DIZHU_GAMES");
    return text ? atoi(text) : 80;
}

/* Judge and bot, in both modes, random and sensible play by turns: play_game fails on any fault. */
static void round_trip(void **state) {
    (void)state;
    int games = round_trip_games();
    static const char *const names[] = {"random", "rule"};
    for (int p = 0; p < 2; p++) {
        Policy *policy = open_policy(names[p]);
        Table t;
        table_init(&t, policy, RULES_BY_SHAPE);
        for (int i = 0; i < games / 2; i++)
            for (int whole = 0; whole < 2; whole++)
                play_game(&t, i % 4 == 3 ? RULES_BOTZONE1 : RULES_BOTZONE, 1000u + (uint64_t)i,
                          whole);
        table_deinit(&t);
        policy_free(policy);
    }
}

/* ---- input that makes no sense ---- */

static void nonsense_gets_the_safest_answer(void **state) {
    (void)state;
    static const struct {
        const char *line, *response;
    } cases[] = {
        {"", "[]"},
        {"\n", "[]"},
        {"nonsense", "[]"},
        {"[1,2,3]", "[]"},
        {"{}", "[]"},
        {"{\"requests\":5}", "[]"},
        {"{\"requests\":[]}", "[]"},
        {"{\"requests\":[{}],\"responses\":[]}", "[]"},
        {"{\"requests\":[{\"own\":[0,1,2],\"bid\":[]}],\"responses\":[]}", "0"},
        {"{\"requests\":[{\"own\":\"x\",\"bid\":[0]}],\"responses\":[]}", "0"},
        {"{\"requests\":[{\"own\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"bid\":[3,3]}],"
         "\"responses\":[]}",
         "0"},
        /* an impossible position with the lead: the lowest card */
        {"{\"requests\":[{\"history\":[[],[]],\"own\":[30,19,48,16,31,28,9,11,23,29,49,33,3,20,45,"
         "4,"
         "99],\"publiccard\":[1,2,0],\"landlord\":1,\"pos\":1,\"finalbid\":1}],\"responses\":[]}",
         "[0]"},
        /* ... and without it: a pass */
        {"{\"requests\":[{\"history\":[[],[5,7]],\"own\":[30,19,48,16,31,28,9,11,23,29,49,33,3,20,"
         "45,"
         "4,99],\"publiccard\":[1,2,0],\"landlord\":1,\"pos\":1,\"finalbid\":1}],\"responses\":[]}",
         "[]"},
        /* play that never began */
        {"{\"history\":[[1],[2]]}", "[]"},
        /* responses that do not fit */
        {"{\"requests\":[{\"history\":[[1],[2]]}],\"responses\":[[1],[2]]}", "[]"},
    };
    Policy *p = open_policy("rule");
    log_level(LOG_NONE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Botzone *b = open_bot(p, RULES_BY_SHAPE);
        const char *line = botzone_answer(b, cases[i].line, strlen(cases[i].line), 0);
        json_t *r = response_of(line),
               *expected = json_loads(cases[i].response, JSON_DECODE_ANY, NULL);
        if (!json_equal(r, expected)) fail_msg("case %d: %s", (int)i, line);
        json_decref(r);
        json_decref(expected);
        botzone_free(b);
    }
    log_level(LOG_INFO);
    policy_free(p);
}

/* After nonsense, a whole game is played as if nothing had been. */
static void recovers_from_nonsense(void **state) {
    (void)state;
    Policy *p = open_policy("rule");
    Table t;
    table_init(&t, p, RULES_BY_SHAPE);
    for (uint64_t i = 0; i < 20; i++) {
        log_level(LOG_NONE);
        for (int s = 0; s < N_SEATS; s++)
            botzone_answer(t.bot[s], "{\"history\":[[1],[2]]}", 21, 0);
        log_level(LOG_INFO);
        play_game(&t, RULES_BOTZONE, i, false);
    }
    table_deinit(&t);
    policy_free(p);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judge_repeats_the_transcript),
        cmocka_unit_test(bot_answers_the_transcript),
        cmocka_unit_test(rule_in_both_modes),
        cmocka_unit_test(random_in_both_modes),
        cmocka_unit_test(net_in_both_modes),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(nonsense_gets_the_safest_answer),
        cmocka_unit_test(recovers_from_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
