/* `dizhu moves`, `perft`, `replay` and `convert` through the real program: answers, exit codes, and
 * one line on stderr for whatever is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/playout.h"
#include "engine/recordfile.h"
#include "engine/text.h"
#include "golden.h"
#include "page.h"
#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[64]; /* of this test's files */

/* Runs `dizhu ARGUMENTS`, with `{}` standing for the directory; stdout and stderr go to files
 * there. Returns the exit code.                                                             */
static int dizhu(const char *arguments) {
    char expanded[1024] = "", command[2048];
    for (const char *p = arguments, *mark; *p; p = mark + 2) {
        mark = strstr(p, "{}");
        size_t n = strlen(expanded);
        if (!mark) {
            snprintf(expanded + n, sizeof expanded - n, "%s", p);
            break;
        }
        snprintf(expanded + n, sizeof expanded - n, "%.*s%s", (int)(mark - p), p, dir);
    }
    snprintf(command, sizeof command, "'%s/dizhu' %s >%s/out 2>%s/err", PROGRAM_DIR, expanded, dir,
             dir);
    int status = system(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static FILE *open_file(const char *name, const char *mode) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, mode);
    assert_non_null(f);
    return f;
}

/* A file's text; the caller frees it. */
static char *text_of(const char *name) {
    FILE *f = open_file(name, "r");
    char *p = calloc(1, 1 << 22);
    size_t n = fread(p, 1, (1 << 22) - 1, f);
    p[n] = '\0';
    fclose(f);
    return p;
}

static void prints(const char *arguments, const char *want) {
    int code = dizhu(arguments);
    char *out = text_of("out");
    if (code != 0 || strcmp(out, want) != 0)
        fail_msg("dizhu %s: exit %d, '%s', not '%s'", arguments, code, out, want);
    free(out);
}

/* The exit code, nothing on stdout, and one line (of wrong usage maybe more) on stderr that
 * contains `word`. */
static void fails(const char *arguments, int want, const char *word) {
    int code = dizhu(arguments);
    char *out = text_of("out"), *err = text_of("err");
    char *newline = strchr(err, '\n');
    bool one_line = newline && (want == 2 || newline[1] == '\0');
    if (code != want || *out || !one_line || !strstr(err, word))
        fail_msg("dizhu %s: exit %d, out '%s', err '%s'", arguments, code, out, err);
    free(out);
    free(err);
}

static void moves(void **state) {
    (void)state;
    prints("moves --hand 3344", "3\n33\n4\n44\n");
    prints("moves --hand '3 10 x'", "3\nB\nT\n");
    prints("moves --hand 44BR --last 3", "4\nB\nBR\nR\npass\n");
    prints("moves --hand 3 --last 2222", "pass\n");
    prints("moves --hand 333344445 --rules botzone --last 33334444", "3333\n4444\npass\n");
    prints("moves --hand 44445555 --rules botzone --last 33334444", "4444\n44445555\n5555\npass\n");
    prints("moves --hand 3344 --json", "[\"3\",\"33\",\"4\",\"44\"]\n");
    prints("moves --hand ''", "");
    fails("moves --hand 33333", 2, "33333");
    fails("moves --hand 3Z", 2, "3Z");
    fails("moves --hand 3 --last 34", 2, "last move");
    fails("moves --hand 33334444 --rules rlcard --last 33334444", 2, "last move");
    fails("moves --hand 3 --last zz", 2, "zz");
    fails("moves --hand 3333444455556666777788", 2, "20 cards");
    fails("moves", 2, "--hand");
    fails("moves --stdin --hand 3", 2, "--stdin");
}

/* Texts in the program's order, as one line. */
static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void join_sorted(json_t *list, bool follow, char *out) {
    const char *text[MOVEGEN_MAX];
    size_t n;
    json_t *move;
    json_array_foreach(list, n, move) text[n] = json_string_value(move);
    if (follow) text[n++] = "pass";
    qsort(text, n, sizeof *text, by_text);
    *out = '\0';
    for (size_t i = 0; i < n; i++) out += sprintf(out, "%s%s", i ? " " : "", text[i]);
}

