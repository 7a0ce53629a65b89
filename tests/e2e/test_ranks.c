/* `dizhu train --learners N`: ranks that step together end with the same weights, go on in another
 * number, and name the one that dies within ten seconds; ranks that come and go survive it. Over
 * mpi where it is built in, and over zmq. DIZHU_KILLS is the number of kills of each kind, 1 if
 * unset. */
#include "tests/e2e/train.h"

#include "learner/ranks.h"
#include "nets/weights.h"

enum { RANKS = 3 };

/* What ranks on a small machine under load can do; `more` comes last. */
static void start_ranks(Train *t, const Place *p, const char *const more[]) {
    static const char *const few[] = {"--learners",
                                      "3",
                                      "--actors",
                                      "1",
                                      "--threads",
                                      "1",
                                      "--batch",
                                      "32",
                                      "--shuffle",
                                      "0",
                                      "--ema",
                                      "0.9",
                                      "--checkpoint-minutes",
                                      "0.5",
                                      NULL};
    const char *all[MAX_ARGS];
    int n = 0;
    for (; few[n]; n++) all[n] = few[n];
    for (int i = 0; more[i]; i++) all[n++] = more[i];
    all[n] = NULL;
    train_start(t, p, all);
}

/* The process of a rank's learner, by its folder on its command line. */
static pid_t learner_of(const Place *p, int rank) {
    char folder[PATH_BYTES], text[4096];
    double end = clock_s() + LONG_S;
    if (rank == 0) snprintf(folder, sizeof folder, "%s", p->run);
    else snprintf(folder, sizeof folder, "%s/rank-%d", p->run, rank);
    while (clock_s() < end) {
        DIR *dir = opendir("/proc");
        assert_non_null(dir);
        pid_t found = 0;
        for (struct dirent *e; !found && (e = readdir(dir)) != NULL;) {
            int pid = atoi(e->d_name);
            if (pid <= 0 || !alive(pid) || !read_proc(pid, "cmdline", text, sizeof text)) continue;
            const char *command = text + strlen(text) + 1, *run = command + strlen(command) + 1;
            if (strcmp(command, "learner") == 0 && strcmp(run + strlen(run) + 1, folder) == 0)
                found = pid;
        }
        closedir(dir);
        if (found) return found;
        clock_sleep_ms(20);
    }
    fail_with_words(p, "a rank has no learner");
    return 0;
}

static void load(const Place *p, int rank, Weights *out) {
    char path[PATH_BYTES];
    if (rank == 0) snprintf(path, sizeof path, "%s/weights.safetensors", p->run);
    else snprintf(path, sizeof path, "%s/rank-%d/weights.safetensors", p->run, rank);
    assert_int_equal(weights_load(path, out), ST_OK);
}

/* All ranks have stored the same nets after the same steps, from different games. */
static void expect_alike(const Place *p, int ranks) {
    Weights first, other;
    load(p, 0, &first);
    for (int i = 1; i < ranks; i++) {
        load(p, i, &other);
        assert_int_equal(other.info.steps, first.info.steps);
        assert_int_not_equal(other.info.frames, 0);
        for (int r = 0; r < N_ROLES; r++)
            assert_memory_equal(other.params[r], first.params[r],
                                net_layout((Role)r)->n_params * sizeof(float));
        weights_free(&other);
    }
    weights_free(&first);
}

static void expect_end(Train *t, int code) {
    int ended = train_end(t, LONG_S);
    if (ended != code) fail_with_words(t->place, code ? "it did not fail" : "it failed");
}

/* Steps together, then goes on with fewer ranks, then alone. */
static void together(const char *transport) {
    const char *const first[] = {"--transport", transport,  "--algo", "onebit", "--onebit-warmup",
                                 "3",           "--frames", "5000",   NULL};
    const char *const second[] = {"--transport", transport, "--learners", "2",
                                  "--frames",    "7000",    NULL};
    const char *const alone[] = {"--learners", "1", "--frames", "8000", NULL};
    Place place;
    Train t = {0};
    place_make(&place);
    start_ranks(&t, &place, first);
    expect_end(&t, 0);
    expect_said(&place, "variance frozen after 3 steps");
    expect_alike(&place, RANKS);
    start_ranks(&t, &place, second);
    expect_end(&t, 0);
    expect_said(&place, "rank 1 of 2, onebit");
    assert_int_equal(times_said(&place, "begins anew"), 0);
    expect_alike(&place, 2);
    start_ranks(&t, &place, alone);
    expect_end(&t, 0);
    if (times_said(&place, " error ") > 0) fail_with_words(&place, "it spoke of errors");
    place_remove(&place);
}

