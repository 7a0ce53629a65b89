/* comm_mpi.h - ranks that are the processes of an MPI job (mpirun, srun). Only built where MPI is.
 *
 * MPI is asked for MPI_THREAD_SERIALIZED: any thread may own the Comm, one at a time. Waiting polls
 * with short sleeps, so that more ranks than cores do no harm. MPI knows no lost ranks: if one
 * dies, mpirun names it and ends the job; one that is only stuck is found by comm_watch.h. */
#ifndef DIZHU_LEARNER_COMM_COMM_MPI_H
#define DIZHU_LEARNER_COMM_COMM_MPI_H
#include "learner/comm/comm.h"

/* Initialises MPI; once per process. The world must be real. ST_UNSUPPORTED: MPI lacks the thread
 * level. comm_free finalises MPI, unless a rank was lost: then the process must simply exit. */
Status comm_mpi_new(World *w, int *argc, char ***argv, Comm **out);
/* MPI's own allreduce in place of the ring of comm_collective.c. Its bytes are counted as the
 * ring's (what a bandwidth-optimal algorithm sends); it has no deadline. For comparisons. */
void comm_mpi_native(Comm *c, bool on);
/* MPI's own allreduce once; half: numbers travel and are added as fp16. */
Status comm_mpi_allreduce(Comm *c, Real *x, size_t n, bool half);

#endif
