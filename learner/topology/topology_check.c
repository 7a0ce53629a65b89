/* Conditions on W, each with its own message, and the eigenvalues they need. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/log.h"
#include "learner/topology/topology.h"

static const double tiny = 1e-12;

static void matrix_at(const Topology *t, uint64_t step, double *w) {
    memset(w, 0, (size_t)t->n * (size_t)t->n * sizeof *w);
    for (int i = 0; i < t->n; i++) {
        TopologyRow row;
        topology_row(t, i, step, &row);
        w[i * t->n + i] = row.self;
        for (int k = 0; k < row.n; k++) w[i * t->n + row.peer[k]] = row.weight[k];
    }
}

static Status refuse(const Topology *t, const char *who, const char *what) {
    log_error("%s on topology %s%s of %d ranks: %s", who, t->lazy ? "lazy-" : "", topology_name(t),
              t->n, what);
    return ST_INVALID;
}

static Status check_entries(const Topology *t, const char *who, unsigned needs, const double *w) {
    char what[160];
    int n = t->n;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            double a = w[i * n + j], b = w[j * n + i];
            sum += a;
            if (needs & TOPOLOGY_SYMMETRIC && fabs(a - b) > tiny) {
                snprintf(what, sizeof what, "not symmetric: W[%d][%d] = %g, W[%d][%d] = %g", i, j,
                         a, j, i, b);
                return refuse(t, who, what);
            }
            if (needs & TOPOLOGY_STOCHASTIC && a < -tiny) {
                snprintf(what, sizeof what, "negative weight: W[%d][%d] = %g", i, j, a);
                return refuse(t, who, what);
            }
            if (needs & TOPOLOGY_TWO_SIDED && a != 0 && i != j && (i - j) % 2 == 0) {
                snprintf(what, sizeof what,
                         "not bipartite: ranks %d and %d are on the same side and neighbours", i,
                         j);
                return refuse(t, who, what);
            }
        }
        if (needs & TOPOLOGY_STOCHASTIC && fabs(sum - 1) > 1e-9) {
            snprintf(what, sizeof what, "not doubly stochastic: row %d sums to %.9g", i, sum);
            return refuse(t, who, what);
        }
    }
    return ST_OK;
}

static Status check_spectrum(Topology *t, const char *who, unsigned needs, double above,
                             double *w) {
    char what[200];
    double values[TOPOLOGY_MAX];
    symmetric_eigenvalues(t->n, w, values);
    t->lambda_n = values[0];
    t->lambda_2 = t->n > 1 ? values[t->n - 2] : 0;
    if (needs & TOPOLOGY_CONNECTED && t->lambda_2 > 1 - 1e-9)
        return refuse(t, who, "not connected: the second eigenvalue is 1");
    if (t->lambda_n > above + 1e-9) return ST_OK;
    snprintf(what, sizeof what,
             "the smallest eigenvalue %.6f is not above %.6f; take a smaller weight or lazy-%s",
             t->lambda_n, above, topology_name(t));
    return refuse(t, who, what);
}

Status topology_check(Topology *t, const char *who, unsigned needs, double lambda_n_above) {
    int period = topology_period(t), n = t->n;
    if (needs & TOPOLOGY_STATIC && period > 1)
        return refuse(t, who, "not static: the neighbours change from step to step");
    size_t cells = (size_t)n * (size_t)n;
    double *w = malloc(cells * sizeof *w), *mean = calloc(cells, sizeof *mean);
    Status st = w && mean ? ST_OK : ST_NOMEM;
    for (int s = 0; s < period && st == ST_OK; s++) {
        matrix_at(t, (uint64_t)s, w);
        st = check_entries(t, who, needs, w);
        for (size_t i = 0; i < cells; i++) mean[i] += w[i] / period;
    }
    if (st == ST_OK && needs & TOPOLOGY_SYMMETRIC)
        st = check_spectrum(t, who, needs, lambda_n_above, mean);
    free(w);
    free(mean);
    return st;
}

static void rotate(int n, double *a, int p, int q) {
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * a[p * n + q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
}

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

void symmetric_eigenvalues(int n, double *a, double *values) {
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) off += a[p * n + q] * a[p * n + q];
        if (off < 1e-26) break;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++)
                if (fabs(a[p * n + q]) > 1e-18) rotate(n, a, p, q);
    }
    for (int i = 0; i < n; i++) values[i] = a[i * n + i];
    qsort(values, (size_t)n, sizeof *values, ascending);
}
