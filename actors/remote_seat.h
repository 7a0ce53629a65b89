/* remote_seat.h - an external program at one seat: requests as text, answers judged.
 *
 * Keeps what Botzone keeps for a bot between turns: all requests and responses, and the data and
 * globaldata that it handed over with its last answer (a game's worth of both).             */
#ifndef DIZHU_ACTORS_REMOTE_SEAT_H
#define DIZHU_ACTORS_REMOTE_SEAT_H
#include "actors/external.h"

typedef struct RemoteSeat RemoteSeat;
Status remoteseat_new(const ExternalConfig *c, RemoteSeat **out);
void remoteseat_free(RemoteSeat *s); /* NULL is allowed */

/* Asks the program for the move of game.turn and lets the judge have it. */
Verdict remoteseat_move(RemoteSeat *s, Judge *j);

#endif
