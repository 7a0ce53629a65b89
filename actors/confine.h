/* confine.h - limits on a process of somebody else's, and what its process group uses. Linux. */
#ifndef DIZHU_ACTORS_CONFINE_H
#define DIZHU_ACTORS_CONFINE_H
#include <stdbool.h>
#include <sys/types.h>

/* For the child between fork and exec, and for all its descendants: no core files, files of at most
 * 64 MB, twice memory_mb of writable memory per process (a backstop: the group is watched), no
 * new privileges, and no leaving the process group. `processes` binds only ordinary users, and all
 * processes of that user count: it is a second line behind watching, with room for 1,000 others. */
void confine_self(int memory_mb, int processes);

typedef struct {
    int processes;
    long memory_kb; /* resident, of all processes */
} GroupUse;
GroupUse confine_use(pid_t group);

#endif
