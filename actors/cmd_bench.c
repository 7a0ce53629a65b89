/* dizhu bench ROOM...: times the rooms and prints a table, or JSON. The learner's rooms run in
 * dizhu-learn, the server's in dizhu-bench-server, which link what they need.               */
#include "actors/become.h"
#include "actors/bench_actors.h"
#include "actors/bench_search.h"
#include "actors/commands.h"
#include "engine/base/options.h"
#include "engine/bench_engine.h"
#include "nets/bench_nets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    Status (*run)(Bench *b, const char *weights);
    const char *program; /* if run is NULL */
} Room;

static Status engine_room(Bench *b, const char *weights) {
    (void)weights;
    return bench_engine(b);
}

static const Room rooms[] = {
    {"engine", engine_room, NULL},          {"nets", bench_nets, NULL},
    {"actors", bench_actors, NULL},         {"search", bench_search, NULL},
    {"learner", NULL, "dizhu-learn"},       {"pipeline", NULL, "dizhu-learn"},
    {"server", NULL, "dizhu-bench-server"}, {"comm", NULL, "dizhu-bench-comm"},
};
enum { N_ROOMS = sizeof rooms / sizeof *rooms };

static const Room *find_room(const char *name) {
    for (int i = 0; i < N_ROOMS; i++)
        if (strcmp(rooms[i].name, name) == 0) return &rooms[i];
    return NULL;
}

static int print_signature(bool json) {
    unsigned long long h;
    if (bench_signature(&h) != ST_OK) return 1;
    printf(json ? "{\"signature\": \"%016llx\"}\n" : "%016llx\n", h);
    return 0;
}

static int run_rooms(int n, char **names, double seconds, const char *model, bool json) {
    Status st = ST_OK;
    bool first = true;
    if (json) puts("[");
    for (int i = 0; i < n && st == ST_OK; i++) {
        Bench b;
        bench_init(&b, names[i], seconds);
        st = find_room(names[i])->run(&b, model);
        if (st == ST_OK && json) bench_print_json(&b, &first, stdout);
        if (st == ST_OK && !json) bench_print_table(&b, stdout);
        fflush(stdout);
        bench_deinit(&b);
    }
    if (json) puts("\n]");
    if (st != ST_OK) fprintf(stderr, "dizhu: bench: %s\n", status_text(st));
    return st == ST_OK ? 0 : 1;
}

int cmd_bench(int argc, char **argv) {
    double seconds = 2;
    const char *model = NULL;
    bool json = false;
    const Option options[] = {
        {"seconds", OPT_REAL, &seconds, "time for each row", 0.01, 3600, NULL, false},
        {"model", OPT_STR, &model, "weights file for nets and actors", 0, 0, "FILE", false},
        {"json", OPT_FLAG, &json, "print a JSON list", 0, 0, NULL, true},
        {0}};
    const Command c = {
        .usage = "dizhu bench ROOM... [options]",
        .about = "Times rooms: engine, nets, actors, search; learner, pipeline, server (alone). "
                 "`dizhu bench\n"
                 "signature` prints a hash of the rule policy's play, which only a "
                 "change of play may change.",
        .options = options,
        .min_args = 1,
        .max_args = 16};
    const Room *elsewhere = argc > 1 ? find_room(argv[1]) : NULL;
    if (elsewhere && strcmp(elsewhere->name, "comm") == 0)
        return become(elsewhere->program, argv + 2);
    if (elsewhere && !elsewhere->run) return become(elsewhere->program, argv);
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (n_args == 1 && strcmp(argv[1], "signature") == 0) return print_signature(json);
    for (int i = 1; i <= n_args; i++) {
        const Room *room = find_room(argv[i]);
        if (room && room->run) continue;
        if (room) fprintf(stderr, "dizhu: bench: %s runs alone and comes first\n", argv[i]);
        else fprintf(stderr, "dizhu: bench: no room '%s'\n", argv[i]);
        return 2;
    }
    return run_rooms(n_args, argv + 1, seconds, model, json);
}
