/* dizhu-learn - training: `dizhu train`, `dizhu learner` and two benches run this program. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/interrupt.h"
#include "engine/base/log.h"
#include "engine/move.h"
#include "learner/bench_learner.h"
#include "learner/bench_pipeline.h"
#include "learner/bidding/bid_command.h"
#include "learner/config.h"
#include "learner/learn.h"
#include "learner/muster.h"
#include "learner/runfolder.h"
#include "learner/supervise.h"

enum { EXIT_DONE, EXIT_FAILED, EXIT_USAGE };
static const double lock_wait_s = 6; // a learner that outlives its supervisor stores its checkpoint

/* The folder, its lock, its config, its log. */
static int open_run(const Settings *s, int *lock_fd) {
    char path[RUN_PATH_BYTES];
    if (runfolder_make(s->run) != ST_OK) return EXIT_FAILED;
    if (runfolder_lock(s->run, lock_wait_s, lock_fd) != ST_OK) return EXIT_FAILED;
    if (settings_save(s, s->run) != ST_OK) return EXIT_FAILED;
    runfolder_path(s->run, "log.txt", path);
    if (log_file(path) != 0) log_warn("%s cannot be written", path);
    return EXIT_DONE;
}

static void name_me(const char *what, const Settings *s) {
    if (s->rank < 0) log_name("%s", what);
    else log_name("%s/%d", what, s->rank);
}

static int train(int argc, char **argv) {
    Settings s;
    bool done;
    int lock_fd;
    atomic_bool *stop = interrupt_watch(AGAIN_WAITS);
    if (settings_parse(&s, "dizhu train --run DIR [options]", argc, argv, &done) != ST_OK)
        return EXIT_USAGE;
    if (done) return EXIT_DONE;
    if (s.learners > 1 && s.rank < 0) return muster(&s, argc, argv, stop);
    name_me("train", &s);
    int code = open_run(&s, &lock_fd);
    if (code != EXIT_DONE) return code;
    return supervise(&s, lock_fd, stop);
}

static int learner(int argc, char **argv) {
    Settings s;
    bool done;
    int lock_fd;
    atomic_bool *stop = interrupt_watch(AGAIN_WAITS);
    if (settings_parse(&s, "dizhu learner --run DIR [options]", argc, argv, &done) != ST_OK)
        return EXIT_USAGE;
    if (done) return EXIT_DONE;
    if (s.learners > 1 && s.rank < 0) {
        fputs("dizhu: one learner of several is started by mpirun, or told its --rank\n", stderr);
        return EXIT_USAGE;
    }
    name_me("learner", &s);
    bool alone = s.report_fd < 0; // else the supervisor has made, locked and saved everything
    int code = alone ? open_run(&s, &lock_fd) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    LearnConfig c = {.settings = &s,
                     .endpoints = {s.control, s.records, s.weights},
                     .report_fd = s.report_fd,
                     .stop = stop};
    return learn(&c) == ST_OK ? EXIT_DONE : EXIT_FAILED;
}

/* `bench ROOM...`: the rooms that need a learner. */
static int bench(int argc, char **argv) {
    double seconds = 2;
    const char *model = NULL;
    bool json = false, done, first = true;
    const Option options[] = {
        {"seconds", OPT_REAL, &seconds, "time for each row; a pipeline's gets ten times that", 0.01,
         3600, NULL, false},
        {"model", OPT_STR, &model, "weights that the pipeline begins with", 0, 0, "FILE", false},
        {"json", OPT_FLAG, &json, "print a JSON list", 0, 0, NULL, true},
        {0}};
    const Command c = {.usage = "dizhu bench learner|pipeline... [options]",
                       .about = "Times learning, and whole training through its processes.",
                       .options = options,
                       .min_args = 1,
                       .max_args = 2};
    int n_args;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return EXIT_USAGE;
    if (done) return EXIT_DONE;
    for (int i = 1; i <= n_args; i++)
        if (strcmp(argv[i], "learner") != 0 && strcmp(argv[i], "pipeline") != 0) {
            fprintf(stderr, "dizhu: bench: %s is not of learner, pipeline\n", argv[i]);
            return EXIT_USAGE;
        }
    Status st = ST_OK;
    if (json) puts("[");
    for (int i = 1; i <= n_args && st == ST_OK; i++) {
        Bench b;
        bench_init(&b, argv[i], seconds);
        st = *argv[i] == 'l' ? bench_learner(&b) : bench_pipeline(&b, model);
        if (st == ST_OK && json) bench_print_json(&b, &first, stdout);
        if (st == ST_OK && !json) bench_print_table(&b, stdout);
        fflush(stdout);
        bench_deinit(&b);
    }
    if (json) puts("\n]");
    if (st != ST_OK) fprintf(stderr, "dizhu: bench: %s\n", status_text(st));
    return st == ST_OK ? EXIT_DONE : EXIT_FAILED;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"train", train, "learners and actors on this machine, kept alive"},
    {"learner", learner, "a learner alone, for actors from elsewhere"},
    {"bench", bench, "times learning, and whole training"},
    {"bid-fit", bid_command, "values of hands before the auction, from played deals"},
};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

int main(int argc, char **argv) {
    move_init();
    for (int i = 0; argc > 1 && i < N_COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0) return commands[i].run(argc - 1, argv + 1);
    bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    FILE *out = help ? stdout : stderr;
    fputs("usage: dizhu-learn COMMAND [options]\n", out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].about);
    return help ? EXIT_DONE : EXIT_USAGE;
}
