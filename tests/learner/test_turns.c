/* Ranks over ZeroMQ, each with its own games, in one process so that the thread sanitizer sees all
 * of it: whichever games come, all make the same steps in the same order, park together with the
 * same nets, and end together; a rank whose games fail to come is waited for, not passed over. */
#include "tests/learner/team.h"

#include <pthread.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/link.h"
#include "learner/samples.h"
#include "learner/turns.h"
#include "tests/learner/games.h"
#include "tests/learner/zmq_place.h"

enum { RANKS = 2, BATCH = 4, BUFFER = 16, LIMIT_S = 200, GAMES = 60 };

typedef struct {
    int rank;
    const char *algo, *key;
    NetLearner *net[N_ROLES];
    Buffers *buffers;
    Ranks *ranks;
    Turns *turns;
    Record record[GAMES]; // played again and again
    atomic_bool fed;      // no more games come
    pthread_t life, games;
    uint64_t parked_steps[N_ROLES];
    float *parked[N_ROLES], *end[N_ROLES];
    int parks, pauses_ms;
    RanksState figures;
    const char *wrong;
} Learner;

#define check(l, condition)                                                                        \
    do {                                                                                           \
        if (!(condition) && !(l)->wrong) (l)->wrong = #condition;                                  \
    } while (0)

static void *play(void *arg) {
    Learner *l = arg;
    GameSamples *game = malloc(sizeof *game);
    SampleRules rules = {RULES_DOUZERO, OBJECTIVE_WP, false};
    for (uint64_t i = 0; game && !atomic_load(&l->fed); i++) {
        const char *why;
        check(l, samples_from_record(&rules, &l->record[i % GAMES], game, &why) == ST_OK);
        if (!buffers_put(l->buffers, game->sample, game->n)) break;
        clock_sleep_ms(l->pauses_ms);
    }
    free(game);
    return NULL;
}

static void note_step(void *ctx, NetLearner *net, Role role, uint64_t steps) {
    (void)net, (void)steps;
    ranks_note(((Learner *)ctx)->ranks, role);
}

static Status make(Learner *l, const Settings *s) {
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerConfig c = {.role = (Role)r,
                              .seed = 1 + (uint64_t)l->rank, // rank 0's is taken by all
                              .batch = BATCH,
                              .parts = 1 + l->rank, // slices are ready at other times
                              .precision = PRECISION_FP32,
                              .optim = optim_defaults(OPTIM_RMSPROP)};
        TRY(netlearner_new(&c, kernels_get(), &l->net[r]));
    }
    static const Checkpoint none; // of no steps
    TRY(ranks_new(s, l->net, &none, &l->ranks));
    BuffersConfig b = {.batch = BATCH, .advance = BATCH, .capacity = BUFFER};
    TRY(buffers_new(&b, &l->buffers));
    buffers_forget(l->buffers);
    TurnsConfig t = {.ranks = l->ranks,
                     .nets = l->net,
                     .buffers = l->buffers,
                     .batch = BATCH,
                     .done = note_step,
                     .ctx = l};
    return turns_start(&t, &l->turns);
}

static void copy_nets(Learner *l, float *to[N_ROLES], uint64_t steps[N_ROLES]) {
    for (int r = 0; r < N_ROLES; r++) {
        free(to[r]);
        to[r] = malloc(net_layout((Role)r)->n_params * sizeof(float));
        steps[r] = netlearner_copy_params(l->net[r], to[r]);
    }
}

static uint64_t all_steps(const Learner *l) {
    uint64_t sum = 0;
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerState state;
        netlearner_state(l->net[r], &state);
        sum += state.steps;
    }
    return sum;
}

