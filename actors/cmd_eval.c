/* dizhu eval A B: a match, as a table or one JSON object. */
#include "actors/commands.h"
#include "actors/match.h"
#include "actors/progress.h"
#include "actors/rules_option.h"
#include "engine/base/interrupt.h"
#include "engine/base/options.h"
#include <jansson.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int decks, threads, rules, precision;
    uint64_t seed, first;
    bool json, any_rules;
} EvalOptions;

static void show_progress(void *ctx, int64_t done, int64_t all) { progress_show(ctx, done, all); }

static void add_estimate(json_t *o, const char *name, Estimate e) {
    char key[64];
    snprintf(key, sizeof key, "%s_ci95", name);
    json_object_set_new(o, name, json_real(e.mean));
    json_object_set_new(o, key, json_real(e.ci95));
}

static void print_json(const char *a, const char *b, const MatchResult *r) {
    json_t *o = json_pack("{s:s,s:s,s:I,s:I}", "a", a, "b", b, "decks", (json_int_t)r->decks,
                          "games", (json_int_t)r->games);
    add_estimate(o, "wp_landlord", r->wp_landlord);
    add_estimate(o, "wp_peasants", r->wp_peasants);
    add_estimate(o, "wp", r->wp);
    add_estimate(o, "adp", r->adp);
    json_dumpf(o, stdout, JSON_REAL_PRECISION(8));
    putchar('\n');
    json_decref(o);
}

static void print_table(const char *a, const char *b, const MatchResult *r) {
    printf("%s against %s: %lld games on %lld deals, %.1f s\n", a, b, (long long)r->games,
           (long long)r->decks, r->seconds);
    const struct {
        const char *name;
        Estimate e;
    } rows[] = {{"wins as landlord", r->wp_landlord},
                {"wins as peasants", r->wp_peasants},
                {"wins (WP)", r->wp},
                {"points a game (ADP)", r->adp}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("  %-20s %7.4f +- %.4f\n", rows[i].name, rows[i].e.mean, rows[i].e.ci95);
}

/* Two nets that were taught different things are compared all the same, but not in silence. */
static void warn_objectives(const Policy *a, const Policy *b) {
    const WeightsInfo *x = policy_info(a), *y = policy_info(b);
    if (x && y && x->objective != y->objective)
        fprintf(stderr, "dizhu: note: %s was trained for %s, %s for %s\n", policy_name(a),
                objective_name((Objective)x->objective), policy_name(b),
                objective_name((Objective)y->objective));
}

static Status run_match(const EvalOptions *o, const char *a_name, const char *b_name) {
    Policy *a = NULL, *b = NULL;
    atomic_bool *stop = interrupt_watch(AGAIN_KILLS); // first of all: loading nets takes its time
    Status st = policy_open(a_name, (RulesetId)o->rules, (Precision)o->precision, o->any_rules, &a);
    if (st == ST_OK)
        st = policy_open(b_name, (RulesetId)o->rules, (Precision)o->precision, o->any_rules, &b);
    Progress p;
    MatchResult r;
    if (st == ST_OK) {
        warn_objectives(a, b);
        progress_init(&p, "games");
        MatchConfig c = {.rules = (RulesetId)o->rules,
                         .seed = o->seed,
                         .first = o->first,
                         .decks = o->decks,
                         .threads = o->threads,
                         .stop = stop,
                         .progress = show_progress,
                         .ctx = &p};
        st = match_play(&c, a, b, &r);
        progress_clear(&p);
        if (st != ST_OK) fprintf(stderr, "dizhu: eval: %s\n", status_text(st));
    }
    if (st == ST_OK && o->json) print_json(a_name, b_name, &r);
    if (st == ST_OK && !o->json) print_table(a_name, b_name, &r);
    policy_free(a);
    policy_free(b);
    return st;
}

int cmd_eval(int argc, char **argv) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    EvalOptions o = {.decks = 10000, .threads = cores > 0 && cores < 1024 ? (int)cores : 1};
    o.seed = 1;
    const Option options[] = {
        {"decks", OPT_INT, &o.decks, "deals, each played both ways", 1, 1e8, NULL, false},
        {"first", OPT_U64, &o.first, "number of the first deal", 0, 0, NULL, false},
        {"seed", OPT_U64, &o.seed, "deals and chance", 0, 0, NULL, false},
        {"rules", OPT_CHOICE, &o.rules, "ruleset", 0, 0, RULES_CHOICES, false},
        {"precision", OPT_CHOICE, &o.precision, "of nets", 0, 0, PRECISION_CHOICES, false},
        {"any-rules", OPT_FLAG, &o.any_rules, "also nets trained under other rules", 0, 0, NULL,
         false},
        {"threads", OPT_INT, &o.threads, "threads", 1, 1024, NULL, false},
        {"json", OPT_FLAG, &o.json, "print one JSON object", 0, 0, NULL, true},
        {0}};
    const Command c = {
        .usage = "dizhu eval A B [options]",
        .about =
            "A as landlord against B as peasants and the reverse, on the same deals. A and B are\n"
            "random, rule, net:FILE or search:FILE,... Seat 0 of each deal is the landlord, at the "
            "lowest bid.",
        .options = options,
        .min_args = 2,
        .max_args = 2};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    Status st = run_match(&o, argv[1], argv[2]);
    return st == ST_OK ? 0 : st == ST_INVALID ? 2 : 1;
}
