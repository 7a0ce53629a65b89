/* search.h - a net's best plays tried out in sampled worlds before one is chosen.
 *
 * 1. The net scores all legal plays; a forced, a winning or a clearly best one is played at once.
 * 2. Candidates: the best few, and always pass and the cheapest answer.
 * 3. Worlds: hidden hands drawn from all that are consistent with what was seen (worlds.h).
 * 4. Every candidate is played in the same worlds, and the net plays all seats to the end, each
 *    seeing its own hand. Sequential halving: the worse half is dropped as the budget is used up.
 * 5. Another play than the net's own is chosen if it does better by some standard errors.
 * When few cards are left and few worlds are possible, all of them are solved exactly (solver.h).
 * The budget is time, or a number of playouts: with playouts the choice depends on nothing but the
 * position and the game's own chance. docs/search.md has what it gains.                      */
#ifndef DIZHU_ACTORS_SEARCH_H
#define DIZHU_ACTORS_SEARCH_H
#include "actors/policy.h"

enum { SEARCH_MAX_CANDIDATES = 16, SEARCH_MAX_LISTED = 512 };

typedef struct {
    int ms;         /* time for a decision; 0: no limit of time */
    int cpu_ms;     /* the same, of this thread's processor time: for measuring on a busy machine */
    int playouts;   /* 0: no limit */
    int candidates; /* at most */
    double z;       /* standard errors */
    double gap;     /* a best play ahead by this much (of a win to a loss: 2) is played at once */
    double window;  /* plays behind the best by more are no candidates */
    int solve_cards, solve_worlds; /* exact endings: at most; 0 cards: never */
} SearchConfig;

/* Reads "FILE,key=value,..."; *path gets FILE (size bytes). ST_INVALID: one line in the log. */
Status searchconfig_parse(const char *text, SearchConfig *out, char *path, size_t size);

typedef struct Search Search;
/* root: a net policy, for the choice of candidates; player: the same net, maybe in another
 * precision, for playing on. Both borrowed. One Search per thread. */
Status search_new(const SearchConfig *c, const Policy *root, const Policy *player, Search **out);
void search_free(Search *s); /* NULL is allowed */

/* Sets d->choice. d->deadline, if set, bounds the time too. */
void search_choose(Search *s, PolicyScratch *scratch, Decision *d);

typedef struct SearchStats {
    uint64_t decisions; /* put to search_choose */
    uint64_t searched, solved,
        changed; /* rolled out; settled by the solver; other than the net's */
    uint64_t playouts;
    double seconds; /* processor time of all unforced ones */
} SearchStats;
const SearchStats *search_stats(const Search *s);

#endif
