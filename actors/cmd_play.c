/* dizhu play: one person at the terminal (or a pipe) against two policies. */
#include "actors/commands.h"
#include "actors/policy.h"
#include "actors/rules_option.h"
#include "engine/base/clock.h"
#include "engine/base/options.h"
#include "engine/text.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LINE_BYTES = 256, ANY_ROLE = N_ROLES, LIST_COLUMNS = 76 };
static const uint64_t choice_seed = 0x706c61792e2e2e2eull;

typedef struct {
    const char *against;
    int role, rules;
    uint64_t seed, deal;
    bool open;
} PlayOptions;

typedef struct {
    const PlayOptions *options;
    const Policy *policy; /* of the others, and of the hints */
    PolicyScratch *scratch;
    Game game;
    Rng rng;
    int you; /* seat */
    char last[N_SEATS][TEXT_MAX + 8];
} Table;

typedef enum { ANSWER_OK, ANSWER_QUIT } Answer;

/* ---- showing ---- */

static const char *seat_name(const Table *t, int seat) {
    static const char *const bidding[N_SEATS] = {"seat 0", "seat 1", "seat 2"};
    if (seat == t->you) return "you";
    if (t->game.landlord == SEAT_NONE) return bidding[seat];
    return role_name((Role)game_role(&t->game, seat));
}

/* "3 44 5 666 ... BR": ranks apart, equal ones together. */
static void print_spaced(Hand h) {
    char text[TEXT_MAX];
    text_from_hand(h, text);
    for (const char *c = text; *c; c++) {
        if (c != text && *c != c[-1]) putchar(' ');
        putchar(*c);
    }
}

static void show_table(const Table *t) {
    putchar('\n');
    for (int k = 1; k < N_SEATS; k++) {
        int seat = (t->you + k) % N_SEATS;
        bool partner = t->game.landlord != t->you && seat != t->game.landlord;
        printf("  %-14s%2d cards  %-24s%s", seat_name(t, seat), t->game.left[seat], t->last[seat],
               partner ? "(your partner)" : "");
        if (t->options->open) print_spaced(t->game.hand[seat]);
        putchar('\n');
    }
    fputs("  your hand     ", stdout);
    print_spaced(t->game.hand[t->you]);
    printf("   (%d)\n", t->game.left[t->you]);
}

static void show_help(void) {
    puts("  type the cards to play, in any order: 33344456 or 10 10 J J; B and R are the jokers\n"
         "  p, pass   pass            ?    a hint        !    play the hint\n"
         "  ??        all legal       hand show again    q    give up");
}

static void list_legal(const Hand *legal, int n) {
    int column = 0;
    for (int i = 0; i < n; i++) {
        char text[TEXT_MAX];
        int width = text_from_move(legal[i], text) + 2;
        if (column + width > LIST_COLUMNS) column = 0, putchar('\n');
        printf("%s%s", column ? "  " : "  ", text);
        column += width;
    }
    printf("\n  (%d)\n", n);
}

/* ---- asking ---- */

/* Reads a line without its end; false at the end of the input. */
static bool ask(const char *prompt, char line[LINE_BYTES]) {
    fputs(prompt, stdout);
    fflush(stdout);
    if (!fgets(line, LINE_BYTES, stdin)) return false;
    if (!strchr(line, '\n'))
        for (int c; (c = getchar()) != '\n' && c != EOF;) {}
    line[strcspn(line, "\r\n")] = '\0';
    if (!isatty(0)) printf("%s\n", line);
    return true;
}

static int choose(Table *t, const Hand *legal, int n) {
    Decision d = {.game = &t->game, .legal = legal, .n_legal = n, .rng = &t->rng};
    policy_choose(t->policy, t->scratch, 1, &d);
    return d.choice;
}

static bool same(const char *a, const char *b, const char *c) {
    return strcasecmp(a, b) == 0 || strcasecmp(a, c) == 0;
}

