#include "learner/door.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "engine/ruleset.h"
#include "learner/runfolder.h"

enum { MOST_AT_ONCE = 256, TEXT_BYTES = 1024, NUMBERS = 64 };

static Frame frame_of(const Door *d, FrameKind kind, size_t length) {
    return (Frame){.kind = (uint16_t)kind,
                   .ruleset = d->ruleset,
                   .objective = d->objective,
                   .run = d->run,
                   .length = (uint32_t)length};
}

static void refuse(const Door *d, const char *host, const char *why) {
    Frame f = frame_of(d, FRAME_REFUSED, strlen(why));
    log_warn("refused an actor on %s: %s", host, why);
    link_reply(d->control, &f, why);
}

/* The number to give: the actor's own if it is one of this run's. New ones are taken from the run
 * folder many at a time, for that waits for the disk.                                       */
static Status number_of(Door *d, const Frame *f, uint32_t *number) {
    if (f->run == d->run && f->sender != 0 && f->sender <= UINT32_MAX) {
        *number = (uint32_t)f->sender;
        return ST_OK;
    }
    if (d->next_actor == d->end_actor) {
        TRY(runfolder_take_actors(d->run_folder, NUMBERS, &d->next_actor));
        d->end_actor = d->next_actor + NUMBERS;
    }
    *number = d->next_actor++;
    return ST_OK;
}

static void welcome(Door *d, const Frame *f, const char *host, int pid, bool here) {
    uint32_t number;
    if (number_of(d, f, &number) != ST_OK) {
        refuse(d, host, "the run folder cannot be written");
        return;
    }
    char text[TEXT_BYTES];
    json_t *o = json_pack("{s:I,s:I,s:s,s:s,s:f,s:s,s:s,s:s,s:i}", "actor", (json_int_t)number,
                          "seed", (json_int_t)d->seed, "ruleset", ruleset_get(d->ruleset)->name,
                          "objective", objective_name(d->objective), "epsilon", d->epsilon,
                          "records", d->records, "weights", d->weights, "shm",
                          publisher_shm(d->publisher), "lockstep", d->lockstep);
    size_t n = o ? json_dumpb(o, text, sizeof text, JSON_COMPACT) : 0;
    json_decref(o);
    if (n == 0 || n > sizeof text) return;
    roster_met(d->roster, number, pid, host, here);
    log_info("actor %u joined: process %d on %s", number, pid, host);
    Frame reply = frame_of(d, FRAME_WELCOME, n);
    link_reply(d->control, &reply, text);
}

static void give_weights(const Door *d) {
    Frame f;
    uint8_t *body;
    if (publisher_encode(d->publisher, &f, &body) != ST_OK) return;
    link_reply(d->control, &f, body);
    free(body);
}

static bool is_here(const char *host) {
    char own[ROSTER_HOST_BYTES] = "";
    gethostname(own, sizeof own - 1);
    return strcmp(host, own) == 0;
}

/* Printable and short, whatever came. */
static void clean(const char *text, char out[ROSTER_HOST_BYTES]) {
    size_t n = 0;
    for (; text && text[n] && n < ROSTER_HOST_BYTES - 1; n++)
        out[n] = text[n] > ' ' && text[n] < 127 ? text[n] : '?';
    out[n] = '\0';
}

static void hello(Door *d, const Frame *f, const json_t *o) {
    char host[ROSTER_HOST_BYTES];
    clean(json_string_value(json_object_get(o, "host")), host);
    int pid = (int)json_integer_value(json_object_get(o, "pid"));
    const char *want = json_string_value(json_object_get(o, "want"));
    const char *rules = json_string_value(json_object_get(o, "ruleset"));
    if (rules && ruleset_find(rules) != d->ruleset) {
        char why[128];
        snprintf(why, sizeof why, "this run plays %s, not %.40s", ruleset_get(d->ruleset)->name,
                 rules);
        refuse(d, host, why);
    } else if (want && strcmp(want, "weights") == 0) give_weights(d);
    else if (want && strcmp(want, "join") == 0) welcome(d, f, host, pid, is_here(host));
    else refuse(d, host, "it wants neither to join nor weights");
}

static void heartbeat(const Door *d, const Frame *f, const json_t *o) {
    if (f->run != d->run || f->sender == 0) return;
    const char *name = json_string_value(json_object_get(o, "host"));
    if (name) {
        char host[ROSTER_HOST_BYTES];
        clean(name, host);
        roster_met(d->roster, f->sender, (int)json_integer_value(json_object_get(o, "pid")), host,
                   is_here(host));
    }
    roster_beat(d->roster, f->sender, json_is_false(json_object_get(o, "shared")),
                json_number_value(json_object_get(o, "busy_s")),
                json_number_value(json_object_get(o, "wait_s")));
}

void door_serve(Door *d, int timeout_ms) {
    Frame f;
    const uint8_t *body;
    for (int i = 0; i < MOST_AT_ONCE; i++, timeout_ms = 0) {
        Status st = link_recv(d->control, timeout_ms, &f, &body);
        if (st == ST_TIMEOUT || st == ST_INTERRUPTED) return;
        if (st != ST_OK) {
            if (roster_refuse(d->roster, 0))
                log_warn("refused a frame at the door: %s", status_text(st));
            continue;
        }
        json_t *o = json_loadb((const char *)body, f.length, 0, NULL);
        if (f.kind == FRAME_HELLO) hello(d, &f, o);
        else if (f.kind == FRAME_HEARTBEAT) heartbeat(d, &f, o);
        json_decref(o);
    }
}
