/* policy.h - who plays a seat.
 *
 * A policy is named as on the command line: `random`, `rule`, `net:FILE`, `search:FILE,...`
 * (search.h); with `,bid=FILE` after it, it bids by that bidder. It is immutable after opening and
 * shared by any number of threads; what a thread needs besides is its PolicyScratch. Decisions of
 * many games are given at once, so that a net scores them in one batch per role. A policy sees a
 * Game but must look only at what the seat to act may know (obs_from_game, its own hand, public
 * state); chance comes from the decision's own generator, so that a game does not depend on which
 * others are played beside it. */
#ifndef DIZHU_ACTORS_POLICY_H
#define DIZHU_ACTORS_POLICY_H
#include "engine/game.h"
#include "nets/scorer.h"
#include "nets/weights.h"

typedef struct Policy Policy;
typedef struct PolicyScratch PolicyScratch;

typedef struct {
    const Game *game;  /* in PHASE_PLAY; the seat to act is game->turn */
    const Hand *legal; /* game_legal(game), n_legal >= 1 */
    int n_legal;
    Rng *rng;        /* the game's own chance */
    double deadline; /* clock_s by which the choice should be made; 0: none */
    int choice;      /* out: an index into legal */
} Decision;

/* Opens a policy by name for play under a ruleset. A net file is loaded and packed in the given
 * precision. ST_INVALID: no such policy; ST_MISMATCH: the net was trained under other rules and
 * any_rules is false; else what weights_load or packednet_new say. The log has the line.     */
Status policy_open(const char *name, RulesetId rules, Precision precision, bool any_rules,
                   Policy **out);
void policy_free(Policy *p); /* NULL is allowed */
const char *policy_name(const Policy *p);
/* What a net's file says about itself; NULL for policies without a net. */
const WeightsInfo *policy_info(const Policy *p);

/* A policy over nets that someone else owns (self-play); the nets may be exchanged between calls
 * of policy_choose by the one thread that uses this policy.                                 */
Status policy_from_nets(Policy **out);
void policy_set_nets(Policy *p, const PackedNet *const nets[N_ROLES]);

/* Room for any number of decisions; a large batch is cut in pieces. One per thread. */
Status policyscratch_new(PolicyScratch **out);
void policyscratch_free(PolicyScratch *s);

/* Sets choice in each of n decisions. Allocates nothing, but for the first search of a scratch. */
void policy_choose(const Policy *p, PolicyScratch *s, int n, Decision *d);
/* The net's value of each legal play, for the seat to act. p is a net: or search: policy. */
void policy_score(const Policy *p, PolicyScratch *s, const Game *g, const Hand *legal, int n,
                  float *q);
/* What the searches of a scratch by this policy have done; NULL: none yet. */
const struct SearchStats *policy_search_stats(const Policy *p, const PolicyScratch *s);
/* A legal bid for the seat to act of a game in PHASE_BID: without a bidder nets bid as the rule
 * policy does. */
int policy_bid(const Policy *p, PolicyScratch *s, const Game *g, Rng *rng);

#endif
