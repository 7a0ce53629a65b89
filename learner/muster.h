/* muster.h - `train --learners N` on one machine: starts N ranks, each a `train` with a learner and
 * actors of its own, and stays until they end.
 *
 * Over mpi they are started by mpirun, which ends all when one dies. Over zmq each is started here:
 * where ranks step together, one that dies ends the run; where they may come and go it is started
 * again and joins the others. Both name the rank.                                            */
#ifndef DIZHU_LEARNER_MUSTER_H
#define DIZHU_LEARNER_MUSTER_H
#include "learner/config.h"
#include <stdatomic.h>

/* argv: the command line of this process, "train" first; the ranks get the same. Returns the exit
 * code: 0 only if all ranks ended well.                                                      */
int muster(const Settings *s, int argc, char **argv, atomic_bool *stop);

#endif