/* The control thread's part, as in learn.c: rank 1 wants a checkpoint, then rank 0 an end. */
static void control(Learner *l) {
    bool saved = false, stopped = false;
    double end = clock_s() + LIMIT_S;
    for (;; clock_sleep_ms(2)) {
        TurnsState state = turns_state(l->turns);
        turns_frames(l->turns, 100);
        if (state == TURNS_PARKED) {
            copy_nets(l, l->parked, l->parked_steps);
            Checkpoint c = {0};
            check(l, ranks_save(l->ranks, &c) == ST_OK);
            for (int r = 0; r < N_ROLES; r++) check(l, c.algo[r] != NULL);
            checkpoint_free(&c);
            l->parks++;
            turns_go_on(l->turns);
        }
        if (state == TURNS_OVER || state == TURNS_FAILED || clock_s() > end) {
            check(l, state == TURNS_OVER);
            return;
        }
        if (l->rank == 1 && !saved && all_steps(l) >= 4) {
            saved = true;
            turns_want_save(l->turns);
        }
        if (l->rank == 0 && !stopped && l->parks > 0 && all_steps(l) >= 8) {
            stopped = true;
            turns_want_stop(l->turns);
        }
    }
}

static void *live(void *arg) {
    Learner *l = arg;
    uint64_t steps[N_ROLES];
    Settings s;
    settings_defaults(&s, PRESET_FAST);
    s.learners = RANKS, s.rank = l->rank, s.algo = l->algo, s.transport = TRANSPORT_ZMQ;
    s.founder = founder, s.ranks_key = l->key, s.onebit_warmup = 2, s.bucket_kb = 512;
    s.run = "/tmp";
    check(l, make(l, &s) == ST_OK);
    if (l->wrong) return NULL;
    pthread_create(&l->games, NULL, play, l);
    control(l);
    ranks_state(l->ranks, &l->figures);
    atomic_store(&l->fed, true);
    buffers_close(l->buffers);
    turns_join(l->turns);
    pthread_join(l->games, NULL);
    copy_nets(l, l->end, steps);
    ranks_free(l->ranks);
    buffers_free(l->buffers);
    for (int r = 0; r < N_ROLES; r++) netlearner_free(l->net[r]);
    return NULL;
}

static void write_key(char path[64]) {
    LinkKeys keys;
    strcpy(path, "/tmp/dizhu-test-ranks-XXXXXX");
    close(mkstemp(path));
    unlink(path);
    assert_int_equal(link_keys_new(&keys), ST_OK);
    assert_int_equal(link_keys_save(&keys, path), ST_OK);
}

static void run(const char *algo, int pauses_ms) {
    static Learner l[RANKS];
    char key[64];
    assert_true(new_place());
    write_key(key);
    memset(l, 0, sizeof l);
    for (int i = 0; i < RANKS; i++) {
        l[i].rank = i, l[i].algo = algo, l[i].key = key;
        l[i].pauses_ms = i == 1 ? pauses_ms : 0;
        for (uint64_t k = 0; k < GAMES; k++)
            random_record(RULES_DOUZERO, 20 + (uint64_t)i, k, &l[i].record[k]);
    }
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(pthread_create(&l[i].life, NULL, live, &l[i]), 0);
    }
    for (int i = 0; i < RANKS; i++) pthread_join(l[i].life, NULL);
    for (int i = 0; i < RANKS; i++)
        if (l[i].wrong) fail_msg("%s, rank %d: %s", algo, i, l[i].wrong);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(l[i].parks, 1);
        assert_true(l[i].figures.tx_bytes > 1000000);
        for (int r = 0; r < N_ROLES; r++) {
            size_t bytes = net_layout((Role)r)->n_params * sizeof(float);
            assert_int_equal(l[i].parked_steps[r], l[0].parked_steps[r]);
            assert_memory_equal(l[i].parked[r], l[0].parked[r], bytes);
            assert_memory_equal(l[i].end[r], l[0].end[r], bytes);
        }
    }
    for (int i = 0; i < RANKS; i++)
        for (int r = 0; r < N_ROLES; r++) {
            free(l[i].parked[r]);
            free(l[i].end[r]);
        }
    unlink(key);
}

static void steps_are_made_together(void **state) {
    (void)state;
    run("allreduce", 0);
}
static void one_has_few_games(void **state) {
    (void)state;
    run("onebit", 30);
}
static void models_of_their_own_meet(void **state) {
    (void)state;
    run("dpsgd", 0);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_made_together),
        cmocka_unit_test(one_has_few_games),
        cmocka_unit_test(models_of_their_own_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
