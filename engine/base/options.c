#include "engine/base/options.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 64, LINE_BYTES = 1024, HELP_COLUMN = 30 };

static Status complain(const Option *o, const char *text, const char *want) {
    fprintf(stderr, "dizhu: --%s: '%s' is not %s\n", o->name, text, want);
    return ST_INVALID;
}

static int choice_find(const char *choices, const char *text) {
    size_t len = strlen(text);
    int index = 0;
    for (const char *p = choices;; p++, index++) {
        size_t n = strcspn(p, "|");
        if (n == len && strncmp(p, text, n) == 0) return index;
        p += n;
        if (*p == '\0') return -1;
    }
}

static const char *choice_name(const char *choices, int index, char *buf, size_t cap) {
    for (; index > 0; index--) choices += strcspn(choices, "|") + 1;
    snprintf(buf, cap, "%.*s", (int)strcspn(choices, "|"), choices);
    return buf;
}

static Status set_number(const Option *o, const char *text) {
    char want[96], *end;
    errno = 0;
    double v = o->kind == OPT_INT ? (double)strtol(text, &end, 10) : strtod(text, &end);
    bool bad = end == text || *end != '\0' || errno == ERANGE || !isfinite(v);
    bool ranged = o->min != 0 || o->max != 0;
    if (ranged && (v < o->min || v > o->max)) bad = true;
    if (o->kind == OPT_INT && (v < -2147483648.0 || v > 2147483647.0)) bad = true;
    if (bad) {
        const char *kind = o->kind == OPT_INT ? "a whole number" : "a number";
        if (ranged) snprintf(want, sizeof want, "%s from %g to %g", kind, o->min, o->max);
        else snprintf(want, sizeof want, "%s", kind);
        return complain(o, text, want);
    }
    if (o->kind == OPT_INT) *(int *)o->value = (int)v;
    else *(double *)o->value = v;
    return ST_OK;
}

static Status set_u64(const Option *o, const char *text) {
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || errno == ERANGE || strchr(text, '-') != NULL)
        return complain(o, text, "a whole number from 0 to 2^64-1");
    *(uint64_t *)o->value = v;
    return ST_OK;
}

static Status set_flag(const Option *o, const char *text) {
    bool yes = strcmp(text, "yes") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    bool no = strcmp(text, "no") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
    if (!yes && !no) return complain(o, text, "yes or no");
    *(bool *)o->value = yes;
    return ST_OK;
}

static Status set_option(const Option *o, const char *text) {
    switch (o->kind) {
    case OPT_FLAG: return set_flag(o, text ? text : "yes");
    case OPT_INT:
    case OPT_REAL: return set_number(o, text);
    case OPT_U64: return set_u64(o, text);
    case OPT_STR: *(const char **)o->value = text; return ST_OK;
    case OPT_CHOICE: {
        char want[256];
        int index = choice_find(o->choices, text);
        snprintf(want, sizeof want, "one of %s", o->choices);
        if (index < 0) return complain(o, text, want);
        *(int *)o->value = index;
        return ST_OK;
    }
    }
    return ST_INVALID;
}

static void print_value(const Option *o, FILE *out) {
    char buf[64];
    switch (o->kind) {
    case OPT_FLAG: fputs(*(bool *)o->value ? "yes" : "no", out); break;
    case OPT_INT: fprintf(out, "%d", *(int *)o->value); break;
    case OPT_U64: fprintf(out, "%llu", (unsigned long long)*(uint64_t *)o->value); break;
    case OPT_REAL: fprintf(out, "%.10g", *(double *)o->value); break;
    case OPT_STR: fputs(*(const char **)o->value ? *(const char **)o->value : "", out); break;
    case OPT_CHOICE: fputs(choice_name(o->choices, *(int *)o->value, buf, sizeof buf), out); break;
    }
}

