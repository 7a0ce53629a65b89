#include "learner/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, TEXT_BYTES = 4096 };

/* A small file's text; false: there is none. */
static bool read_text(const char *path, char text[TEXT_BYTES]) {
    FILE *f = fopen(path, "re");
    if (f == NULL) return false;
    size_t n = fread(text, 1, TEXT_BYTES - 1, f);
    fclose(f);
    text[n] = '\0';
    return n > 0;
}

/* "0-3,8,10-11" */
static void parse_list(const char *text, cpu_set_t *out) {
    CPU_ZERO(out);
    while (*text >= '0' && *text <= '9') {
        char *end;
        long from = strtol(text, &end, 10), to = from;
        if (*end == '-') to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to && i < CPU_SETSIZE; i++) CPU_SET((size_t)i, out);
        text = *end == ',' ? end + 1 : end;
    }
}

static bool read_list(cpu_set_t *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool read_list(cpu_set_t *out, const char *fmt, ...) {
    char path[PATH_BYTES], text[TEXT_BYTES];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof path || !read_text(path, text)) return false;
    parse_list(text, out);
    return true;
}

static int first_in(const cpu_set_t *set) {
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, set)) return i;
    return -1;
}

/* One hardware thread of each core: the lowest that we may use. */
static void read_cores(const char *sysfs, const cpu_set_t *allowed, cpu_set_t *first) {
    CPU_ZERO(first);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        cpu_set_t siblings;
        if (!CPU_ISSET((size_t)i, allowed)) continue;
        if (read_list(&siblings, "%s/devices/system/cpu/cpu%d/topology/thread_siblings_list", sysfs,
                      i)) {
            CPU_AND(&siblings, &siblings, allowed);
            if (first_in(&siblings) != i) continue;
        }
        CPU_SET((size_t)i, first);
    }
}

static void read_nodes(const char *sysfs, const cpu_set_t *allowed, Machine *m) {
    cpu_set_t online, cpus;
    m->n_nodes = 0;
    CPU_ZERO(&online);
    read_list(&online, "%s/devices/system/node/online", sysfs);
    for (int i = 0; i < CPU_SETSIZE && m->n_nodes < MACHINE_MAX_NODES; i++) {
        if (!CPU_ISSET((size_t)i, &online) ||
            !read_list(&cpus, "%s/devices/system/node/node%d/cpulist", sysfs, i))
            continue;
        CPU_AND(&cpus, &cpus, allowed);
        if (CPU_COUNT(&cpus) > 0) m->node[m->n_nodes++] = cpus;
    }
    if (m->n_nodes == 0) m->node[m->n_nodes++] = *allowed;
}

/* Processors' worth of time that the control group and those above it may use; 0: no bound. */
static double read_quota(const char *sysfs, const char *group) {
    char path[PATH_BYTES], text[TEXT_BYTES], at[PATH_BYTES];
    double least = 0;
    if (snprintf(at, sizeof at, "%s", group) >= (int)sizeof at) return 0;
    for (;;) {
        double quota, period;
        bool fits =
            snprintf(path, sizeof path, "%s/fs/cgroup%s/cpu.max", sysfs, at) < (int)sizeof path;
        if (fits && read_text(path, text) && sscanf(text, "%lf %lf", &quota, &period) == 2 &&
            period > 0 && (least == 0 || quota / period < least))
            least = quota / period;
        char *slash = strrchr(at, '/');
        if (slash == NULL) return least;
        *slash = '\0';
    }
}

void machine_read(const char *sysfs, const cpu_set_t *allowed, const char *group, Machine *out) {
    read_cores(sysfs, allowed, &out->first);
    read_nodes(sysfs, allowed, out);
    out->n_cores = CPU_COUNT(&out->first);
    double quota = group ? read_quota(sysfs, group) : 0;
    if (quota > 0 && quota < out->n_cores) out->n_cores = (int)(quota + 0.999);
    if (out->n_cores < 1) out->n_cores = 1;
}

/* Our control group in the unified hierarchy: the line "0::/path". */
static bool own_group(char out[PATH_BYTES]) {
    char text[TEXT_BYTES];
    if (!read_text("/proc/self/cgroup", text)) return false;
    const char *at = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (at == NULL) return false;
    at = strchr(at, '/');
    size_t n = at ? strcspn(at, "\n") : 0;
    if (n == 0 || n >= PATH_BYTES) return false;
    memcpy(out, at, n);
    out[n] = '\0';
    return true;
}

void machine_look(Machine *out) {
    cpu_set_t allowed;
    char group[PATH_BYTES];
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        CPU_ZERO(&allowed);
        CPU_SET(0, &allowed);
    }
    machine_read("/sys", &allowed, own_group(group) ? group : NULL, out);
}

int machine_free_mb(void) {
    char text[TEXT_BYTES];
    long long kb;
    const char *at = read_text("/proc/meminfo", text) ? strstr(text, "MemAvailable:") : NULL;
    return at && sscanf(at, "MemAvailable: %lld", &kb) == 1 ? (int)(kb / 1024) : 0;
}

bool machine_net(const Machine *m, Pin pin, int index, cpu_set_t *out) {
    if (pin == PIN_OFF || (pin == PIN_AUTO && m->n_nodes == 1)) return false;
    *out = m->node[index % m->n_nodes];
    return true;
}

bool machine_actor(const Machine *m, Pin pin, int index, cpu_set_t *out) {
    if (!machine_net(m, pin, index, out)) return false;
    if (pin != PIN_CORE) return true;
    // Actors go round the nodes; within a node, round its cores.
    cpu_set_t cores;
    CPU_AND(&cores, out, &m->first);
    int n = CPU_COUNT(&cores), skip = index / m->n_nodes % (n ? n : 1);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &cores) && skip-- == 0) {
            CPU_ZERO(out);
            CPU_SET((size_t)i, out);
            return true;
        }
    return true; // a node of second threads alone: all of it
}
