/* An actor from elsewhere: encrypted, without the learner's shared memory (it is another user), its
 * weights by frame, its staleness known. Who does not know the key cannot join.             */
#include "tests/e2e/train.h"

#include <sys/stat.h>

#include "engine/base/link.h"
#include "engine/recordfile.h"

/* A port that was free a moment ago, with two more above it. */
static int free_port(void) {
    for (;;) {
        LinkContext *c;
        Link *l[3];
        char at[64];
        int port = 0, n = 0;
        assert_int_equal(link_context_new(&c), ST_OK);
        LinkOptions o = {.kind = LINK_PULL, .bind = true};
        for (; n < 3; n++) {
            if (n == 0) strcpy(at, "tcp://127.0.0.1:*");
            else snprintf(at, sizeof at, "tcp://127.0.0.1:%d", port + n);
            if (link_open(c, &o, at, &l[n]) != ST_OK) break;
            if (n == 0) port = atoi(strrchr(link_endpoint(l[0]), ':') + 1);
        }
        for (int i = 0; i < n; i++) link_close(l[i]);
        link_context_free(c);
        if (n == 3 && port < 65533) return port;
    }
}

static void become_nobody(void) {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(126);
}

/* The first key of the run's key file. */
static void read_key(const Place *p, char out[LINK_KEY_CHARS + 1]) {
    char path[PATH_BYTES + 16];
    struct stat info;
    snprintf(path, sizeof path, "%s/server.key", p->run);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%40s", out), 1);
    fclose(f);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static pid_t start_actor(const Place *p, const char *endpoint, const char *key) {
    const char *args[] = {
        PROGRAM_DIR "/dizhu", "actor", "--connect", endpoint, "--games", "8", NULL, NULL, NULL};
    if (key) args[6] = "--server-key", args[7] = key;
    return start_program(args, p->said, become_nobody);
}

/* The weights versions of all games that were kept: the highest, and how many different ones. */
static int versions_in_records(const Place *p, uint32_t *most) {
    char path[PATH_BYTES + 32];
    RecordReader *reader;
    static bool seen[1 << 16];
    bool end;
    Record r;
    int n = 0;
    *most = 0;
    snprintf(path, sizeof path, "%s/records/000001.dzr", p->run);
    assert_int_equal(recordreader_open(path, &reader), ST_OK);
    while (assert_int_equal(recordreader_next(reader, &r, &end), ST_OK), !end) {
        uint32_t v = r.version[0];
        assert_true(v > 0 && v < 1 << 16);
        if (v > *most) *most = v;
        n += !seen[v];
        seen[v] = true;
    }
    recordreader_close(reader);
    return n;
}

static void joins_with_the_key(void **state) {
    (void)state;
    Place place;
    Train t = {0};
    char endpoint[64], key[LINK_KEY_CHARS + 1];
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", free_port());
    const char *const more[] = {"--listen",          endpoint, "--actors", "-1",
                                "--weights-seconds", "0.2",    NULL};
    place_make(&place);
    assert_int_equal(chmod(place.folder, 0755), 0);
    train_start(&t, &place, more);
    wait_said(&place, "listens on", 1);
    assert_int_equal(chmod(place.said, 0666), 0);
    expect_said(&place, "actors of other hosts join with --server-key ");
    read_key(&place, key);
    LinkKeys other;
    assert_int_equal(link_keys_new(&other), ST_OK);
    pid_t stranger = start_actor(&place, endpoint, other.public_key),
          plain = start_actor(&place, endpoint, NULL);
    wait_said(&place, "waiting for a learner at", 2);
    assert_int_equal(times_said(&place, "joined"), 0);
    pid_t actor = start_actor(&place, endpoint, key);
    wait_said(&place, "joined", 1);
    wait_said(&place, "info  checkpoint ", 8);
    assert_int_equal(times_said(&place, "joined"), 1);
    kill(stranger, SIGTERM);
    kill(plain, SIGTERM);
    assert_int_equal(wait_end(&place, stranger, 20), 0);
    assert_int_equal(wait_end(&place, plain, 20), 0);
    kill(t.pid, SIGINT);
    assert_int_equal(train_end(&t, 30), 0);
    assert_int_equal(wait_end(&place, actor, 20), 0); // it was told
    uint32_t most;
    int n = versions_in_records(&place, &most);
    if (n < 3) fail_with_words(&place, "the actor got no new weights");
    print_message("%d versions of the landlord's weights, the last %u\n", n, most);
    assert_int_equal(times_said(&place, "refused a"), 0);
    place_remove(&place);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(joins_with_the_key)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
