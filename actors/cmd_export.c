/* dizhu export botzone: a net as files that an arena takes. */
#include "actors/commands.h"
#include "actors/export.h"
#include "engine/base/options.h"
#include <stdio.h>
#include <string.h>

static int run(ExportConfig *e, const char *bid) {
    Weights w;
    Bidder bidder;
    ExportResult r;
    if (bid && bidder_load(bid, &bidder) != ST_OK) return 1;
    if (bid) e->bidder = &bidder;
    if (weights_load(e->model, &w) != ST_OK) return 1;
    const char *slash = strrchr(e->model, '/');
    if (slash) e->model = slash + 1; /* the source names the file, not where it was */
    Status st = export_botzone(e, &w, &r);
    weights_free(&w);
    if (st != ST_OK) {
        fprintf(stderr, "dizhu: export: %s\n", status_text(st));
        return st == ST_INVALID ? 2 : 1;
    }
    printf("%s: %zu bytes", r.source, r.source_bytes);
    if (r.bits) printf(", weights of %d bits in it\n", r.bits);
    else printf("\n%s: %zu bytes\n", r.weights, r.weights_bytes);
    return 0;
}

int cmd_export(int argc, char **argv) {
    ExportConfig e = {.directory = NULL};
    const char *bid = NULL;
    const Option options[] = {
        {"model", OPT_STR, &e.model, "weights file", 0, 0, "FILE", false},
        {"out", OPT_STR, &e.directory, "where the files go", 0, 0, "DIR", false},
        {"bid", OPT_STR, &bid, "bidder; without, bids by the cost of the hand", 0, 0, "FILE",
         false},
        {"embed", OPT_FLAG, &e.embed, "put the weights into the source, in few bits", 0, 0, NULL,
         false},
        {"bits", OPT_INT, &e.bits, "of an embedded weight; 0: as many as fit", 0, 8, NULL, false},
        {"save-quantised", OPT_STR, &e.save_quantised, "also write the embedded net as weights", 0,
         0, "FILE", false},
        {"keep-running", OPT_FLAG, &e.keep_running, "the bot stays alive between turns", 0, 0, NULL,
         false},
        {0}};
    const Command c = {.usage = "dizhu export botzone --model FILE --out|-o DIR [options]",
                       .about = "Writes a net as a bot for Botzone: bot.c, its weights file, and "
                                "SUBMIT.md, how to submit it.",
                       .options = options,
                       .min_args = 1,
                       .max_args = 1};
    static char long_out[] = "--out";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-o") == 0) argv[i] = long_out;
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    if (strcmp(argv[1], "botzone") != 0 || !e.model || !e.directory) {
        fputs("dizhu: export: give botzone, --model and --out\n", stderr);
        return 2;
    }
    if (e.bits == 1 || e.bits == 2) {
        fputs("dizhu: export: --bits is 3 to 8\n", stderr);
        return 2;
    }
    return run(&e, bid);
}
