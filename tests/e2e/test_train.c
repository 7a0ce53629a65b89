/* A whole run through its processes: its ends, its continuation, and what may be wrong with its
 * folder, its disk and its port.                                                            */
#include "tests/e2e/train.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "learner/checkpoint.h"
#include "learner/metrics.h"
#include "nets/weights.h"

static Place place;

static int make_place(void **state) {
    (void)state;
    place_make(&place);
    return 0;
}

static int remove_place(void **state) {
    (void)state;
    place_remove(&place);
    return 0;
}

static Checkpoint newest(void) {
    Checkpoint c;
    bool found;
    assert_int_equal(checkpoint_newest(place.run, &c, &found), ST_OK);
    assert_true(found);
    return c;
}

static uint64_t newest_frames(void) {
    Checkpoint c = newest();
    uint64_t frames = c.frames;
    checkpoint_free(&c);
    return frames;
}

static void run_to(const char *frames) {
    const char *const more[] = {"--frames", frames, NULL};
    Train t = {0};
    train_start(&t, &place, more);
    int code = train_end(&t, LONG_S);
    if (code != 0) fail_with_words(&place, "the run failed");
}

/* Exit 0 after the last frame; the same command finds nothing to do; a larger limit goes on. */
static void ends_after_its_last_frame(void **state) {
    (void)state;
    char path[PATH_BYTES + 64];
    Weights w;
    run_to("4000");
    uint64_t frames = newest_frames();
    assert_true(frames >= 4000 && frames < 4000 + 168);
    snprintf(path, sizeof path, "%s/weights.safetensors", place.run);
    assert_int_equal(weights_load(path, &w), ST_OK);
    assert_int_equal(w.info.frames, frames);
    weights_free(&w);
    run_to("4000");
    assert_int_equal(newest_frames(), frames);
    run_to("6000");
    expect_said(&place, "going on from checkpoint");
    assert_true(newest_frames() >= 6000);
    if (times_said(&place, " error ")) fail_with_words(&place, "there was an error");
}

/* Waits until the run is at work; the number of the newest checkpoint that was spoken of. */
static unsigned long long at_work(const Train *t, pid_t pids[3]) {
    Stored s = {0};
    wait_said(&place, "info  checkpoint ", 2);
    for (int i = 0; stored_at(&place, i, &s); i++) {}
    int n = children(t->pid, "learner", pids, 1);
    n += children(t->pid, "actor", pids + n, 2);
    assert_int_equal(n, 3);
    return s.number;
}

/* What was learned since is stored too. */
static void expect_stored_after(unsigned long long number) {
    Checkpoint c = newest();
    assert_true(c.number > number && c.frames > 0);
    checkpoint_free(&c);
}

/* Ctrl-C: a checkpoint within 5 s, exit 0, nobody left. */
static void ctrl_c(void **state) {
    (void)state;
    Train t = {0};
    pid_t pids[3];
    train_start(&t, &place, NULL);
    unsigned long long number = at_work(&t, pids);
    double start = clock_s();
    kill(t.pid, SIGINT);
    int code = train_end(&t, 30);
    double took = clock_s() - start;
    assert_int_equal(code, 0);
    if (took > 5) fail_with_words(&place, "more than 5 s");
    wait_gone(&place, pids, 3, 0.5);
    expect_stored_after(number);
    if (times_said(&place, " error ")) fail_with_words(&place, "there was an error");
}

/* kill -9 of the supervisor: no child outlives it by more than moments, the learner has stored what
 * there was, and the folder can be used at once. */
static void children_end_with_their_parent(void **state) {
    (void)state;
    Train t = {0};
    pid_t pids[3];
    train_start(&t, &place, NULL);
    unsigned long long number = at_work(&t, pids);
    kill(t.pid, SIGKILL);
    assert_int_equal(train_end(&t, 10), 128 + SIGKILL);
    wait_gone(&place, pids, 3, 20);
    expect_stored_after(number);
    run_to("1");
    expect_said(&place, "going on from checkpoint");
}

