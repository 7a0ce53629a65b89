/* crew.h - the playing threads of an actor process, and the parcels of records they fill.
 *
 * Each thread runs a Selfplay with the hub's nets of the moment and writes records into a parcel
 * (8 KiB). A parcel that is full or 0.2 s old goes to the queue, from which one thread - that of
 * the sockets - takes them in order. When the queue's owner does not take them, threads run out of
 * parcels and wait: that is the back-pressure. There is little room on purpose: what waits in
 * queues gets old. Everything is allocated at the start.
 *
 * In lockstep there is one thread, which plays a round of a fixed number of games when told to and
 * puts the whole round into one parcel.                                                     */
#ifndef DIZHU_ACTORS_CREW_H
#define DIZHU_ACTORS_CREW_H
#include "actors/nethub.h"
#include "actors/selfplay.h"

typedef struct {
    RulesetId rules;
    uint64_t seed;
    uint64_t first; /* number of this process's first game; thread t of T has first + t, step T */
    double epsilon;
    int threads, n_games; /* n_games at once in each thread */
    int lockstep;         /* games a round; 0: free running */
    NetHub *hub;          /* borrowed */
} CrewConfig;

typedef struct {
    uint8_t *bytes;
    size_t n, cap;
    double born; /* clock_s of its first record */
} Parcel;

typedef struct {
    PoolStats pool;        /* all threads together */
    double busy_s, wait_s; /* processor seconds spent playing; seconds waiting for nets or room */
} CrewStats;

typedef struct Crew Crew;
/* Starts the threads. They wait until the hub has nets. ST_INVALID: n_games, threads out of range.
 */
Status crew_new(const CrewConfig *c, Crew **out);
/* Ends the threads at their next tick and frees everything. */
void crew_free(Crew *c);

/* Lockstep: play one more round. */
void crew_round(Crew *c);
/* The oldest full parcel, or NULL if there is none within timeout_ms; it is borrowed until
 * crew_give_back and stays the oldest until then.                                           */
Parcel *crew_take(Crew *c, int timeout_ms);
void crew_give_back(Crew *c, Parcel *p);
/* Asks the threads to stop and hand over what they have; crew_take then gives the rest. */
void crew_stop(Crew *c);
void crew_stats(Crew *c, CrewStats *out);

#endif
