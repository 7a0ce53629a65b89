/* voice.h - what `train` says: lines on the terminal and in the run's log, round the progress line;
 * what matters later is also an event in the metrics.                                       */
#ifndef DIZHU_LEARNER_VOICE_H
#define DIZHU_LEARNER_VOICE_H
#include "engine/base/log.h"
#include "learner/metrics.h"
#include "learner/progress.h"

typedef struct {
    ProgressLine line;
    Metrics *metrics; /* borrowed; NULL: events are not kept */
} Voice;

void voice_say(Voice *v, LogLevel level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void voice_event(Voice *v, LogLevel level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* A line that a child has logged: it has its time and name already. */
void voice_pass(Voice *v, const char *line);

#endif