/* All golden positions of one ruleset in one call. */
static void moves_golden(const char *rules, const char *column) {
    FILE *f = golden_open("legal_positions.jsonl.gz"), *questions = open_file("questions", "w");
    FILE *answers = open_file("answers", "w");
    static char line[1 << 16], want[1 << 16], arguments[128];
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        json_t *p = json_loads(line, 0, NULL), *list = json_object_get(p, column);
        const char *last = json_string_value(json_object_get(p, "last"));
        if (json_is_array(list)) {
            join_sorted(list, *last != '\0', want);
            fprintf(questions, "%s %s\n", json_string_value(json_object_get(p, "hand")), last);
            fprintf(answers, "%s\n", want);
            n++;
        }
        json_decref(p);
    }
    assert_int_equal(pclose(f), 0);
    fclose(questions);
    fclose(answers);
    assert_true(n > 3700);
    snprintf(arguments, sizeof arguments, "moves --rules %s --stdin <{}/questions", rules);
    assert_int_equal(dizhu(arguments), 0);
    FILE *out = open_file("out", "r");
    answers = open_file("answers", "r");
    for (int i = 0; i < n; i++) {
        assert_non_null(fgets(line, sizeof line, out));
        assert_non_null(fgets(want, sizeof want, answers));
        assert_string_equal(line, want);
    }
    assert_null(fgets(line, sizeof line, out));
    fclose(out);
    fclose(answers);
}

static void moves_agree_with_golden_positions(void **state) {
    (void)state;
    moves_golden("douzero", "douzero");
    moves_golden("rlcard", "rlcard");
    moves_golden("botzone", "botzone2");
}

static void moves_stdin_goes_on(void **state) {
    (void)state;
    FILE *f = open_file("questions", "w");
    fputs("33\nzz\n5 4\n33333 4\n6 34\n\n7  8", f);
    fclose(f);
    assert_int_equal(dizhu("moves --stdin <{}/questions"), 1);
    char *out = text_of("out"), *err = text_of("err");
    assert_string_equal(out, "3 33\n\n5 pass\n\n\n\npass\n");
    assert_non_null(strstr(err, "line 2"));
    assert_non_null(strstr(err, "line 4"));
    assert_non_null(strstr(err, "line 5"));
    free(out);
    free(err);
}

static void perft_counts(void **state) {
    (void)state;
    prints("perft --seed 1 --depth 4", "1 58\n2 161\n3 495\n4 3159\n");
    prints("perft --rules botzone --seed 95 --depth 7 | tail -n 1", "7 443726\n");
    prints("perft --seed 1 --depth 4 --divide | awk '{n += $2} END {print NR, n}'", "58 3159\n");
    fails("perft --depth 0", 2, "depth");
    fails("perft --rules chess", 2, "chess");
}

/* A file of n random games under all rulesets. */
static void write_games(const char *name, int n) {
    char path[128];
    RecordWriter *w;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    assert_int_equal(recordwriter_open(path, &w), ST_OK);
    for (int i = 0; i < n; i++) {
        Record r = {.game = (uint64_t)i + 100, .version = {3, i % 2 ? 3 : 4, 3}};
        Game g;
        Rng rng;
        uint8_t bytes[RECORD_MAX_BYTES];
        deal_random(91, (uint64_t)i, &r.deal);
        rng_init(&rng, 92, (uint64_t)i);
        game_init(&g, (RulesetId)(i % N_RULESETS), &r.deal, i % 3);
        playout_random(&g, &rng);
        record_from_game(&r, &g);
        if (r.n_moves) r.explored[0] = (uint8_t)(i + 1);
        assert_int_equal(recordwriter_add(w, bytes, record_write(&r, bytes)), ST_OK);
    }
    assert_int_equal(recordwriter_close(w), ST_OK);
}

static void convert_there_and_back(void **state) {
    (void)state;
    write_games("games", 500);
    assert_int_equal(dizhu("convert {}/games {}/games.jsonl"), 0);
    assert_int_equal(dizhu("convert {}/games.jsonl {}/games2"), 0);
    char command[256];
    snprintf(command, sizeof command, "cmp %s/games %s/games2", dir, dir);
    assert_int_equal(system(command), 0);
    fails("convert {}/games {}/games2", 1, "exists");
    fails("convert {}/none {}/new", 1, "No such file");
    fails("convert {}/games {}/no/such/folder", 1, "No such file");
    fails("convert {}/games", 2, "usage");
    fails("convert {}/games /dev/full", 1, "exists");
}

