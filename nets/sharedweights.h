/* sharedweights.h - the newest weights of a run in POSIX shared memory: one writer, many readers.
 *
 * The learner writes after its steps, actors on the same host read between games; nobody waits for
 * anybody. Each role has two slots of fp32 (net_layout order) guarded by sequence numbers: the
 * writer fills the slot that is not current and then makes it so; a reader that was overtaken while
 * copying sees that the slot's number has changed and copies again. Versions are the writer's
 * step counts: readers ask whether one differs from theirs (a resumed run goes back).
 * A region carries its run id: what another run left under the same name is never read. It
 * outlives a writer that was killed, whose successor takes it over; the run's end unlinks it. */
#ifndef DIZHU_NETS_SHAREDWEIGHTS_H
#define DIZHU_NETS_SHAREDWEIGHTS_H
#include "engine/base/status.h"
#include "nets/net.h"

enum { SHAREDWEIGHTS_NAME_BYTES = 32 };
typedef struct SharedWeights SharedWeights;

/* The name of a run's region: "/dizhu-" and the run id in hex. */
void sharedweights_name(uint64_t run, char out[SHAREDWEIGHTS_NAME_BYTES]);

/* Writer: takes over the run's region if it exists and is whole, makes it anew otherwise. Versions
 * of roles not yet written are 0. ST_IO: no shared memory, or not enough (36 MB).           */
Status sharedweights_create(const char *name, uint64_t run, SharedWeights **out);
/* Reader. ST_IO: no such region; ST_MISMATCH: it is of another run, or of another build. Silent:
 * the caller falls back to weights by socket.                                               */
Status sharedweights_open(const char *name, uint64_t run, SharedWeights **out);
/* Unmaps, NULL is allowed. The name stays until sharedweights_unlink. */
void sharedweights_close(SharedWeights *s);
void sharedweights_unlink(const char *name);

/* Writer only, one thread per role at a time. */
void sharedweights_write(SharedWeights *s, Role role, uint32_t version, const float *params);
/* The current version of a role; 0: never written. */
uint32_t sharedweights_version(const SharedWeights *s, Role role);
/* A consistent copy of the current weights of a role. ST_TIMEOUT: never written, or (practically
 * impossible) overtaken a hundred times in a row.                                           */
Status sharedweights_read(const SharedWeights *s, Role role, float *params, uint32_t *version);

#endif
