/* bots.h - threads that answer jobs (think.h), many at a time, with the newest net.
 *
 * The service thread submits; a worker takes all that waits, up to a batch, answers it and wakes
 * the service thread, which takes the answers. Reviews wait until no table does. A watcher thread
 * loads a newer weights file when there is one; games go on meanwhile.                      */
#ifndef DIZHU_SERVER_BOTS_H
#define DIZHU_SERVER_BOTS_H
#include "server/think.h"

typedef struct {
    int workers;
    const char *model; /* weights file; NULL: none */
    const char *run;   /* run folder (pick.h: when its weights go before the model); NULL: none */
    Precision precision;
    void (*wake)(void *ctx); /* called by workers; NULL: none */
    void *ctx;
} BotsConfig;

typedef struct {
    uint64_t asked, jobs, taken, batches; /* jobs: answered; taken: by bots_take */
    double busy_s;                        /* of all workers */
    int waiting;                          /* urgent jobs not yet begun */
    uint64_t loads, refused;              /* nets loaded; files that were none */
} BotsStats;

typedef struct Bots Bots;
/* ST_OK also when no weights can be read: the log says so, and bots play without a net until there
 * are some.                                                                                 */
Status bots_new(const BotsConfig *c, Bots **out);
void bots_free(Bots *b); /* drops what is unanswered; NULL is allowed */

void bots_submit(Bots *b, Job *j); /* the job comes back through bots_take */
/* The answered jobs, oldest first, linked by next; NULL: none. The caller frees them. */
Job *bots_take(Bots *b);
/* So much waits that an answer would come late: advice and reviews should be refused. */
bool bots_busy(Bots *b);
/* Name of the net that plays, "" if none. */
void bots_net_name(Bots *b, char out[96]);
void bots_stats(Bots *b, BotsStats *out);

#endif
