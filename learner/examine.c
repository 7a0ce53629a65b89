#include "learner/examine.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "learner/runfolder.h"

static const double shortest_limit_s = 60, last_limit_s = 120;

void examiner_init(Examiner *e, const Settings *s, const Programs *p, Voice *v) {
    *e = (Examiner){
        .settings = s, .programs = p, .voice = v, .due = clock_s() + 60 * s->eval_minutes};
    child_init(&e->match, "eval");
}

void examiner_saved(Examiner *e, uint64_t frames) {
    e->saved = true;
    e->saved_frames = frames;
}

/* A second name for the file, which stays what it is when the learner replaces the first. */
static Status keep_weights(const Examiner *e, char path[RUN_PATH_BYTES]) {
    char newest[RUN_PATH_BYTES];
    runfolder_path(e->settings->run, "weights.safetensors", newest);
    runfolder_path(e->settings->run, "evaluated.safetensors", path);
    if (unlink(path) != 0 && errno != ENOENT) return ST_IO;
    return link(newest, path) == 0 ? ST_OK : ST_IO;
}

static void start_match(Examiner *e) {
    char path[RUN_PATH_BYTES];
    double now = clock_s(), limit = 60 * e->settings->eval_minutes;
    runfolder_path(e->settings->run, "evaluated.safetensors", path);
    e->limit = now + (e->alone                   ? last_limit_s
                      : limit < shortest_limit_s ? shortest_limit_s
                                                 : limit);
    if (launch_match(&e->match, e->programs, e->settings, path, e->opponent, e->alone) != ST_OK)
        e->opponent = NULL;
}

static void next_match(Examiner *e) {
    e->voice->line.doing[0] = '\0';
    e->opponent = strtok_r(NULL, ",", &e->rest);
    if (e->opponent) start_match(e);
}

static void begin(Examiner *e) {
    const char *names = e->settings->eval_against;
    char path[RUN_PATH_BYTES];
    snprintf(e->opponents, sizeof e->opponents, "%s", names ? names : "");
    e->frames = e->saved_frames;
    e->voice->line.wins[0] = '\0';
    e->opponent = strtok_r(e->opponents, ",", &e->rest);
    if (e->opponent == NULL) return;
    if (keep_weights(e, path) == ST_OK) start_match(e);
    else {
        voice_event(e->voice, LOG_WARN, "no evaluation: %s: %s", path, strerror(errno));
        e->opponent = NULL;
    }
}

static void tell_result(Examiner *e, const Evaluation *r) {
    char *wins = e->voice->line.wins;
    size_t n = strlen(wins), cap = sizeof e->voice->line.wins;
    metrics_evaluation(e->voice->metrics, e->frames, r);
    voice_say(e->voice, LOG_INFO,
              "at %llu frames against %s: wins %.1f%% +- %.1f as landlord, %.1f%% +- %.1f as "
              "peasants, adp %+.3f",
              (unsigned long long)e->frames, r->opponent, 100 * r->wp_landlord,
              100 * r->wp_landlord_ci95, 100 * r->wp_peasants, 100 * r->wp_peasants_ci95, r->adp);
    snprintf(wins + n, cap - n, "%s%s %.0f%%/%.0f%%", n ? " " : "wins ", r->opponent,
             100 * r->wp_landlord, 100 * r->wp_peasants);
}

static void match_ended(Examiner *e, int status) {
    Evaluation r;
    char how[64];
    if (status == 0 && evaluation_parse(e->match.answer, &r) == ST_OK) tell_result(e, &r);
    else if (WIFSIGNALED(status) && clock_s() > e->limit)
        voice_event(e->voice, LOG_WARN,
                    "no evaluation against %s: it had not ended after %.0f s (fewer --eval-decks "
                    "than %d?)",
                    e->opponent, clock_s() - e->match.started, e->settings->eval_decks);
    else
        voice_event(e->voice, LOG_WARN, "no evaluation against %s: %s: %s", e->opponent,
                    child_death(status, how, sizeof how), e->match.last);
    next_match(e);
}

/* A match's own progress is of no interest; its last words are kept all the same. */
static void ignore_line(void *ctx, const Child *c, const char *text) {
    (void)ctx, (void)c, (void)text;
}

static void look_after_match(Examiner *e) {
    int status;
    double now = clock_s();
    child_read(&e->match, ignore_line, NULL);
    if (child_ended(&e->match, &status, ignore_line, NULL)) {
        match_ended(e, status);
        return;
    }
    snprintf(e->voice->line.doing, sizeof e->voice->line.doing, "evaluating against %s %.0fs",
             e->opponent, now - e->match.started);
    if (now > e->limit) child_signal(&e->match, SIGKILL);
}

void examiner_turn(Examiner *e) {
    if (e->opponent) {
        look_after_match(e);
        return;
    }
    double now = clock_s();
    if (!e->saved || e->settings->eval_minutes <= 0 || now < e->due) return;
    e->due = now + 60 * e->settings->eval_minutes;
    begin(e);
}

/* Training is over: what is evaluated from here on has the machine to itself, and only the newest
 * weights count. */
static void become_last(Examiner *e) {
    bool wanted = e->saved && e->settings->eval_minutes > 0;
    e->alone = true;
    if (e->frames != e->saved_frames) examiner_stop(e);
    if (e->opponent) e->limit = clock_s() + last_limit_s;
    else if (wanted && e->frames != e->saved_frames) begin(e);
    if (e->opponent)
        voice_say(e->voice, LOG_INFO, "evaluating against %s; Ctrl-C skips it",
                  e->settings->eval_against);
}

bool examiner_last(Examiner *e) {
    if (!e->alone) become_last(e);
    if (!e->opponent) return false;
    look_after_match(e);
    double now = clock_s();
    if (e->opponent && now >= e->shown) {
        progressline_note(&e->voice->line, e->voice->line.doing);
        e->shown = now + 1;
    }
    return true;
}

void examiner_stop(Examiner *e) {
    int status;
    if (e->match.pid <= 0) return;
    child_signal(&e->match, SIGKILL);
    while (!child_ended(&e->match, &status, ignore_line, NULL)) clock_sleep_ms(5);
    e->opponent = NULL;
    e->voice->line.doing[0] = '\0';
}
