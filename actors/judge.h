/* judge.h - the arena's judge: what a seat is asked, what becomes of its answer, who wins what.
 *
 * FightTheLandlord2 (ruleset botzone, and every other but botzone1): a seat whose answer is at
 * fault is hosted to the end: it bids 0, passes, and leads its lowest single; it is asked no more,
 * and the score counts in full. When all three are at fault the game ends and each loses 1.
 * FightTheLandlord (botzone1): the first fault ends the game; the offender's side gets -1 each, the
 * others 2.5. Verdicts are those of Botzone's own judges, by name. docs/arena.md.            */
#ifndef DIZHU_ACTORS_JUDGE_H
#define DIZHU_ACTORS_JUDGE_H
#include "actors/botzone_json.h"

/* The first five come from running the program, the rest from what it answered. */
#define VERDICT_LIST(X)                                                                            \
    X(VERDICT_OK, "OK")                                                                            \
    X(VERDICT_TLE, "INVALID_INPUT_VERDICT_TLE")    /* no answer in time */                         \
    X(VERDICT_RE, "INVALID_INPUT_VERDICT_RE")      /* crashed, or ended without an answer */       \
    X(VERDICT_MLE, "INVALID_INPUT_VERDICT_MLE")    /* too much memory */                           \
    X(VERDICT_OLE, "INVALID_INPUT_VERDICT_OLE")    /* too much output */                           \
    X(VERDICT_NJ, "INVALID_INPUT_VERDICT_NJ")      /* no JSON object */                            \
    X(VERDICT_NO_LIST, "INVALID_INPUT_VERDICT_OK") /* JSON, but the response is no list */         \
    X(VERDICT_BID, "INVALID_BID")                  /* none of 0..3, or not above earlier bids */   \
    X(VERDICT_PASS, "INVALID_PASS")                /* passed with the lead */                      \
    X(VERDICT_MISSING, "MISSING_CARD")             /* a card never held, or none at all */         \
    X(VERDICT_REPEATED, "REPEATED_CARD")           /* a card played before, or twice */            \
    X(VERDICT_NO_TYPE, "INVALID_CARDTYPE")         /* cards that are no play */                    \
    X(VERDICT_OTHER_TYPE, "MISMATCH_CARDTYPE")                                                     \
    X(VERDICT_OTHER_LENGTH, "MISMATCH_CARDLENGTH")                                                 \
    X(VERDICT_LESS, "LESS_COMPARE") /* does not beat the last play */

#define VERDICT_ENUM(name, text) name,
typedef enum { VERDICT_LIST(VERDICT_ENUM) N_VERDICTS } Verdict;
#undef VERDICT_ENUM
const char *verdict_name(Verdict v);

typedef struct {
    Game game;
    uint64_t held[N_SEATS], gone[N_SEATS]; /* bit = card id: dealt or taken, played */
    CardList dealt[N_SEATS], bottom;
    CardList plays[2];        /* two plays ago, the previous play */
    uint8_t verdict[N_SEATS]; /* first fault; VERDICT_OK: none, the seat is asked */
    bool told[N_SEATS];       /* has had its first play request */
    bool stopped;             /* ended by faults */
    int offender;             /* seat of the last fault */
} Judge;

void judge_init(Judge *j, RulesetId rules, const Deal *deal);

/* Plays for hosted seats until somebody must be asked: the seat is game.turn. False: the game has
 * ended (over, void, or by faults).                                                          */
bool judge_next(Judge *j);
/* What game.turn is asked; the judge notes that it has been. */
void judge_request(Judge *j, BotzoneRequest *out);

/* The answers of game.turn. A fault is noted, and the seat hosted from now on. */
Verdict judge_response(Judge *j, const struct json_t *response); /* NULL: no response */
void judge_fault(Judge *j, Verdict v);                           /* no answer at all */
/* The same for players of ours, which answer in our terms; they must be legal. */
void judge_bid(Judge *j, int bid);
void judge_play(Judge *j, Hand cards);

void judge_scores(const Judge *j, double score[N_SEATS]);

#endif
