#include "learner/rankgauge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/clock.h"

void rankgauge_read(RankGauge *g, Ranks *r, const uint64_t net_steps[N_ROLES], Progress *out) {
    RanksState s;
    int size = RANKGAUGE_WINDOW + 1, n_apart = 0;
    uint64_t steps = 0;
    double apart = 0, now = clock_s();
    ranks_state(r, &s);
    for (int i = 0; i < N_ROLES; i++) {
        steps += net_steps[i];
        if (isfinite(s.role[i].consensus)) apart += s.role[i].consensus, n_apart++;
    }
    int at = g->n % size, first = g->n < size ? 0 : (g->n + 1) % size;
    g->ring[at].clock = now, g->ring[at].wait_s = s.wait_s;
    g->ring[at].tx_bytes = s.tx_bytes, g->ring[at].steps = steps;
    g->n++;
    double dt = now - g->ring[first].clock;
    uint64_t made = steps - g->ring[first].steps, sent = s.tx_bytes - g->ring[first].tx_bytes;
    out->all.ranks = s.ranks;
    snprintf(out->all.algo, sizeof out->all.algo, "%s", s.algo);
    out->all.sent_per_step = made > 0 ? (double)sent / (double)made : 0;
    out->all.waits = dt > 0 ? fmin(1, (s.wait_s - g->ring[first].wait_s) / dt) : 0;
    out->all.apart = n_apart > 0 ? apart / n_apart : NAN;
}

/* "0:120 1:35": ages that occurred. Returns their mean. */
static double tell_ages(const AlgoStats *s, char *out, size_t cap) {
    double n = 0, sum = 0;
    size_t at = 0;
    out[0] = '\0';
    for (int age = 0; age < ALGO_STALENESS; age++) {
        if (s->staleness[age] == 0) continue;
        n += (double)s->staleness[age];
        sum += age * (double)s->staleness[age];
        if (at < cap)
            at += (size_t)snprintf(out + at, cap - at, "%s%d:%llu", at ? " " : "", age,
                                   (unsigned long long)s->staleness[age]);
    }
    return n > 0 ? sum / n : 0;
}

void rankgauge_metrics(Ranks *r, const Progress *p, Metrics *m) {
    RanksState s;
    ranks_state(r, &s);
    for (int i = 0; i < N_ROLES; i++) {
        const AlgoStats *a = &s.role[i].stats;
        Exchange x = {.frames = p->frames,
                      .rank = ranks_rank(r),
                      .ranks = s.ranks,
                      .role = i,
                      .algo = s.algo,
                      .steps = a->steps,
                      .skipped = a->skipped,
                      .exchanges = a->exchanges,
                      .sent = s.tx_bytes,
                      .received = s.rx_bytes,
                      .sent_per_step = p->all.sent_per_step,
                      .waits = p->all.waits,
                      .apart = s.role[i].consensus,
                      .error = a->error,
                      .residual = a->residual,
                      .drift = a->drift};
        x.staleness = tell_ages(a, x.ages, sizeof x.ages);
        metrics_exchange(m, &x);
    }
}
