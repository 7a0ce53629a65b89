/* solver.h - exact endings: who wins when all three hands are known.
 *
 * A depth-first search for a proof, landlord nodes OR, peasant nodes AND, with a table of finished
 * nodes that is kept between calls. Both peasants are one player who sees all hands: for them the
 * answer is the best that perfect understanding could do; for the landlord a win is a win against
 * anybody. A table entry holds 127 bits of hash: no two different positions are ever mistaken.   */
#ifndef DIZHU_ACTORS_SOLVER_H
#define DIZHU_ACTORS_SOLVER_H
#include "engine/game.h"

typedef struct {
    Hand hand[N_ROLES];   /* none empty */
    Move last;            /* the play to beat; cards 0: a free lead */
    uint8_t turn, leader; /* roles; leader: who played last */
} Ending;

void ending_from_game(const Game *g, Ending *out); /* PHASE_PLAY */
/* The turn after a legal play (0: pass). False: it was the mover's last card, out is not set. */
bool ending_play(const Ruleset *rules, const Ending *e, Hand play, Ending *out);

typedef struct Solver Solver;
/* 2^table_bits entries of 16 bytes. One per thread and ruleset. */
Status solver_new(const Ruleset *rules, int table_bits, Solver **out);
void solver_free(Solver *s); /* NULL is allowed */

typedef enum { SOLVED_LOST, SOLVED_WON, SOLVED_UNKNOWN } Solved;
/* Does the landlord win? UNKNOWN: more than max_nodes positions would have to be looked at; what
 * was found out stays in the table. */
Solved solver_run(Solver *s, const Ending *e, uint64_t max_nodes);
/* Positions looked at since solver_new. */
uint64_t solver_nodes(const Solver *s);

#endif
