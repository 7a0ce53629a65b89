/* dizhu bid play | fit | tune | eval: from played deals to a bidder. */
#include "actors/become.h"
#include "actors/bid_play.h"
#include "actors/bid_tune.h"
#include "actors/commands.h"
#include "actors/progress.h"
#include "actors/rules_option.h"
#include "engine/base/interrupt.h"
#include "engine/base/options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- play ---- */

static void show(void *ctx, int64_t done, int64_t all) { progress_show(ctx, done, all); }

static int play(int argc, char **argv) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int rules = RULES_BOTZONE, deals = 10000, precision = PRECISION_FP32;
    int threads = cores > 0 && cores < 1024 ? (int)cores : 1;
    uint64_t seed = 1, first = 0;
    const char *out = NULL;
    bool any_rules = false;
    const Option options[] = {
        {"out", OPT_STR, &out, "record file, appended to", 0, 0, "FILE", false},
        {"rules", OPT_CHOICE, &rules, "ruleset with bidding", 0, 0, RULES_CHOICES, false},
        {"deals", OPT_INT, &deals, "deals, three games each", 1, 1e8, NULL, false},
        {"seed", OPT_U64, &seed, "deals and chance", 0, 0, NULL, false},
        {"first", OPT_U64, &first, "first deal of the seed: to go on with a file", 0, 0, NULL,
         false},
        {"threads", OPT_INT, &threads, "threads", 1, 1024, NULL, false},
        {"precision", OPT_CHOICE, &precision, "of nets", 0, 0, PRECISION_CHOICES, false},
        {"any-rules", OPT_FLAG, &any_rules, "also a net trained under other rules", 0, 0, NULL,
         false},
        {0}};
    const Command c = {.usage = "dizhu bid play AGENT --out FILE [options]",
                       .about = "Plays deals with each seat as landlord in turn.",
                       .options = options,
                       .min_args = 1,
                       .max_args = 1};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (!out || !ruleset_get((RulesetId)rules)->bidding) {
        fputs("dizhu: bid play: give --out, and rules with bidding\n", stderr);
        return 2;
    }
    Policy *policy;
    Progress p;
    Status st = policy_open(argv[1], (RulesetId)rules, (Precision)precision, any_rules, &policy);
    if (st != ST_OK) return st == ST_INVALID ? 2 : 1;
    progress_init(&p, "games");
    BidPlayConfig bp = {.rules = (RulesetId)rules,
                        .seed = seed,
                        .first = first,
                        .deals = deals,
                        .threads = threads,
                        .policy = policy,
                        .stop = interrupt_watch(AGAIN_KILLS),
                        .progress = show,
                        .ctx = &p};
    st = bid_play(&bp, out);
    progress_clear(&p);
    policy_free(policy);
    if (st != ST_OK) fprintf(stderr, "dizhu: bid play: %s\n", status_text(st));
    return st == ST_OK ? 0 : 1;
}

/* ---- tune and eval ---- */

static void print_match(const char *who, const BidMatch *m) {
    printf(
        "%-22s %+.4f +- %.4f points a seat and game; landlord %.3f, won %.3f; bids 0-3: %.3f %.3f "
        "%.3f %.3f\n",
        who, m->score.mean, m->score.ci95, m->landlord, m->won, m->bid[0], m->bid[1], m->bid[2],
        m->bid[3]);
}

static void report(const BidTable *t, const Bidder *b) {
    BidMatch m;
    printf("margins %.2f %.2f %.2f\n", (double)b->margin[1], (double)b->margin[2],
           (double)b->margin[3]);
    bidtable_match(t, b->margin, NULL, &m);
    print_match("against the rule's", &m);
    bidtable_match(t, b->margin, b->margin, &m);
    print_match("against itself", &m);
    bidtable_match(t, NULL, NULL, &m);
    print_match("the rule's themselves", &m);
}

/* The file of deals is the first argument, the bidder the second. */
static Status tune_or_eval(bool tune, const char *deals_path, const char *path) {
    Bidder b;
    BidDeal *deals;
    BidTable *t = NULL;
    RulesetId rules = RULES_BOTZONE;
    int64_t n;
    TRY(bidder_load(path, &b));
    TRY(biddeals_read(deals_path, &rules, &deals, &n));
    Status st = bidtable_new(deals, n, rules, &b, &t);
    if (st == ST_OK) {
        if (tune) bidtable_tune(t, b.margin);
        report(t, &b);
        if (tune) st = bidder_save(&b, path);
    }
    bidtable_free(t);
    free(deals);
    return st;
}

static int tune(int argc, char **argv) {
    bool is_tune = strcmp(argv[0], "tune") == 0;
    const Option options[] = {{0}};
    const Command c = {
        .usage = is_tune ? "dizhu bid tune DEALS BIDDER" : "dizhu bid eval DEALS BIDDER",
        .about = is_tune ? "Sets the bidder's margins by its score in the auctions of these deals."
                         : "Scores a bidder in the auctions of these deals.",
        .options = options,
        .min_args = 2,
        .max_args = 2};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    return tune_or_eval(is_tune, argv[1], argv[2]) == ST_OK ? 0 : 1;
}

static int fit(int argc, char **argv) {
    (void)argc;
    argv[0] = "bid-fit";
    return become("dizhu-learn", argv);
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} steps[] = {
    {"play", play, "deals with each seat as landlord, into a record file"},
    {"fit", fit, "a bidder from such a file"},
    {"tune", tune, "its margins, by its score"},
    {"eval", tune, "its score"},
};
enum { N_STEPS = sizeof steps / sizeof *steps };

int cmd_bid(int argc, char **argv) {
    for (int i = 0; argc > 1 && i < N_STEPS; i++)
        if (strcmp(argv[1], steps[i].name) == 0) return steps[i].run(argc - 1, argv + 1);
    bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    FILE *out = help ? stdout : stderr;
    fputs("usage: dizhu bid STEP [options]\n\n", out);
    for (int i = 0; i < N_STEPS; i++) fprintf(out, "  %-6s %s\n", steps[i].name, steps[i].about);
    fputs("\nTo make a bidder: play, fit, tune; then net:FILE,bid=BIDDER bids by it.\n", out);
    return help ? 0 : 2;
}
