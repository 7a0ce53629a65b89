/* nethub.h - the nets of an actor process: packed once per version, shared by all its threads.
 *
 * Each role has two places. Readers hold the current one for a tick; new weights are packed into
 * the other as soon as no reader holds it any more, and become current: games are never stopped.
 * The places do not move, so a hold is three pointers and three versions.                   */
#ifndef DIZHU_ACTORS_NETHUB_H
#define DIZHU_ACTORS_NETHUB_H
#include "nets/scorer.h"
#include <stdbool.h>

typedef struct NetHub NetHub;
/* ST_UNSUPPORTED: these kernels do not have that precision. */
Status nethub_new(Precision precision, const KernelTable *k, NetHub **out);
void nethub_free(NetHub *h); /* NULL is allowed; nobody may hold anything */

/* Packs params[net_layout(role)->n_params] and makes them current. False, and nothing has changed:
 * a reader still holds the spare place; try again after a tick. One thread at a time.       */
bool nethub_put(NetHub *h, Role role, uint32_t version, const float *params);
/* Is there a current net of this version? */
bool nethub_has(NetHub *h, Role role, uint32_t version);
/* The sum of the current versions. */
uint32_t nethub_version(NetHub *h);

typedef struct {
    const PackedNet *net[N_ROLES];
    uint32_t version[N_ROLES];
    int place[N_ROLES];
} NetHold;
/* Takes hold of the current nets; false: not every role has one yet. */
bool nethub_hold(NetHub *h, NetHold *out);
void nethub_release(NetHub *h, const NetHold *hold);

#endif
