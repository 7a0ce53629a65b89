/* The walk over ZeroMQ on loopback; who has not the key stays outside; ranks that die are noticed
 * at once, and others take their places, the founder's too.                                    */
#include "tests/learner/comm_walk.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "tests/learner/zmq_place.h"

typedef struct {
    Rank rank;
    RankFn fn;
} Thread;

static void thread_main(void *arg) {
    Thread *t = arg;
    // rank 0 founds; the others ask for a place, or take what they are given
    int want = t->rank.rank == 0 || t->rank.size % 2 ? t->rank.rank : -1;
    ZmqConfig c = config_of(want, t->rank.size, t->rank.size);
    Status st = comm_zmq_new(t->rank.world, &c, &t->rank.comm);
    team_ok(&t->rank, st);
    if (st != ST_OK) return;
    t->rank.rank = comm_rank(t->rank.comm);
    t->fn(&t->rank);
    comm_free(t->rank.comm);
}

static void run(int n, RankFn fn) {
    static Thread threads[TEAM_MAX];
    Task *tasks[TEAM_MAX];
    World *w;
    new_place();
    assert_int_equal(world_new(false, &w), ST_OK);
    for (int i = 0; i < n; i++) {
        threads[i] = (Thread){{NULL, i, n, NULL, w, NULL, ""}, fn};
        assert_int_equal(world_spawn(w, thread_main, &threads[i], &tasks[i]), ST_OK);
    }
    for (int i = 0; i < n; i++) world_join(tasks[i]);
    world_free(w);
    for (int i = 0; i < n; i++)
        if (threads[i].rank.wrong[0]) fail_msg("%s", threads[i].rank.wrong);
}

static void does_all(void **state) {
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 8};
    for (int i = 0; i < 5; i++) run(sizes[i], comm_walk);
}

static void without_the_key(void **state) {
    (void)state;
    char other_public[41], other_secret[41];
    World *w;
    Comm *inside = NULL, *outside = NULL;
    new_place();
    assert_int_equal(world_new(false, &w), ST_OK);
    ZmqConfig c = config_of(0, 2, 1);
    assert_int_equal(comm_zmq_new(w, &c, &inside), ST_OK);
    assert_int_equal(zmq_curve_keypair(other_public, other_secret), 0);
    log_level(LOG_ERROR - 1);
    c = config_of(1, 2, 2);
    c.secret_key = other_secret; // knows the public key alone
    c.wait_s = 1;
    int64_t until = clock_ns() + 1500000000;
    assert_int_equal(comm_zmq_new(w, &c, &outside), ST_TIMEOUT);
    while (clock_ns() < until) assert_int_equal(comm_idle(inside, until), ST_OK);
    assert_false(comm_alive(inside, 1));
    c = config_of(1, 2, 2);
    c.public_key = "too short";
    assert_int_equal(comm_zmq_new(w, &c, &outside), ST_INVALID);
    log_level(LOG_INFO);
    comm_free(inside);
    world_free(w);
}

/* A process of its own that joins as `rank`, does what it is told, and can be killed. */
enum { ECHO = 5, LAST = 6 };
static pid_t child(int rank) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL); // no orphans
    World *w;
    Comm *c;
    log_level(LOG_ERROR - 1);
    ZmqConfig config = config_of(rank, 4, rank == 0 ? 1 : 2);
    if (world_new(false, &w) != ST_OK || comm_zmq_new(w, &config, &c) != ST_OK) _exit(1);
    comm_elastic(c, true);
    for (;;) { // echoes what comes
        int in = 0, which;
        CommReq req, send, *one[1] = {&req}, *out[1] = {&send};
        comm_recv(c, COMM_ANY, ECHO, &in, sizeof in, &req);
        if (comm_wait_any(c, one, 1, WORLD_FOREVER, &which) != ST_OK) _exit(2);
        comm_send(c, req.peer, LAST, &in, sizeof in, &send);
        if (comm_wait(c, out, 1) != ST_OK) _exit(3);
    }
}

