/* botzone_view.h - the game as one seat knows it, rebuilt from all it was asked and has answered.
 *
 * What other seats hold is a guess: each holds what it has played and some of the cards that nobody
 * has seen, the landlord also the public cards. A policy that looks only at what the seat may know
 * (policy.h) does not see the difference.                                                   */
#ifndef DIZHU_ACTORS_BOTZONE_VIEW_H
#define DIZHU_ACTORS_BOTZONE_VIEW_H
#include "actors/botzone_json.h"

enum { RULES_BY_SHAPE = -1 };

typedef struct {
    /* What is certain even if the rest does not fit together. */
    bool bidding;  /* the last request asks for a bid */
    bool leading;  /* the last request asks for a free lead */
    CardList left; /* own cards not yet played; empty if unknown */
    /* Only after ST_OK: */
    Game game; /* the seat is to act */
} BotzoneView;

/* requests[n], responses[n-1]: JSON arrays. rules: a RulesetId, or RULES_BY_SHAPE for botzone or
 * botzone1, told apart by the form of the requests. ST_PARSE: a request that is none; ST_ILLEGAL: a
 * game that cannot be; *why says what, and the first part of *out is set as far as it is known. */
Status botzone_view(const struct json_t *requests, const struct json_t *responses, int rules,
                    BotzoneView *out, const char **why);

#endif
