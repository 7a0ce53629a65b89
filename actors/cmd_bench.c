/* dizhu bench ROOM...: times the rooms and prints a table, or JSON. The learner's rooms run in
 * dizhu-learn, which links what they need.                                                  */
#include "actors/become.h"
#include "actors/bench_actors.h"
#include "actors/bench_search.h"
#include "actors/commands.h"
#include "engine/base/options.h"
#include "engine/bench_engine.h"
#include "nets/bench_nets.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    Status (*run)(Bench *b, const char *weights); /* NULL: in dizhu-learn */
} Room;

static Status engine_room(Bench *b, const char *weights) {
    (void)weights;
    return bench_engine(b);
}

static const Room rooms[] = {
    {"engine", engine_room}, {"nets", bench_nets}, {"actors", bench_actors},
    {"search", bench_search},
    {"learner", NULL},       {"pipeline", NULL},
};
enum { N_ROOMS = sizeof rooms / sizeof *rooms };

static const Room *find_room(const char *name) {
    for (int i = 0; i < N_ROOMS; i++)
        if (strcmp(rooms[i].name, name) == 0) return &rooms[i];
    return NULL;
}

/* 1234567 -> "1.235 M" */
static const char *short_number(double v, char out[32]) {
    const char *suffix = v >= 1e9 ? " G" : v >= 1e6 ? " M" : v >= 1e4 ? " k" : "";
    double unit = v >= 1e9 ? 1e9 : v >= 1e6 ? 1e6 : v >= 1e4 ? 1e3 : 1;
    snprintf(out, 32, "%.4g%s", v / unit, suffix);
    return out;
}

static void print_table(const Bench *b) {
    for (size_t i = 0; i < b->n; i++) {
        const BenchRow *r = &b->rows[i];
        char median[32], p10[32], p90[32];
        printf("%-8s %-44s %10s %-15s", r->room, r->name, short_number(r->median, median), r->unit);
        if (r->p10 != r->p90)
            printf(" (%s .. %s)", short_number(r->p10, p10), short_number(r->p90, p90));
        if (r->ratio_ref > 0) printf("  %.2f x ref", r->ratio_ref);
        if (r->peak_share > 0) printf("  %.0f%% of peak", 100 * r->peak_share);
        putchar('\n');
    }
}

static void add_json(json_t *list, const Bench *b) {
    for (size_t i = 0; i < b->n; i++) {
        const BenchRow *r = &b->rows[i];
        json_array_append_new(list, json_pack("{s:s,s:s,s:s,s:f,s:f,s:f,s:f,s:f}", "room", r->room,
                                              "name", r->name, "unit", r->unit, "median", r->median,
                                              "p10", r->p10, "p90", r->p90, "ratio_ref",
                                              r->ratio_ref, "peak_share", r->peak_share));
    }
}

static int print_signature(bool json) {
    unsigned long long h;
    if (bench_signature(&h) != ST_OK) return 1;
    printf(json ? "{\"signature\": \"%016llx\"}\n" : "%016llx\n", h);
    return 0;
}

static int run_rooms(int n, char **names, double seconds, const char *model, bool json) {
    json_t *list = json_array();
    Status st = ST_OK;
    for (int i = 0; i < n && st == ST_OK; i++) {
        Bench b;
        bench_init(&b, names[i], seconds);
        st = find_room(names[i])->run(&b, model);
        if (st == ST_OK && json) add_json(list, &b);
        if (st == ST_OK && !json) print_table(&b);
        fflush(stdout);
        bench_deinit(&b);
    }
    if (st == ST_OK && json) {
        json_dumpf(list, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
        putchar('\n');
    }
    json_decref(list);
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
        .about = "Times rooms: engine, nets, actors, search; learner, pipeline (alone). `dizhu bench "
                 "signature`\n"
                 "prints a hash of the rule policy's play, which only a change of play may change.",
        .options = options,
        .min_args = 1,
        .max_args = 16};
    if (argc > 1 && find_room(argv[1]) && !find_room(argv[1])->run)
        return become("dizhu-learn", argv);
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
