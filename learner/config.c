#include "learner/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/file.h"
#include "learner/ranksettings.h"
#include "learner/runfolder.h"
#include "nets/trainer.h"

enum { N_OPTIONS = 72, AUTO_BATCHES = 4, SHUFFLED_BATCHES = 8, LEAST_PART = 40 };

#define RMSPROP_LR 2e-4 // what is good for Adam is too much for it

void settings_defaults(Settings *s, Preset p) {
    *s = (Settings){
        .preset = p,
        .seed = 1,
        .act_threads = 1,
        .epsilon = 0.01,
        .act_precision = PRECISION_AUTO,
        .train_on = TRAIN_ON_UNFORCED,
        .batch = 512,
        .shuffle = SHUFFLE_AUTO,
        .uses = 1,
        .precision = PRECISION_AUTO,
        .optimizer = OPTIM_ADAM,
        .lr = 5e-4,
        .schedule = SCHEDULE_SQRT,
        .lr_end = 1e-5,
        .decay_from = 2000,
        .clip = 40,
        .ema = 0.999,
        .publish_every = 2,
        .checkpoint_minutes = 2,
        .keep = 3,
        .eval_minutes = 5,
        .eval_decks = 500,
        .eval_against = "random,rule",
        .records_mb = 64,
        .weights_seconds = 5,
        .report_fd = -1,
        .learners = 1,
        .algo = "allreduce",
        .bucket_kb = 1024,
        .staleness = -1,
        .aggregate = 1,
        .rank = -1,
        .local_ranks = 1,
        .reach = "127.0.0.1",
    };
    if (p == PRESET_FAST) return;
    s->train_on = TRAIN_ON_ALL;
    s->batch = 3200;
    s->optimizer = OPTIM_RMSPROP;
    s->lr = 1e-4;
    s->schedule = SCHEDULE_CONSTANT;
    s->act_precision = PRECISION_ALWAYS_FP32;
    s->precision = PRECISION_ALWAYS_FP32;
    s->shuffle = 0;
    s->ema = 0;
    s->publish_every = 1;
}