/* Tries to play what was typed; says why not. */
static bool play_text(Table *t, const char *line, Hand *cards) {
    int bad = 0;
    const char *why = NULL;
    if (text_to_move(line, cards, &bad) != ST_OK) {
        printf("  '%s': no such card at '%s' (h for help)\n", line, line + bad);
        return false;
    }
    if (game_play(&t->game, *cards, &why) == ST_OK) return true;
    printf("  not allowed: %s\n", why);
    return false;
}

static Answer your_turn(Table *t, Hand *cards) {
    Hand legal[MOVEGEN_MAX];
    int n = game_legal(&t->game, legal);
    show_table(t);
    if (n == 1 && legal[0] == 0) {
        puts("  you have nothing that beats it: pass");
        *cards = 0;
        game_apply(&t->game, 0);
        return ANSWER_OK;
    }
    for (char line[LINE_BYTES], text[TEXT_MAX]; ask("> ", line);) {
        if (same(line, "q", "quit")) return ANSWER_QUIT;
        if (strcmp(line, "!") == 0) {
            *cards = legal[choose(t, legal, n)];
            game_apply(&t->game, *cards);
            return ANSWER_OK;
        }
        if (same(line, "h", "help")) show_help();
        else if (same(line, "hand", "")) show_table(t);
        else if (strcmp(line, "??") == 0) list_legal(legal, n);
        else if (strcmp(line, "?") == 0) {
            text_from_move(legal[choose(t, legal, n)], text);
            printf("  %s would play: %s\n", policy_name(t->policy), text);
        } else if (play_text(t, same(line, "p", "pass") ? "pass" : line, cards)) return ANSWER_OK;
    }
    return ANSWER_QUIT;
}

static Answer your_bid(Table *t) {
    fputs("\n  your hand     ", stdout);
    print_spaced(t->game.hand[t->you]);
    for (char line[LINE_BYTES]; ask("\nbid 0-3> ", line);) {
        const char *why = "a number from 0 to 3";
        if (same(line, "q", "quit")) return ANSWER_QUIT;
        bool digit = line[0] >= '0' && line[0] <= '3' && line[1] == '\0';
        if (digit && game_bid(&t->game, line[0] - '0', &why) == ST_OK) return ANSWER_OK;
        if (strcmp(line, "?") == 0)
            printf("  %s would bid %d", policy_name(t->policy),
                   policy_bid(t->policy, t->scratch, &t->game, &t->rng));
        else printf("  not allowed: %s", why);
    }
    return ANSWER_QUIT;
}

/* ---- the game ---- */

static Answer bid_all(Table *t) {
    while (t->game.phase == PHASE_BID) {
        int seat = t->game.turn;
        if (seat == t->you) {
            if (your_bid(t) == ANSWER_QUIT) return ANSWER_QUIT;
            continue;
        }
        int bid = policy_bid(t->policy, t->scratch, &t->game, &t->rng);
        printf("  %s bids %d\n", seat_name(t, seat), bid);
        game_bid(&t->game, bid, NULL);
    }
    return ANSWER_OK;
}

static void others_turn(Table *t, Hand *cards) {
    Hand legal[MOVEGEN_MAX];
    int n = game_legal(&t->game, legal);
    *cards = legal[choose(t, legal, n)];
    game_apply(&t->game, *cards);
}

static Answer play_all(Table *t) {
    while (t->game.phase == PHASE_PLAY) {
        int seat = t->game.turn;
        bool leads = t->game.to_beat.cards == 0;
        Hand cards;
        if (seat != t->you) others_turn(t, &cards);
        else if (your_turn(t, &cards) == ANSWER_QUIT) return ANSWER_QUIT;
        char text[TEXT_MAX];
        text_from_move(cards, text);
        if (leads) memset(t->last, 0, sizeof t->last);
        snprintf(t->last[seat], sizeof t->last[seat], "%s%s", leads ? "leads " : "", text);
        printf("%s%s: %s\n", leads ? "\n" : "", seat_name(t, seat), text);
    }
    return ANSWER_OK;
}