/* The example of docs/record.md: its bytes convert to its JSON, and back. */
static void convert_worked_example(void **state) {
    (void)state;
    uint8_t bytes[RECORD_MAX_BYTES];
    char path[128], json[4096];
    RecordWriter *w;
    snprintf(path, sizeof path, "%s/example", dir);
    assert_int_equal(recordwriter_open(path, &w), ST_OK);
    size_t n = page_hex("record.md", bytes, sizeof bytes);
    assert_int_equal(recordwriter_add(w, bytes, n), ST_OK);
    assert_int_equal(recordwriter_close(w), ST_OK);
    assert_int_equal(dizhu("convert {}/example {}/example.jsonl"), 0);
    char *line = text_of("example.jsonl");
    page_block("record.md", "json", json, sizeof json);
    json_t *got = json_loads(line, 0, NULL), *want = json_loads(json, 0, NULL);
    assert_non_null(want);
    assert_true(json_equal(got, want));
    json_decref(got);
    json_decref(want);
    free(line);
}

/* One field of one good line changed: refused, and no file left behind. */
static void convert_refuses(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *word;
    } rows[] = {
        {"\"rules\":\"douzero\"", "\"rules\":\"chess\"", "rules"},
        {"\"result\":", "\"result\":1,\"result\":", "JSON"},
        {"\"result\":", "\"results\":", "unknown"},
        {"\"moves\":[\"", "\"moves\":[\"3334444\",\"", "moves"},
        {"\"moves\":[\"", "\"moves\":[\"pass\",\"", "leader may not pass"},
        {"\"0\":[", "\"0\":[54,", "deal"},
        {"\"0\":[", "\"0\":[53,", "deal"},
        {"\"explored\":[", "\"explored\":[999,", "explored"},
        {"\"first_bidder\":0", "\"first_bidder\":3", "first_bidder"},
        {"\"bids\":[", "\"bids\":[4", "bids"},
        {"\"versions\":[3", "\"versions\":[-3", "versions"},
        {"{", "[", "damaged"},
    };
    write_games("one", 1);
    char path[128];
    snprintf(path, sizeof path, "%s/one.jsonl", dir);
    unlink(path);
    assert_int_equal(dizhu("convert {}/one {}/one.jsonl"), 0);
    char *good = text_of("one.jsonl");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *at = strstr(good, rows[i].from);
        assert_non_null(at);
        FILE *f = open_file("bad.jsonl", "w");
        fprintf(f, "%.*s%s%s", (int)(at - good), good, rows[i].to, at + strlen(rows[i].from));
        fclose(f);
        const char *word = strcmp(rows[i].word, "damaged") ? rows[i].word : "not a file of game";
        fails("convert {}/bad.jsonl {}/bad.out", 1, word);
        snprintf(path, sizeof path, "%s/bad.out", dir);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    free(good);
}

static void replay_shows(void **state) {
    (void)state;
    write_games("games", 20);
    assert_int_equal(dizhu("replay {}/games"), 0);
    char *out = text_of("out");
    assert_non_null(strstr(out, "0: game 100, douzero, weights 3 4 3\n"));
    assert_non_null(strstr(out, "wins"));
    assert_null(strstr(out, "game 101"));
    free(out);
    assert_int_equal(dizhu("replay {}/games --first 3 --count 2 --json"), 0);
    out = text_of("out");
    json_t *first = json_loads(out, JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_integer_value(json_object_get(first, "game")), 103);
    json_decref(first);
    free(out);
    assert_int_equal(dizhu("replay {}/games --game 107"), 0);
    out = text_of("out");
    assert_non_null(strstr(out, "7: game 107, botzone"));
    free(out);
    assert_int_equal(dizhu("replay {}/games --check --json"), 0);
    out = text_of("out");
    json_t *totals = json_loads(out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(totals, "games")), 20);
    assert_true(json_real_value(json_object_get(totals, "bytes_per_decision")) < 4);
    json_decref(totals);
    free(out);
    fails("replay {}/games --first 20", 1, "no such game");
    fails("replay {}/games --game 7", 1, "no such game");
    fails("replay {}/none", 1, "No such file");
    fails("replay {}/out", 1, "not a file of game records");
    fails("replay", 2, "argument");
}

int main(void) {
    snprintf(dir, sizeof dir, "/tmp/test_commands.XXXXXX");
    if (!mkdtemp(dir)) return 1;
    move_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moves),
        cmocka_unit_test(moves_agree_with_golden_positions),
        cmocka_unit_test(moves_stdin_goes_on),
        cmocka_unit_test(perft_counts),
        cmocka_unit_test(convert_there_and_back),
        cmocka_unit_test(convert_worked_example),
        cmocka_unit_test(convert_refuses),
        cmocka_unit_test(replay_shows),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", dir);
    return system(command) || failed;
}
