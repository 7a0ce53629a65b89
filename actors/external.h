/* external.h - a program that plays one seat of one game, run at arm's length.
 *
 * The program is a shell command line. It gets a line on stdin and answers on stdout; in the plain
 * mode it runs once a turn and its whole output is the answer, in the keep-running mode it answers,
 * prints the marker line and waits for the next. What it may take is limited: wall time per turn,
 * memory, output, processes. Everything it starts is one process group that it cannot leave (its
 * children may not call setsid or setpgid: a seccomp filter, where the kernel has it), so that one
 * kill ends it all; between turns a keep-running group is stopped. Its stderr is thrown away.
 * From the first external_new on this process ignores SIGPIPE.                              */
#ifndef DIZHU_ACTORS_EXTERNAL_H
#define DIZHU_ACTORS_EXTERNAL_H
#include "actors/judge.h"
#include <stddef.h>

#define KEEP_RUNNING_MARKER ">>>BOTZONE_REQUEST_KEEP_RUNNING<<<"

typedef struct {
    const char *command; /* borrowed */
    bool keep_running;
    int time_ms, first_ms; /* of a turn; of a turn in which the program has to start first */
    int memory_mb;         /* of the whole group */
    int output_bytes;      /* of an answer */
    int processes;         /* of the group, at once */
} ExternalConfig;

/* Botzone's own limits; 32 processes. */
ExternalConfig external_defaults(const char *command, bool keep_running);

typedef struct External External;
Status external_new(const ExternalConfig *c, External **out);
void external_free(External *e); /* kills what still runs; NULL is allowed */

/* Does it wait for the next request? Else external_ask starts it, and it must be told all. */
bool external_running(const External *e);
/* Hands over a line (without newline) and waits for the answer: VERDICT_OK and *out of *n bytes,
 * valid until the next call; else one of the first five faults, and nothing runs any more.  */
Verdict external_ask(External *e, const char *line, const char **out, size_t *n);

#endif
