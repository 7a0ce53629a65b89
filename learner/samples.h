/* samples.h - a game record becomes samples: what each seat saw, what it played, what came of it.
 *
 * The record is played through the engine, which is the only judge of whether it is a game; the
 * target of every decision is the finished game's return from its seat's side (Monte Carlo,
 * undiscounted).                                                                            */
#ifndef DIZHU_LEARNER_SAMPLES_H
#define DIZHU_LEARNER_SAMPLES_H
#include "engine/record.h"
#include "nets/trainer.h"

typedef struct {
    int n;                    /* samples; sample i is of role sample[i].obs.role */
    int n_decisions[N_ROLES]; /* all plays of the game, kept as samples or not */
    int seat[N_ROLES];        /* which seat had the role */
    Sample sample[GAME_MAX_MOVES];
} GameSamples;

typedef struct {
    RulesetId ruleset;
    Objective objective;
    bool unforced_only; /* leave out decisions with a single legal play */
} SampleRules;

/* ST_ILLEGAL: the record breaks the rules, *why says how; ST_MISMATCH: another ruleset. A void game
 * (nobody bid) gives no samples.                                                            */
Status samples_from_record(const SampleRules *rules, const Record *r, GameSamples *out,
                           const char **why);

#endif
