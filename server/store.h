/* store.h - the database: what must survive the process.
 *
 * SQLite in WAL mode, STRICT tables (schema.sql), prepared statements, schema versions by
 * user_version. Writes are queued by the service thread and carried out in order by a writer
 * thread, many to a transaction: after the first write has come it waits commit_ms for others,
 * commits with a sync to disk, then tells how far it is. The service thread holds back whatever
 * acknowledges write N until store_committed >= N; so no client ever hears of a move that a crash
 * could undo, and a crash leaves a prefix of the writes.
 * A full disk or failed write is retried every second: nothing is acknowledged meanwhile.
 * Readers have connections of their own and see what is committed. All functions of a Store but
 * store_committed belong to one thread.                                                     */
#ifndef DIZHU_SERVER_STORE_H
#define DIZHU_SERVER_STORE_H
#include "engine/record.h"
#include "server/auth.h"
#include "server/rating.h"

enum { N_BOT_USERS = N_STRENGTHS, STORE_QUEUE_MAX = 100000, MAX_ACTS = GAME_MAX_MOVES + 3 };
/* Bots are users 1..3 by strength. */
static inline uint64_t bot_user(int strength) { return (uint64_t)strength + 1; }
static inline bool user_is_bot(uint64_t user) { return user >= 1 && user <= N_BOT_USERS; }

typedef struct {
    TokenKey key; /* with the user's number */
    char name[NAME_BYTES];
    Rating rating;
} StoreUser;

typedef struct {
    char code[ROOM_CODE_CHARS + 1], name[NAME_BYTES];
    uint8_t mode, rules, time, help, allpass, private_, wish;
    uint16_t think;
    int8_t host;            /* seat, -1: none */
    uint64_t user[N_SEATS]; /* 0: empty */
    uint64_t last;          /* the game that ended last, 0: none; set by store_put_game alone */
} StoreRoom;

typedef struct {
    uint64_t game;
    char room[ROOM_CODE_CHARS + 1];
    uint8_t rules, first, allpass, rated;
    int8_t chosen; /* -1: none */
    Deal deal;
    uint64_t user[N_SEATS];
} StoreLive;

typedef struct {
    int8_t bid; /* -1: a play */
    uint8_t why, n_cards, cards[PLAY_CARDS_MAX];
} StoreAct;

typedef struct {
    uint64_t user; /* 0: unknown */
    char name[NAME_BYTES];
    bool bot, won, spring;
    uint8_t role, bombs;
    int8_t bid; /* -1: none */
    double points;
    bool rate; /* take the new rating below */
    Rating rating;
} StoreSeat;

typedef struct {
    uint64_t id;
    int64_t at_ms;
    uint8_t rules, how, landlord, rated;
    uint16_t plies, n_record, n_cards, n_why; /* n_cards 0 and n_why 0: not known */
    uint8_t record[RECORD_MAX_BYTES], cards[N_CARDS], why[MAX_ACTS];
    StoreSeat seat[N_SEATS];
} StoreGame;

typedef struct Store Store;
typedef void (*StoreWake)(void *ctx); /* called on the writer thread after each commit */

/* Opens or creates the file and starts the writer. ST_VERSION: made by a newer program. ST_IO,
 * ST_CORRUPT: the log has the reason. wake may be NULL.                                      */
Status store_open(const char *path, int commit_ms, StoreWake wake, void *ctx, Store **out);
/* Carries out what is queued, then closes; NULL is allowed. */
void store_close(Store *s);

/* Each queues a write and returns its number. */
uint64_t store_put_user(Store *s, const StoreUser *u); /* new, or renamed */
uint64_t store_put_room(Store *s, const StoreRoom *r); /* new or replaced, with its seats */
uint64_t store_drop_room(Store *s, const char *code);  /* with its live game */
uint64_t store_put_live(Store *s, const StoreLive *l); /* replaces the room's live game */
uint64_t store_drop_live(Store *s, uint64_t game);
uint64_t store_put_act(Store *s, uint64_t game, int ply, const StoreAct *a);
uint64_t store_cut_acts(Store *s, uint64_t game, int from_ply);
uint64_t store_put_rated(Store *s, uint64_t game, bool rated);
/* The finished game, its seats and their ratings; the live game goes. */
uint64_t store_put_game(Store *s, const StoreGame *g);
uint64_t store_put_review(Store *s, uint64_t game, int seat, double loss, double agree);

uint64_t store_last(const Store *s); /* number of the last write queued */
uint64_t store_committed(const Store *s);
/* More is waiting than STORE_QUEUE_MAX: refuse new work. */
bool store_full(const Store *s);
typedef struct {
    uint64_t commits, writes, failures;
    double commit_s, slowest_s; /* time in commits, and the slowest since the last call */
} StoreStats;
void store_stats(Store *s, StoreStats *out);

/* Reading: a connection of its own, for one thread. */
typedef struct Reader Reader;
Status reader_open(const char *path, Reader **out); /* the file must be there */
void reader_close(Reader *r);
struct sqlite3 *reader_db(Reader *r); /* for queries of the caller's own */

/* ST_MISMATCH: there is none (silent); ST_IO, ST_CORRUPT: the log has why. */
Status reader_user(Reader *r, uint64_t id, StoreUser *out);
Status reader_game(Reader *r, uint64_t id, StoreGame *out);
/* Calls room for every open room, then live for each live game with its actions in order. */
typedef struct {
    void (*room)(void *ctx, const StoreRoom *r);
    void (*live)(void *ctx, const StoreLive *l, int n_acts, const StoreAct *acts);
    void *ctx;
} StoreRestore;
Status reader_restore(Reader *r, const StoreRestore *to);

#endif
