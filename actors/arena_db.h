/* arena_db.h - an arena's results in SQLite: resumable, and to be asked by other tools.
 *
 *   meta(key, value)             format, rules, seed of the arena; the same again, or it is refused
 *   agent(id, name, fingerprint) fingerprint: of the weights file, hex; '' for none
 *   game(deal, seat0, seat1, seat2, landlord, landlord_won, void, score0..2, fault0..2, moves,
 *        seconds, record)        seatN: agent ids; landlord: seat, NULL for none; faultN: NULL or
 * the verdict's name; record: docs/record.md, NULL for a game that ended by faults An agent or a
 * game is never changed once it is there.                                     */
#ifndef DIZHU_ACTORS_ARENA_DB_H
#define DIZHU_ACTORS_ARENA_DB_H
#include "actors/arena.h"

typedef struct ArenaDb ArenaDb;
/* Opens or makes a file (":memory:" is none). ST_MISMATCH: made for other rules, seed or format, or
 * an agent's weights have changed since; ST_IO: not such a file. The log has the line.       */
Status arenadb_open(const char *path, const ArenaConfig *c, ArenaDb **out);
void arenadb_close(ArenaDb *db); /* NULL is allowed */

bool arenadb_has(const ArenaDb *db, int64_t deal, const Lineup *l);
/* All or none. */
Status arenadb_add(ArenaDb *db, const ArenaGame *games, int n);

/* What the statistics need of a game; agents by their place in the config. */
typedef struct {
    int64_t deal;
    uint8_t agent[N_SEATS];
    uint8_t landlord;
    bool landlord_won, void_deal;
    uint8_t faults; /* bit per seat */
    float score[N_SEATS];
} ArenaRow;

/* All games between the config's agents with deal < deals, in order of deal; *rows is malloced. */
Status arenadb_rows(ArenaDb *db, int64_t deals, ArenaRow **rows, int64_t *n);

#endif
