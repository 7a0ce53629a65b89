/* The control thread owns the sockets but the inbox's, and the clock: every turn it serves the
 * door, and, each in its time, announces versions, reports, writes metrics, stores checkpoints.
 * Steps and games go on meanwhile in their own threads. */
#include "learner/learn.h"

#include <stdio.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "learner/door.h"
#include "learner/gauge.h"
#include "learner/metrics.h"
#include "learner/progress.h"
#include "learner/rankgauge.h"
#include "learner/ranksettings.h"
#include "learner/runfolder.h"
#include "learner/save.h"
#include "learner/sockets.h"
#include "learner/turns.h"

enum { TURN_MS = 10, SAVE_WAIT_MS = 500 };
static const double announce_every_s = 0.5, report_every_s = 1, metrics_every_s = 10, silent_s = 8,
                    hurry_s = 1;

typedef struct {
    const LearnConfig *c;
    const Settings *s;
    uint64_t run;
    Sockets sockets;
    NetLearner *net[N_ROLES];
    _Atomic uint32_t version[N_ROLES]; // of the newest step
    Publisher *publisher;
    Roster *roster;
    Archive *archive;
    Buffers *buffers;
    Ranks *ranks; // NULL: this learner is alone; of several:
    Crew *crew;   // each net by whoever has a batch, or
    Turns *turns; // all ranks in the same order
    RankGauge rankgauge;
    double hurry_at;
    Status failed;
    Inbox *inbox;
    Metrics *metrics;
    Door door;
    Saver *saver;
    Checkpoint resumed;
    Gauge gauge;
    Progress progress;
    ProgressLine line;
    double start, announce_at, report_at, metrics_at, save_at;
} Learn;

/* ---- putting together ---- */

static Precision precision_of(int choice, const KernelTable *k) {
    if (choice != PRECISION_AUTO) return (Precision)(choice - 1);
    return precision_usable(k, PRECISION_BF16) ? PRECISION_BF16 : PRECISION_FP32;
}

static Status make_nets(Learn *l) {
    const KernelTable *k = kernels_get();
    if (k == NULL) return ST_UNSUPPORTED;
    Precision p = precision_of(l->s->precision, k);
    Machine machine;
    machine_look(&machine);
    for (int r = 0; r < N_ROLES; r++) {
        int parts = ranksettings_synchronous(l->s) ? settings_threads(l->s)
                                                   : crew_parts(settings_threads(l->s), (Role)r);
        if (parts > NETLEARNER_MAX_PARTS) parts = NETLEARNER_MAX_PARTS;
        NetLearnerConfig c = {.role = (Role)r,
                              .seed = l->s->seed,
                              .batch = l->s->batch,
                              .parts = parts < l->s->batch ? parts : l->s->batch,
                              .precision = p,
                              .optim = settings_optim(l->s)};
        c.placed = machine_net(&machine, (Pin)l->s->pin, r, &c.cpus);
        Status st = netlearner_new(&c, k, &l->net[r]);
        if (st == ST_UNSUPPORTED)
            log_error("the %s kernels cannot train in %s", k->name, precision_name(p));
        TRY(st);
    }
    log_info("kernels %s, precision %s, %d threads, batch %d", k->name, precision_name(p),
             settings_threads(l->s), l->s->batch);
    return ST_OK;
}

static Status resume(Learn *l) {
    bool found;
    SaverConfig c = {.settings = l->s, .run = l->run, .nets = l->net, .archive = l->archive};
    TRY(saver_new(&c, &l->saver));
    TRY(saver_resume(l->saver, &l->resumed, &found));
    if (found)
        log_info("going on from checkpoint %llu at %llu frames",
                 (unsigned long long)l->resumed.number, (unsigned long long)l->resumed.frames);
    else if (l->s->init && *l->s->init) TRY(saver_init_nets(l->saver));
    for (int r = 0; r < N_ROLES; r++)
        atomic_store(&l->version[r], publisher_version(l->resumed.steps[r]));
    return ST_OK;
}

static void step_done(void *ctx, NetLearner *net, Role role, uint64_t steps) {
    Learn *l = ctx;
    atomic_store_explicit(&l->version[role], publisher_version(steps), memory_order_relaxed);
    if (l->ranks) ranks_note(l->ranks, role);
    publisher_step(l->publisher, net, role, steps);
}

