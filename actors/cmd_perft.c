/* dizhu perft: counts of move sequences from a deal, to compare rule engines with. */
#include "actors/commands.h"
#include "actors/rules_option.h"
#include "engine/base/clock.h"
#include "engine/base/options.h"
#include "engine/perft.h"
#include "engine/text.h"
#include <inttypes.h>
#include <stdio.h>

/* The first position to play: seat 0 is the landlord, by a bid of 3 where there is bidding. */
static void start(Game *g, RulesetId rules, uint64_t seed) {
    Deal d;
    deal_random(seed, 0, &d);
    game_init(g, rules, &d, 0);
    if (g->phase == PHASE_BID) game_bid(g, 3, NULL);
}

static void print_hands(const Game *g) {
    char text[TEXT_MAX];
    static const char *const roles[] = {"landlord", "landlord_down", "landlord_up"};
    for (int s = 0; s < N_SEATS; s++) {
        text_from_hand(g->hand[s], text);
        fprintf(stderr, "%-13s %s\n", roles[game_role(g, s)], text);
    }
}

/* The count behind each first move: where two engines differ, the difference can be followed. */
static void divide(const Game *g, int depth) {
    Hand moves[MOVEGEN_MAX];
    int n = game_legal(g, moves);
    for (int i = 0; i < n; i++) {
        char text[TEXT_MAX];
        Game next = *g;
        game_apply(&next, moves[i]);
        text_from_move(moves[i], text);
        printf("%s %" PRIu64 "\n", text, perft(&next, depth - 1));
    }
}

static void count(const Game *g, int max_depth) {
    for (int depth = 1; depth <= max_depth; depth++) {
        double from = clock_s();
        uint64_t n = perft(g, depth);
        double seconds = clock_s() - from;
        printf("%d %" PRIu64 "\n", depth, n);
        fflush(stdout);
        if (seconds > 0.1) fprintf(stderr, "%.1f million a second\n", (double)n / seconds / 1e6);
    }
}

int cmd_perft(int argc, char **argv) {
    int rules = RULES_DOUZERO, depth = 5;
    uint64_t seed = 1;
    bool by_move = false;
    const Option options[] = {
        {"rules", OPT_CHOICE, &rules, "ruleset", 0, 0, RULES_CHOICES, false},
        {"seed", OPT_U64, &seed, "of the deal", 0, 0, NULL, false},
        {"depth", OPT_INT, &depth, "moves deep", 1, GAME_MAX_MOVES, NULL, false},
        {"divide", OPT_FLAG, &by_move, "the count behind each first move", 0, 0, NULL, false},
        {0}};
    const Command c = {
        .usage = "dizhu perft [options]",
        .about = "Counts the move sequences from a random deal: a line `depth count` for every\n"
                 "depth. A game that ends early counts once.",
        .options = options,
        .max_args = 0};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    Game g;
    start(&g, (RulesetId)rules, seed);
    print_hands(&g);
    if (by_move) divide(&g, depth);
    else count(&g, depth);
    return 0;
}
