/* The actor process against a learner made of bare sockets: joining, records, heartbeats, weights
 * by frame and by shared memory, refusal, a learner that dies and comes back, lockstep, the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/bytes.h"
#include "engine/base/clock.h"
#include "engine/base/link.h"
#include "engine/record.h"
#include "nets/sharedweights.h"
#include "nets/weights.h"

static const uint64_t run_id = 0x1234abcd5678ull, seed = 42;

/* ---- a learner ---- */

typedef struct {
    LinkContext *context;
    Link *control, *pull, *pub;
    char endpoint[3][LINK_ENDPOINT_BYTES]; /* "" before the first start */
    char shm[SHAREDWEIGHTS_NAME_BYTES];
    SharedWeights *shared;
    int lockstep;
    const LinkKeys *keys; /* NULL: plain text */
    uint64_t announced;   /* sequence of VERSION */
    uint32_t version[N_ROLES];
    /* heard */
    int hellos, heartbeats, want_weights;
    uint64_t frames, games, last_sequence, last_sender;
    uint64_t game[20000];
    uint32_t version_seen[20000];
    json_t *last_hello, *last_beat;
} Fake;

static void fake_start(Fake *f) {
    static const LinkKind kinds[3] = {LINK_ROUTER, LINK_PULL, LINK_PUB};
    Link **links[3] = {&f->control, &f->pull, &f->pub};
    assert_int_equal(link_context_new(&f->context), ST_OK);
    for (int i = 0; i < 3; i++) {
        LinkOptions o = {.kind = kinds[i], .bind = true, .keys = f->keys};
        const char *at = f->endpoint[i][0] ? f->endpoint[i] : "tcp://127.0.0.1:*";
        assert_int_equal(link_open(f->context, &o, at, links[i]), ST_OK);
        snprintf(f->endpoint[i], sizeof f->endpoint[i], "%s", link_endpoint(*links[i]));
    }
}

static void fake_stop(Fake *f) {
    link_close(f->control);
    link_close(f->pull);
    link_close(f->pub);
    link_context_free(f->context);
}

static void fake_free(Fake *f) {
    json_decref(f->last_hello);
    json_decref(f->last_beat);
    if (f->shared) {
        sharedweights_unlink(f->shm);
        sharedweights_close(f->shared);
    }
    free(f);
}

static Fake *fake_new(bool shared) {
    Fake *f = calloc(1, sizeof *f);
    if (shared) {
        sharedweights_name(run_id, f->shm);
        assert_int_equal(sharedweights_create(f->shm, run_id, &f->shared), ST_OK);
    }
    fake_start(f);
    return f;
}

static void fake_publish(Fake *f, uint32_t version) {
    for (Role r = 0; r < N_ROLES; r++) {
        float *params = malloc(net_layout(r)->n_params * sizeof *params);
        net_init(r, version, params);
        if (f->shared) sharedweights_write(f->shared, r, version, params);
        f->version[r] = version;
        free(params);
    }
}

static void fake_announce(Fake *f) {
    uint8_t body[4 * N_ROLES];
    for (int r = 0; r < N_ROLES; r++) put_u32(body + 4 * r, f->version[r]);
    Frame v = {
        .kind = FRAME_VERSION, .run = run_id, .sequence = f->announced, .length = sizeof body};
    link_send(f->pub, &v, body, 0);
}

static void fake_send(Link *l, FrameKind kind, const void *body, size_t n, bool reply) {
    Frame f = {.kind = (uint16_t)kind, .run = run_id, .length = (uint32_t)n};
    if (reply) link_reply(l, &f, body);
    else link_send(l, &f, body, 0);
}

static void fake_welcome(Fake *f) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "{\"actor\":5,\"seed\":%d,\"ruleset\":\"douzero\",\"objective\":\"adp\",\"epsilon\":0.02,"
        "\"records\":\"%s\",\"weights\":\"%s\",\"shm\":\"%s\",\"lockstep\":%d}",
        (int)seed, f->endpoint[1], f->endpoint[2], f->shm, f->lockstep);
    fake_send(f->control, FRAME_WELCOME, text, strlen(text), true);
}