/* clang-format off */
const Option *settings_options(Settings *s) {
    static Option table[N_OPTIONS];
    static const char *config; // consumed by settings_parse before this table is
    const Option options[] = {
        {"run", OPT_STR, &s->run, "the run folder; an existing one continues", 0, 0, "DIR", true},
        {"config", OPT_STR, &config, "start from the settings in this file", 0, 0, "FILE", true},
        {"preset", OPT_CHOICE, &s->preset, "fast: the best found; douzero: as published", 0, 0, "fast|douzero", false},
        {"rules", OPT_CHOICE, &s->ruleset, "the game that is learned", 0, 0, "douzero|rlcard|botzone|botzone1|classic", false},
        {"objective", OPT_CHOICE, &s->objective, "win rate, points, log of points, arena score", 0, 0, "wp|adp|logadp|score", false},
        {"seed", OPT_U64, &s->seed, "of deals, exploration and first weights", 0, 0, NULL, false},
        {"init", OPT_STR, &s->init, "weights that a new run begins with", 0, 0, "FILE", false},
        {"frames", OPT_U64, &s->frames, "end when the run has this many decisions; 0: no limit", 0, 0, NULL, false},
        {"minutes", OPT_REAL, &s->minutes, "end this long after this start; 0: no limit", 0, 1e7, NULL, false},
        {"actors", OPT_INT, &s->actors, "actor processes here; 0: for all cores; -1: none", -1, 4096, NULL, false},
        {"act-threads", OPT_INT, &s->act_threads, "playing threads of an actor", 1, 1024, NULL, false},
        {"games", OPT_INT, &s->games, "concurrent games of an actor; 0: its own choice", 0, 65536, NULL, false},
        {"epsilon", OPT_REAL, &s->epsilon, "chance of a random play", 0, 1, NULL, false},
        {"act-precision", OPT_CHOICE, &s->act_precision, "of the actors' nets", 0, 0, "auto|fp32|bf16|int8", false},
        {"act-ema", OPT_FLAG, &s->act_ema, "play with the averaged weights", 0, 0, NULL, false},
        {"train-on", OPT_CHOICE, &s->train_on, "learn from decisions with a choice, or from all", 0, 0, "unforced|all", false},
        {"batch", OPT_INT, &s->batch, "samples per step", 1, 1 << 20, NULL, false},
        {"buffer", OPT_INT, &s->buffer, "samples waiting per net; 0: four batches", 0, 1 << 24, NULL, false},
        {"shuffle", OPT_INT, &s->shuffle, "samples per net that are mixed; -1: eight batches; 0: none", -1, 1 << 24, NULL, false},
        {"uses", OPT_REAL, &s->uses, "how often a sample is learned from", 0.01, 64, NULL, false},
        {"threads", OPT_INT, &s->threads, "learner threads; 0: one per core, as far as they pay", 0, 1024, NULL, false},
        {"precision", OPT_CHOICE, &s->precision, "of products in training", 0, 0, "auto|fp32|bf16", false},
        {"pin", OPT_CHOICE, &s->pin, "auto: to memory nodes where there are several", 0, 0, "auto|off|node|core", false},
        {"optimizer", OPT_CHOICE, &s->optimizer, "", 0, 0, "rmsprop|adam", false},
        {"lr", OPT_REAL, &s->lr, "learning rate; with rmsprop 2e-4 unless told", 1e-9, 10, NULL, false},
        {"schedule", OPT_CHOICE, &s->schedule, "of the learning rate; sqrt: falls as 1/sqrt(step) from decay-from on", 0, 0, "constant|cosine|sqrt", false},
        {"lr-end", OPT_REAL, &s->lr_end, "learning rate that the decay ends at", 0, 10, NULL, false},
        {"warmup", OPT_U64, &s->warmup, "steps of each net over which the rate rises", 0, 0, NULL, false},
        {"decay-from", OPT_U64, &s->decay_from, "step at which the decay begins", 0, 0, NULL, false},
        {"decay-to", OPT_U64, &s->decay_to, "step at which the cosine decay ends", 0, 0, NULL, false},
        {"clip", OPT_REAL, &s->clip, "largest gradient norm; 0: no clipping", 0, 1e9, NULL, false},
        {"ema", OPT_REAL, &s->ema, "decay of the averaged weights; 0: none", 0, 0.9999999, NULL, false},
        {"publish-every", OPT_INT, &s->publish_every, "steps of a net between publications", 1, 1000, NULL, false},
        {"checkpoint-minutes", OPT_REAL, &s->checkpoint_minutes, "time between checkpoints", 0.01, 1e6, NULL, false},
        {"keep", OPT_INT, &s->keep, "checkpoints kept", 1, 100000, NULL, false},
        {"snapshots", OPT_FLAG, &s->snapshots, "keep the weights of every evaluation", 0, 0, NULL, false},
        {"records-mb", OPT_INT, &s->records_mb, "disk for game records; 0: keep none", 0, 1 << 20, NULL, false},
        {"eval-minutes", OPT_REAL, &s->eval_minutes, "time between evaluations; 0: none", 0, 1e6, NULL, false},
        {"eval-decks", OPT_INT, &s->eval_decks, "deals of an evaluation, each played both ways", 1, 10000000, NULL, false},
        {"eval-against", OPT_STR, &s->eval_against, "opponents, separated by commas", 0, 0, "AGENTS", false},
        {"listen", OPT_STR, &s->listen, "let actors of other hosts join: tcp://*:PORT", 0, 0, "ENDPOINT", false},
        {"weights-seconds", OPT_REAL, &s->weights_seconds, "between weights sent to other hosts", 0.1, 3600, NULL, false},
        {"lockstep", OPT_INT, &s->lockstep, "games per exchange, for repeatable runs; 0: off", 0, 100000, NULL, false},
        {"learners", OPT_INT, &s->learners, "ranks that train one bot together", 1, 256, NULL, false},
        {"algo", OPT_STR, &s->algo, "what the ranks tell one another: docs/algorithms; auto: measures the network", 0, 0, "NAME", false},
        {"codec", OPT_STR, &s->codec, "how messages are compressed; the algorithm's own by default", 0, 0, "CODEC", false},
        {"topology", OPT_STR, &s->topology, "who averages with whom; the algorithm's own by default", 0, 0, "GRAPH", false},
        {"transport", OPT_CHOICE, &s->transport, "between ranks; auto: mpi, or zmq where ranks may come and go", 0, 0, "auto|mpi|zmq", false},
        {"bucket-kb", OPT_REAL, &s->bucket_kb, "of gradient that is exchanged at once; 0: all", 0, 1e6, NULL, false},
        {"period-ms", OPT_REAL, &s->period_ms, "adpsgd, average: between exchanges; 0: its own", 0, 1e7, NULL, false},
        {"staleness", OPT_INT, &s->staleness, "server: older gradients are refused; -1: none", -1, 1 << 20, NULL, false},
        {"aggregate", OPT_INT, &s->aggregate, "server: gradients of an update", 1, 4096, NULL, false},
        {"onebit-warmup", OPT_U64, &s->onebit_warmup, "onebit, qadam: exact steps at first; 0: until the variance is steady", 0, 0, NULL, false},
        {"timeline", OPT_FLAG, &s->timeline, "write RUN/timeline.json for a trace viewer", 0, 0, NULL, false},
        {"rank", OPT_INT, &s->rank, "of this learner; mpirun tells it", -1, 255, NULL, true},
        {"founder", OPT_STR, &s->founder, "zmq: where rank 0 listens", 0, 0, "ENDPOINT", true},
        {"reach", OPT_STR, &s->reach, "zmq: this host as the others reach it", 0, 0, "HOST", true},
        {"ranks-key", OPT_STR, &s->ranks_key, "zmq: the key pair of the ranks; RUN/ranks.key by default", 0, 0, "FILE", true},
        {"join", OPT_FLAG, &s->join, "zmq: the others are at work already", 0, 0, NULL, true},
        {"control", OPT_STR, &s->control, "(learner) listen here for actors", 0, 0, "ENDPOINT", true},
        {"records", OPT_STR, &s->records, "(learner) and here for their games", 0, 0, "ENDPOINT", true},
        {"weights", OPT_STR, &s->weights, "(learner) and publish here", 0, 0, "ENDPOINT", true},
        {"report-fd", OPT_INT, &s->report_fd, "(learner) report to this descriptor", -1, 1024, NULL, true},
        {NULL, OPT_FLAG, NULL, NULL, 0, 0, NULL, false},
    };
    _Static_assert(sizeof options <= sizeof table, "the table has room");
    memcpy(table, options, sizeof options);
    return table;
}
/* clang-format on */

