/* dizhu botzone: an agent behind Botzone's protocol, one answer or one after another. */
#include "actors/botzone.h"
#include "actors/botzone_view.h"
#include "actors/commands.h"
#include "actors/rules_option.h"
#include "engine/base/clock.h"
#include "engine/base/options.h"
#include <stdio.h>
#include <stdlib.h>

#define KEEP_RUNNING ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"

typedef struct {
    int rules, precision, limit_ms; /* rules: 0 by shape, else RulesetId + 1 */
    uint64_t seed;
    bool keep_running;
} BotzoneOptions;

/* Of a turn's time this share is used; the rest is for the system and the judge. */
static const double time_share = 0.8;

/* One answer, or one after another until the input ends. lateness: what was spent before reading.
 */
static int answer_lines(const BotzoneOptions *o, Botzone *b, double lateness) {
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int answers = 0;
    while ((n = getline(&line, &cap, stdin)) > 0) {
        double deadline = clock_s() + time_share * o->limit_ms / 1000 - lateness;
        lateness = 0;
        puts(botzone_answer(b, line, (size_t)n, deadline));
        if (o->keep_running) puts(KEEP_RUNNING);
        if (fflush(stdout) != 0) break;
        answers++;
        if (!o->keep_running) break;
    }
    free(line);
    if (answers == 0) fprintf(stderr, "dizhu: botzone: no input\n");
    return answers > 0 ? 0 : 1;
}

static int run(const BotzoneOptions *o, const char *agent, double began) {
    Policy *policy = NULL;
    Botzone *b = NULL;
    RulesetId rules = o->rules ? (RulesetId)(o->rules - 1) : RULES_BOTZONE;
    Status st = policy_open(agent, rules, (Precision)o->precision, true, &policy);
    BotzoneConfig c = {
        .policy = policy, .rules = o->rules ? (int)rules : RULES_BY_SHAPE, .seed = o->seed};
    if (st == ST_OK) st = botzone_new(&c, &b);
    int rc = st == ST_OK ? answer_lines(o, b, clock_s() - began) : st == ST_INVALID ? 2 : 1;
    botzone_free(b);
    policy_free(policy);
    return rc;
}

int cmd_botzone(int argc, char **argv) {
    double began = clock_s();
    BotzoneOptions o = {.limit_ms = 1000, .seed = 1};
    const Option options[] = {
        {"rules", OPT_CHOICE, &o.rules, "ruleset; by-request: Botzone's two games, told apart", 0,
         0, "by-request|" RULES_CHOICES, false},
        {"keep-running", OPT_FLAG, &o.keep_running, "stay alive between requests", 0, 0, NULL,
         false},
        {"limit-ms", OPT_INT, &o.limit_ms, "the judge's time for a turn; 0.8 of it may be used", 1,
         1e7, NULL, false},
        {"precision", OPT_CHOICE, &o.precision, "of nets", 0, 0, PRECISION_CHOICES, false},
        {"seed", OPT_U64, &o.seed, "chance", 0, 0, NULL, false},
        {0}};
    const Command c = {
        .usage = "dizhu botzone AGENT [options] < requests",
        .about =
            "Plays FightTheLandlord2 or FightTheLandlord for a Botzone judge: reads a line of\n"
            "JSON, answers with one. AGENT is random, rule, net:FILE or search:FILE,...",
        .options = options,
        .min_args = 1,
        .max_args = 1};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    return run(&o, argv[1], began);
}
