/* fixtures.h - the recorded numbers of the original system, for the tests of nets and learner.
 *
 * tests/golden/douzero_positions.jsonl.gz: positions with features and values;
 * tests/golden/douzero_training_steps.json.gz: batches with losses, gradients and steps. The
 * weights of both come from a formula, so that no weights have to be kept. */
#ifndef DIZHU_TESTS_NETS_FIXTURES_H
#define DIZHU_TESTS_NETS_FIXTURES_H
#include "engine/game.h"
#include "engine/text.h"
#include "nets/net.h"
#include "tests/engine/golden.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the test program: without its data no test can say anything. */
#define FIXTURE_NEED(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: fixture: %s\n", __FILE__, __LINE__, #condition);               \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static inline uint64_t fixture_splitmix64(uint64_t x) {
    uint64_t z = x + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline uint64_t fixture_fnv1a64(const char *s) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return h;
}

/* The formula: a tensor's i-th number from its name and i, within +-1/sqrt(fan). */
static inline void fixture_weights(Role role, float *params) {
    const NetLayout *l = net_layout(role);
    for (int t = 0; t < NET_TENSORS; t++) {
        char name[64];
        snprintf(name, sizeof name, "%s.%s", role_name(role), l->tensor[t].name);
        uint64_t seed = fixture_fnv1a64(name);
        int inputs = l->tensor[t].cols ? l->tensor[t].cols : l->tensor[t - 1].cols;
        double fan = t < 4 ? NET_LSTM : inputs;
        for (size_t i = 0; i < l->tensor[t].size; i++) {
            double u = 2.0 * (double)(fixture_splitmix64(seed + i) >> 40) / 16777216.0 - 1.0;
            params[l->tensor[t].offset + i] = (float)(u / sqrt(fan));
        }
    }
}

static inline Role fixture_role(const char *name) {
    int r = 0;
    while (r < N_ROLES && strcmp(role_name(r), name) != 0) r++;
    FIXTURE_NEED(r < N_ROLES);
    return (Role)r;
}

/* The next line of a gzipped file of JSON lines (a whole file may be one line); NULL at the end. */
static inline FILE *fixture_open(const char *file) {
    FILE *f = golden_open(file);
    FIXTURE_NEED(f);
    return f;
}

static inline json_t *fixture_line(FILE *f) {
    json_error_t error;
    json_t *v = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error);
    if (!v) FIXTURE_NEED(feof(f) && pclose(f) == 0);
    return v;
}

static inline Hand fixture_hand(const json_t *text) {
    Hand h;
    FIXTURE_NEED(json_is_string(text) && text_to_move(json_string_value(text), &h, NULL) == ST_OK);
    return h;
}

/* {"deal": {role: cards, ..., "public": cards}, "moves": [...]} */
static inline void fixture_game(const json_t *position, Game *g) {
    const json_t *deal = json_object_get(position, "deal"), *move;
    Hand hands[N_ROLES];
    size_t i;
    for (int r = 0; r < N_ROLES; r++) hands[r] = fixture_hand(json_object_get(deal, role_name(r)));
    Hand bottom = fixture_hand(json_object_get(deal, "public"));
    FIXTURE_NEED(game_init_hands(g, RULES_DOUZERO, hands, bottom) == ST_OK);
    json_array_foreach(json_object_get(position, "moves"), i, move)
        FIXTURE_NEED(game_play(g, fixture_hand(move), NULL) == ST_OK);
}

static inline float *fixture_floats(size_t n) {
    float *p = malloc(n * sizeof *p);
    FIXTURE_NEED(p);
    return p;
}

static inline double *fixture_doubles(const float *from, size_t n) {
    double *p = malloc(n * sizeof *p);
    FIXTURE_NEED(p);
    for (size_t i = 0; i < n; i++) p[i] = from ? (double)from[i] : 0;
    return p;
}

#endif
