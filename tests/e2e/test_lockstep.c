/* One seed, one run: in lockstep, with one actor and one thread, the same command gives the same
 * weights bit for bit; another seed does not.                                               */
#include "tests/e2e/train.h"

#include "nets/weights.h"

static void train_in_lockstep(const char *seed, Weights *out) {
    const char *const more[] = {"--lockstep", "20",   "--actors", "1",  "--threads", "1",
                                "--frames",   "6000", "--seed",   seed, NULL};
    char path[PATH_BYTES + 64];
    Place place;
    Train t = {0};
    place_make(&place);
    train_start(&t, &place, more);
    int code = train_end(&t, LONG_S);
    if (code != 0) fail_with_words(&place, "it failed");
    snprintf(path, sizeof path, "%s/weights.safetensors", place.run);
    assert_int_equal(weights_load(path, out), ST_OK);
    place_remove(&place);
}

static bool equal(const Weights *a, const Weights *b) {
    bool same = a->info.frames == b->info.frames && a->info.steps == b->info.steps;
    for (Role r = 0; r < N_ROLES; r++)
        same = same &&
               memcmp(a->params[r], b->params[r], net_layout(r)->n_params * sizeof(float)) == 0;
    return same;
}

static void same_seed_same_run(void **state) {
    (void)state;
    Weights first, second, other;
    train_in_lockstep("7", &first);
    train_in_lockstep("7", &second);
    train_in_lockstep("8", &other);
    assert_true(first.info.steps > 30);
    assert_true(equal(&first, &second));
    assert_false(equal(&first, &other));
    weights_free(&first);
    weights_free(&second);
    weights_free(&other);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_seed_same_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
