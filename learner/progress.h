/* progress.h - the one line that tells how training goes: rewritten in place on a terminal, one
 * line a minute elsewhere. What a narrow terminal has no room for is left out, the least important
 * first. docs/training.md explains the figures.                                             */
#ifndef DIZHU_LEARNER_PROGRESS_H
#define DIZHU_LEARNER_PROGRESS_H
#include "learner/report.h"

typedef struct {
    bool terminal;
    bool silent;         /* shows nothing: rank 0 does */
    bool shown;          /* the line is on the terminal now */
    double next_s;       /* when the next line is due, elsewhere */
    uint64_t max_frames; /* limits, for the ETA; 0: none */
    double max_seconds;
    char wins[160]; /* the last evaluations, as text */
    char doing[96]; /* what goes on beside training, as text */
} ProgressLine;

void progressline_init(ProgressLine *l, uint64_t max_frames, double max_seconds);
void progressline_show(ProgressLine *l, const Progress *p);
/* This text in place of the line; nothing elsewhere. */
void progressline_note(ProgressLine *l, const char *text);
/* Removes the line, so that something else can be printed. */
void progressline_clear(ProgressLine *l);
/* Always one more line: the end. */
void progressline_last(ProgressLine *l, const Progress *p);

/* The text: "1.2M frames 24.1k/s  (L 8.0k D 8.1k U 8.0k)  loss .61 .78 .75 ...", of at most `room`
 * characters < cap; more only if the first piece alone is longer. Returns its length.       */
int progressline_text(const ProgressLine *l, const Progress *p, char *out, int cap, int room);

#endif
