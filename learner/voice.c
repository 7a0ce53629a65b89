#include "learner/voice.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT_BYTES = 1400 };

void voice_say(Voice *v, LogLevel level, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    progressline_clear(&v->line);
    log_line(level, "%s", text);
}

void voice_event(Voice *v, LogLevel level, const char *fmt, ...) {
    char text[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    voice_say(v, level, "%s", text);
    metrics_event(v->metrics, text);
}

void voice_pass(Voice *v, const char *line) {
    progressline_clear(&v->line);
    log_copy(line);
}
