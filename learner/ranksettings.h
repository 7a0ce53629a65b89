/* ranksettings.h - what of the settings is about several learners: which rank is this, what is its
 * own, what cannot go together. */
#ifndef DIZHU_LEARNER_RANKSETTINGS_H
#define DIZHU_LEARNER_RANKSETTINGS_H
#include "learner/config.h"

/* Fills rank, learners and local_ranks from what mpirun, or srun with PMIx, has put into the
 * environment, where the command line does not say. */
void ranksettings_find(Settings *s);
/* One line on stderr, ST_INVALID. */
Status ranksettings_check(const Settings *s);
/* A rank above 0 gets a folder, RUN/rank-K, and games (a seed) of its own, and evaluates nothing.
 * What a supervisor has started (report_fd) is that rank already.                             */
void ranksettings_become(Settings *s);

/* One of several whose steps are made together? */
bool ranksettings_synchronous(const Settings *s);
/* TRANSPORT_MPI or _ZMQ: what was asked for, or what suits the algorithm and is built in. */
TransportChoice ranksettings_transport(const Settings *s);

#endif