static void second_train_is_refused(void **state) {
    (void)state;
    Train t = {0}, second = {0};
    train_start(&t, &place, NULL);
    wait_said(&place, "joined", 2);
    train_start(&second, &place, NULL);
    assert_int_equal(train_end(&second, LONG_S), 1);
    expect_said(&place, "is in use by process");
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
}

/* ---- the folder ---- */

static void damage(unsigned number) {
    char path[PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/checkpoints/%08u.ckpt", place.run, number);
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    fseek(f, 500000, SEEK_SET);
    int c = fgetc(f);
    fseek(f, 500000, SEEK_SET);
    fputc(c ^ 1, f);
    fclose(f);
}

/* One flipped bit: the older checkpoint serves, and that is said. When none is whole the run does
 * not begin anew as if nothing had been: it fails. */
static void damaged_checkpoints(void **state) {
    (void)state;
    run_to("2000");
    Checkpoint first = newest();
    run_to("4000");
    Checkpoint second = newest();
    assert_true(second.number > first.number);
    damage((unsigned)second.number);
    Checkpoint back = newest();
    assert_true(back.number < second.number);
    uint64_t frames = back.frames;
    run_to("1");
    expect_said(&place, "damaged data");
    expect_said(&place, "going on from the older");
    assert_true(newest_frames() >= frames);
    for (unsigned i = 1; i <= second.number + 4; i++) {
        char path[PATH_BYTES + 64];
        snprintf(path, sizeof path, "%s/checkpoints/%08u.ckpt", place.run, i);
        if (access(path, F_OK) == 0 && i != second.number) damage(i);
    }
    Train t = {0};
    train_start(&t, &place, NULL);
    assert_int_equal(train_end(&t, LONG_S), 1);
    expect_said(&place, "is whole");
    checkpoint_free(&first);
    checkpoint_free(&second);
    checkpoint_free(&back);
}

static void foreign_checkpoints(void **state) {
    (void)state;
    Place other;
    char command[3 * PATH_BYTES];
    run_to("500");
    place_make(&other);
    Place own = place;
    place = other;
    run_to("500");
    snprintf(command, sizeof command, "rm %s/checkpoints/* && cp %s/checkpoints/* %s/checkpoints/",
             other.run, own.run, other.run);
    assert_int_equal(system(command), 0);
    Train t = {0};
    train_start(&t, &place, NULL);
    assert_int_equal(train_end(&t, LONG_S), 1);
    expect_said(&place, "it is of another run");
    place_remove(&other);
    place = own;
}

static void a_run_stays_what_it_is(void **state) {
    (void)state;
    static const char *const rules[] = {"--rules", "botzone", NULL};
    run_to("500");
    Train t = {0};
    train_start(&t, &place, rules);
    assert_int_equal(train_end(&t, LONG_S), 2);
    expect_said(&place, "was begun with --rules douzero: it cannot go on with botzone");
}

static void copy_weights(const char *to) {
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command, "cp '%s/weights.safetensors' '%s'", place.run, to);
    assert_int_equal(system(command), 0);
}

