/* dizhu arena AGENT AGENT...: a round robin, its results in SQLite, its standings as tables. */
#include "actors/arena_report.h"
#include "actors/commands.h"
#include "actors/progress.h"
#include "actors/rules_option.h"
#include "engine/base/interrupt.h"
#include "engine/base/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int rules, format, deals, threads, precision, resamples; /* format: 0 by rules */
    int time_ms, first_ms, memory_mb, processes;
    uint64_t seed;
    const char *db, *csv, *html;
    bool any_rules, json, report;
} ArenaOptions;

typedef struct {
    ArenaDb *db;
    Progress progress;
} Store;

static bool is_there(void *ctx, int64_t deal, const Lineup *l) {
    return arenadb_has(((Store *)ctx)->db, deal, l);
}

static Status store_games(void *ctx, const ArenaGame *games, int n, int64_t played, int64_t all) {
    Store *s = ctx;
    progress_show(&s->progress, played, all);
    return arenadb_add(s->db, games, n);
}

static Status open_agents(const ArenaOptions *o, int n, char **names, Agent *agents, int *opened) {
    ExternalConfig limits = external_defaults("", false);
    limits.time_ms = o->time_ms;
    limits.first_ms = o->first_ms;
    limits.memory_mb = o->memory_mb;
    limits.processes = o->processes;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0) {
                fprintf(stderr, "dizhu: arena: %s is named twice\n", names[i]);
                return ST_INVALID;
            }
        TRY(agent_open(names[i], (RulesetId)o->rules, (Precision)o->precision, o->any_rules,
                       &limits, &agents[i]));
        *opened = i + 1;
    }
    return ST_OK;
}

static Status write_file(const char *path, const ArenaReport *r,
                         void (*write)(const ArenaReport *, FILE *)) {
    if (!path) return ST_OK;
    FILE *f = fopen(path, "w");
    if (f) {
        write(r, f);
        if (fclose(f) == 0) return ST_OK;
    }
    perror(path);
    return ST_IO;
}

static Status report(const ArenaOptions *o, const Agent *agents, int n_agents, ArenaDb *db) {
    static const char *const formats[] = {"sides", "seats", "triples"};
    char title[128];
    ArenaRow *rows;
    int64_t n;
    TRY(arenadb_rows(db, o->deals, &rows, &n));
    ArenaStats *stats = malloc(sizeof *stats);
    Status st = stats ? arena_stats(rows, n, n_agents, o->resamples, stats) : ST_NOMEM;
    if (st == ST_OK) {
        snprintf(title, sizeof title, "arena, rules %s, format %s, seed %llu",
                 ruleset_get((RulesetId)o->rules)->name, formats[o->format - 1],
                 (unsigned long long)o->seed);
        ArenaReport r = {title, agents, stats};
        if (o->json) arena_report_json(&r, stdout);
        else arena_report_text(&r, stdout);
        st = write_file(o->csv, &r, arena_report_csv);
        if (st == ST_OK) st = write_file(o->html, &r, arena_report_html);
    }
    free(stats);
    free(rows);
    return st;
}

static Status run(ArenaOptions *o, int n, char **names) {
    Agent agents[ARENA_MAX_AGENTS] = {0};
    Store store = {0};
    int opened = 0;
    if (o->format == 0)
        o->format = 1 + (ruleset_get((RulesetId)o->rules)->bidding ? FORMAT_SEATS : FORMAT_SIDES);
    ArenaConfig c = {.rules = (RulesetId)o->rules,
                     .format = (ArenaFormat)(o->format - 1),
                     .seed = o->seed,
                     .deals = o->deals,
                     .n_agents = n,
                     .agents = agents,
                     .threads = o->threads,
                     .stop = interrupt_watch(AGAIN_KILLS),
                     .done = is_there,
                     .emit = store_games,
                     .ctx = &store};
    Status st = open_agents(o, n, names, agents, &opened);
    if (st == ST_OK) st = arenadb_open(o->db ? o->db : ":memory:", &c, &store.db);
    if (st == ST_OK && !o->report) {
        progress_init(&store.progress, "games");
        st = arena_run(&c);
        progress_clear(&store.progress);
        if (st == ST_INTERRUPTED)
            fprintf(stderr, "dizhu: arena: interrupted; %s\n",
                    o->db ? "the same command goes on" : "without --db nothing is kept");
    }
    if (st == ST_OK || st == ST_INTERRUPTED) {
        Status told = report(o, agents, n, store.db);
        if (st == ST_OK) st = told;
    }
    arenadb_close(store.db);
    for (int i = 0; i < opened; i++) agent_close(&agents[i]);
    return st;
}

