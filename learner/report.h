/* report.h - what a learner tells its supervisor through a pipe: fixed-size messages, each one
 * write of less than PIPE_BUF bytes, so that they never mix. Both ends are the same program. */
#ifndef DIZHU_LEARNER_REPORT_H
#define DIZHU_LEARNER_REPORT_H
#include "engine/base/link.h"
#include "engine/game.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    REPORT_READY,
    REPORT_PROGRESS,
    REPORT_ALIVE,
    REPORT_SAVED,
    REPORT_ENDING
} ReportKind;

/* The learner's figures at one moment: totals, and rates since the last report. */
typedef struct {
    double seconds;         /* since this start */
    uint64_t frames, games; /* of the whole run */
    double fps;             /* decisions a second */
    double landlord_wins;   /* share, in self-play */
    double act, learn;      /* shares of this machine's processor time */
    double learner_waits;   /* share of the learner threads' time without a batch */
    double inbox_waits;     /* share of time in which full buffers held up the games */
    double record_bytes;    /* per decision */
    int actors, remote;     /* live */
    uint64_t refused, lost;
    struct {
        int ranks; /* 0: this learner is alone */
        char algo[16];
        uint64_t frames;      /* of all ranks together; 0: not known */
        double sent_per_step; /* bytes that this rank sends for a step of one net */
        double waits;         /* share of time in which its exchange waits for others */
        double apart;         /* mean |x - mean x| of the nets; NaN: not known, or one model */
    } all;
    struct {
        uint64_t steps, samples;           /* of the run; of this start */
        double fps, loss, norm, staleness; /* loss, norm: NaN before the first step */
        int fill;                          /* samples waiting */
    } role[N_ROLES];
} Progress;

enum { REPORT_MAX_PIDS = 500 };
typedef struct {
    uint32_t kind;
    uint32_t n_pids;
    union {
        char endpoint[3][LINK_ENDPOINT_BYTES]; /* READY: control, records, weights */
        Progress progress;
        int32_t pid[REPORT_MAX_PIDS]; /* ALIVE: actors of this host, heard of lately */
        uint64_t frames;              /* SAVED: a checkpoint and weights.safetensors */
    } u;
} Report;

/* The learner's end: sending never waits from here on. */
void report_init(int fd);
/* fd < 0: nobody listens, does nothing. A full pipe loses the message; a closed one is no error. */
void report_send(int fd, const Report *r);
/* Reads what has come on a non-blocking fd; false: no (more) whole message. *closed is set at the
 * end. Partial reads cannot happen.                                                         */
bool report_read(int fd, Report *out, bool *closed);

#endif
