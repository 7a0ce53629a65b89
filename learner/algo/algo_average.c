/* average: every rank trains alone; now and then, beside it, the models are averaged.
 *
 *     s = z;  r = mean over ranks of s;  z += r - s          (steps taken meanwhile survive)
 *
 * The lowest living rank leads: every period it tells who takes part and with which number, and all
 * of them enter one allreduce. If a rank is lost in it all drop the round and the next goes without
 * it, until it says that it is here; if the leader falls silent the next rank leads. Who wants to
 * stop says so to the leader and serves until it hears that no further round counts on it; the
 * leader stops last. Source: Bagua's asynchronous model average, arXiv:2107.01499. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "learner/algo/background.h"

enum { TAG_ROUND = 0x440000, TAG_WORD = 0x450000 };
enum { WORD_BYE, WORD_HERE };
/* u32 epoch, u32 ranks, u16 each. No ranks: your bye was heard. One tag for both, so that who hears
 * this has heard of all rounds before.                                                      */
enum { ROUND_BYTES = 8 + 2 * COMM_MAX_RANKS };

typedef struct {
    Algo algo;
    Background back;
    Real *s, *r;
    int64_t due, heard; // leader: the next round; others: when they last heard of one
    int64_t here_again; // and before when they do not say once more that they are here
    uint8_t round_in[ROUND_BYTES], round_out[ROUND_BYTES], heard_out[8], word_in, bye_out, here_out;
    CommReq round_req, word_req, sends[COMM_MAX_RANKS], heard_sends[COMM_MAX_RANKS], bye_sending;
    CommReq here_sends[COMM_MAX_RANKS];
    bool in[COMM_MAX_RANKS]; // takes part: was there at the start or has joined, and is not lost
    uint32_t life[COMM_MAX_RANKS]; // its comm_life then
    bool bye[COMM_MAX_RANKS];      // leader: does not take part for now
    bool begun, told_begun;        // the engine's, the caller's: it has made its first step
    int told, heard_by; // the leader that was told, and that has heard, that we pause; -1
} Average;

static uint32_t tag(const Average *s, uint32_t kind) { return kind | (uint32_t)s->algo.c.group; }

static int leader(const Average *s) {
    int rank = 0;
    while (!comm_alive(s->algo.comm, rank)) rank++;
    return rank; // this rank lives at the least
}

static void post_round(Average *s) {
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_ROUND), s->round_in, ROUND_BYTES, &s->round_req);
}
static void post_word(Average *s) {
    comm_recv(s->algo.comm, COMM_ANY, tag(s, TAG_WORD), &s->word_in, 1, &s->word_req);
}

// The allreduce among these ranks. A lost rank ends the round, not the run.
static Status average(Average *s, const int *ranks, int n, uint32_t epoch) {
    Algo *a = &s->algo;
    gate_lock(s->back.gate);
    memcpy(s->s, s->back.z, a->c.n * sizeof *s->s);
    gate_unlock(s->back.gate);
    memcpy(s->r, s->s, a->c.n * sizeof *s->r);
    comm_team(a->comm, ranks, n, epoch);
    Status st = comm_allreduce(a->comm, s->r, a->c.n);
    comm_team(a->comm, NULL, 0, 0);
    comm_recover(a->comm); // also from a word of loss that came with the last message
    if (st == ST_PEER) {
        log_warn("average: round %u dropped: rank %d is lost", epoch, comm_failed(a->comm));
        return ST_OK;
    }
    TRY(st);
    for (size_t i = 0; i < a->c.n; i++) s->r[i] = s->r[i] / (Real)n - s->s[i];
    background_change(&s->back, a, s->r);
    return ST_OK;
}

static bool sends_done(const Average *s) {
    for (int i = 0; i < s->algo.ranks; i++)
        if (!s->sends[i].done || !s->heard_sends[i].done) return false;
    return true;
}

static Status lead_round(Average *s) {
    Algo *a = &s->algo;
    int ranks[COMM_MAX_RANKS], n = 0;
    for (int i = 0; i < a->ranks; i++)
        if (i == a->rank || (s->in[i] && !s->bye[i])) ranks[n++] = i;
    uint32_t epoch = comm_next_epoch(a->comm);
    put_u32(s->round_out, epoch);
    put_u32(s->round_out + 4, (uint32_t)n);
    for (int i = 0; i < n; i++) put_u16(s->round_out + 8 + 2 * i, (uint16_t)ranks[i]);
    for (int i = 0; i < n; i++)
        if (ranks[i] != a->rank)
            comm_send(a->comm, ranks[i], tag(s, TAG_ROUND), s->round_out, 8 + 2 * (size_t)n,
                      &s->sends[ranks[i]]);
    return n > 1 ? average(s, ranks, n, epoch) : ST_OK;
}

