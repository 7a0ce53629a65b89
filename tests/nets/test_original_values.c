/* Every recorded value of the original system through the scorer in fp32, under every table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nets/scorer.h"
#include "tests/nets/fixtures.h"

enum { POSITIONS = 250, MAX_VALUES = 24, ALONE = 40 }; /* of each seat; of each position */

typedef struct {
    int n, n_values;
    Obs obs[POSITIONS];
    int n_actions[POSITIONS];
    Hand actions[POSITIONS * MAX_VALUES];
    double want[POSITIONS * MAX_VALUES];
    float *params;
} Seat;

static Seat seats[N_ROLES];

static void read_position(const json_t *p) {
    Game g;
    const char *text;
    json_t *value;
    Seat *s = &seats[fixture_role(json_string_value(json_object_get(p, "seat")))];
    FIXTURE_NEED(s->n < POSITIONS);
    fixture_game(p, &g);
    obs_from_game(&g, &s->obs[s->n]);
    json_object_foreach(json_object_get(p, "q"), text, value) {
        FIXTURE_NEED(s->n_actions[s->n]++ < MAX_VALUES);
        FIXTURE_NEED(text_to_move(text, &s->actions[s->n_values], NULL) == ST_OK);
        s->want[s->n_values++] = json_real_value(value);
    }
    s->n++;
}

static int read_positions(void **state) {
    (void)state;
    FILE *f = fixture_open("douzero_positions.jsonl.gz");
    for (json_t *p; (p = fixture_line(f)); json_decref(p)) read_position(p);
    for (int r = 0; r < N_ROLES; r++) {
        if (seats[r].n != POSITIONS) return -1;
        seats[r].params = fixture_floats(net_layout(r)->n_params);
        fixture_weights(r, seats[r].params);
    }
    return 0;
}

static int free_params(void **state) {
    (void)state;
    for (int r = 0; r < N_ROLES; r++) free(seats[r].params);
    return 0;
}

static double worst_error(const Seat *s, int n_values, const float *q) {
    double worst = 0;
    for (int i = 0; i < n_values; i++) worst = fmax(worst, fabs((double)q[i] - s->want[i]));
    return worst;
}

static void check_seat(const KernelTable *k, Role role) {
    const Seat *s = &seats[role];
    static float together[POSITIONS * MAX_VALUES], alone[POSITIONS * MAX_VALUES];
    PackedNet *net;
    Scorer *scorer;
    assert_int_equal(packednet_new(role, PRECISION_FP32, k, &net), ST_OK);
    assert_int_equal(scorer_new(k, &scorer), ST_OK);
    packednet_set(net, s->params);
    scorer_run(scorer, net, s->n, s->obs, s->n_actions, s->actions, together);
    int at = 0;
    for (int i = 0; i < ALONE; at += s->n_actions[i++])
        scorer_run(scorer, net, 1, &s->obs[i], &s->n_actions[i], s->actions + at, alone + at);
    double batch = worst_error(s, s->n_values, together), single = worst_error(s, at, alone);
    print_message("%-8s %-13s %d values: largest error %.2g, first %d positions alone %.2g\n",
                  k->name, role_name(role), s->n_values, batch, ALONE, single);
    assert_true(batch < 1e-5 && single < 1e-5);
    scorer_free(scorer);
    packednet_free(net);
}

static void test_original_values(void **state) {
    (void)state;
    const KernelTable *k;
    int tables = 0;
    for (int i = 0; (k = kernels_at(i)); i++) {
        if (!kernels_usable(k)) {
            print_message("%s: not on this processor, not run\n", k->name);
            continue;
        }
        for (int r = 0; r < N_ROLES; r++) check_seat(k, r);
        tables++;
    }
    assert_true(tables > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_original_values)};
    return cmocka_run_group_tests(tests, read_positions, free_params);
}
