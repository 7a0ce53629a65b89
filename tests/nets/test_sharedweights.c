/* One writer, several readers: every copy is of one version, whole. Foreign regions are refused. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "nets/sharedweights.h"

enum { N_READERS = 3, N_VERSIONS = 80 };

static char name[SHAREDWEIGHTS_NAME_BYTES];
static uint64_t run;

static int setup(void **state) {
    (void)state;
    run = ((uint64_t)getpid() << 32) ^ (uint64_t)clock_ns();
    sharedweights_name(run, name);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    sharedweights_unlink(name);
    return 0;
}

static void fill(float *p, size_t n, uint32_t version) {
    for (size_t i = 0; i < n; i++) p[i] = (float)version;
}

static float *block(Role role, uint32_t version) {
    size_t n = net_layout(role)->n_params;
    float *p = malloc(n * sizeof *p);
    assert_non_null(p);
    fill(p, n, version);
    return p;
}

static void assert_all(const float *p, size_t n, float want) {
    for (size_t i = 0; i < n; i++)
        if (p[i] != want) fail_msg("float %zu is %g, not %g", i, (double)p[i], (double)want);
}

static void roles_are_separate_and_whole(void **state) {
    (void)state;
    SharedWeights *w, *r;
    assert_int_equal(sharedweights_create(name, run, &w), ST_OK);
    assert_int_equal(sharedweights_open(name, run, &r), ST_OK);
    for (int role = 0; role < N_ROLES; role++) {
        uint32_t version = 99;
        float *p = block((Role)role, 7);
        assert_int_equal(sharedweights_version(r, (Role)role), 0);
        assert_int_equal(sharedweights_read(r, (Role)role, p, &version), ST_TIMEOUT);
        assert_int_equal(version, 99);
        free(p);
    }
    for (int round = 0; round < 3; round++)
        for (int role = 0; role < N_ROLES; role++) {
            size_t n = net_layout((Role)role)->n_params;
            uint32_t want = (uint32_t)(10 * round + role + 1), version;
            float *p = block((Role)role, want);
            sharedweights_write(w, (Role)role, want, p);
            fill(p, n, 0);
            assert_int_equal(sharedweights_read(r, (Role)role, p, &version), ST_OK);
            assert_int_equal(version, want);
            assert_int_equal(sharedweights_version(r, (Role)role), want);
            assert_all(p, n, (float)want);
            free(p);
        }
    sharedweights_close(r);
    sharedweights_close(w);
}

typedef struct {
    const SharedWeights *shared;
    atomic_bool *stop;
    uint32_t reads, torn;
} Reader;

static void *read_on(void *arg) {
    Reader *r = arg;
    size_t n = net_layout(ROLE_LANDLORD)->n_params;
    float *p = malloc(n * sizeof *p);
    if (p == NULL) return NULL;
    while (!atomic_load(r->stop)) {
        uint32_t version;
        if (sharedweights_read(r->shared, ROLE_LANDLORD, p, &version) != ST_OK) continue;
        r->reads++;
        for (size_t i = 0; i < n; i++)
            if (p[i] != (float)version) {
                r->torn++;
                break;
            }
    }
    free(p);
    return NULL;
}

static void copies_are_never_torn(void **state) {
    (void)state;
    SharedWeights *w;
    assert_int_equal(sharedweights_create(name, run, &w), ST_OK);
    float *p = block(ROLE_LANDLORD, 1);
    sharedweights_write(w, ROLE_LANDLORD, 1, p);
    atomic_bool stop = false;
    pthread_t threads[N_READERS];
    Reader readers[N_READERS];
    for (int i = 0; i < N_READERS; i++) {
        readers[i] = (Reader){w, &stop, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
    }
    for (uint32_t v = 2; v < N_VERSIONS; v++) {
        fill(p, net_layout(ROLE_LANDLORD)->n_params, v);
        sharedweights_write(w, ROLE_LANDLORD, v, p);
    }
    clock_sleep_ms(20); // a last quiet moment: readers must get through
    atomic_store(&stop, true);
    for (int i = 0; i < N_READERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].torn, 0);
    }
    free(p);
    sharedweights_close(w);
}

static void other_runs_and_shapes_are_refused(void **state) {
    (void)state;
    SharedWeights *w, *r = NULL;
    assert_int_equal(sharedweights_open(name, run, &r), ST_IO);
    assert_int_equal(sharedweights_create(name, run, &w), ST_OK);
    assert_int_equal(sharedweights_open(name, run + 1, &r), ST_MISMATCH);
    assert_null(r);
    sharedweights_close(w);
    int fd = shm_open(name, O_RDWR, 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 4096), 0);
    close(fd);
    assert_int_equal(sharedweights_open(name, run, &r), ST_MISMATCH);
    // the writer replaces what it cannot use
    assert_int_equal(sharedweights_create(name, run, &w), ST_OK);
    assert_int_equal(sharedweights_open(name, run, &r), ST_OK);
    sharedweights_close(r);
    sharedweights_close(w);
}

/* A writer that dies at any moment leaves the last whole version, and a successor can go on. */
static void a_killed_writer_leaves_whole_weights(void **state) {
    (void)state;
    SharedWeights *w;
    size_t n = net_layout(ROLE_LANDLORD_UP)->n_params;
    float *p = block(ROLE_LANDLORD_UP, 1);
    for (int round = 0; round < 5; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            if (sharedweights_create(name, run, &w) != ST_OK) _exit(1);
            for (uint32_t v = 1;; v++) {
                fill(p, n, v);
                sharedweights_write(w, ROLE_LANDLORD_UP, v, p);
            }
        }
        SharedWeights *r = NULL;
        while (sharedweights_open(name, run, &r) != ST_OK) clock_sleep_ms(1);
        while (sharedweights_version(r, ROLE_LANDLORD_UP) == 0) clock_sleep_ms(1);
        clock_sleep_ms(5 + 7 * round);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        uint32_t version;
        assert_int_equal(sharedweights_read(r, ROLE_LANDLORD_UP, p, &version), ST_OK);
        assert_all(p, n, (float)version);
        sharedweights_close(r);
    }
    free(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(roles_are_separate_and_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(copies_are_never_torn, setup, teardown),
        cmocka_unit_test_setup_teardown(other_runs_and_shapes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_whole_weights, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