static uint32_t newest_version(void *ctx, int role) {
    Learn *l = ctx;
    return atomic_load_explicit(&l->version[role], memory_order_relaxed);
}

static void settled(void *ctx, uint64_t sequence) {
    Learn *l = ctx;
    publisher_all(l->publisher);
    publisher_announce(l->publisher, sequence);
}

static Status start_turns(Learn *l) {
    TurnsConfig c = {.ranks = l->ranks,
                     .nets = l->net,
                     .buffers = l->buffers,
                     .batch = l->s->batch,
                     .max_frames = l->s->frames,
                     .done = step_done,
                     .ctx = l};
    buffers_forget(l->buffers);
    return turns_start(&c, &l->turns);
}

/* This rank's part of the run's frames; where all end together the turns see to it. */
static uint64_t own_frames(const Learn *l) {
    uint64_t n = (uint64_t)l->s->learners;
    return l->turns ? 0 : (l->s->frames + n - 1) / n;
}

static Status meet_ranks(Learn *l) {
    if (l->s->learners == 1) return ST_OK;
    TRY(ranks_new(l->s, l->net, &l->resumed, &l->ranks));
    saver_ranks(l->saver, l->ranks);
    for (int r = 0; r < N_ROLES; r++) {
        NetLearnerState state;
        netlearner_state(l->net[r], &state);
        atomic_store(&l->version[r], publisher_version(state.steps));
    }
    return ST_OK;
}

static Status start_threads(Learn *l) {
    const Settings *s = l->s;
    BuffersConfig b = {.batch = s->batch,
                       .advance = settings_advance(s),
                       .capacity = settings_buffer(s),
                       .pool = settings_shuffle(s),
                       .seed = s->seed};
    TRY(buffers_new(&b, &l->buffers));
    if (l->ranks && ranks_synchronous(l->ranks)) TRY(start_turns(l));
    else TRY(crew_start(settings_threads(s), s->batch, l->net, l->buffers, step_done, l, &l->crew));
    InboxConfig c = {.run = l->run,
                     .seed = s->seed,
                     .rules = {.ruleset = (RulesetId)s->ruleset,
                               .objective = (Objective)s->objective,
                               .unforced_only = s->train_on == TRAIN_ON_UNFORCED},
                     .max_frames = own_frames(l),
                     .frames = l->resumed.frames,
                     .games = l->resumed.games,
                     .lockstep = s->lockstep != 0,
                     .pull = l->sockets.pull,
                     .buffers = l->buffers,
                     .roster = l->roster,
                     .archive = l->archive,
                     .version = newest_version,
                     .settled = settled,
                     .ctx = l};
    return inbox_start(&c, &l->inbox);
}

static Status put_together(Learn *l) {
    const Settings *s = l->s;
    TRY(runfolder_id(s->run, &l->run));
    TRY(sockets_open(l->c, &l->sockets));
    TRY(make_nets(l));
    if (s->records_mb) TRY(archive_open(s->run, (uint64_t)s->records_mb << 20, &l->archive));
    TRY(resume(l));
    TRY(meet_ranks(l));
    PublisherConfig p = {.run = l->run,
                         .ruleset = (uint8_t)s->ruleset,
                         .objective = (uint8_t)s->objective,
                         .ema = s->act_ema,
                         .every = s->publish_every,
                         .weights_seconds = s->weights_seconds,
                         .pub = l->sockets.pub,
                         .nets = l->net};
    TRY(publisher_new(&p, &l->publisher));
    TRY(roster_new(&l->roster));
    TRY(metrics_open(s->run, &l->metrics));
    l->door = (Door){.control = l->sockets.control,
                     .run_folder = s->run,
                     .run = l->run,
                     .seed = s->seed,
                     .ruleset = (uint8_t)s->ruleset,
                     .objective = (uint8_t)s->objective,
                     .epsilon = s->epsilon,
                     .lockstep = s->lockstep,
                     .records = link_endpoint(l->sockets.pull),
                     .weights = link_endpoint(l->sockets.pub),
                     .publisher = l->publisher,
                     .roster = l->roster};
    return start_threads(l);
}

