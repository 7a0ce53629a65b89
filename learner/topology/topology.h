/* topology.h - who averages with whom: the mixing matrix W of n ranks.
 *
 * Row i of W says x_i <- sum_j W_ij x_j.
 *
 * | name        | neighbours of i                        | weight            | step by step     |
 * | complete    | all                                    | 1/n               | static           |
 * | ring:A      | i-1, i+1                               | A each, 1/3       | static           |
 * | exponential | i +- 1, 2, 4, ...                      | 1/(degree+1)      | static           |
 * | bipartite   | i +- 1, 3, 5, 9, 17 ... of other parity| 1/(1+max degree)  | static           |
 * | matching    | one of the other half, shifted by one  | 1/2, n even       | period n/2       |
 * | hypercube   | i xor 2^t                              | 1/2, n = 2^k      | period k         |
 *
 * `lazy-` in front of a name makes it (W + I) / 2, whose eigenvalues are not negative.
 * Every row is a pure function of (rank, step): nothing is negotiated.
 * Sources: Lian et al., arXiv:1705.09056 (D-PSGD), arXiv:1710.06952 (AD-PSGD); Assran et al.,
 * arXiv:1811.10792 (exponential graphs); Bagua's shift_one (matching).                      */
#ifndef DIZHU_LEARNER_TOPOLOGY_TOPOLOGY_H
#define DIZHU_LEARNER_TOPOLOGY_TOPOLOGY_H
#include "engine/base/status.h"
#include <stdbool.h>
#include <stdint.h>

enum { TOPOLOGY_MAX = 256 }; /* ranks, because eigenvalues are computed; and so neighbours */

typedef enum {
    TOPOLOGY_COMPLETE,
    TOPOLOGY_RING,
    TOPOLOGY_EXPONENTIAL,
    TOPOLOGY_BIPARTITE,
    TOPOLOGY_MATCHING,
    TOPOLOGY_HYPERCUBE,
    TOPOLOGY_MATRIX, /* given, for tests and experiments */
    N_TOPOLOGIES
} TopologyKind;

typedef struct {
    TopologyKind kind;
    int n;
    double weight; /* ring: of each neighbour */
    bool lazy;
    const double *matrix;      /* TOPOLOGY_MATRIX: [n][n], borrowed */
    double lambda_2, lambda_n; /* set by topology_check: of the mean W over a period */
} Topology;

typedef struct {
    int n; /* neighbours, without the rank itself */
    int peer[TOPOLOGY_MAX];
    double weight[TOPOLOGY_MAX], self;
} TopologyRow;

/* What an algorithm needs of W. */
enum {
    TOPOLOGY_SYMMETRIC = 1,
    TOPOLOGY_STOCHASTIC = 2, /* rows (and, being symmetric, columns) sum to 1, nothing negative */
    TOPOLOGY_CONNECTED = 4,  /* over a period: lambda_2 < 1 */
    TOPOLOGY_STATIC = 8,
    TOPOLOGY_TWO_SIDED = 16, /* bipartite: even ranks have odd neighbours only */
    TOPOLOGY_MEAN = TOPOLOGY_SYMMETRIC | TOPOLOGY_STOCHASTIC | TOPOLOGY_CONNECTED,
};

/* From "ring:0.25", "lazy-exponential"... for n ranks. ST_INVALID with a line in the log: the name,
 * or a number of ranks that it does not exist for.                                          */
Status topology_parse(const char *text, int n, Topology *out);
const char *topology_name(const Topology *t);
int topology_period(const Topology *t); /* 1: static */
void topology_row(const Topology *t, int rank, uint64_t step, TopologyRow *out);

/* Refuses (ST_INVALID, and a line that says which condition fails, where and by how much) a W that
 * lacks a need, or whose smallest eigenvalue is not above lambda_n_above (-2: any will do). `who`
 * names the algorithm in that line.                                                         */
Status topology_check(Topology *t, const char *who, unsigned needs, double lambda_n_above);

/* Eigenvalues of a symmetric matrix a[n][n] (destroyed), ascending, by Jacobi rotations. */
void symmetric_eigenvalues(int n, double *a, double *values);

#endif
