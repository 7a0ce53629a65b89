#include "learner/gauge.h"

#include <math.h>

#include "engine/base/clock.h"

void gauge_init(Gauge *g, int n_cores, int n_threads) {
    *g = (Gauge){.n_cores = n_cores, .n_threads = n_threads, .start = clock_s()};
    g->ring[0].clock = g->start;
    for (int r = 0; r < N_ROLES; r++) g->loss[r] = g->norm[r] = NAN;
}

static double share(double part, double whole) {
    if (whole <= 0) return 0;
    double s = part / whole;
    return s < 0 ? 0 : s > 1 ? 1 : s;
}

static double mean(double sum, double n) { return n > 0 ? sum / n : 0; }

static void read_net(Gauge *g, const GaugeSample *a, const GaugeSample *b, int r, double dt,
                     Progress *out) {
    const NetLearnerState *x = &a->net[r], *y = &b->net[r];
    double games = (double)(b->inbox.games - a->inbox.games);
    out->role[r].steps = y->steps;
    out->role[r].samples = y->samples;
    out->role[r].fill = b->buffers.fill[r];
    out->role[r].fps = (double)(b->inbox.decisions[r] - a->inbox.decisions[r]) / dt;
    if (y->samples > x->samples) // else what it was last
        g->loss[r] = (y->loss_sum - x->loss_sum) / (double)(y->samples - x->samples);
    if (y->norm_steps > x->norm_steps)
        g->norm[r] = (y->norm_sum - x->norm_sum) / (double)(y->norm_steps - x->norm_steps);
    out->role[r].loss = g->loss[r];
    out->role[r].norm = g->norm[r];
    out->role[r].staleness = mean(b->inbox.staleness_sum[r] - a->inbox.staleness_sum[r], games);
}

void gauge_read(Gauge *g, const GaugeSample *now, Progress *out) {
    if (g->n == 0) { // a resumed run does not begin at nothing
        g->ring[0].inbox = now->inbox;
        g->ring[0].inbox.bytes = 0;
        g->n = 1;
    }
    int size = GAUGE_WINDOW + 1, first = g->n < size ? 0 : g->n % size;
    const GaugeSample *a = &g->ring[first], *b = now;
    double dt = b->clock - a->clock, games = (double)(b->inbox.games - a->inbox.games);
    double frames = (double)(b->inbox.frames - a->inbox.frames), learn = 0;
    if (dt < 1e-3) dt = 1e-3;
    *out = (Progress){.seconds = b->clock - g->start,
                      .frames = b->inbox.frames,
                      .games = b->inbox.games,
                      .fps = frames / dt,
                      .landlord_wins =
                          mean((double)(b->inbox.landlord_wins - a->inbox.landlord_wins), games),
                      .record_bytes = mean((double)(b->inbox.bytes - a->inbox.bytes), frames),
                      .actors = b->roster.live,
                      .remote = b->roster.remote,
                      .refused = b->roster.refused,
                      .lost = b->roster.lost};
    for (int r = 0; r < N_ROLES; r++) {
        read_net(g, a, b, r, dt, out);
        learn += b->net[r].busy_s - a->net[r].busy_s;
    }
    learn += b->inbox.cpu_s - a->inbox.cpu_s;
    out->learn = share(learn, dt * g->n_cores);
    out->act = share(b->roster.busy_s - a->roster.busy_s, dt * g->n_cores);
    out->learner_waits = share(b->buffers.take_wait_s - a->buffers.take_wait_s, dt * g->n_threads);
    out->inbox_waits = share(b->buffers.put_wait_s - a->buffers.put_wait_s, dt);
    g->ring[g->n % size] = *now;
    g->n++;
}
