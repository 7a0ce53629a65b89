/* intake.h - how new weights reach the hub: from shared memory if the learner is on this host,
 * else from WEIGHTS frames. Used by the thread that owns the sockets.                        */
#ifndef DIZHU_ACTORS_INTAKE_H
#define DIZHU_ACTORS_INTAKE_H
#include "actors/client.h"
#include "actors/nethub.h"

typedef struct Intake Intake;
/* Opens the run's shared memory if it can be had. The hub is borrowed. */
Status intake_new(const Welcome *w, NetHub *hub, Intake **out);
void intake_free(Intake *i); /* NULL is allowed */
/* Do weights come through shared memory? Otherwise they must be asked for. */
bool intake_shared(const Intake *i);

/* A learner that came back may have made its shared memory anew. */
void intake_reopen(Intake *i);

/* Packs what has changed in shared memory, each role at most every refresh_ms, as far as the hub
 * has room at the moment. Cheap if nothing has changed.                                         */
void intake_refresh(Intake *i, int refresh_ms);
/* Takes the body of a WEIGHTS frame (three versions and a weights file); a role that finds no room
 * now waits for intake_refresh. Errors are logged and counted as weights that never came. */
void intake_frame(Intake *i, const uint8_t *p, size_t n);
/* Seconds since weights came; since the start if they never have. */
double intake_age_s(const Intake *i);

#endif
