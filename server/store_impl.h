/* store_impl.h - what the parts of the store share: store.c (queue, writer thread), store_write.c
 * (a write as SQL), store_read.c. Nobody else includes it.                                  */
#ifndef DIZHU_SERVER_STORE_IMPL_H
#define DIZHU_SERVER_STORE_IMPL_H
#include "server/store.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

typedef enum {
    WRITE_USER,
    WRITE_ROOM,
    WRITE_DROP_ROOM,
    WRITE_LIVE,
    WRITE_DROP_LIVE,
    WRITE_ACT,
    WRITE_CUT_ACTS,
    WRITE_RATED,
    WRITE_GAME,
    WRITE_REVIEW
} WriteKind;

typedef struct Write Write;
struct Write {
    Write *next;
    WriteKind kind;
    union {
        StoreUser user;
        StoreRoom room;
        StoreLive live;
        StoreGame *game; /* owned */
        char code[ROOM_CODE_CHARS + 1];
        struct {
            uint64_t game;
            int ply;
            StoreAct act;
        } act;
        struct {
            uint64_t game;
            int n; /* ply, seat or flag */
            double loss, agree;
        } other;
    } u;
};

enum { N_WRITE_SQL = 20 };

struct Store {
    sqlite3 *db;
    sqlite3_stmt *sql[N_WRITE_SQL];
    int commit_ms;
    StoreWake wake;
    void *wake_ctx;
    uint64_t last; /* service thread */
    pthread_t thread;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t more;
    Write *head, *tail; /* under lock, with stop and stats */
    uint64_t queued;
    bool stop;
    StoreStats stats;
    atomic_uint_least64_t committed;
};

Status store_sql_error(sqlite3 *db, const char *what);
/* Opens a connection as the house wants it. */
Status store_connect(const char *path, int flags, sqlite3 **out);
Status store_write_prepare(Store *s);
/* Carries out one write inside the open transaction. Returns SQLite's code. */
int store_write_one(Store *s, const Write *w);
/* Steps a statement that gives no rows and resets it. */
int store_step(sqlite3_stmt *q);
void store_bind_u64(sqlite3_stmt *q, int i, uint64_t v);

#endif
