/* game.h - one game from the deal to the score.
 *
 * Seats 0, 1, 2 act in this order. Roles follow from the landlord's seat: landlord, then
 * landlord_down (acts after the landlord), then landlord_up (acts before it). Without bidding
 * seat 0 is the landlord. A Game is plain data: copy it to branch. Every change goes through
 * game_bid and game_play, which refuse what the rules forbid. Freestanding, no allocation.  */
#ifndef DIZHU_ENGINE_GAME_H
#define DIZHU_ENGINE_GAME_H
#include "engine/base/rng.h"
#include "engine/base/status.h"
#include "engine/move.h"
#include "engine/movegen.h"

typedef enum { ROLE_LANDLORD, ROLE_LANDLORD_DOWN, ROLE_LANDLORD_UP, N_ROLES } Role;
enum { N_SEATS = 3, SEAT_NONE = 3 };
typedef enum {
    PHASE_BID,
    PHASE_PLAY,
    PHASE_OVER,
    PHASE_VOID /* nobody bid, the deal is void */
} Phase;

/* Where each of the 54 cards is dealt: seat 0..2, or DEAL_BOTTOM for the three public cards
 * that the landlord takes. Exactly 17, 17, 17 and 3.                                         */
enum { DEAL_BOTTOM = 3 };
typedef struct {
    uint8_t owner[N_CARDS];
} Deal;

/* Each play but the last three takes a card off, with at most two passes between plays. */
enum { GAME_MAX_MOVES = 168, GAME_MAX_BIDS = 3 };

typedef struct {
    uint8_t ruleset;  /* RulesetId */
    uint8_t phase;    /* Phase */
    uint8_t turn;     /* seat to act; of a finished game the winner's seat */
    uint8_t landlord; /* seat, SEAT_NONE while bidding */
    uint8_t first_bidder;
    uint8_t n_bids;
    uint8_t bids[GAME_MAX_BIDS]; /* in the order made, 0 = pass */
    uint8_t bid;                 /* highest bid so far: the base of the stakes is max(1, bid) */
    uint8_t bombs;               /* bombs and rockets played */
    uint8_t passes;              /* consecutive passes since to_beat: 0 or 1 */
    uint8_t leader;              /* seat that played to_beat */
    uint8_t n_plays[N_SEATS];    /* plays that were not passes, per seat */
    uint8_t left[N_SEATS];       /* cards in hand, per seat */
    int16_t points[N_SEATS];     /* SCORE_POINTS: small points of own plays */
    uint16_t n_moves;
    Move to_beat;               /* cards 0: free lead */
    Hand hand[N_SEATS];         /* the landlord's includes the bottom from PHASE_PLAY on */
    Hand dealt[N_SEATS];        /* the 17 cards dealt */
    Hand bottom;                /* the three public cards */
    Hand played[N_SEATS];       /* all cards a seat has played */
    Hand moves[GAME_MAX_MOVES]; /* every play in order, pass = 0; the first is the landlord's */
} Game;

/* A uniformly random deal; the same (seed, index) gives the same deal, for ever. */
void deal_random(uint64_t seed, uint64_t index, Deal *out);
/* ST_INVALID: an owner out of range or the counts are not 17, 17, 17, 3. */
Status deal_check(const Deal *d);

/* Starts a game. The deal must be valid. Without bidding first_bidder is ignored. */
void game_init(Game *g, RulesetId rules, const Deal *deal, int first_bidder);
/* Starts a game in the play phase from hands alone (tests, Botzone, endgames): hands by role, the
 * landlord's with the bottom in it. ST_INVALID: an empty or impossible hand, more cards of
 * a rank than the deck has, more than 20 or 17 cards, a bottom that the landlord lacks.     */
Status game_init_hands(Game *g, RulesetId rules, const Hand hands[N_ROLES], Hand bottom);

static inline int game_role(const Game *g, int seat) { return (seat - g->landlord + 3) % 3; }
static inline int game_seat(const Game *g, int role) { return (g->landlord + role) % 3; }

/* All legal plays of the seat to act, pass (0) last where allowed. PHASE_PLAY only. */
int game_legal(const Game *g, Hand out[MOVEGEN_MAX]);
/* ST_ILLEGAL: not this phase, not the seat's cards, not a play, does not beat; *why, if given,
 * becomes a static text that says which. The game is unchanged then.                        */
Status game_play(Game *g, Hand cards, const char **why);
Status game_bid(Game *g, int bid, const char **why);
/* game_play for a play known to be legal (taken from game_legal): the hot path. */
void game_apply(Game *g, Hand cards);

/* Finished games. landlord_won; doublings of the stakes = bombs + rockets (+1 for spring or
 * anti-spring where the ruleset has them).                                                  */
bool game_landlord_won(const Game *g);
bool game_spring(const Game *g);      /* landlord out, both peasants never played */
bool game_anti_spring(const Game *g); /* a peasant out, the landlord played once */
int game_doublings(const Game *g);

/* Learning target from a role's side. */
typedef enum {
    OBJECTIVE_WP,
    OBJECTIVE_ADP,
    OBJECTIVE_LOGADP,
    OBJECTIVE_SCORE,
    N_OBJECTIVES
} Objective;
/* wp: +-1; adp: +-2^b; logadp: +-(b+1), b = bombs + rockets; score: the ruleset's own score of
 * that seat. Peasants get the negated landlord's for the first three.                       */
float game_return(const Game *g, Objective o, Role role);
/* The score of each seat as the ruleset's arena counts it (docs/rules.md). */
void game_scores(const Game *g, double score[N_SEATS]);
const char *objective_name(Objective o);
int objective_find(const char *name); /* -1: unknown */

/* Checks every invariant that holds between moves (cards conserved, counters, phase). */
bool game_validate(const Game *g, const char **why);

#endif
