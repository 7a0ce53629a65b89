/* kill -9 of one process of four at a random moment, over ZeroMQ. In the synchronous modes the
 * others end within ten seconds and name it; the asynchronous ones go on, and a new process takes
 * its place and the model. DIZHU_KILLS is the number of moments in each mode, 1 if it is not set.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "tests/learner/gauss.h"
#include "tests/learner/rules.h"
#include "tests/learner/team.h"
#include "tests/learner/zmq_place.h"

#include "engine/base/clock.h"
#include "engine/base/log.h"

enum { RANKS = 4, N = 6000, /* a ring's worth */ NAMED = 10, WRONG = 90 };

static void gradient(int rank, uint64_t step, const Real *x, Real *g) {
    Rng r;
    rng_init(&r, step, (uint64_t)rank);
    for (int i = 0; i < N; i++) g[i] = (Real)((double)x[i] - 1 + .3 * gauss(&r));
}

/* A rank's life: trains until the time, exits 0 if its model is near the optimum; NAMED + r if an
 * error named rank r.                                                                       */
static int live(const char *name, int rank, bool join, double until_s) {
    World *w;
    Comm *c;
    Engine *e;
    Algo *a;
    AlgoConfig config;
    Real x[N] = {0}, g[N] = {0};
    log_level(LOG_ERROR - 1);
    ZmqConfig place = config_of(rank, RANKS, join ? 2 : RANKS);
    if (world_new(false, &w) != ST_OK || comm_zmq_new(w, &place, &c) != ST_OK) return WRONG;
    comm_timeout(c, 4); // the machine is loaded; the promise is 10
    comm_elastic(c, algo_elastic(name));
    if (engine_new(c, true, NULL, &e) != ST_OK) return WRONG;
    if (algo_defaults(name, &config) != ST_OK) return WRONG;
    config.n = N, config.x = x, config.g = g, config.engine = e, config.rule = rule_sgd();
    config.join = join;
    config.period_s = .005; // most kills hit a round
    config.momentum.warmup = 50;
    if (topology_parse(strcmp(name, "adpsgd") == 0 ? "bipartite" : "ring:0.25", RANKS,
                       &config.topology) != ST_OK)
        return WRONG;
    Status st = algo_new(&config, &a);
    for (uint64_t t = 0; st == ST_OK && clock_wall_s() < until_s; t++) {
        if ((st = algo_before_forward(a, .02)) != ST_OK) break;
        gradient(rank, t, x, g);
        clock_sleep_ms(5);
        st = algo_after_backward(a);
    }
    if (st == ST_PEER) {
        int lost = comm_failed(c);
        engine_free(e);
        comm_free(c); // so that what it has to say about it is still sent
        return NAMED + lost;
    }
    if (st != ST_OK) return WRONG + 1;
    double worst = 0;
    for (int i = 0; i < N; i++) worst = fmax(worst, fabs((double)x[i] - 1));
    algo_free(a);
    engine_free(e);
    comm_free(c);
    return worst < .5 ? 0 : WRONG + 2;
}

static pid_t start(const char *name, int rank, bool join, double until_s) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(live(name, rank, join, until_s));
}

static int exit_code(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int kills(void) {
    const char *text = getenv("DIZHU_KILLS");
    return text ? atoi(text) : 1;
}

static void synchronous(const char *name, int trial) {
    Rng r;
    rng_init(&r, (uint64_t)trial, (uint64_t)name[0]);
    pid_t pid[RANKS];
    int victim = (trial + name[1]) % RANKS;
    assert_true(new_place());
    for (int i = 0; i < RANKS; i++) pid[i] = start(name, i, false, clock_wall_s() + 60);
    clock_sleep_ms(1500 + (int)rng_below(&r, 1000));
    kill(pid[victim], SIGKILL);
    double killed = clock_s();
    for (int i = 0; i < RANKS; i++) {
        int code = exit_code(pid[i]);
        if (i != victim && code != NAMED + victim)
            fail_msg("%s: rank %d was killed, rank %d ended with %d", name, victim, i, code);
    }
    print_message("%s: rank %d killed, named by all after %.1f s\n", name, victim,
                  clock_s() - killed);
    assert_true(clock_s() - killed < 10);
}

static void synchronous_modes_name_it(void **state) {
    (void)state;
    static const char *const algos[] = {"allreduce", "onebit", "dpsgd", "d2"};
    for (int k = 0; k < 4; k++)
        for (int t = 0; t < kills(); t++) synchronous(algos[k], t);
}

static void asynchronous(const char *name, int trial) {
    Rng r;
    rng_init(&r, 50 + (uint64_t)trial, (uint64_t)name[0]);
    pid_t pid[RANKS];
    int victim = (trial * 3 + 1) % RANKS;
    if (victim == 0 && strcmp(name, "server") == 0) victim = 2; // rank 0 is the server
    assert_true(new_place());
    double until = clock_wall_s() + 9;
    for (int i = 0; i < RANKS; i++) pid[i] = start(name, i, false, until);
    clock_sleep_ms(1500 + (int)rng_below(&r, 1000));
    kill(pid[victim], SIGKILL);
    assert_int_equal(exit_code(pid[victim]), 128 + SIGKILL);
    if (victim == 0) clock_sleep_ms(1200); // a founder's incarnation is its second of birth
    pid[victim] = start(name, victim, true, until);
    for (int i = 0; i < RANKS; i++) {
        int code = exit_code(pid[i]);
        if (code != 0)
            fail_msg("%s: rank %d was killed and replaced, rank %d ended with %d", name, victim, i,
                     code);
    }
    print_message("%s: rank %d killed, the others went on, another took its place\n", name, victim);
}

static void asynchronous_modes_go_on(void **state) {
    (void)state;
    static const char *const algos[] = {"adpsgd", "average", "server"};
    for (int k = 0; k < 3; k++)
        for (int t = 0; t < kills(); t++) asynchronous(algos[k], t);
}

/* Without its server the others end, and say why. */
static void a_lost_server_is_named(void **state) {
    (void)state;
    pid_t pid[RANKS];
    assert_true(new_place());
    for (int i = 0; i < RANKS; i++) pid[i] = start("server", i, false, clock_wall_s() + 60);
    clock_sleep_ms(2000);
    kill(pid[0], SIGKILL);
    double killed = clock_s();
    for (int i = 1; i < RANKS; i++) assert_int_equal(exit_code(pid[i]), NAMED);
    assert_true(clock_s() - killed < 10);
    exit_code(pid[0]);
}

int main(void) {
    if (!new_place()) {
        print_message("not run: this libzmq has no CURVE encryption\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(synchronous_modes_name_it),
        cmocka_unit_test(asynchronous_modes_go_on),
        cmocka_unit_test(a_lost_server_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
