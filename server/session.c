/* session.c - people: their connection, what they were sent, what they asked. */
#include "server/room.h"
#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const Lobby *l, uint64_t user) {
    return (size_t)((user * 0x9e3779b97f4a7c15ull) >> 32) & (l->n_buckets - 1);
}

bool bucket_take(Bucket *b, int64_t now_us, float burst, float per_s) {
    if (b->at_us == 0) b->left = burst;
    else b->left += per_s * (float)(now_us - b->at_us) * 1e-6f;
    if (b->left > burst) b->left = burst;
    b->at_us = now_us;
    if (b->left < 1) return false;
    b->left -= 1;
    return true;
}

Session *session_by_user(Lobby *l, uint64_t user) {
    Session *s = l->sessions[bucket_of(l, user)];
    while (s && s->user != user) s = s->hash_next;
    return s;
}

Session *session_new(Lobby *l, const StoreUser *u, bool saved) {
    Session *s = calloc(1, sizeof *s);
    if (!s) abort();
    s->lobby = l;
    s->user = u->key.user;
    memcpy(s->name, u->name, sizeof s->name);
    s->key = u->key;
    s->rating = u->rating;
    s->saved = saved;
    s->seat = -1;
    s->ring_from = 1;
    Session **head = &l->sessions[bucket_of(l, s->user)];
    s->hash_next = *head;
    *head = s;
    l->n_sessions++;
    return s;
}

static void forget_answers(Session *s) {
    for (int i = 0; i < ANSWERS_KEPT; i++) {
        msg_unref(s->answers[i].msg);
        s->answers[i] = (Answer){0};
    }
}

void session_release(Session *s) {
    if (s->conn || s->room || s->holds) return;
    Session **p = &s->lobby->sessions[bucket_of(s->lobby, s->user)];
    while (*p != s) p = &(*p)->hash_next;
    *p = s->hash_next;
    s->lobby->n_sessions--;
    session_forget_events(s, 0);
    forget_answers(s);
    free(s);
}

void session_save(Session *s) {
    StoreUser u = {.key = s->key, .rating = s->rating};
    memcpy(u.name, s->name, sizeof u.name);
    s->saved = true;
    s->hold = store_put_user(s->lobby->store, &u);
}

void session_send(Session *s, Msg *m) {
    const Out *out = &s->lobby->out;
    if (s->conn) out->send(out->ctx, s->conn, m, 0, s->hold);
    msg_unref(m);
}

void session_event(Session *s, Msg *m) {
    if (!s->ring) {
        s->ring = calloc(RING_EVENTS, sizeof *s->ring);
        if (!s->ring) abort();
    }
    Msg **place = &s->ring[++s->seq % RING_EVENTS];
    msg_unref(*place);
    *place = msg_ref(m);
    if (s->seq - s->ring_from >= RING_EVENTS) s->ring_from = s->seq - RING_EVENTS + 1;
    const Out *out = &s->lobby->out;
    if (s->conn) out->send(out->ctx, s->conn, m, s->seq, s->hold);
    msg_unref(m);
}

/* The next event is numbered seq + 1 and is the first that can be sent again. */
void session_forget_events(Session *s, uint32_t seq) {
    for (int i = 0; s->ring && i < RING_EVENTS; i++) msg_unref(s->ring[i]);
    free(s->ring);
    s->ring = NULL;
    s->seq = seq;
    s->ring_from = seq + 1;
}

void session_answer(Session *s, int64_t id, Msg *m, uint32_t seq) {
    Answer *last = &s->answers[ANSWERS_KEPT - 1];
    msg_unref(last->msg);
    memmove(s->answers + 1, s->answers, (ANSWERS_KEPT - 1) * sizeof *s->answers);
    s->answers[0] = (Answer){id, msg_ref(m), seq};
}

static void answer_now(Session *s, int64_t id, Msg *m) {
    if (id >= 0) session_answer(s, id, m, 0);
    session_send(s, m);
}

void session_ok(Session *s, int64_t id) {
    JsonOut o;
    msg_begin(&o, "ok");
    jsonout_int(&o, "id", id);
    answer_now(s, id, msg_end(&o));
}

void session_ok_room(Session *s, int64_t id, const Room *room, int seat) {
    JsonOut o;
    msg_begin(&o, "ok");
    jsonout_int(&o, "id", id);
    jsonout_str(&o, "room", room->code);
    if (seat >= 0) jsonout_int(&o, "seat", seat);
    else jsonout_null(&o, "seat");
    answer_now(s, id, msg_end(&o));
}

void session_error(Session *s, int64_t id, const char *code) {
    JsonOut o;
    msg_begin(&o, "error");
    if (id >= 0) jsonout_int(&o, "id", id);
    else jsonout_null(&o, "id");
    jsonout_str(&o, "code", code);
    s->lobby->n_refused++;
    answer_now(s, id, msg_end(&o));
}

void lobby_refuse(Session *s, int64_t id, const char *code) { session_error(s, id, code); }