static void fake_weights(Fake *f) {
    Weights w;
    uint8_t *bytes, *body;
    size_t n;
    assert_int_equal(weights_new(&w), ST_OK);
    w.info = (WeightsInfo){.ruleset = RULES_DOUZERO, .version = 9, .run = run_id};
    for (Role r = 0; r < N_ROLES; r++) net_init(r, 9, w.params[r]);
    assert_int_equal(weights_encode(&w, DTYPE_BF16, &bytes, &n), ST_OK);
    body = malloc(4 * N_ROLES + n);
    for (uint32_t r = 0; r < N_ROLES; r++) put_u32(body + 4 * r, 11 + r);
    memcpy(body + 4 * N_ROLES, bytes, n);
    fake_send(f->control, FRAME_WEIGHTS, body, 4 * N_ROLES + n, true);
    free(body);
    free(bytes);
    weights_free(&w);
}

static void fake_door(Fake *f) {
    Frame head;
    const uint8_t *body;
    while (link_recv(f->control, 0, &head, &body) == ST_OK) {
        json_t *o = json_loadb((const char *)body, head.length, 0, NULL);
        assert_non_null(o);
        if (head.kind == FRAME_HEARTBEAT) {
            f->heartbeats++;
            json_decref(f->last_beat);
            f->last_beat = o;
            continue;
        }
        assert_int_equal(head.kind, FRAME_HELLO);
        const char *want = json_string_value(json_object_get(o, "want"));
        if (strcmp(want, "weights") == 0) {
            f->want_weights++;
            fake_weights(f);
        } else {
            f->hellos++;
            fake_welcome(f);
        }
        json_decref(f->last_hello);
        f->last_hello = o;
    }
}

static void fake_inbox(Fake *f) {
    Frame head;
    const uint8_t *body;
    while (link_recv(f->pull, 0, &head, &body) == ST_OK) {
        assert_int_equal(head.kind, FRAME_RECORDS);
        assert_true(head.run == run_id && head.sender == 5);
        f->frames++;
        f->last_sequence = head.sequence;
        for (size_t at = 0, used; at < head.length; at += used) {
            Record r;
            Game end;
            assert_int_equal(record_read(body + at, head.length - at, &r, &used), ST_OK);
            assert_int_equal(record_replay(&r, &end, NULL, NULL, NULL, NULL), ST_OK);
            Deal deal;
            deal_random(seed, r.game, &deal);
            assert_memory_equal(&deal, &r.deal, sizeof deal);
            assert_int_equal(r.game >> 32, 5);
            if (f->games < 20000) {
                f->game[f->games] = r.game;
                f->version_seen[f->games] = r.version[0];
            }
            f->games++;
        }
    }
}

/* Serves until `enough` says so; fails after `limit_s`. */
static void fake_serve(Fake *f, bool (*enough)(Fake *), double limit_s) {
    double begin = clock_s(), announce_at = 0;
    while (!enough(f)) {
        if (clock_s() - begin > limit_s) fail_msg("nothing for %g s", limit_s);
        fake_door(f);
        fake_inbox(f);
        if (clock_s() > announce_at) {
            fake_announce(f);
            announce_at = clock_s() + 0.2;
        }
        clock_sleep_ms(2);
    }
}

/* ---- the actor process ---- */

static pid_t actor_start(const char *endpoint, const char *const more[]) {
    char parent[16]; /* so that no actor outlives a test that was killed */
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    const char *args[24] = {
        PROGRAM_DIR "/dizhu", "actor", "--connect",    endpoint, "--games",  "8",
        "--precision",        "fp32",  "--refresh-ms", "0",      "--parent", parent};
    int n = 12;
    for (int i = 0; more && more[i]; i++) args[n++] = more[i];
    pid_t pid = fork();
    if (pid == 0) {
        execv(args[0], (char *const *)args);
        _exit(127);
    }
    return pid;
}

