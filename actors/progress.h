/* progress.h - how far a long command is, on stderr: one rewritten line on a terminal, one line a
 * minute elsewhere, with the time left.                                                      */
#ifndef DIZHU_ACTORS_PROGRESS_H
#define DIZHU_ACTORS_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *unit; /* what is counted, e.g. "games" */
    bool terminal;
    double began, last;
} Progress;

void progress_init(Progress *p, const char *unit);
void progress_show(Progress *p, int64_t done, int64_t all);
void progress_clear(Progress *p); /* takes the line off a terminal */

#endif