static void take_apart(Learn *l) {
    if (l->buffers) buffers_close(l->buffers);
    inbox_stop(l->inbox);
    crew_join(l->crew);
    turns_join(l->turns);
    saver_free(l->saver);
    metrics_close(l->metrics);
    archive_close(l->archive);
    roster_free(l->roster);
    publisher_free(l->publisher);
    buffers_free(l->buffers);
    checkpoint_free(&l->resumed);
    ranks_free(l->ranks);
    for (int r = 0; r < N_ROLES; r++) netlearner_free(l->net[r]);
    sockets_close(&l->sockets);
}

/* ---- one turn ---- */

static bool due(double *at, double every, double now) {
    if (now < *at) return false;
    *at = now + every;
    return true;
}

static void measure(Learn *l) {
    GaugeSample g = {.clock = clock_s()};
    inbox_state(l->inbox, &g.inbox);
    buffers_state(l->buffers, &g.buffers);
    roster_totals(l->roster, &g.roster);
    for (int r = 0; r < N_ROLES; r++) netlearner_state(l->net[r], &g.net[r]);
    gauge_read(&l->gauge, &g, &l->progress);
    if (l->ranks == NULL) return;
    uint64_t steps[N_ROLES];
    for (int r = 0; r < N_ROLES; r++) steps[r] = g.net[r].steps;
    rankgauge_read(&l->rankgauge, l->ranks, steps, &l->progress);
    if (l->turns) {
        turns_frames(l->turns, g.inbox.frames);
        l->progress.all.frames = turns_all_frames(l->turns);
    }
}

static void write_metrics(Learn *l) {
    metrics_progress(l->metrics, &l->progress);
    if (l->ranks) rankgauge_metrics(l->ranks, &l->progress, l->metrics);
}

static void report_alive(Learn *l) {
    Report r = {.kind = REPORT_ALIVE};
    int from = 0, n;
    while ((n = roster_pids(l->roster, 2 * report_every_s, &from, r.u.pid, REPORT_MAX_PIDS)) > 0) {
        r.n_pids = (uint32_t)n;
        report_send(l->c->report_fd, &r);
    }
}

static void report(Learn *l) {
    measure(l);
    Report r = {.kind = REPORT_PROGRESS, .u.progress = l->progress};
    report_send(l->c->report_fd, &r);
    report_alive(l);
    if (l->c->report_fd < 0) progressline_show(&l->line, &l->progress);
}

/* Begins a checkpoint, unless the last one is still being stored. */
static Status begin_save(Learn *l) {
    InboxState in;
    if (saver_busy(l->saver)) return ST_OK;
    inbox_state(l->inbox, &in);
    return saver_begin(l->saver, in.frames, in.games, clock_s() - l->start);
}

/* Looks after the checkpoint under way, if there is one. */
static Status look_after_save(Learn *l) {
    Report r = {.kind = REPORT_SAVED};
    Status st = ST_OK;
    if (saver_end(l->saver, 0, &r.u.frames, &st) && st == ST_OK) report_send(l->c->report_fd, &r);
    return st;
}

/* Of several ranks that step together: they also end together. */
static bool turns_turn(Learn *l, bool enough, double now) {
    if (enough && l->hurry_at == 0) {
        turns_want_stop(l->turns);
        l->hurry_at = now + hurry_s;
    }
    if (l->hurry_at > 0 && now > l->hurry_at) buffers_hurry(l->buffers); // no games come any more
    TurnsState state = turns_state(l->turns);
    if (state == TURNS_FAILED) l->failed = turns_status(l->turns);
    return state != TURNS_OVER && state != TURNS_FAILED;
}

static bool crew_works(Learn *l) {
    l->failed = crew_status(l->crew);
    return l->failed == ST_OK || ranks_explain(l->ranks, l->failed) == ST_OK;
}