static void take_in(Average *s, int rank) {
    s->in[rank] = true;
    s->life[rank] = comm_life(s->algo.comm, rank);
    comm_forgive(s->algo.comm, rank);
}

static Status follow_round(Average *s) {
    const uint8_t *p = s->round_in;
    int ranks[COMM_MAX_RANKS], n = s->round_req.got >= 8 ? (int)get_u32(p + 4) : 0;
    bool member = false;
    if (n < 0 || n > s->algo.ranks || s->round_req.got != 8 + 2 * (size_t)n) return ST_CORRUPT;
    if (n == 0) {
        s->heard_by = s->round_req.peer;
        return ST_OK;
    }
    for (int i = 0; i < n; i++) {
        ranks[i] = get_u16(p + 8 + 2 * i);
        if (ranks[i] >= s->algo.ranks || (i > 0 && ranks[i] <= ranks[i - 1])) return ST_CORRUPT;
        member = member || ranks[i] == s->algo.rank;
        take_in(s, ranks[i]); // the leader has heard of it
    }
    comm_heard_epoch(s->algo.comm, get_u32(p));
    return member ? average(s, ranks, n, get_u32(p)) : ST_OK;
}

static void note_words(Average *s) {
    while (s->word_req.done) {
        int from = s->word_req.peer;
        if (s->word_in == WORD_HERE) {
            take_in(s, from);
            s->bye[from] = false;
        } else {
            s->bye[from] = true;
            comm_send(s->algo.comm, from, tag(s, TAG_ROUND), s->heard_out, 8,
                      &s->heard_sends[from]);
        }
        post_word(s);
    }
    for (int i = 0; i < s->algo.ranks; i++)
        if (i != s->algo.rank &&
            (!comm_alive(s->algo.comm, i) || comm_life(s->algo.comm, i) != s->life[i]))
            s->in[i] = false;
}

static void say_here(Average *s) {
    s->here_out = WORD_HERE;
    for (int i = 0; i < s->algo.ranks; i++)
        if (i != s->algo.rank && comm_alive(s->algo.comm, i) && s->here_sends[i].done)
            comm_send(s->algo.comm, i, tag(s, TAG_WORD), &s->here_out, 1, &s->here_sends[i]);
}

static bool all_said_bye(Average *s, int64_t *next) {
    bool all = true;
    for (int i = 0; i < s->algo.ranks; i++)
        if (i != s->algo.rank && s->in[i] && !s->bye[i] && comm_probe(s->algo.comm, i, next))
            all = false;
    return all;
}

// Not the leader, and pausing: tell it, and serve until it has heard.
static bool said_bye(Average *s, int to) {
    if (s->told != to && s->bye_sending.done) {
        comm_send(s->algo.comm, to, tag(s, TAG_WORD), &s->bye_out, 1, &s->bye_sending);
        s->told = to;
    }
    return s->heard_by == to && s->bye_sending.done;
}

static Status service(void *ctx, int64_t *next) {
    Average *s = ctx;
    Algo *a = &s->algo;
    bool quiet = false;
    gate_lock(s->back.gate);
    bool pausing = s->back.pausing;
    gate_unlock(s->back.gate);
    background_serve(&s->back, a);
    note_words(s);
    while (s->round_req.done) {
        s->heard = world_now_ns(a->world);
        TRY(s->round_req.status);
        TRY(follow_round(s));
        post_round(s);
    }
    int64_t now = world_now_ns(a->world), period = (int64_t)(a->c.period_s * 1e9);
    int first = leader(s);
    if (first == a->rank) {
        bool over = pausing && all_said_bye(s, next);
        if (!over && s->begun && now >= s->due && sends_done(s)) {
            s->due = now + period;
            TRY(lead_round(s));
        }
        quiet = over && sends_done(s);
        if (!over && s->begun && sends_done(s) && s->due < *next)
            *next = s->due; // else a message wakes us
    } else {
        if (pausing) quiet = said_bye(s, first);
        else s->told = s->heard_by = -1;
        if (now - s->heard > period + comm_timeout_ns(a->comm)) {
            (void)comm_probe(a->comm, first, next);
            if (s->begun && !pausing && now > s->here_again) { // perhaps it has lost us
                s->here_again = now + period + comm_timeout_ns(a->comm);
                say_here(s);
            }
        }
        if (s->heard + period + comm_timeout_ns(a->comm) + 1 > now)
            *next = s->heard + period + comm_timeout_ns(a->comm) + 1;
    }
    if (!quiet) return ST_OK;
    gate_lock(s->back.gate);
    s->back.quiet = true;
    gate_wake(s->back.gate);
    gate_unlock(s->back.gate);
    return ST_OK;
}