/* A new run may begin with weights, if they are of its kind. */
static void foreign_weights(void **state) {
    (void)state;
    char file[PATH_BYTES], first[96];
    const char *const with[] = {"--frames", "1", "--batch", "512", "--init", file, NULL},
                      *const rules[] = {"--rules", "rlcard", "--init", file, NULL},
                      *const objective[] = {"--objective", "adp", "--init", file, NULL};
    const struct {
        const char *const *more;
        const char *words;
    } rows[] = {{rules, "cannot begin with these weights: trained under another ruleset"},
                {objective, "cannot begin with these weights: trained for another objective"}};
    run_to("1000");
    strcpy(first, place.run);
    snprintf(file, sizeof file, "%.80s/first.safetensors", place.folder);
    copy_weights(file);
    for (int i = 0; i < 2; i++) {
        Train t = {0};
        snprintf(place.run, sizeof place.run, "%.60s/foreign-%d", place.folder, i);
        train_start(&t, &place, rows[i].more);
        assert_int_equal(train_end(&t, LONG_S), 1);
        expect_said(&place, rows[i].words);
    }
    snprintf(place.run, sizeof place.run, "%.60s/second", place.folder);
    Train t = {0};
    train_start(&t, &place, with);
    assert_int_equal(train_end(&t, LONG_S), 0);
    Checkpoint c = newest();
    Weights w;
    assert_int_equal(weights_load(file, &w), ST_OK);
    for (int r = 0; r < N_ROLES; r++)
        if (c.steps[r] == 0) // it has not learned yet
            assert_memory_equal(c.params[r], w.params[r], 4 * net_layout((Role)r)->n_params);
    assert_int_equal(c.steps[0] + c.steps[1] + c.steps[2], 0);
    weights_free(&w);
    checkpoint_free(&c);
    FILE *f = fopen(file, "r+b"); // damaged
    fseek(f, 300, SEEK_SET);
    fputc('!', f);
    fclose(f);
    snprintf(place.run, sizeof place.run, "%.60s/third", place.folder);
    train_start(&t, &place, with);
    assert_int_equal(train_end(&t, LONG_S), 1);
    strcpy(place.run, first);
}

/* Root may write anywhere: it becomes somebody who may not. */
static void become_nobody(void) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(126);
}

static void read_only_folder(void **state) {
    (void)state;
    run_to("500");
    assert_int_equal(chmod(place.folder, 0755), 0);
    assert_int_equal(chmod(place.said, 0666), 0);
    char command[2 * PATH_BYTES];
    snprintf(command, sizeof command, "chmod -R a+rX,a-w '%s'", place.run);
    assert_int_equal(system(command), 0);
    Train t = {.before = become_nobody};
    train_start(&t, &place, NULL);
    assert_int_equal(train_end(&t, LONG_S), 1);
    expect_said(&place, "Permission denied");
    Place fresh = place;
    snprintf(fresh.run, sizeof fresh.run, "%.80s/new", place.run);
    train_start(&t, &fresh, NULL);
    assert_int_equal(train_end(&t, LONG_S), 1);
    snprintf(command, sizeof command, "chmod -R u+w '%s'", place.run);
    assert_int_equal(system(command), 0);
}

/* Files may not grow beyond what the weights in shared memory need: as on a disk that is full for
 * checkpoints. */
static void small_disk(void) {
    struct rlimit most = {40 << 20, 40 << 20};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &most) != 0) _exit(126);
}

/* Training goes on without checkpoints, says so, and fails in the end; the older ones stay. */
static void full_disk(void **state) {
    (void)state;
    static const char *const big[] = {"--frames", "3000", "--ema", "0.99", NULL};
    static const char *const more[] = {"--frames", "6000", "--ema", "0.99", NULL};
    Train t = {0};
    train_start(&t, &place, big);
    assert_int_equal(train_end(&t, LONG_S), 0);
    uint64_t before = newest_frames();
    t.before = small_disk;
    train_start(&t, &place, more);
    assert_int_equal(train_end(&t, LONG_S), 1);
    expect_said(&place, "File too large");
    assert_int_equal(newest_frames(), before);
    t.before = NULL;
    train_start(&t, &place, more);
    assert_int_equal(train_end(&t, LONG_S), 0);
    assert_true(newest_frames() >= 6000);
}

static void port_in_use(void **state) {
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    char endpoint[64];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", ntohs(at.sin_port));
    const char *const more[] = {"--listen", endpoint, NULL};
    Train t = {0};
    train_start(&t, &place, more);
    assert_int_equal(train_end(&t, LONG_S), 1);
    expect_said(&place, "the port is in use");
    close(fd);
}