/* The exit code; fails if the process does not end within 5 s. */
static int actor_end(pid_t pid) {
    for (int i = 0; i < 500; i++) {
        int status;
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        clock_sleep_ms(10);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    fail_msg("the actor did not end");
    return -1;
}

static bool has_games(Fake *f) { return f->games >= 60 && f->heartbeats >= 2; }
static bool joined(Fake *f) { return f->hellos >= 1; }

static void bye(Fake *f) { fake_send(f->pub, FRAME_BYE, NULL, 0, false); }

static bool all_distinct(const Fake *f) {
    for (uint64_t i = 0; i < f->games; i++)
        for (uint64_t k = 0; k < i; k++)
            if (f->game[i] == f->game[k]) return false;
    return true;
}

/* ---- tests ---- */

static void plays_and_ends_with_the_run(void **state) {
    (void)state;
    Fake *f = fake_new(true);
    fake_publish(f, 3);
    static const char *const threads[] = {"--threads", "2", NULL};
    pid_t pid = actor_start(f->endpoint[0], threads);
    fake_serve(f, has_games, 60);
    assert_int_equal(f->want_weights, 0); /* shared memory it is */
    assert_true(json_is_true(json_object_get(f->last_beat, "shared")));
    assert_int_equal(f->version_seen[0], 3);
    assert_int_equal(f->last_sequence, f->frames);
    assert_true(json_integer_value(json_object_get(f->last_beat, "decisions")) > 0);
    assert_int_equal(json_integer_value(json_object_get(f->last_hello, "pid")), pid);
    assert_true(all_distinct(f));
    bye(f);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

static bool has_new_version(Fake *f) {
    return f->games > 0 && f->games < 20000 && f->version_seen[f->games - 1] == 4;
}

static void takes_new_weights(void **state) {
    (void)state;
    Fake *f = fake_new(true);
    fake_publish(f, 3);
    pid_t pid = actor_start(f->endpoint[0], NULL);
    fake_serve(f, has_games, 60);
    fake_publish(f, 4);
    fake_serve(f, has_new_version, 60);
    kill(pid, SIGTERM);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

static void asks_for_weights_without_shared_memory(void **state) {
    (void)state;
    Fake *f = fake_new(false);
    f->version[0] = f->version[1] = f->version[2] = 9;
    pid_t pid = actor_start(f->endpoint[0], NULL);
    fake_serve(f, has_games, 60);
    assert_true(f->want_weights >= 1);
    assert_true(json_is_false(json_object_get(f->last_beat, "shared")));
    assert_int_equal(f->version_seen[f->games - 1], 11); /* the frame's, not the announced */
    bye(f);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

static void refused_is_exit_1(void **state) {
    (void)state;
    Fake *f = fake_new(false);
    pid_t pid = actor_start(f->endpoint[0], NULL);
    Frame head;
    const uint8_t *body;
    assert_int_equal(link_recv(f->control, 10000, &head, &body), ST_OK);
    fake_send(f->control, FRAME_REFUSED, "no room", 7, true);
    assert_int_equal(actor_end(pid), 1);
    fake_stop(f);
    fake_free(f);
}

static void other_rules_are_exit_1(void **state) {
    (void)state;
    Fake *f = fake_new(false);
    static const char *const rules[] = {"--rules", "botzone", NULL};
    pid_t pid = actor_start(f->endpoint[0], rules);
    fake_serve(f, joined, 20);
    assert_string_equal(json_string_value(json_object_get(f->last_hello, "ruleset")), "botzone");
    assert_int_equal(actor_end(pid), 1);
    fake_stop(f);
    fake_free(f);
}

static bool more_games(Fake *f) { return f->games >= 200 && f->hellos >= 2; }

/* Dead for longer than the silence that is noticed: the actor waits, knocks with its number, and
 * goes on; no game is sent twice.                                                           */
static void outlives_its_learner(void **state) {
    (void)state;
    Fake *f = fake_new(true);
    fake_publish(f, 3);
    pid_t pid = actor_start(f->endpoint[0], NULL);
    fake_serve(f, has_games, 60);
    fake_stop(f);
    clock_sleep_ms(4500);
    assert_int_equal(kill(pid, 0), 0);
    fake_start(f);
    fake_serve(f, more_games, 60);
    assert_true(all_distinct(f));
    bye(f);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

/* A learner that is there but takes nothing: the heart beats on, Ctrl-C works. */
static void blocked_but_alive(void **state) {
    (void)state;
    Fake *f = fake_new(true);
    fake_publish(f, 3);
    pid_t pid = actor_start(f->endpoint[0], NULL);
    fake_serve(f, joined, 20);
    double end = clock_s() + 6;
    while (clock_s() < end) {
        fake_door(f);
        fake_announce(f);
        clock_sleep_ms(100);
    }
    assert_true(f->heartbeats >= 4);
    kill(pid, SIGINT);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

/* With the learner's key, given as text or in a file, an actor joins; without it nobody hears it.
 */
static void keys_are_needed(void **state) {
    (void)state;
    LinkKeys keys;
    char path[] = "/tmp/dizhu-test-key-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path); /* keys are only written to a new file */
    assert_int_equal(link_keys_new(&keys), ST_OK);
    assert_int_equal(link_keys_save(&keys, path), ST_OK);
    Fake *f = fake_new(true);
    fake_stop(f);
    f->keys = &keys;
    fake_start(f);
    fake_publish(f, 3);
    pid_t stranger = actor_start(f->endpoint[0], NULL);
    const char *const text[] = {"--server-key", keys.public_key, NULL};
    const char *const file[] = {"--server-key", path, NULL};
    for (int i = 0; i < 2; i++) {
        f->games = f->hellos = f->heartbeats = 0;
        pid_t pid = actor_start(f->endpoint[0], i == 0 ? text : file);
        fake_serve(f, has_games, 60);
        assert_int_equal(f->hellos, 1); /* not the stranger's */
        assert_int_equal(json_integer_value(json_object_get(f->last_hello, "pid")), pid);
        bye(f);
        assert_int_equal(actor_end(pid), 0);
    }
    kill(stranger, SIGTERM);
    assert_int_equal(actor_end(stranger), 0);
    unlink(path);
    fake_stop(f);
    fake_free(f);
}

static bool one_frame(Fake *f) { return f->frames >= 1; }
static bool two_frames(Fake *f) { return f->frames >= 2; }

static void lockstep_waits_for_its_answer(void **state) {
    (void)state;
    Fake *f = fake_new(true);
    f->lockstep = 20;
    fake_publish(f, 1);
    static const char *const threads[] = {"--threads", "2", NULL};
    pid_t pid = actor_start(f->endpoint[0], threads);
    fake_serve(f, one_frame, 60);
    assert_int_equal(f->games, 20);
    double end = clock_s() + 1;
    while (clock_s() < end) {
        fake_announce(f); /* sequence 0: not the answer to frame 1 */
        fake_inbox(f);
        clock_sleep_ms(50);
    }
    assert_int_equal(f->frames, 1);
    f->announced = f->last_sequence;
    fake_publish(f, 2);
    fake_serve(f, two_frames, 60);
    assert_int_equal(f->games, 40);
    for (int i = 0; i < 40; i++) assert_int_equal(f->version_seen[i], i < 20 ? 1 : 2);
    bye(f);
    assert_int_equal(actor_end(pid), 0);
    fake_stop(f);
    fake_free(f);
}

/* Started with --parent (as all here), it ends when that process is killed. */
static void ends_with_its_parent(void **state) {
    (void)state;
    Fake *f = fake_new(false);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t actor = actor_start(f->endpoint[0], NULL);
        if (write(pipes[1], &actor, sizeof actor) < 0) _exit(1);
        for (;;) pause();
    }
    pid_t actor;
    assert_int_equal(read(pipes[0], &actor, sizeof actor), sizeof actor);
    close(pipes[1]);
    fake_serve(f, joined, 20);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    /* No child of ours: its end of the pipe tells, a copy of which it inherited. */
    char byte;
    ssize_t n = -1;
    alarm(20);
    n = read(pipes[0], &byte, 1);
    alarm(0);
    assert_int_equal(n, 0);
    close(pipes[0]);
    fake_stop(f);
    fake_free(f);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plays_and_ends_with_the_run),
        cmocka_unit_test(takes_new_weights),
        cmocka_unit_test(asks_for_weights_without_shared_memory),
        cmocka_unit_test(refused_is_exit_1),
        cmocka_unit_test(other_rules_are_exit_1),
        cmocka_unit_test(outlives_its_learner),
        cmocka_unit_test(blocked_but_alive),
        cmocka_unit_test(keys_are_needed),
        cmocka_unit_test(lockstep_waits_for_its_answer),
        cmocka_unit_test(ends_with_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
