#include "actors/remote_seat.h"
#include <jansson.h>
#include <stdlib.h>

struct RemoteSeat {
    External *program;
    json_t *requests, *responses;
    json_t *data, *globaldata; /* NULL: none */
};

Status remoteseat_new(const ExternalConfig *c, RemoteSeat **out) {
    RemoteSeat *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    s->requests = json_array();
    s->responses = json_array();
    Status st = external_new(c, &s->program);
    if (st == ST_OK) *out = s;
    else remoteseat_free(s);
    return st;
}

void remoteseat_free(RemoteSeat *s) {
    if (!s) return;
    external_free(s->program);
    json_decref(s->requests);
    json_decref(s->responses);
    json_decref(s->data);
    json_decref(s->globaldata);
    free(s);
}

/* The line for a program that has to be told all. */
static json_t *whole_input(const RemoteSeat *s) {
    json_t *o = json_object();
    json_object_set(o, "requests", s->requests);
    json_object_set(o, "responses", s->responses);
    if (s->data) json_object_set(o, "data", s->data);
    if (s->globaldata) json_object_set(o, "globaldata", s->globaldata);
    json_object_set_new(o, "time_limit", json_string(""));
    json_object_set_new(o, "memory_limit", json_string(""));
    return o;
}

static void keep(json_t **slot, const json_t *answer, const char *key) {
    json_t *v = json_object_get(answer, key);
    json_decref(*slot);
    *slot = json_incref(v);
}

static Verdict ask(RemoteSeat *s, const json_t *input, json_t **answer) {
    char *line = json_dumps(input, JSON_COMPACT);
    const char *text;
    size_t n;
    if (!line) return VERDICT_RE;
    Verdict v = external_ask(s->program, line, &text, &n);
    free(line);
    if (v != VERDICT_OK) return v;
    *answer = json_loadb(text, n, 0, NULL);
    if (json_is_object(*answer)) return VERDICT_OK;
    json_decref(*answer);
    return VERDICT_NJ;
}

Verdict remoteseat_move(RemoteSeat *s, Judge *j) {
    BotzoneRequest r;
    judge_request(j, &r);
    json_array_append_new(s->requests, botzone_request_write(&r));
    json_t *request = json_array_get(s->requests, json_array_size(s->requests) - 1), *answer = NULL;
    json_t *input = external_running(s->program) ? json_incref(request) : whole_input(s);
    Verdict v = ask(s, input, &answer);
    json_decref(input);
    if (v != VERDICT_OK) {
        judge_fault(j, v);
        return v;
    }
    json_t *response = json_object_get(answer, "response");
    v = judge_response(j, response);
    json_array_append(s->responses, response ? response : json_null());
    keep(&s->data, answer, "data");
    keep(&s->globaldata, answer, "globaldata");
    json_decref(answer);
    return v;
}
