/* netset.h - the nets of the three roles, packed for scoring: what the bots play with.
 *
 * Immutable once loaded, shared by threads, freed by the last who holds it.                 */
#ifndef DIZHU_SERVER_NETSET_H
#define DIZHU_SERVER_NETSET_H
#include "nets/scorer.h"
#include "nets/weights.h"
#include <stdatomic.h>

typedef struct {
    PackedNet *net[N_ROLES];
    WeightsInfo info;
    char name[96]; /* file name without folders and suffix, and its version */
    atomic_int refs;
} NetSet;

/* Loads a weights file that has all three roles. The log has what went wrong. */
Status netset_load(const char *path, Precision p, NetSet **out);
NetSet *netset_ref(NetSet *n); /* NULL gives NULL */
void netset_unref(NetSet *n);  /* NULL is allowed */

/* What a value of Q means to the seat that made the move: its chance to win and the points it may
 * expect, given the stakes after the move: base (max(1, bid)) and bombs so far. A net knows one of
 * the two; the other follows from it roughly (docs/server.md).                              */
typedef struct {
    float win, exp;
} Opinion;
Opinion netset_opinion(const NetSet *n, float q, int role, int base, int bombs);

#endif
