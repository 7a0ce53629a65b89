/* pick.h - which weights file the bots play with: the model at hand, or the newest of a run.
 *
 * With both, the run's weights play as soon as the run is known to be better: once one of its
 * evaluations against the agent `rule` has a higher share of wins than the model had. The model's
 * share is in `eval-rule.json` beside it, which is what `dizhu eval net:MODEL rule --json` printed.
 * Without a model, or without that file, the run's weights play as soon as there are some.   */
#ifndef DIZHU_SERVER_PICK_H
#define DIZHU_SERVER_PICK_H

enum { PICK_PATH_BYTES = 1024 };

typedef struct {
    const char *model; /* weights file; NULL: none */
    const char *run;   /* run folder, or a folder of runs; NULL: none */
    double bar;        /* the model's share of wins against `rule`; < 0: not known */
} Pick;

/* Reads the model's share. The strings stay the caller's. */
void pick_init(Pick *p, const char *model, const char *run);
/* The file to play with now; "" if there is none. */
void pick_weights(const Pick *p, char out[PICK_PATH_BYTES]);

#endif
