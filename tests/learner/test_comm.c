/* Transports inside one process: threads, and the virtual clock with its arithmetic of time; and
 * who is named when a rank falls silent.                                                        */
#include "tests/learner/comm_walk.h"

#include <math.h>

#include "engine/base/log.h"

static const int team_sizes[] = {1, 2, 3, 5, 8};
enum { TEAM_SIZES = sizeof team_sizes / sizeof team_sizes[0] };

static void local_does_all(void **state) {
    (void)state;
    for (int i = 0; i < TEAM_SIZES; i++) team_run(team_sizes[i], NULL, comm_walk, NULL);
}

static void sim_does_all(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 1e9, .latency_s = 1e-4};
    for (int i = 0; i < TEAM_SIZES; i++) team_run(team_sizes[i], &net, comm_walk, NULL);
}

static void one_allreduce(Rank *r) {
    Real *x = calloc(1000000, sizeof *x);
    team_ok(r, comm_allreduce(r->comm, x, 1000000));
    free(x);
}

/* A ring allreduce takes 2(n-1)(L + bytes/(nB)); a virtual clock must say so to a microsecond. */
static void sim_keeps_the_time(void **state) {
    (void)state;
    for (int n = 2; n <= 8; n++)
        for (int k = 0; k < 2; k++) {
            SimNet net = {.bytes_per_s = k ? 1e9 : 12.5e6, .latency_s = k ? .01 : 1e-4};
            double bytes = 1e6 * sizeof(Real);
            double expected = 2 * (n - 1) * (net.latency_s + bytes / n / net.bytes_per_s);
            double took = team_run(n, &net, one_allreduce, NULL);
            assert_true(fabs(took - expected) < 1e-5 * expected + 2e-6);
        }
}

static void push_to_server(Rank *r) {
    static uint8_t block[64][1000000];
    CommReq reqs[TEAM_MAX], *list[TEAM_MAX];
    int n = 0;
    if (r->rank == 0)
        for (int from = 1; from < r->size; from++, n++)
            comm_recv(r->comm, from, 1, block[from], 1000000, &reqs[n]);
    else comm_send(r->comm, 0, 1, block[r->rank], 1000000, &reqs[n++]);
    for (int i = 0; i < n; i++) list[i] = &reqs[i];
    team_ok(r, comm_wait(r->comm, list, n));
}

/* All workers' blocks pass the server's one card: n times the wire time, one latency. */
static void sim_servers_card_is_the_bottleneck(void **state) {
    (void)state;
    for (int n = 2; n <= 16; n *= 2) {
        SimNet net = {.bytes_per_s = 1e7, .latency_s = .02};
        double took = team_run(n, &net, push_to_server, NULL);
        assert_true(fabs(took - (.02 + (n - 1) * .1)) < 1e-5);
    }
}

static void compute_and_meet(Rank *r) {
    for (int t = 0; t < 5; t++) {
        world_sleep_ns(r->world, r->rank == 1 ? 100000000 : 10000000);
        team_ok(r, comm_barrier(r->comm));
    }
    CommStats s = comm_stats(r->comm);
    if (r->rank == 1) team_check(r, s.wait_ns < 20000000);
    else team_check(r, s.wait_ns > 400000000);
}

/* A slow rank is waited for, not given up; the waiting is on the others' counters. */
static void sim_counts_waiting(void **state) {
    (void)state;
    SimNet net = {.latency_s = 1e-3};
    double took = team_run(4, &net, compute_and_meet, NULL);
    assert_true(fabs(took - .501) < 1e-6);
}

/* Rank 2 falls silent in a ring allreduce, where rank 0 waits for 4, 4 for 3, 3 for 2. */
static void silent_rank(Rank *r) {
    comm_timeout(r->comm, world_is_virtual(r->world) ? 10 : 1);
    int64_t start = world_now_ns(r->world);
    Real *x = calloc(100000, sizeof *x);
    team_ok(r, comm_allreduce(r->comm, x, 100000));
    if (r->rank == 2) {
        comm_kill(r->comm);
    } else {
        team_check(r, comm_allreduce(r->comm, x, 100000) == ST_PEER);
        team_check(r, comm_failed(r->comm) == 2);
        double waited = (double)(world_now_ns(r->world) - start) / 1e9;
        team_check(r, waited < (world_is_virtual(r->world) ? 10 : 3)); // real: a loaded machine
        team_check(r, comm_barrier(r->comm) == ST_PEER);               // and stays an error
    }
    free(x);
}

static void silence_is_named_in_time(void **state) {
    (void)state;
    log_level(LOG_ERROR - 1);
    SimNet net = {.bytes_per_s = 12.5e6, .latency_s = .01};
    team_run(5, &net, silent_rank, NULL);
    team_run(5, NULL, silent_rank, NULL);
    log_level(LOG_INFO);
}