/* The learner's first port by what was said the n-th time; 0: not yet. */
static int learner_port(int n) {
    char *text = said(&place), *at = text;
    int port = 0;
    for (; (at = strstr(at, "listens on tcp://127.0.0.1:")) != NULL; at++)
        if (n-- == 0) {
            port = atoi(at + strlen("listens on tcp://127.0.0.1:"));
            break;
        }
    free(text);
    return port;
}

/* The learner dies, and before it is started again somebody takes its port: it takes others, and
 * its actors are started again to find it there.                                                */
static void a_lost_port(void **state) {
    (void)state;
    Train t = {0};
    pid_t pids[3];
    int fd = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    train_start(&t, &place, NULL);
    at_work(&t, pids);
    int port = learner_port(0);
    assert_true(port > 0);
    kill(t.pid, SIGSTOP);
    kill(pids[0], SIGKILL);
    wait_gone(&place, pids, 1, 10);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    int bound = -1; // the last of its threads may still be ending
    for (int i = 0; i < 500 && bound != 0; i++, clock_sleep_ms(10))
        bound = bind(fd, (struct sockaddr *)&at, sizeof at);
    assert_int_equal(bound, 0);
    assert_int_equal(listen(fd, 8), 0);
    kill(t.pid, SIGCONT);
    wait_said(&place, "the port is in use", 1);
    wait_said(&place, "listens on", 2);
    assert_true(learner_port(1) > 0 && learner_port(1) != port);
    wait_said(&place, "joined", 4);
    wait_said(&place, "info  checkpoint", times_said(&place, "info  checkpoint") + 1);
    close(fd);
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
}

/* An actor that insists on other rules is refused; the run does not mind. */
static void other_rules(void **state) {
    (void)state;
    Train t = {0};
    char *text, endpoint[64];
    train_start(&t, &place, NULL);
    wait_said(&place, "joined", 2);
    text = said(&place);
    assert_int_equal(sscanf(strstr(text, "listens on "), "listens on %63s", endpoint), 1);
    free(text);
    const char *const args[] = {
        PROGRAM_DIR "/dizhu", "actor", "--connect", endpoint, "--rules", "botzone", NULL};
    pid_t actor = start_program(args, place.said, NULL);
    assert_int_equal(wait_end(&place, actor, 30), 1);
    expect_said(&place, "this run plays douzero, not botzone");
    wait_said(&place, "info  checkpoint", times_said(&place, "info  checkpoint") + 1);
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
}

/* A match after the last frame, and one that Ctrl-C skips. */
static void evaluations(void **state) {
    (void)state;
    static const char *const quick[] = {
        "--frames", "1000",           "--eval-minutes", "60", "--eval-decks",
        "10",       "--eval-against", "random",         NULL};
    static const char *const endless[] = {
        "--frames", "2000",           "--eval-minutes", "60", "--eval-decks",
        "10000000", "--eval-against", "random",         NULL};
    Train t = {0};
    train_start(&t, &place, quick);
    assert_int_equal(train_end(&t, LONG_S), 0);
    expect_said(&place, "frames against random: wins ");
    train_start(&t, &place, endless);
    wait_said(&place, "evaluating against random", 2);
    pid_t match;
    double end = clock_s() + LONG_S;
    while (children(t.pid, "eval", &match, 1) == 0) {
        assert_true(clock_s() < end);
        clock_sleep_ms(20);
    }
    double start = clock_s();
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
    assert_true(clock_s() - start < 2);
    assert_false(alive(match));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        TEST(ends_after_its_last_frame),
        TEST(ctrl_c),
        TEST(children_end_with_their_parent),
        TEST(second_train_is_refused),
        TEST(damaged_checkpoints),
        TEST(foreign_checkpoints),
        TEST(foreign_weights),
        TEST(a_run_stays_what_it_is),
        TEST(read_only_folder),
        TEST(full_disk),
        TEST(port_in_use),
        TEST(a_lost_port),
        TEST(other_rules),
        TEST(evaluations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