static void show_result(const Table *t) {
    const Game *g = &t->game;
    bool won = game_landlord_won(g) == (t->you == g->landlord);
    double score[N_SEATS];
    game_scores(g, score);
    printf("\n%s: the %s, %d doubling%s%s; your score %+g\n", won ? "You win" : "You lose",
           game_landlord_won(g) ? "landlord is out" : "peasants are out", game_doublings(g),
           game_doublings(g) == 1 ? "" : "s",
           game_spring(g) || game_anti_spring(g) ? " (spring)" : "", score[t->you]);
    for (int seat = 0; seat < N_SEATS; seat++) {
        if (g->left[seat] == 0) continue;
        printf("  %-14s", seat_name(t, seat));
        print_spaced(g->hand[seat]);
        putchar('\n');
    }
}

static Answer play_deal(Table *t, uint64_t index) {
    const PlayOptions *o = t->options;
    Deal deal;
    deal_random(o->seed, index, &deal);
    rng_init(&t->rng, o->seed ^ choice_seed, index);
    int role = o->role == ANY_ROLE ? (int)rng_below(&t->rng, N_ROLES) : o->role;
    /* Without bidding seat 0 is the landlord, so the role is the seat. */
    t->you = role;
    game_init(&t->game, (RulesetId)o->rules, &deal, (int)rng_below(&t->rng, N_SEATS));
    memset(t->last, 0, sizeof t->last);
    printf("deal %llu of seed %llu, rules %s, against %s; h for help\n", (unsigned long long)index,
           (unsigned long long)o->seed, ruleset_get((RulesetId)o->rules)->name, o->against);
    if (bid_all(t) == ANSWER_QUIT) return ANSWER_QUIT;
    if (t->game.phase == PHASE_VOID) {
        puts("  nobody bids: the deal is void");
        return ANSWER_OK;
    }
    fputs("  bottom cards  ", stdout);
    print_spaced(t->game.bottom);
    printf("\n  you are the %s\n", role_name((Role)game_role(&t->game, t->you)));
    if (play_all(t) == ANSWER_QUIT) return ANSWER_QUIT;
    show_result(t);
    return ANSWER_OK;
}

static int run_play(const PlayOptions *o) {
    Policy *policy = NULL;
    Table t = {.options = o};
    Status st = policy_open(o->against, (RulesetId)o->rules, PRECISION_FP32, true, &policy);
    if (st == ST_OK) st = policyscratch_new(&t.scratch);
    if (st != ST_OK) {
        policy_free(policy);
        return st == ST_INVALID ? 2 : 1;
    }
    t.policy = policy;
    bool finished;
    char line[LINE_BYTES];
    for (uint64_t index = o->deal;; index++) {
        finished = play_deal(&t, index) == ANSWER_OK;
        if (!finished || !isatty(0)) break;
        if (!ask("\nanother deal? [y/n] ", line) || (line[0] != 'y' && line[0] != 'Y')) break;
    }
    if (!finished) puts("\ngiven up");
    policyscratch_free(t.scratch);
    policy_free(policy);
    return finished ? 0 : 1;
}

int cmd_play(int argc, char **argv) {
    PlayOptions o = {
        .against = "rule", .role = ANY_ROLE, .seed = (uint64_t)(clock_wall_s() * 1000) % 1000000};
    const Option options[] = {
        {"against", OPT_STR, &o.against, "who plays the other seats and gives hints", 0, 0,
         "random|rule|net:FILE", false},
        {"role", OPT_CHOICE, &o.role, "your seat (first of the order without bidding)", 0, 0,
         "landlord|landlord_down|landlord_up|any", false},
        {"rules", OPT_CHOICE, &o.rules, "ruleset", 0, 0, RULES_CHOICES, false},
        {"seed", OPT_U64, &o.seed, "of the deals; else by the clock", 0, 0, NULL, false},
        {"deal", OPT_U64, &o.deal, "number of the first deal", 0, 0, NULL, false},
        {"open", OPT_FLAG, &o.open, "show the other hands", 0, 0, NULL, false},
        {0}};
    const Command c = {.usage = "dizhu play [options]",
                       .about =
                           "Play against two policies. The same seed and deal give the same cards.",
                       .options = options};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    return done ? 0 : run_play(&o);
}