/* One that takes leave is missed at once. */
static void leaver(Rank *r) {
    int64_t start = world_now_ns(r->world);
    if (r->rank == 1) return;
    team_check(r, comm_barrier(r->comm) == ST_PEER);
    team_check(r, comm_failed(r->comm) == 1);
    team_check(r, world_now_ns(r->world) - start < 2000000000);
}

static void leaving_is_noticed_at_once(void **state) {
    (void)state;
    log_level(LOG_ERROR - 1);
    SimNet net = {.latency_s = .01};
    team_run(4, &net, leaver, NULL);
    team_run(4, NULL, leaver, NULL);
    log_level(LOG_INFO);
}

enum { RING = 100000, QUITTER = 2 };

static void expect_sum(Rank *r, const int *ranks, int n, uint32_t epoch, bool whole) {
    Real *x = malloc(RING * sizeof *x), sum = 0;
    for (int i = 0; i < RING; i++) x[i] = (Real)r->rank;
    for (int i = 0; i < n; i++) sum += (Real)ranks[i];
    comm_team(r->comm, ranks, n, epoch);
    Status st = comm_allreduce(r->comm, x, RING);
    comm_team(r->comm, NULL, 0, 0);
    team_check(r, st == (whole ? ST_OK : ST_PEER));
    for (int i = 0; whole && i < RING; i++) team_check(r, x[i] == sum);
    free(x);
}

/* In a ring only its neighbour waits for who is lost; all must drop the round, those that come late
 * to it too, and nothing of it may be taken for the next one's.                             */
static void ring_that_breaks(Rank *r) {
    static const int all[] = {0, 1, 2, 3, 4}, rest[] = {0, 1, 3, 4};
    comm_elastic(r->comm, true);
    expect_sum(r, all, 5, comm_next_epoch(r->comm), true);
    if (r->rank == QUITTER) return;
    world_sleep_ns(r->world, r->rank * 20000000L);
    int64_t start = world_now_ns(r->world);
    expect_sum(r, all, 5, comm_next_epoch(r->comm), false);
    team_check(r, comm_failed(r->comm) == QUITTER);
    team_check(r, world_now_ns(r->world) - start < 3000000000); // long before anyone is asked
    comm_recover(r->comm);
    expect_sum(r, rest, 4, comm_next_epoch(r->comm), true);
}

static void a_broken_round_ends_for_all(void **state) {
    (void)state;
    SimNet net = {.bytes_per_s = 1e7, .latency_s = .01};
    log_level(LOG_ERROR - 1);
    team_run(5, &net, ring_that_breaks, NULL);
    for (int i = 0; i < 20; i++) team_run(5, NULL, ring_that_breaks, NULL);
    log_level(LOG_INFO);
}

/* A rank that is busy for three timeouts but answers is waited for. */
static void busy_rank(Rank *r) {
    comm_timeout(r->comm, 1);
    if (r->rank == 0)
        for (int i = 0; i < 30; i++) {
            world_sleep_ns(r->world, 100000000);
            team_ok(r, comm_progress(r->comm));
        }
    team_ok(r, comm_barrier(r->comm));
}

static void busy_is_not_dead(void **state) {
    (void)state;
    log_level(LOG_ERROR - 1);
    SimNet net = {.latency_s = .01};
    double took = team_run(3, &net, busy_rank, NULL);
    assert_true(took > 3 && took < 3.1);
    log_level(LOG_INFO);
}

static void wake_from_outside(void *arg) {
    Rank *r = arg;
    world_sleep_ns(r->world, 50000000);
    comm_wake(r->comm);
}

static void woken(Rank *r) {
    Task *t;
    int which;
    team_ok(r, world_spawn(r->world, wake_from_outside, r, &t));
    team_check(r, comm_wait_any(r->comm, NULL, 0, WORLD_FOREVER, &which) == ST_TIMEOUT);
    world_join(t);
}

static void waking(void **state) {
    (void)state;
    SimNet net = {.latency_s = .01};
    double took = team_run(2, &net, woken, NULL);
    assert_true(fabs(took - .05) < 1e-6);
    team_run(2, NULL, woken, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(local_does_all),
        cmocka_unit_test(sim_does_all),
        cmocka_unit_test(sim_keeps_the_time),
        cmocka_unit_test(sim_servers_card_is_the_bottleneck),
        cmocka_unit_test(sim_counts_waiting),
        cmocka_unit_test(silence_is_named_in_time),
        cmocka_unit_test(leaving_is_noticed_at_once),
        cmocka_unit_test(a_broken_round_ends_for_all),
        cmocka_unit_test(busy_is_not_dead),
        cmocka_unit_test(waking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
