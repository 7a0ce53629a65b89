/* mix.h - one row of W applied: out = sum_j W_ij x_j, by one exchange with the neighbours. */
#ifndef DIZHU_LEARNER_ALGO_MIX_H
#define DIZHU_LEARNER_ALGO_MIX_H
#include "learner/comm/comm.h"
#include "learner/topology/topology.h"

typedef struct {
    Comm *comm;
    const Topology *topology;
    size_t n;
    uint32_t tag;
    Real *in; /* one block per neighbour */
} Mix;

/* ST_NOMEM. The topology is borrowed. */
Status mix_init(Mix *m, Comm *comm, const Topology *topology, size_t n, uint32_t tag);
void mix_deinit(Mix *m);
/* x and out are n numbers and do not overlap. On the complete graph this is an allreduce. Otherwise
 * neighbours are added in the order of their rank, with this rank in its place.             */
Status mix_run(Mix *m, uint64_t step, const Real *x, Real *out);

#endif