/* What a run is: it cannot become another. */
static const char *const identity[] = {"preset", "rules", "objective", "seed", "optimizer"};

/* The value of `--name value` or `--name=value` on a command line not yet parsed. */
static const char *peek(int argc, char **argv, const char *name) {
    size_t n = strlen(name);
    const char *found = NULL;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0) continue;
        const char *rest = argv[i] + 2 + n;
        if (*rest == '=') found = rest + 1;
        else if (*rest == '\0' && i + 1 < argc) found = argv[i + 1];
    }
    return found;
}

/* The settings as text: `name = value` lines. NULL: out of memory. */
static char *dump(Settings *s) {
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (f == NULL) return NULL;
    options_dump(settings_options(s), f);
    if (fclose(f) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The value of a name in a dump, up to the end of its line. */
static const char *value_in(const char *text, const char *name, int *len) {
    size_t n = strlen(name);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line, name, n) != 0 || strncmp(line + n, " = ", 3) != 0) continue;
        *len = (int)strcspn(line + n + 3, "\n");
        return line + n + 3;
    }
    *len = 0;
    return "";
}

static Status refuse_new_identity(Settings *saved, Settings *wanted) {
    char *old = dump(saved), *new = dump(wanted);
    Status st = old && new ? ST_OK : ST_NOMEM;
    for (size_t i = 0; st == ST_OK && i < sizeof identity / sizeof *identity; i++) {
        int n, m;
        const char *a = value_in(old, identity[i], &n), *b = value_in(new, identity[i], &m);
        if (n == m && memcmp(a, b, (size_t)n) == 0) continue;
        fprintf(stderr, "dizhu: %s was begun with --%s %.*s: it cannot go on with %.*s\n",
                wanted->run, identity[i], n, a, m, b);
        st = ST_INVALID;
    }
    free(old);
    free(new);
    return st;
}