static Status post_first(void *ctx, int arg) {
    (void)arg;
    Average *s = ctx;
    post_round(s);
    post_word(s);
    for (int i = 0; i < s->algo.ranks; i++)
        if (comm_alive(s->algo.comm, i)) take_in(s, i);
    return ST_OK;
}

static Status start(Algo *a) {
    Average *s = (Average *)a;
    s->told = s->heard_by = -1;
    s->bye_sending.done = true;
    for (int i = 0; i < COMM_MAX_RANKS; i++)
        s->sends[i].done = s->heard_sends[i].done = s->here_sends[i].done = true;
    s->heard = s->due = world_now_ns(a->world);
    if (!(a->c.period_s > 0)) {
        log_error("average: the period must be above 0 s");
        return ST_INVALID;
    }
    s->s = malloc((a->c.n + 1) * sizeof *s->s);
    s->r = malloc((a->c.n + 1) * sizeof *s->r);
    if (!s->s || !s->r) return ST_NOMEM;
    TRY(engine_call(a->c.engine, "post", post_first, s, 0));
    return background_start(&s->back, a, service);
}

static Status cancel_all(void *ctx, int arg) {
    (void)arg;
    Average *s = ctx;
    comm_cancel(s->algo.comm, &s->round_req);
    comm_cancel(s->algo.comm, &s->word_req);
    return ST_OK;
}

static void stop(Algo *a) {
    Average *s = (Average *)a;
    if (s->back.z) {
        (void)background_pause(&s->back, a);
        engine_unserve(a->c.engine, a);
        (void)engine_call(a->c.engine, "cancel", cancel_all, s, 0);
    }
    background_stop(&s->back, a);
    free(s->s);
    free(s->r);
}

/* A round holds up the engines of all who take part. So none is led, and no newcomer takes part,
 * before its first step: blocks of other groups may have to be made first, by exchanges. */
static Status begin(void *ctx, int arg) {
    (void)arg;
    Average *s = ctx;
    s->begun = true;
    if (s->algo.c.join) say_here(s);
    return ST_OK;
}

static Status before_forward(Algo *a) {
    Average *s = (Average *)a;
    if (!s->told_begun) TRY(engine_call(a->c.engine, "begin", begin, s, 0));
    s->told_begun = true;
    background_read(&s->back, a);
    return ST_OK;
}

static Status after_backward(Algo *a) { return background_apply(&((Average *)a)->back, a); }

/* Nobody says bye for the next time before all have forgotten this one. */
static Status resume(void *ctx, int arg) {
    (void)arg;
    Average *s = ctx;
    memset(s->bye, 0, sizeof s->bye);
    s->told = s->heard_by = -1;
    background_resume(&s->back);
    return comm_barrier(s->algo.comm);
}

static Status flush(Algo *a) { return background_mean(&((Average *)a)->back, a, resume); }

static void stats(Algo *a, AlgoStats *out) { background_stats(&((Average *)a)->back, a, out); }

static void loaded(Algo *a) { background_loaded(&((Average *)a)->back, a); }

static void defaults(AlgoConfig *c) { c->period_s = .5; }

const AlgoOps algo_average = {.name = "average",
                              .help = "asynchronous model averaging, every period",
                              .size = sizeof(Average),
                              .elastic = true,
                              .defaults = defaults,
                              .start = start,
                              .stop = stop,
                              .before_forward = before_forward,
                              .after_backward = after_backward,
                              .flush = flush,
                              .stats = stats,
                              .loaded = loaded};
