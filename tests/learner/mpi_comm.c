/* The walk over MPI: started by mpirun with n processes. `stuck` as argument: rank 1 sleeps for
 * ever and the others must name it.                                                              */
#include <unistd.h>

#include "learner/comm/comm_mpi.h"
#include "tests/learner/comm_walk.h"

static int stuck(Rank *r) {
    comm_timeout(r->comm, 2);
    team_ok(r, comm_barrier(r->comm));
    if (r->rank == 1)
        for (;;) pause();
    team_check(r, comm_barrier(r->comm) == ST_PEER);
    team_check(r, comm_failed(r->comm) == 1);
    if (r->wrong[0]) fprintf(stderr, "%s\n", r->wrong);
    fprintf(stderr, "rank %d named rank %d\n", r->rank, comm_failed(r->comm));
    return r->wrong[0] ? 1 : 3; // 3: failed as it should
}

int main(int argc, char **argv) {
    Rank r = {0};
    if (world_new(false, &r.world) != ST_OK) return 1;
    if (comm_mpi_new(r.world, &argc, &argv, &r.comm) != ST_OK) return 1;
    r.rank = comm_rank(r.comm);
    r.size = comm_size(r.comm);
    if (argc > 1 && strcmp(argv[1], "stuck") == 0) _exit(stuck(&r));
    comm_walk(&r);
    comm_mpi_native(r.comm, true);
    Real *x = malloc(walk_sizes[WALK_SIZES - 1] * sizeof *x);
    for (int s = 0; s < WALK_SIZES; s++) walk_allreduce(&r, walk_sizes[s], x);
    free(x);
    comm_free(r.comm);
    world_free(r.world);
    if (r.wrong[0]) fprintf(stderr, "%s\n", r.wrong);
    return r.wrong[0] ? 1 : 0;
}
