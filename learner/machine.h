/* machine.h - the cores of this machine, and which of them an actor or a net's threads get.
 *
 * Used may be what the affinity of this process and the quota of its control group allow. Two
 * hardware threads of one core count as one core: both would wait for the same multipliers.
 * While actors and learner share cores - the rule on small machines - the kernel places them best.
 * On a machine with several memory nodes each actor keeps to one node, and so do the threads that
 * work on one net: what they read all the time then lies near them.
 * The topology is that of Linux' sysfs.                                                     */
#ifndef DIZHU_LEARNER_MACHINE_H
#define DIZHU_LEARNER_MACHINE_H
#include "engine/base/status.h"
#include <sched.h>
#include <stdbool.h>

enum { MACHINE_MAX_NODES = 64 };

typedef struct {
    int n_cores;                       /* to keep busy, 1 and up */
    int n_nodes;                       /* with cores for us; 1 and up */
    cpu_set_t node[MACHINE_MAX_NODES]; /* hardware threads of each that may be used */
    cpu_set_t first;                   /* one hardware thread of each core */
} Machine;

/* This machine, for this process. What cannot be read counts as one node without a quota. */
void machine_look(Machine *out);
/* The same from a tree that looks like /sys, for a process that is allowed these hardware threads
 * and lives in this control group ("/a/b"; NULL: not known).                                */
void machine_read(const char *sysfs, const cpu_set_t *allowed, const char *group, Machine *out);

/* Memory that can be had without swapping; 0: not known. */
int machine_free_mb(void);

typedef enum { PIN_AUTO, PIN_OFF, PIN_NODE, PIN_CORE } Pin;
/* Where the index-th actor runs, and the threads of the index-th net. false: anywhere. PIN_AUTO is
 * PIN_NODE where there are several nodes, else PIN_OFF; with PIN_CORE each actor has a core, and
 * nets have nodes.                                                                          */
bool machine_actor(const Machine *m, Pin pin, int index, cpu_set_t *out);
bool machine_net(const Machine *m, Pin pin, int index, cpu_set_t *out);

#endif