void options_help(const Command *c, FILE *out) {
    fprintf(out, "usage: %s\n\n%s\n", c->usage, c->about);
    if (c->options[0].name) fputs("\noptions:\n", out);
    for (const Option *o = c->options; o->name; o++) {
        static const char *const kinds[] = {"", " N", " N", " X", " TEXT", " "};
        const char *kind = kinds[o->kind], *more = "";
        if (o->kind == OPT_CHOICE) more = o->choices;
        if (o->kind == OPT_STR && o->choices) kind = " ", more = o->choices;
        int n = fprintf(out, "  --%s%s%s", o->name, kind, more);
        fprintf(out, "%*s%s", n < HELP_COLUMN ? HELP_COLUMN - n : 2, "", o->help);
        bool empty =
            o->kind == OPT_FLAG || (o->kind == OPT_STR && *(const char **)o->value == NULL);
        if (!empty) {
            fputs(" [", out);
            print_value(o, out);
            fputs("]", out);
        }
        fputc('\n', out);
    }
}

Status options_parse(const Command *c, int argc, char **argv, int *n_args, bool *done) {
    struct option longs[MAX_OPTIONS + 2] = {0};
    int n = 0;
    for (const Option *o = c->options; o->name; o++, n++) {
        if (n == MAX_OPTIONS) abort();
        longs[n] = (struct option){
            o->name, o->kind == OPT_FLAG ? optional_argument : required_argument, NULL, 0};
    }
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    *done = false;
    optind = 0; // glibc: start afresh, also after an earlier command line
    for (int got, index; (got = getopt_long(argc, argv, "h", longs, &index)) != -1;) {
        if (got == 'h') {
            options_help(c, stdout);
            *done = true;
            return ST_OK;
        }
        if (got == '?') {
            fprintf(stderr, "try '%.*s --help'\n", (int)strcspn(c->usage, "[A-Z"), c->usage);
            return ST_INVALID;
        }
        TRY(set_option(&c->options[index], optarg));
    }
    *n_args = argc - optind;
    if (*n_args < c->min_args || (c->max_args >= 0 && *n_args > c->max_args)) {
        fprintf(stderr, "dizhu: %s\nusage: %s\n",
                *n_args < c->min_args ? "an argument is missing" : "too many arguments", c->usage);
        return ST_INVALID;
    }
    memmove(argv + 1, argv + optind, (size_t)*n_args * sizeof *argv);
    return ST_OK;
}

static char *trim(char *s) {
    while (isspace((unsigned char)*s)) s++;
    for (size_t n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]);) s[--n] = '\0';
    return s;
}

static Status load_line(const Option *options, char *line, const char *path, int number) {
    char *name = trim(line), *eq = strchr(name, '=');
    if (*name == '\0' || *name == '#') return ST_OK;
    if (eq == NULL) {
        fprintf(stderr, "dizhu: %s:%d: no '=' in '%s'\n", path, number, name);
        return ST_PARSE;
    }
    *eq = '\0';
    char *value = trim(eq + 1);
    name = trim(name);
    for (const Option *o = options; o->name; o++) {
        if (strcmp(o->name, name) != 0) continue;
        if (o->kind == OPT_STR)
            value = *value ? strdup(value) : NULL; // lives as long as the option
        Status st = set_option(o, value);
        if (st != ST_OK) fprintf(stderr, "dizhu: %s:%d: bad value\n", path, number);
        return st;
    }
    fprintf(stderr, "dizhu: %s:%d: unknown option '%s'\n", path, number, name);
    return ST_INVALID;
}

Status options_load(const Option *options, const char *path) {
    FILE *f = fopen(path, "r");
    if (f == NULL) {
        fprintf(stderr, "dizhu: %s: %s\n", path, strerror(errno));
        return ST_IO;
    }
    char line[LINE_BYTES];
    Status st = ST_OK;
    for (int number = 1; st == ST_OK && fgets(line, sizeof line, f) != NULL; number++) {
        if (strchr(line, '\n') == NULL && !feof(f)) {
            fprintf(stderr, "dizhu: %s:%d: line too long\n", path, number);
            st = ST_PARSE;
        } else st = load_line(options, line, path, number);
    }
    fclose(f);
    return st;
}

void options_dump(const Option *options, FILE *out) {
    for (const Option *o = options; o->name; o++) {
        if (o->transient) continue;
        fprintf(out, "%s = ", o->name);
        print_value(o, out);
        fputc('\n', out);
    }
}