static bool echoes(Comm *c, int rank, int word) {
    int in = 0;
    CommReq reqs[2], *list[2] = {&reqs[0], &reqs[1]};
    comm_send(c, rank, ECHO, &word, sizeof word, &reqs[0]);
    comm_recv(c, rank, LAST, &in, sizeof in, &reqs[1]);
    return comm_wait(c, list, 2) == ST_OK && in == word;
}

static void await(Comm *c, int rank, bool alive, double within_s) {
    int64_t until = clock_ns() + (int64_t)(within_s * 1e9);
    while (comm_alive(c, rank) != alive && clock_ns() < until)
        assert_int_equal(comm_idle(c, until), ST_OK);
    assert_int_equal(comm_alive(c, rank), alive);
}

static void ranks_come_and_go(void **state) {
    (void)state;
    World *w;
    Comm *c;
    new_place();
    pid_t first = child(1), second;
    assert_int_equal(world_new(false, &w), ST_OK);
    ZmqConfig config = config_of(0, 4, 2);
    assert_int_equal(comm_zmq_new(w, &config, &c), ST_OK);
    comm_elastic(c, true);
    log_level(LOG_ERROR - 1);
    assert_true(echoes(c, 1, 17));
    assert_false(comm_alive(c, 2));
    for (int k = 0; k < 3; k++) {
        kill(first, SIGKILL);
        await(c, 1, false, 8);
        assert_false(echoes(c, 1, 18)); // at once an error that names it
        assert_int_equal(comm_failed(c), 1);
        first = child(1); // another process in its place
        await(c, 1, true, 10);
        assert_true(echoes(c, 1, 19 + k));
    }
    second = child(-1); // any place: 2
    await(c, 2, true, 10);
    assert_true(echoes(c, 2, 40));
    log_level(LOG_INFO);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    comm_free(c);
    world_free(w);
    while (waitpid(-1, NULL, WNOHANG) > 0) {}
}

static void the_founder_is_founded_anew(void **state) {
    (void)state;
    World *w;
    Comm *c;
    new_place();
    pid_t first = child(0), other;
    assert_int_equal(world_new(false, &w), ST_OK);
    ZmqConfig config = config_of(2, 4, 2);
    assert_int_equal(comm_zmq_new(w, &config, &c), ST_OK);
    comm_elastic(c, true);
    log_level(LOG_ERROR - 1);
    assert_int_equal(comm_rank(c), 2);
    other = child(3);
    await(c, 3, true, 10);
    assert_true(echoes(c, 0, 1) && echoes(c, 3, 2));
    kill(first, SIGKILL);
    await(c, 0, false, 8);
    assert_true(echoes(c, 3, 3)); // the others go on
    clock_sleep_ms(1100);         // incarnations are counted in seconds
    first = child(0);
    await(c, 0, true, 10);
    bool back = false;
    for (int k = 0; k < 50 && !back; k++) { // until it has introduced itself
        comm_timeout(c, .5);
        back = echoes(c, 0, 100 + k);
    }
    assert_true(back);
    comm_timeout(c, 10);
    pid_t late = child(1); // and it lets in again
    await(c, 1, true, 10);
    assert_true(echoes(c, 1, 4) && echoes(c, 3, 5));
    log_level(LOG_INFO);
    pid_t all[] = {first, other, late};
    for (int i = 0; i < 3; i++) {
        kill(all[i], SIGKILL);
        waitpid(all[i], NULL, 0);
    }
    comm_free(c);
    world_free(w);
}

int main(void) {
    if (!new_place()) {
        print_message("not run: this libzmq has no CURVE encryption\n");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(does_all),
        cmocka_unit_test(without_the_key),
        cmocka_unit_test(ranks_come_and_go),
        cmocka_unit_test(the_founder_is_founded_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
