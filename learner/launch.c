#include "learner/launch.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/ruleset.h"
#include "learner/runfolder.h"

enum { MATCH_NICENESS = 5 };
_Static_assert(CHILD_MAX_ARGS >= 16, "room for all of a command line");

Status programs_find(Programs *out) {
    char self[LAUNCH_PATH_BYTES - 16];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) {
        log_error("cannot tell where this program is: %s", strerror(errno));
        return ST_IO;
    }
    self[n] = '\0';
    snprintf(out->learner, sizeof out->learner, "%s", self);
    char *slash = strrchr(self, '/');
    if (slash) slash[1] = '\0';
    snprintf(out->actor, sizeof out->actor, "%sdizhu", self);
    if (access(out->actor, X_OK) == 0) return ST_OK;
    log_error("%s: %s", out->actor, strerror(errno));
    return ST_IO;
}

/* Appends --name value. */
static void add(ChildSpec *s, const char *name, const char *value) {
    int n = 0;
    while (s->args[n]) n++;
    s->args[n] = name;
    s->args[n + 1] = value;
}

Status launch_learner(Child *c, const Programs *p, const Settings *s,
                      char endpoints[3][LINK_ENDPOINT_BYTES], double minutes, bool join,
                      int lock_fd) {
    static const char *const names[3] = {"--control", "--records", "--weights"};
    ChildSpec spec = {.program = p->learner,
                      .args = {"learner", "--run", s->run, "--report-fd", "3"},
                      .death_signal = SIGTERM, // it stores a checkpoint then
                      .want_report = true,
                      .keep_fd = lock_fd};
    char text[32];
    for (int i = 0; i < 3 && endpoints[i][0]; i++) add(&spec, names[i], endpoints[i]);
    snprintf(text, sizeof text, "%.9g", minutes);
    if (minutes > 0) add(&spec, "--minutes", text);
    char rank[24];
    snprintf(rank, sizeof rank, "%d", s->rank);
    if (s->learners > 1) {
        add(&spec, "--rank", rank);
        add(&spec, "--reach", s->reach);
        add(&spec, "--ranks-key", s->ranks_key);
    }
    if (s->learners > 1 && s->founder) add(&spec, "--founder", s->founder);
    if (join) add(&spec, "--join", NULL);
    return child_start(c, &spec);
}

Status launch_actor(Child *c, const Programs *p, const Settings *s, const char *control,
                    const cpu_set_t *cpus) {
    static const char *const precisions[] = {"auto", "fp32", "bf16", "int8"};
    char games[24], threads[24], connect[LINK_ENDPOINT_BYTES], key[RUN_PATH_BYTES];
    TRY(link_resolve("tcp://127.0.0.1:1", control, connect));
    ChildSpec spec = {
        .program = p->actor,
        .args = {"actor", "--connect", connect, "--precision", precisions[s->act_precision]},
        .death_signal = SIGKILL, // it has nothing to lose
        .cpus = cpus,
        .keep_fd = -1};
    snprintf(games, sizeof games, "%d", s->games);
    snprintf(threads, sizeof threads, "%d", s->act_threads);
    if (s->games) add(&spec, "--games", games);
    if (s->act_threads > 1) add(&spec, "--threads", threads);
    if (s->listen) {
        runfolder_path(s->run, "server.key", key);
        add(&spec, "--server-key", key);
    }
    return child_start(c, &spec);
}

Status launch_match(Child *c, const Programs *p, const Settings *s, const char *net,
                    const char *opponent, bool alone) {
    char agent[RUN_PATH_BYTES + 8], decks[24], threads[24];
    snprintf(agent, sizeof agent, "net:%s", net);
    snprintf(decks, sizeof decks, "%d", s->eval_decks);
    snprintf(threads, sizeof threads, "%d", alone ? settings_cores() : 1);
    ChildSpec spec = {.program = p->actor,
                      .args = {"eval", agent, opponent, "--json", "--rules",
                               ruleset_get((RulesetId)s->ruleset)->name, "--decks", decks,
                               "--threads", threads},
                      .death_signal = SIGKILL,
                      .niceness = alone ? 0 : MATCH_NICENESS,
                      .want_out = true,
                      .keep_fd = -1};
    return child_start(c, &spec);
}
