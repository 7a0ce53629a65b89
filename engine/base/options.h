/* options.h - one table per command: its defaults, parser, help, range check, config file, dump.
 *
 * An Option points at the field it fills, whose initial value is the default. `--name value` or
 * `--name=value` (getopt_long), and `name = value` lines in a config file ('#' comments). Unknown
 * names are errors. Options come before or after positional arguments.                     */
#ifndef DIZHU_ENGINE_BASE_OPTIONS_H
#define DIZHU_ENGINE_BASE_OPTIONS_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum { OPT_FLAG, OPT_INT, OPT_U64, OPT_REAL, OPT_STR, OPT_CHOICE } OptionKind;

typedef struct {
    const char *name; /* without dashes; NULL ends the table */
    OptionKind kind;
    void *value;         /* bool*, int*, uint64_t*, double*, const char**, int* (CHOICE: index) */
    const char *help;    /* one line; the default is appended */
    double min, max;     /* INT and REAL: allowed range, both 0 = any */
    const char *choices; /* CHOICE: "a|b|c"; STR: the placeholder in the help, or NULL */
    bool transient;      /* not part of the dumped config (e.g. --json, --config itself) */
} Option;

typedef struct {
    const char *usage; /* "dizhu eval A B [options]" */
    const char *about; /* what it does: one or more lines */
    const Option *options;
    int min_args, max_args; /* positional arguments; max -1 = any number */
} Command;

/* Parses argv[1..]. Positional arguments are moved to argv[1..*n_args]. `--help` prints the help on
 * stdout and sets *done. ST_INVALID: one line on stderr said what is wrong (exit 2).        */
Status options_parse(const Command *c, int argc, char **argv, int *n_args, bool *done);
/* Reads `name = value` lines over the current values. The strings it sets are malloced and the
 * caller's. */
Status options_load(const Option *options, const char *path);
/* Writes every non-transient option as `name = value`. */
void options_dump(const Option *options, FILE *out);
void options_help(const Command *c, FILE *out);

#endif
