/* publish.h - new weights on their way to the actors.
 *
 * Every publication goes to shared memory at once, by the thread that made the step. VERSION frames
 * (and, while there are actors without shared memory, whole WEIGHTS in bf16 at a bounded rate) go
 * out by PUB from the control thread. */
#ifndef DIZHU_LEARNER_PUBLISH_H
#define DIZHU_LEARNER_PUBLISH_H
#include "engine/base/link.h"
#include "learner/step.h"
#include "nets/sharedweights.h"
#include "nets/weights.h"

typedef struct Publisher Publisher;

/* The version of a net after so many steps: never 0, which means no net. */
static inline uint32_t publisher_version(uint64_t steps) { return (uint32_t)steps + 1; }

typedef struct {
    uint64_t run;
    uint8_t ruleset, objective;
    bool ema;                /* publish the averaged weights */
    int every;               /* steps of a net between publications */
    double weights_seconds;  /* least time between WEIGHTS frames */
    Link *pub;               /* NULL: shared memory only */
    NetLearner *const *nets; /* [N_ROLES] */
} PublisherConfig;

/* Makes or takes over the run's shared memory and publishes the nets as they are. */
Status publisher_new(const PublisherConfig *c, Publisher **out);
/* Unlinks the shared memory: the run has ended (for this process; actors keep what they mapped). */
void publisher_free(Publisher *p);
const char *publisher_shm(const Publisher *p);

/* A StepDone: publishes the net if it is due. ctx is the Publisher. */
void publisher_step(void *ctx, NetLearner *net, Role role, uint64_t steps);
/* Publishes all nets now, due or not. */
void publisher_all(Publisher *p);
/* VERSION, with this sequence number (0: the last one again). Any thread. */
void publisher_announce(Publisher *p, uint64_t sequence);
/* WEIGHTS, unless the last are too young or still the newest. One thread. */
void publisher_weights(Publisher *p);
void publisher_bye(Publisher *p);
/* The newest weights with their frame, for an actor that asks: the three versions, then a weights
 * file in bf16. *body is malloced.                                                          */
Status publisher_encode(Publisher *p, Frame *f, uint8_t **body);

#endif
