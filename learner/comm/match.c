#include "learner/comm/match.h"

#include <stdlib.h>

#include "learner/comm/comm_ops.h"

static void free_list(Mail *m) {
    for (Mail *next; m; m = next) {
        next = m->next;
        free(m);
    }
}

void matchbox_deinit(Matchbox *m) {
    free_list(m->mail);
    free_list(m->spare);
    *m = (Matchbox){0};
}

Mail *matchbox_mail(Matchbox *m, size_t bytes) {
    for (Mail **link = &m->spare; *link; link = &(*link)->next)
        if ((*link)->room >= bytes && (*link)->room / 4 <= bytes + 256) {
            Mail *found = *link;
            *link = found->next;
            found->bytes = bytes;
            return found;
        }
    Mail *made = malloc(sizeof *made + bytes);
    if (made) *made = (Mail){.bytes = bytes, .room = bytes};
    return made;
}

void matchbox_deliver(Matchbox *m, Mail *mail) {
    Mail **link = &m->mail;
    while (*link && (*link)->at <= mail->at) link = &(*link)->next;
    mail->next = *link;
    *link = mail;
}

void matchbox_post(Matchbox *m, CommReq *req) {
    CommReq **link = &m->posted;
    while (*link) link = &(*link)->next;
    req->next = NULL;
    *link = req;
}

void matchbox_unpost(Matchbox *m, CommReq *req) {
    CommReq **link = &m->posted;
    while (*link && *link != req) link = &(*link)->next;
    if (*link) *link = req->next;
}

void matchbox_purge(Matchbox *m, uint32_t epoch) {
    for (Mail **link = &m->mail; *link;) {
        Mail *mail = *link;
        uint32_t its = mail->tag >> COMM_EPOCH_SHIFT, age = (epoch - its) % COMM_EPOCHS;
        if (its != 0 && age != 0 && age < COMM_EPOCHS / 2) { // older, not of a team to come
            *link = mail->next;
            mail->next = m->spare;
            m->spare = mail;
        } else {
            link = &mail->next;
        }
    }
}

static Mail **find(Matchbox *m, const CommReq *req) {
    for (Mail **link = &m->mail; *link; link = &(*link)->next)
        if ((*link)->tag == req->tag && (req->peer == COMM_ANY || req->peer == (*link)->from))
            return link;
    return NULL;
}

bool matchbox_match(Matchbox *m, int64_t now, int64_t *next) {
    bool some = false;
    *next = WORLD_FOREVER;
    for (CommReq **link = &m->posted; *link;) {
        CommReq *req = *link;
        Mail **found = find(m, req), *mail = found ? *found : NULL;
        if (mail && mail->at <= now) {
            *found = mail->next;
            *link = req->next;
            comm_req_fill(req, mail->from, mail->data, mail->bytes);
            mail->next = m->spare;
            m->spare = mail;
            some = true;
        } else {
            if (mail && mail->at < *next) *next = mail->at;
            link = &req->next;
        }
    }
    return some;
}
