/* mix.h - one row of W applied: out = sum_j W_ij x_j, by one exchange with the neighbours. */
#ifndef DIZHU_LEARNER_ALGO_MIX_H
#define DIZHU_LEARNER_ALGO_MIX_H
#include "learner/codec/codec.h"
#include "learner/comm/comm.h"
#include "learner/topology/topology.h"

typedef struct {
    Comm *comm;
    const Topology *topology;
    size_t n;
    uint32_t tag;
    Codec codec;
    bool exact, precise;
    double *sum; /* precise: [n] */
    Real *in;    /* exact: one block per neighbour; precise: one for a decoded code at least */
    uint8_t *out, *codes; /* else: our code, and one per neighbour */
    size_t bound, out_bytes;
} Mix;

/* ST_NOMEM. The topology is borrowed. precise: for mix_run_precise, else for mix_run. */
Status mix_init(Mix *m, Comm *comm, const Topology *topology, const Codec *codec, size_t n,
                uint32_t tag, bool precise);
void mix_deinit(Mix *m);
/* x and out are n numbers and do not overlap. On the complete graph this is an allreduce. Otherwise
 * neighbours are added in the order of their rank, with this rank in its place. With a codec it is
 * out = x + sum_j W_ij (C(x_j) - C(x_i)): what the codec loses cancels in the mean over ranks, and
 * ranks that agree stay as they are. The codec must not need a seed.                        */
Status mix_run(Mix *m, uint64_t step, const Real *x, Real *out);
/* The same, summed in double: out + rest, where rest is what out has no digits for. On the complete
 * graph, too, everyone sends to everyone.                                                   */
Status mix_run_precise(Mix *m, uint64_t step, const Real *x, Real *out, Real *rest);

#endif
