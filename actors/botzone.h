/* botzone.h - a player for Botzone's judge: a line of JSON in, a line of JSON out.
 *
 * A line with the key "requests" holds the whole game so far; any other line is the next request
 * of the game that this Botzone already knows (keep-running mode). The answer is always a legal
 * one as far as the input allows to know: what the policy prefers is chosen among the plays that
 * the arena's ruleset allows, and input that makes no sense gets the safest answer there is (bid 0,
 * pass, the lowest single card) and one warning in the log. docs/botzone.md has the protocol. */
#ifndef DIZHU_ACTORS_BOTZONE_H
#define DIZHU_ACTORS_BOTZONE_H
#include "actors/policy.h"

typedef struct Botzone Botzone;

typedef struct {
    const Policy *policy; /* borrowed */
    int rules;            /* RulesetId, or RULES_BY_SHAPE: Botzone's two games, told apart */
    uint64_t seed;        /* for policies with chance */
} BotzoneConfig;

Status botzone_new(const BotzoneConfig *c, Botzone **out);
void botzone_free(Botzone *b); /* NULL is allowed */

/* The answer to one line of n bytes (no newline needed at its end), NUL-terminated, without
 * newline; valid until the next call. deadline: clock_s by which it should be there, 0: none.
 * Never NULL.                                                                               */
const char *botzone_answer(Botzone *b, const char *line, size_t n, double deadline);

#endif
