/* dizhu - the one command for people: a table of commands gives dispatch and --help. An entry
 * without a function runs the program beside this one, so that heavy libraries stay where they
 * are used.                                                                                 */
#include "actors/become.h"
#include "actors/commands.h"
#include "engine/move.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *program; /* if run is NULL */
    const char *about;
} Entry;

static const Entry entries[] = {
    {"train", NULL, "dizhu-learn", "self-play training: starts everything on this machine"},
    {"learner", NULL, "dizhu-learn", "a learner alone, for actors from elsewhere"},
    {"actor", cmd_actor, NULL, "self-play games for a learner, from any machine"},
    {"serve", NULL, "dizhu-serve", "web demo and training dashboard"},
    {"bench", cmd_bench, NULL, "measure a room: engine, nets, actors, learner, pipeline, server, comm"},
    {"play", cmd_play, NULL, "play in the terminal"},
    {"eval", cmd_eval, NULL, "one agent against another, on the same deals both ways"},
    {"botzone", cmd_botzone, NULL, "answer a Botzone judge on stdin"},
    {"arena", cmd_arena, NULL, "a round robin between agents, rated"},
    {"bid", cmd_bid, NULL, "learn what to bid"},
    {"export", cmd_export, NULL, "a net as a bot to submit to an arena"},
    {"moves", cmd_moves, NULL, "legal moves of a hand"},
    {"perft", cmd_perft, NULL, "counts of move sequences"},
    {"replay", cmd_replay, NULL, "show the games of a record file"},
    {"convert", cmd_convert, NULL, "convert files of records or weights"},
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

static void help(FILE *out) {
    fputs("usage: dizhu COMMAND [options]\n\n", out);
    for (int i = 0; i < N_ENTRIES; i++)
        fprintf(out, "  %-10s %s\n", entries[i].name, entries[i].about);
    fputs("\n`dizhu COMMAND --help` tells the options. `dizhu --version` the version.\n", out);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        help(stdout);
        return 0;
    }
    if (strcmp(name, "--version") == 0) {
        printf("dizhu %s\n", DIZHU_VERSION);
        return 0;
    }
    for (int i = 0; i < N_ENTRIES; i++) {
        if (strcmp(entries[i].name, name) != 0) continue;
        if (!entries[i].run) return become(entries[i].program, argv + 1);
        move_init();
        return entries[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "dizhu: no command '%s'; `dizhu --help` lists them\n", name);
    return 2;
}
