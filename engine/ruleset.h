/* ruleset.h - what differs between the games called DouDizhu.
 *
 * One row per ruleset; code asks the row, never the name. docs/rules.md describes each.
 * Freestanding.                                                                          */
#ifndef DIZHU_ENGINE_RULESET_H
#define DIZHU_ENGINE_RULESET_H
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    RULES_DOUZERO, /* no bidding, 29,984 moves: the ruleset of the published research system */
    RULES_RLCARD,  /* no bidding, 27,471 moves */
    RULES_BOTZONE, /* FightTheLandlord2: bids 0-3, shuttles, spring and anti-spring, 34,323 moves */
    RULES_BOTZONE1, /* FightTheLandlord: no bidding, shuttles with other wings, small points */
    RULES_CLASSIC,  /* what players expect online: bids 0-3, redeal if nobody bids, spring */
    N_RULESETS
} RulesetId;

typedef enum {
    SCORE_PLAIN,  /* landlord +-2 * 2^bombs, each peasant the negated half */
    SCORE_STAKES, /* landlord +-2m, each peasant -+m; m = max(1, bid) * 2^doublings */
    SCORE_POINTS  /* winners 2, plus own small points / 100; the peasants' mean */
} ScoreKind;

typedef struct {
    const char *name;
    const char *about; /* one line for --help */
    ScoreKind score;
    bool bidding;         /* else seat 0 is the landlord */
    bool redeal;          /* nobody bids: the deal is void; else seat 0, base 1 */
    bool shuttles;        /* 2+ consecutive quads are a type of their own */
    bool shuttle_loose;   /* shuttle wings: n singles or n pairs (FightTheLandlord) */
    bool spring;          /* spring and anti-spring double */
    bool detector_quirks; /* typing as the research system's detector, rank of 333444555JJJ = J */
    /* which kickers a plane with singles, and a 4+2, may have */
    bool plane_kicker_pairs;     /* two equal kickers */
    bool plane_kicker_trios;     /* three equal kickers, not next to the chain */
    bool plane_kicker_quads;     /* four equal kickers */
    bool plane_kicker_rocket;    /* both jokers */
    bool plane_kicker_lengthens; /* three equal kickers next to the chain */
    bool four_kicker_pair;       /* 4+2 singles may be a pair */
    bool four_kicker_rocket;     /* 4+2 singles may be both jokers */
} Ruleset;

/* The row of a ruleset; the name's id, or -1. */
const Ruleset *ruleset_get(RulesetId id);
int ruleset_find(const char *name);

#endif
