#include "learner/ranksettings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/rng.h"
#include "learner/algo/algo.h"
#include "learner/ranks.h"
#include "learner/runfolder.h"

static bool given(const char *text) { return text && *text; }

bool ranksettings_synchronous(const Settings *s) {
    return s->learners > 1 && !algo_elastic(s->algo);
}

TransportChoice ranksettings_transport(const Settings *s) {
    if (s->transport != TRANSPORT_AUTO) return (TransportChoice)s->transport;
    return ranks_have_mpi() && !algo_elastic(s->algo) ? TRANSPORT_MPI : TRANSPORT_ZMQ;
}

/* The first of these variables that is a number; -1: none is. */
static int environment(const char *const names[]) {
    for (int i = 0; names[i]; i++) {
        const char *text = getenv(names[i]);
        if (text && *text >= '0' && *text <= '9') return atoi(text);
    }
    return -1;
}

void ranksettings_find(Settings *s) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", NULL};
    static const char *const locals[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", NULL};
    int size = environment(sizes), local = environment(locals);
    if (!given(s->algo)) s->algo = "allreduce";
    if (size > 1 && s->learners == 1) s->learners = size;
    if (s->learners == 1) return;
    if (s->rank < 0) s->rank = environment(ranks);
    if (local > 0) s->local_ranks = local;
    else if (strcmp(s->reach, "127.0.0.1") == 0) s->local_ranks = s->learners;
}

Status ranksettings_check(const Settings *s) {
    AlgoConfig c;
    Codec codec;
    bool known = strcmp(s->algo, "auto") == 0 || algo_defaults(s->algo, &c) == ST_OK;
    if (!known || (given(s->codec) && codec_parse(s->codec, &codec) != ST_OK)) return ST_INVALID;
    if (given(s->topology) && topology_parse(s->topology, s->learners, &c.topology) != ST_OK)
        return ST_INVALID;
    bool zmq = ranksettings_transport(s) == TRANSPORT_ZMQ;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {s->rank >= s->learners, "--rank is not below --learners"},
        {s->lockstep != 0, "--lockstep is for one learner"},
        {!zmq && !ranks_have_mpi(), "--transport mpi: this program was built without MPI"},
        {s->join && !algo_elastic(s->algo), "--join: the ranks of this --algo all start together"},
        {zmq && s->rank >= 0 && !given(s->founder), "a rank over zmq needs --founder"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong) {
            fprintf(stderr, "dizhu: %s\n", rules[i].why);
            return ST_INVALID;
        }
    return ST_OK;
}

void ranksettings_become(Settings *s) {
    static char folder[RUN_PATH_BYTES], key[RUN_PATH_BYTES + 16]; // one rank a process
    Rng own;
    if (s->rank < 0 || s->report_fd >= 0) return;
    if (!given(s->ranks_key)) {
        snprintf(key, sizeof key, "%s/ranks.key", s->run);
        s->ranks_key = key;
    }
    if (s->rank == 0) return;
    snprintf(folder, sizeof folder, "%.*s/rank-%d", RUN_PATH_BYTES - 16, s->run, s->rank);
    rng_init(&own, s->seed, (uint64_t)s->rank);
    s->run = folder;
    s->seed = rng_u64(&own);
    s->eval_minutes = 0;
}
