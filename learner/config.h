/* config.h - everything that `train` can be told, in one table; what of it a run folder keeps.
 *
 * The command line goes over the preset, over --config FILE, over the run's own config.txt. A run
 * that exists keeps its identity (rules, objective, seed, optimizer, preset): asking for another is
 * refused. What may change from one start to the next (limits, threads, learning rate, ...) is
 * changed, and saved.                                                                       */
#ifndef DIZHU_LEARNER_CONFIG_H
#define DIZHU_LEARNER_CONFIG_H
#include "engine/base/options.h"
#include "engine/base/status.h"
#include "learner/machine.h"
#include "learner/optim.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum { PRESET_FAST, PRESET_DOUZERO, N_PRESETS } Preset;
enum { SHUFFLE_AUTO = -1 };
typedef enum { TRAIN_ON_UNFORCED, TRAIN_ON_ALL } TrainOn;
/* What may be asked for: a Precision + 1, or the fastest that the processor has. */
typedef enum {
    PRECISION_AUTO,
    PRECISION_ALWAYS_FP32,
    PRECISION_ALWAYS_BF16,
    PRECISION_ALWAYS_INT8
} PrecisionChoice;

typedef enum { TRANSPORT_AUTO, TRANSPORT_MPI, TRANSPORT_ZMQ } TransportChoice;

typedef struct {
    const char *run; /* the run folder; of rank K > 0: RUN/rank-K */
    int preset;      /* Preset */
    /* what is learned */
    int ruleset, objective;
    uint64_t seed;
    const char *init; /* a weights file that a new run begins with; NULL: random weights */
    /* acting */
    int actors;      /* processes on this machine; 0: enough for all cores; -1: none */
    int act_threads; /* playing threads of each */
    int games;       /* concurrent games of an actor; 0: the actor's default */
    double epsilon;
    int act_precision; /* PrecisionChoice */
    bool act_ema;      /* play with the averaged weights */
    /* learning */
    int train_on;      /* TrainOn */
    int batch, buffer; /* samples; buffer per role, 0: four batches */
    int shuffle;       /* samples of a role that are mixed before they are batched, SHUFFLE_AUTO:
                          eight batches; 0: the samples of a game stay together */
    double uses;       /* how often a sample is learned from, on average */
    int threads;       /* learner threads; 0: one per core, as far as they pay */
    int precision;     /* PrecisionChoice, of products */
    int optimizer;     /* OptimKind */
    int pin;           /* Pin */
    int schedule;      /* Schedule */
    double lr, lr_end, clip, ema;
    uint64_t warmup, decay_from, decay_to; /* steps of each net */
    int publish_every;                     /* steps of a net between publications */
    /* end */
    uint64_t frames; /* of the whole run; 0: no limit */
    double minutes;  /* of this start; 0: no limit */
    /* keeping */
    double checkpoint_minutes;
    int keep;       /* checkpoints kept */
    bool snapshots; /* keep the weights of every evaluation */
    int records_mb; /* disk for game records; 0: none are kept */
    /* evaluation */
    double eval_minutes; /* 0: never */
    int eval_decks;
    const char *eval_against; /* names of agents, separated by commas */
    /* connection */
    const char *listen;     /* NULL: loopback, any free ports */
    double weights_seconds; /* between full weights for actors on other hosts */
    int lockstep;           /* games per frame; 0: free running */
    /* several learners of one bot, its ranks: docs/distributed.md */
    int learners;      /* how many; 1: this one is alone */
    int transport;     /* TransportChoice */
    const char *algo;  /* a name of learner/algo/algo.h, or "auto" */
    const char *codec; /* NULL: the algorithm's own */
    const char *topology;
    double bucket_kb, period_ms; /* 0: one bucket; the algorithm's own */
    int staleness, aggregate;    /* of algo server */
    uint64_t onebit_warmup;      /* 0: until the variance is steady */
    bool timeline;               /* RUN/timeline.json at the end */
    /* which rank this is: -1: none; never saved. local_ranks: so many share this machine */
    int rank, local_ranks;
    const char *founder, *reach, *ranks_key; /* zmq: rank 0's endpoint, this host, the key pair */
    bool join;                               /* the others are at work already */
    /* how `train` starts its learner: where to listen, where to report; never saved */
    const char *control, *records, *weights;
    int report_fd;
} Settings;

/* Fills the defaults of a preset. */
void settings_defaults(Settings *s, Preset p);
/* The table over s: borrowed until the next call (one table a process). */
const Option *settings_options(Settings *s);
/* Parses the command line of `train` or `learner` as told above. ST_INVALID: one line on stderr.
 * *done: help was printed. */
Status settings_parse(Settings *s, const char *usage, int argc, char **argv, bool *done);
/* Values that cannot go together: one line on stderr, ST_INVALID. */
Status settings_check(const Settings *s);
/* DIR/config.txt; saving replaces it whole. */
Status settings_load(Settings *s, const char *run);
Status settings_save(const Settings *s, const char *run);

/* What of them an optimizer is told. */
OptimConfig settings_optim(const Settings *s);
/* The automatic values, for this machine's cores. */
int settings_cores(void);
int settings_actors(const Settings *s);
int settings_threads(const Settings *s);
int settings_buffer(const Settings *s);
int settings_shuffle(const Settings *s);
/* Megabytes that learner and actors of this machine take together at most; within a fifth. */
int settings_memory_mb(const Settings *s);
/* Samples by which a batch moves on, for settings->uses. */
int settings_advance(const Settings *s);

#endif
