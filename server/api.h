/* api.h - records, statistics and training figures as JSON: a thread that reads the databases.
 *
 * The service thread hands over requests, the reader thread answers them over its own connection,
 * the service thread takes the answers. What a request wants written (a record that was sent in) is
 * given back for the store.                                                                 */
#ifndef DIZHU_SERVER_API_H
#define DIZHU_SERVER_API_H
#include "server/store.h"

enum { API_PATH_BYTES = 128, API_QUERY_BYTES = 256, API_UPLOAD_MAX = RECORD_MAX_BYTES };

typedef struct ApiJob ApiJob;
struct ApiJob {
    ApiJob *next;
    /* the request */
    char path[API_PATH_BYTES], query[API_QUERY_BYTES]; /* "/api/games", "n=20&before=..." */
    bool post;
    uint64_t user; /* 0: nobody */
    uint8_t upload[API_UPLOAD_MAX];
    size_t n_upload;
    void *owner; /* the caller's; may be set to NULL meanwhile by the caller's thread */
    /* the answer */
    int status;
    char *body; /* owned */
    size_t n;
    const char *mime;
    char file[64];    /* name of a download, "" if none */
    StoreGame *store; /* to be stored before the answer goes out; owned; NULL: nothing */
    uint64_t after;   /* the caller's: the write it waits for */
};

typedef struct Api Api;
/* run_dir: the folder of a run, or of runs; NULL: no training to show. wake as in store.h. */
Status api_new(const char *db, const char *run_dir, StoreWake wake, void *ctx, Api **out);
void api_free(Api *a);
ApiJob *api_job_new(void);
void api_job_free(ApiJob *j);
void api_submit(Api *a, ApiJob *j);
/* Answered jobs, linked by next; NULL: none. The caller frees them. */
ApiJob *api_take(Api *a);
/* Too much waits. */
bool api_busy(Api *a);

/* ---- for the parts: api.c (thread, games), api_stats.c, api_train.c ---- */
struct sqlite3;
const char *api_arg(const ApiJob *j, const char *name, char out[64]); /* NULL: not given */
int64_t api_arg_int(const ApiJob *j, const char *name, int64_t if_none, int64_t lo, int64_t hi);
void api_error(ApiJob *j, int status, const char *code);
void api_stats(ApiJob *j, struct sqlite3 *db);
void api_board(ApiJob *j, struct sqlite3 *db);
void api_runs(ApiJob *j, const char *run_dir);
void api_train(ApiJob *j, const char *run_dir);

#endif
