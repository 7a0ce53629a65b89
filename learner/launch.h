/* launch.h - the command lines of what `train` starts: its learner, its actors, matches. */
#ifndef DIZHU_LEARNER_LAUNCH_H
#define DIZHU_LEARNER_LAUNCH_H
#include "engine/base/link.h"
#include "learner/child.h"
#include "learner/config.h"

enum { LAUNCH_PATH_BYTES = 1024 };
typedef struct {
    char learner[LAUNCH_PATH_BYTES], actor[LAUNCH_PATH_BYTES]; /* dizhu-learn, dizhu */
} Programs;

/* They lie beside this program. ST_IO with one line in the log. */
Status programs_find(Programs *out);

/* All: as child_start. endpoints: where the learner shall listen, "" where it may choose; minutes:
 * how long it trains, 0: no limit; join: other ranks are at work already; lock_fd: the run's lock,
 * which it inherits.              */
Status launch_learner(Child *c, const Programs *p, const Settings *s,
                      char endpoints[3][LINK_ENDPOINT_BYTES], double minutes, bool join,
                      int lock_fd);
/* control: where the learner listens; cpus: where it may run, NULL: anywhere. */
Status launch_actor(Child *c, const Programs *p, const Settings *s, const char *control,
                    const cpu_set_t *cpus);
/* net: a weights file. alone: nothing else runs, it may take all cores. */
Status launch_match(Child *c, const Programs *p, const Settings *s, const char *net,
                    const char *opponent, bool alone);

#endif