Status settings_parse(Settings *s, const char *usage, int argc, char **argv, bool *done) {
    const char *run = peek(argc, argv, "run"), *config = peek(argc, argv, "config");
    const char *preset = peek(argc, argv, "preset"), *optimizer = peek(argc, argv, "optimizer");
    if (config == NULL || strcmp(config, "") == 0) config = NULL;
    bool exists = run != NULL && runfolder_exists(run);
    settings_defaults(s, preset && strcmp(preset, "douzero") == 0 ? PRESET_DOUZERO : PRESET_FAST);
    if (optimizer && strcmp(optimizer, "rmsprop") == 0 && s->optimizer != OPTIM_RMSPROP)
        s->lr = RMSPROP_LR;
    if (exists) TRY(settings_load(s, run));
    Settings saved = *s;
    if (config) TRY(options_load(settings_options(s), config));
    Command c = {.usage = usage,
                 .about =
                     "Self-play training. `train` starts a learner and actors on this machine, "
                     "shows their\nprogress, restarts what dies, and keeps everything in the "
                     "run folder; `learner` is the\nlearner alone, for actors from elsewhere. "
                     "Ctrl-C saves and ends; the same command goes on.",
                 .options = settings_options(s)};
    int n_args;
    TRY(options_parse(&c, argc, argv, &n_args, done));
    if (*done) return ST_OK;
    if (s->run == NULL || *s->run == '\0') s->run = "runs/default";
    if (run == NULL && !exists &&
        runfolder_exists(s->run)) { // the default folder: now that it is known
        fprintf(stderr, "dizhu: %s exists: say --run %s to go on with it\n", s->run, s->run);
        return ST_INVALID;
    }
    ranksettings_find(s);
    TRY(settings_check(s));
    if (exists) TRY(refuse_new_identity(&saved, s));
    ranksettings_become(s);
    return ST_OK;
}

OptimConfig settings_optim(const Settings *s) {
    OptimConfig o = optim_defaults((OptimKind)s->optimizer);
    o.lr = s->lr;
    o.clip = s->clip;
    o.ema = s->ema;
    o.warmup = s->warmup;
    o.lr_end = s->lr_end;
    o.decay_from = s->decay_from;
    o.decay_to = s->decay_to;
    o.schedule = (Schedule)s->schedule;
    return o;
}

int settings_advance(const Settings *s) {
    int n = (int)(s->batch / s->uses + 0.5);
    return n > 0 ? n : 1;
}

/* What a ring must hold for a step to happen. */
static int least_buffer(const Settings *s) {
    int advance = settings_advance(s);
    return advance > s->batch ? advance : s->batch;
}