static void ctrl_c(const char *transport) {
    const char *const more[] = {"--transport", transport, "--algo",     "dpsgd",
                                "--ema",       "0",       "--timeline", NULL};
    Place place;
    Train t = {0};
    char path[PATH_BYTES];
    place_make(&place);
    start_ranks(&t, &place, more);
    wait_said(&place, "joined", RANKS);
    clock_sleep_ms(1000);
    kill(t.pid, SIGINT);
    expect_end(&t, 0);
    expect_alike(&place, RANKS);
    snprintf(path, sizeof path, "%s/rank-1/timeline.json", place.run);
    assert_int_equal(access(path, R_OK), 0);
    place_remove(&place);
}

static int kills(void) {
    const char *text = getenv("DIZHU_KILLS");
    return text ? atoi(text) : 1;
}

static void one_is_killed(const char *transport, int victim, int after_ms) {
    const char *const more[] = {"--transport", transport, "--algo", "allreduce", NULL};
    char words[64];
    Place place;
    Train t = {0};
    place_make(&place);
    start_ranks(&t, &place, more);
    wait_said(&place, "joined", RANKS);
    pid_t learner = learner_of(&place, victim);
    clock_sleep_ms(after_ms);
    assert_int_equal(kill(learner, SIGKILL), 0);
    double killed = clock_s();
    snprintf(words, sizeof words, "rank %d: its learner was killed", victim);
    wait_said(&place, words, 1);
    double named = clock_s() - killed;
    print_message("%s: rank %d killed, named after %.1f s\n", transport, victim, named);
    snprintf(words, sizeof words, "rank %d is lost", victim);
    if (strcmp(transport, "zmq") == 0) wait_said(&place, words, 1); // mpirun may be faster
    if (kills() > 1 && named > 10) // a single one may meet a machine that is busy with other tests
        fail_with_words(&place, "that took more than ten seconds");
    expect_end(&t, 1);
    place_remove(&place);
}

static void one_comes_back(const char *algo, int victim, int after_ms) {
    const char *const more[] = {"--algo", algo, "--period-ms", "50", "--checkpoint-minutes",
                                "0.1",    NULL};
    char words[64];
    Place place;
    Train t = {0};
    place_make(&place);
    start_ranks(&t, &place, more);
    wait_said(&place, "joined", RANKS);
    clock_sleep_ms(after_ms);
    assert_int_equal(kill(learner_of(&place, victim), SIGKILL), 0);
    snprintf(words, sizeof words, "rank %d of %d, %s", victim, RANKS, algo);
    wait_said(&place, words, 2);
    int stored = times_said(&place, "info  checkpoint ");
    wait_said(&place, "info  checkpoint ", stored + RANKS + 1); // all are at work
    kill(t.pid, SIGINT);
    expect_end(&t, 0);
    print_message("%s: rank %d killed, the others went on, it came back\n", algo, victim);
    place_remove(&place);
}

static const char *transport(int k) { return k == 0 && ranks_have_mpi() ? "mpi" : "zmq"; }

static void ranks_step_together(void **state) {
    (void)state;
    together(transport(0));
}
static void all_end_together(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) ctrl_c(transport(k));
}
static void the_dead_is_named(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < kills(); i++) one_is_killed(transport(k), (i + 1 + k) % RANKS, 300 * i);
}
static void ranks_come_and_go(void **state) {
    (void)state;
    for (int i = 0; i < kills(); i++) {
        one_comes_back("adpsgd", (i + 1) % RANKS, 300 * i);
        one_comes_back("average", (i + 1) % RANKS, 300 * i);
        one_comes_back("server", 1 + i % 2, 300 * i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_step_together),
        cmocka_unit_test(all_end_together),
        cmocka_unit_test(the_dead_is_named),
        cmocka_unit_test(ranks_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
