/* think.h - what a bot does with a position: moves, bids, advice, review. One thread's work.
 *
 * Jobs of many tables are answered together: their decisions are gathered by role and each role's
 * net scores them in one forward pass. A job sees a whole Game, but what it decides depends only on
 * what the seat to act may know (obs_from_game, its own legal moves; for bids its own hand and
 * random guesses at the rest).                                                              */
#ifndef DIZHU_SERVER_THINK_H
#define DIZHU_SERVER_THINK_H
#include "server/netset.h"
#include "server/table.h"

typedef struct {
    Hand cards; /* a play, 0 = pass */
    int points; /* or a bid; -1: a play */
    uint8_t type;
    float win, exp; /* NaN: not known */
} Choice;

enum { ADVICE_MAX = 4 };
typedef struct {
    int n;
    Choice best[ADVICE_MAX]; /* plays: at most three, best first; bids: by points */
    float win, exp;          /* of the best; while bidding the chance as landlord */
} Advice;

typedef struct {
    uint16_t ply;
    uint8_t seat;
    uint16_t n_legal;
    Choice made, best;
    float loss; /* of win chance, 0..1 */
} ReviewItem;

typedef enum { JOB_MOVE, JOB_BID, JOB_ADVISE, JOB_REVIEW } JobKind;
typedef struct Job Job;
struct Job {
    Job *next;
    JobKind kind;
    uint8_t strength; /* Strength, of a move or bid */
    bool advice_too;  /* a move whose reasons are shown */
    Game game;        /* the position (not JOB_REVIEW) */
    Table *table;     /* JOB_REVIEW: a finished game; owned */
    /* for whoever asked */
    void *owner;
    uint64_t stamp, user;
    int64_t id;
    int from; /* JOB_REVIEW: the first ply that is wanted */
    double asked_s;
    /* answers */
    Choice choice;
    Advice advice;
    int n_items;
    ReviewItem *items;                    /* JOB_REVIEW: owned, n_items of them */
    double agree[N_SEATS], loss[N_SEATS]; /* JOB_REVIEW; NaN: the seat had no choice to make */
};

Job *job_new(JobKind kind);
void job_free(Job *j);

typedef struct Thinker Thinker;
Status thinker_new(uint64_t seed, Thinker **out);
void thinker_free(Thinker *t);
/* Answers n jobs. nets NULL: no net; then moves are the first legal one, bids follow high cards,
 * chances are NaN.                                                                          */
void thinker_run(Thinker *t, const NetSet *nets, Job **jobs, int n);

#endif
