/* arena_report.h - an arena's standings and cross table, for people and for programs. */
#ifndef DIZHU_ACTORS_ARENA_REPORT_H
#define DIZHU_ACTORS_ARENA_REPORT_H
#include "actors/arena_stats.h"
#include <stdio.h>

typedef struct {
    const char *title;
    const Agent *agents; /* names */
    const ArenaStats *stats;
} ArenaReport;

void arena_report_text(const ArenaReport *r, FILE *out);
/* One line an agent (kind agent), then one a pair (kind pair). */
void arena_report_csv(const ArenaReport *r, FILE *out);
/* One file that needs nothing else. */
void arena_report_html(const ArenaReport *r, FILE *out);
void arena_report_json(const ArenaReport *r, FILE *out);

#endif