int cmd_arena(int argc, char **argv) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    ExternalConfig limits = external_defaults("", false);
    ArenaOptions o = {.deals = 1000,
                      .threads = cores > 0 && cores < 1024 ? (int)cores : 1,
                      .resamples = 200,
                      .time_ms = limits.time_ms,
                      .first_ms = limits.first_ms,
                      .memory_mb = limits.memory_mb,
                      .processes = limits.processes,
                      .seed = 1};
    const Option options[] = {
        {"rules", OPT_CHOICE, &o.rules, "ruleset", 0, 0, RULES_CHOICES, false},
        {"format", OPT_CHOICE, &o.format,
         "sides: landlord against peasants; seats: all seatings of each pair; triples: of each "
         "three; by-rules: seats with bidding, else sides",
         0, 0, "by-rules|sides|seats|triples", false},
        {"deals", OPT_INT, &o.deals, "deals, each played by all lineups", 1, 1e8, NULL, false},
        {"seed", OPT_U64, &o.seed, "deals and chance", 0, 0, NULL, false},
        {"threads", OPT_INT, &o.threads, "threads", 1, 1024, NULL, false},
        {"precision", OPT_CHOICE, &o.precision, "of nets", 0, 0, PRECISION_CHOICES, false},
        {"any-rules", OPT_FLAG, &o.any_rules, "also nets trained under other rules", 0, 0, NULL,
         false},
        {"time-ms", OPT_INT, &o.time_ms, "of external programs: time for a turn", 1, 1e7, NULL,
         false},
        {"first-ms", OPT_INT, &o.first_ms, "... for a turn with its start", 1, 1e7, NULL, false},
        {"memory-mb", OPT_INT, &o.memory_mb, "... memory", 1, 1e6, NULL, false},
        {"processes", OPT_INT, &o.processes, "... processes at once", 1, 1e5, NULL, false},
        {"db", OPT_STR, &o.db, "results; the same command goes on where it stopped", 0, 0, "FILE",
         false},
        {"report", OPT_FLAG, &o.report, "play nothing, only show what is in --db", 0, 0, NULL,
         false},
        {"bootstrap", OPT_INT, &o.resamples, "resamplings behind the intervals", 0, 1e5, NULL,
         false},
        {"csv", OPT_STR, &o.csv, "also write the tables here", 0, 0, "FILE", false},
        {"html", OPT_STR, &o.html, "also write the tables here", 0, 0, "FILE", false},
        {"json", OPT_FLAG, &o.json, "print one JSON object", 0, 0, NULL, true},
        {0}};
    const Command c = {
        .usage = "dizhu arena AGENT AGENT... [options]",
        .about = "A round robin: every deal is played by every lineup. Agents are random, rule,\n"
                 "net:FILE, search:FILE,ms=N, cmd:PROGRAM and cmdkeep:PROGRAM (docs/arena.md).",
        .options = options,
        .min_args = 2,
        .max_args = ARENA_MAX_AGENTS};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    Status st = run(&o, n_args, argv + 1);
    return st == ST_OK ? 0 : st == ST_INVALID ? 2 : 1;
}