/* false: the run's limits are reached or it was told to stop. */
static bool turn(Learn *l) {
    door_serve(&l->door, TURN_MS);
    double now = clock_s();
    if (due(&l->announce_at, announce_every_s, now)) publisher_announce(l->publisher, 0);
    if (due(&l->report_at, report_every_s, now)) {
        report(l);
        roster_look(l->roster, silent_s);
        RosterTotals all;
        roster_totals(l->roster, &all);
        if (all.framed > 0) publisher_weights(l->publisher);
    }
    if (due(&l->metrics_at, metrics_every_s, now)) write_metrics(l);
    Status st = look_after_save(l);
    if (st == ST_OK && due(&l->save_at, 60 * l->s->checkpoint_minutes, now)) {
        if (l->turns) turns_want_save(l->turns); // all ranks, at one moment
        else st = begin_save(l);
    }
    if (l->turns && turns_state(l->turns) == TURNS_PARKED) {
        if (st == ST_OK) st = begin_save(l);
        turns_go_on(l->turns);
    }
    if (st != ST_OK) log_warn("no checkpoint was stored; training goes on and tries again later");
    bool late = l->s->minutes > 0 && now - l->start >= 60 * l->s->minutes;
    bool enough = atomic_load(l->c->stop) || late || inbox_full(l->inbox);
    return l->turns ? turns_turn(l, enough, now) : !enough && crew_works(l);
}

static void say_ready(Learn *l) {
    Report r = {.kind = REPORT_READY};
    Link *links[3] = {l->sockets.control, l->sockets.pull, l->sockets.pub};
    for (int i = 0; i < 3; i++)
        snprintf(r.u.endpoint[i], sizeof r.u.endpoint[i], "%s", link_endpoint(links[i]));
    report_send(l->c->report_fd, &r);
    log_info("run %016llx listens on %s", (unsigned long long)l->run,
             link_endpoint(l->sockets.control));
}

/* Waits for the checkpoint under way, showing signs of life: a disk may be slow. */
static Status wait_saved(Learn *l) {
    Report ending = {.kind = REPORT_ENDING}, saved = {.kind = REPORT_SAVED};
    Status st = ST_OK;
    while (saver_busy(l->saver)) {
        report_send(l->c->report_fd, &ending);
        if (!saver_end(l->saver, SAVE_WAIT_MS, &saved.u.frames, &st)) continue;
        if (st == ST_OK) report_send(l->c->report_fd, &saved);
    }
    return st;
}

static void still_ending(void *ctx) {
    const Learn *l = ctx;
    Report ending = {.kind = REPORT_ENDING};
    report_send(l->c->report_fd, &ending);
}

/* The actors are told first: what follows may take a while. The last batches are learned from, and
 * everything is stored.                                                                     */
static Status finish(Learn *l) {
    Report ending = {.kind = REPORT_ENDING};
    report_send(l->c->report_fd, &ending);
    publisher_bye(l->publisher);
    if (inbox_full(l->inbox)) buffers_settle(l->buffers);
    buffers_close(l->buffers);
    crew_join(l->crew);
    l->crew = NULL;
    measure(l);
    write_metrics(l);
    wait_saved(l);
    // The nets of ranks that lost one another in the middle of a step are not alike.
    Status st = l->turns && l->failed ? l->failed : begin_save(l);
    if (st == ST_OK) st = wait_saved(l);
    if (l->ranks && !l->turns && l->failed == ST_OK)
        ranks_leave(l->ranks, l->c->stop, still_ending, l);
    if (l->ranks && ranks_write_timeline(l->ranks) != ST_OK) log_warn("no timeline was written");
    Report r = {.kind = REPORT_PROGRESS, .u.progress = l->progress};
    report_send(l->c->report_fd, &r);
    if (l->c->report_fd < 0) progressline_last(&l->line, &l->progress);
    return l->failed ? l->failed : st;
}

Status learn(const LearnConfig *c) {
    Learn *l = calloc(1, sizeof *l);
    if (l == NULL) return ST_NOMEM;
    l->c = c;
    l->s = c->settings;
    report_init(c->report_fd);
    Status st = put_together(l);
    if (st == ST_OK) {
        int threads = settings_threads(l->s);
        l->start = clock_s();
        l->save_at = l->start + 60 * l->s->checkpoint_minutes;
        l->metrics_at = l->start + metrics_every_s;
        gauge_init(&l->gauge, settings_cores(), threads < N_ROLES ? threads : N_ROLES);
        progressline_init(&l->line, l->s->frames, 60 * l->s->minutes);
        say_ready(l);
        while (turn(l)) {}
        st = finish(l);
    }
    take_apart(l);
    free(l);
    return st;
}