Status settings_check(const Settings *s) {
    if (settings_buffer(s) < least_buffer(s)) {
        fprintf(stderr,
                "dizhu: --buffer %d is smaller than a batch of %d: none would ever be full\n",
                s->buffer, least_buffer(s));
        return ST_INVALID;
    }
    if (s->schedule == SCHEDULE_COSINE && s->decay_to <= s->decay_from) {
        fprintf(stderr, "dizhu: --decay-to must be larger than --decay-from\n");
        return ST_INVALID;
    }
    if (s->schedule == SCHEDULE_SQRT && s->decay_from == 0) {
        fprintf(stderr, "dizhu: --schedule sqrt needs --decay-from above 0\n");
        return ST_INVALID;
    }
    if (s->act_ema && s->ema == 0) {
        fprintf(stderr, "dizhu: --act-ema needs --ema\n");
        return ST_INVALID;
    }
    if (s->learners > 1) TRY(ranksettings_check(s));
    if (s->lockstep != 0 && settings_actors(s) > 1) {
        fprintf(stderr, "dizhu: --lockstep is for --actors 1\n");
        return ST_INVALID;
    }
    return ST_OK;
}

static void config_path(const char *run, char out[RUN_PATH_BYTES]) {
    snprintf(out, RUN_PATH_BYTES, "%s/config.txt", run);
}

Status settings_load(Settings *s, const char *run) {
    char path[RUN_PATH_BYTES];
    config_path(run, path);
    TRY(options_load(settings_options(s), path));
    s->run = run;
    return ST_OK;
}

Status settings_save(const Settings *s, const char *run) {
    Settings copy = *s;
    char path[RUN_PATH_BYTES], *text = dump(&copy);
    if (text == NULL) return ST_NOMEM;
    config_path(run, path);
    Status st = file_save(path, (const uint8_t *)text, strlen(text));
    free(text);
    return st;
}

int settings_cores(void) {
    static int n; // does not change while a process lives
    if (n == 0) {
        Machine m;
        machine_look(&m);
        n = m.n_cores;
    }
    return n;
}

static int share_of_cores(const Settings *s) {
    int share = settings_cores() / (s->local_ranks > 0 ? s->local_ranks : 1);
    return share > 0 ? share : 1;
}

int settings_actors(const Settings *s) {
    if (s->actors != 0) return s->actors < 0 ? 0 : s->actors;
    return s->lockstep ? 1 : (share_of_cores(s) + s->act_threads - 1) / s->act_threads;
}

int settings_threads(const Settings *s) {
    if (s->threads != 0) return s->threads;
    // With fewer samples a thread would be busier with its copy of the weights than with them.
    int most = N_ROLES * (s->batch / LEAST_PART > 0 ? s->batch / LEAST_PART : 1);
    return s->lockstep ? 1 : share_of_cores(s) < most ? share_of_cores(s) : most;
}

int settings_buffer(const Settings *s) {
    return s->buffer ? s->buffer : AUTO_BATCHES * least_buffer(s);
}

int settings_shuffle(const Settings *s) {
    return s->shuffle == SHUFFLE_AUTO ? SHUFFLED_BATCHES * s->batch : s->shuffle;
}

/* Megabytes as measured: the nets are the same in every run. A learner's includes shared memory and
 * a checkpoint on its way to disk; PART is a further thread of a net.                         */
enum { LEARNER_MB = 290, PART_MB = 18, ACTOR_MB = 42, ACTOR_THREAD_MB = 10 };
static const double batch_sample_mb = 0.11;

int settings_memory_mb(const Settings *s) {
    int parts = settings_threads(s) > N_ROLES ? settings_threads(s) - N_ROLES : 0;
    double buffers =
        ((double)settings_buffer(s) + settings_shuffle(s)) * N_ROLES * sizeof(Sample) / 1e6;
    return LEARNER_MB + parts * PART_MB + (int)(s->batch * batch_sample_mb + buffers) +
           settings_actors(s) * (ACTOR_MB + ACTOR_THREAD_MB * s->act_threads);
}
