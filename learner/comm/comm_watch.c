#include "learner/comm/comm_watch.h"

#include "engine/base/log.h"
#include "learner/comm/comm_ops.h"

void comm_control_send(Comm *c, int to, uint32_t word, int about) {
    CommReq *req = &c->control_sends[c->control_next];
    if (!req->done) return; // the ring is full of unsent words: whoever asks will ask again
    Control *word_out = &c->control_out[c->control_next];
    *word_out = (Control){.word = word, .about = about, .epoch = c->team_epoch};
    c->control_next = (c->control_next + 1) % CONTROL_SLOTS;
    comm_send(c, to, COMM_TAG_CONTROL, word_out, sizeof *word_out, req);
}

void comm_control_start(Comm *c) {
    comm_recv(c, COMM_ANY, COMM_TAG_CONTROL, &c->control_in, sizeof c->control_in, &c->control_req);
}

void comm_control(Comm *c) {
    while (c->control_req.done) {
        Control word = c->control_in;
        int from = c->control_req.peer;
        bool whole = c->control_req.got == sizeof word;
        comm_control_start(c);
        if (!whole) continue;
        c->given_up[from] = false; // it speaks, so it lives
        c->heard_at[from] = world_now_ns(c->world);
        if (word.word == CONTROL_PING) {
            comm_control_send(c, from, CONTROL_PONG, c->waits_for);
        } else if (word.word == CONTROL_PONG) {
            c->pong_from = from;
            c->pong_about = word.about;
        } else if (word.word == CONTROL_ABORT && (!c->elastic || word.epoch != 0)) {
            if (word.about < 0 || word.about >= c->size || word.about == c->rank) continue;
            if (word.epoch < c->aborted_epoch) continue;
            c->aborted_epoch = (uint32_t)word.epoch;
            c->aborted_about = word.about;
            if (c->team_epoch == (uint32_t)word.epoch) c->abort_about = word.about;
        }
    }
}

void watch_start(Watch *w, int64_t now) { *w = (Watch){.since = now, .suspect = -1}; }

static int64_t patience(const Comm *c) { return c->timeout_ns * 2 / 5; }
static int64_t silence(const Comm *c) { return c->timeout_ns / 2; }

// For who is gone only because it gave up somebody else, and said so.
static int64_t grace(const Comm *c) { return c->timeout_ns / 20; }

int64_t watch_next(const Watch *w, const Comm *c) {
    if (w->gone > 0) return w->gone + grace(c);
    return w->suspect < 0 ? w->since + patience(c) : w->asked_at + silence(c);
}

bool comm_probe(Comm *c, int rank, int64_t *next_ns) {
    int64_t now = world_now_ns(c->world), *heard = &c->heard_at[rank], *asked = &c->asked_at[rank];
    if (!comm_alive(c, rank)) return false;
    bool answered = *heard >= *asked;
    if (*asked == 0 || (answered && now - *heard >= patience(c))) {
        comm_control_send(c, rank, CONTROL_PING, 0);
        *asked = now;
    } else if (!answered && now - *asked >= silence(c)) {
        comm_give_up(c, rank);
        *asked = 0;
        return false;
    }
    *next_ns = now + patience(c);
    return true;
}

static void tell_team(Comm *c, int rank) {
    for (int i = 0; i < c->team_size; i++)
        if (c->team[i] != c->rank && c->team[i] != rank)
            comm_control_send(c, c->team[i], CONTROL_ABORT, rank);
}

static bool renewed_in_team(const Comm *c, int rank) {
    for (int i = 0; i < c->team_size; i++)
        if (c->team[i] == rank) return c->life[rank] != c->team_life[i];
    return false;
}

// `renewed`: it is there, but not as it was when the team began.
static Status give_up(Comm *c, int rank, bool renewed) {
    bool told = c->abort_about >= 0;
    if (c->failed != rank || !told)
        log_line(c->elastic ? LOG_WARN : LOG_ERROR, "rank %d is lost: %s", rank,
                 renewed                 ? "it went and came back"
                 : c->ops->gone(c, rank) ? "its connection is gone"
                 : told                  ? "another rank has given it up"
                                         : "it gives no sign of life");
    c->failed = rank;
    // It may be back already when somebody else tells of its loss.
    if (!renewed && !(told && renewed_in_team(c, rank))) c->given_up[rank] = true;
    if (c->elastic && c->team_epoch == 0) return ST_PEER;
    if (!told) tell_team(c, rank);
    c->abort_about = rank;
    return ST_PEER;
}

Status watch_give_up(Comm *c, int rank) { return give_up(c, rank, false); }

/* Of a team that is not all. Who left has perhaps done its part, and whoever waits for it will see;
 * but who left and came back does not know of this team any more.                           */
static Status look_at_team(Comm *c) {
    for (int i = 0; c->team_epoch != 0 && i < c->team_size; i++)
        if (c->life[c->team[i]] != c->team_life[i]) return give_up(c, c->team[i], true);
    return ST_OK;
}

static void ask(Watch *w, Comm *c, int rank, int64_t now) {
    w->suspect = rank;
    w->asked_at = now;
    c->pong_from = -1;
    comm_control_send(c, rank, CONTROL_PING, 0);
}

// The suspect answered: it waits for `about`, or for nobody.
static Status answered(Watch *w, Comm *c, int about, int64_t now) {
    int who = w->suspect;
    if (about == c->rank) { // a long message may be under way; if nothing moves, we disagree
        if (w->mutual == 0) w->mutual = now;
        if (now - w->mutual > 3 * c->timeout_ns) {
            log_error("ranks %d and %d wait for one another: they disagree about the step", c->rank,
                      who);
            return ST_MISMATCH;
        }
    } else if (about >= 0 && about != who && about < c->size) {
        ask(w, c, about, now);
        return ST_OK;
    } else {
        w->mutual = 0;
    }
    if (!w->said) log_debug("rank %d waits for rank %d, which is alive", c->rank, who);
    w->said = true;
    w->suspect = -1;
    w->since = now;
    return ST_OK;
}

Status watch_look(Watch *w, Comm *c, const CommReq *req) {
    int64_t now = world_now_ns(c->world);
    if (c->abort_about >= 0) return watch_give_up(c, c->abort_about);
    TRY(look_at_team(c));
    if (req->peer != COMM_ANY && c->ops->gone(c, req->peer)) {
        if (w->gone == 0) w->gone = now;
        if (c->elastic || now - w->gone >= grace(c)) return watch_give_up(c, req->peer);
        return ST_OK;
    }
    if (req->peer == COMM_ANY) { // nobody to ask
        w->since = now;
        return ST_OK;
    }
    if (w->suspect < 0) {
        if (now - w->since >= patience(c)) ask(w, c, req->peer, now);
        return ST_OK;
    }
    if (c->pong_from == w->suspect) {
        int about = c->pong_about;
        c->pong_from = -1;
        return answered(w, c, about, now);
    }
    if (now - w->asked_at >= silence(c)) return watch_give_up(c, w->suspect);
    return ST_OK;
}
