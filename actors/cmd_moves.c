/* dizhu moves: the legal moves of a hand, for one question or for many on stdin. */
#include "actors/commands.h"
#include "actors/rules_option.h"
#include "engine/base/options.h"
#include "engine/movegen.h"
#include "engine/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HAND = 20 };

typedef struct {
    Hand hand;
    Move last; /* cards 0: a free lead */
} Question;

/* One line on stderr; `where` tells which option or line is meant. */
static Status complain(const char *where, const char *what, const char *text) {
    fprintf(stderr, "dizhu: moves: %s: %s: '%s'\n", where, what, text);
    return ST_INVALID;
}

static Status read_question(const Ruleset *rules, const char *where, const char *hand,
                            const char *last, Question *q) {
    Hand cards;
    Status st = text_to_hand(hand, &q->hand, NULL);
    if (st == ST_PARSE) return complain(where, "no such card in the hand", hand);
    if (st != ST_OK)
        return complain(where, "a hand with more cards of a rank than there are", hand);
    if (hand_size(q->hand) > MAX_HAND) return complain(where, "a hand of more than 20 cards", hand);
    st = text_to_move(last, &cards, NULL);
    if (st != ST_OK) return complain(where, "a last move that is no set of cards", last);
    q->last = move_classify_last(rules, cards);
    if (q->last.type == MOVE_NONE) return complain(where, "the last move is none here", last);
    return ST_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

/* Canonical texts, sorted; pass is one of them unless the lead is free. */
static int answer(const Ruleset *rules, const Question *q, char texts[][TEXT_MAX]) {
    Hand moves[MOVEGEN_MAX];
    bool lead = q->last.cards == 0;
    int n = lead ? movegen_leads(rules, q->hand, moves)
                 : movegen_answers(rules, q->hand, &q->last, moves);
    if (!lead) moves[n++] = 0;
    for (int i = 0; i < n; i++) text_from_move(moves[i], texts[i]);
    qsort(texts, (size_t)n, TEXT_MAX, by_text);
    return n;
}

static void print_answer(const Ruleset *rules, const Question *q, bool json, const char *between) {
    static char texts[MOVEGEN_MAX + 1][TEXT_MAX];
    int n = answer(rules, q, texts);
    if (json) putchar('[');
    for (int i = 0; i < n; i++)
        printf(json ? "%s\"%s\"" : "%s%s", i ? (json ? "," : between) : "", texts[i]);
    puts(json ? "]" : "");
}

/* One answer a line, an empty one for a line that is no question; those make the exit code 1. */
static int answer_stdin(const Ruleset *rules, bool json) {
    char *line = NULL;
    size_t cap = 0;
    int bad = 0;
    for (int number = 1; getline(&line, &cap, stdin) >= 0; number++) {
        char where[32], *rest = line;
        line[strcspn(line, "\r\n")] = '\0';
        snprintf(where, sizeof where, "line %d", number);
        const char *hand = strsep(&rest, " \t"), *last = rest ? rest + strspn(rest, " \t") : "";
        Question q;
        if (read_question(rules, where, hand, last, &q) == ST_OK) {
            print_answer(rules, &q, json, " ");
        } else {
            puts(json ? "null" : "");
            bad++;
        }
    }
    free(line);
    return bad ? 1 : 0;
}

int cmd_moves(int argc, char **argv) {
    int rules = RULES_DOUZERO;
    const char *hand = NULL, *last = NULL;
    bool from_stdin = false, json = false;
    const Option options[] = {
        {"rules", OPT_CHOICE, &rules, "ruleset", 0, 0, RULES_CHOICES, false},
        {"hand", OPT_STR, &hand, "the hand, e.g. 33344456TT2BR", 0, 0, "CARDS", false},
        {"last", OPT_STR, &last, "the move to beat; without it, a free lead", 0, 0, "MOVE", false},
        {"stdin", OPT_FLAG, &from_stdin, "questions from stdin, one `hand [last]` a line", 0, 0,
         NULL, false},
        {"json", OPT_FLAG, &json, "print each answer as a JSON list", 0, 0, NULL, true},
        {0}};
    const Command c = {
        .usage = "dizhu moves --hand CARDS [options]",
        .about = "The legal moves of a hand, one a line, sorted; with --stdin one answer a line.\n"
                 "Cards are 3456789TJQKA2 and the jokers B (small) and R (big); also 10, X, D.",
        .options = options,
        .max_args = 0};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    const Ruleset *row = ruleset_get((RulesetId)rules);
    if (from_stdin == (hand != NULL) || (from_stdin && last)) {
        fputs("dizhu: moves: give either --hand, with or without --last, or --stdin\n", stderr);
        return 2;
    }
    if (from_stdin) return answer_stdin(row, json);
    Question q;
    if (read_question(row, "options", hand, last ? last : "", &q) != ST_OK) return 2;
    bool nothing = q.hand == 0 && q.last.cards == 0; /* no moves, no lines */
    if (json || !nothing) print_answer(row, &q, json, "\n");
    return 0;
}
