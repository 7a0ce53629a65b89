/* confine.h - limits on a process of somebody else's, and what its process group uses. Linux. */
#ifndef DIZHU_ACTORS_CONFINE_H
#define DIZHU_ACTORS_CONFINE_H
#include <stdbool.h>
#include <sys/types.h>

/* For the child between fork and exec, and for all its descendants: no core files, files of at most
 * 64 MB, twice memory_mb of writable memory per process (a backstop: the group is watched), no
 * new privileges, no leaving the process group, and every fork asks first: the listener goes over
 * the Unix socket `tell`. Where the kernel has no such listener the group is only watched, with a
 * second line behind it that binds ordinary users: RLIMIT_NPROC, with room for 1,000 others.   */
void confine_self(int memory_mb, int processes, int tell);

/* In the parent: the listener, from the other end of `tell`; -1: there is none. */
int confine_listener(int socket);
/* Answers one fork that waits there. False: it was refused, the group has max processes.       */
bool confine_answer(int listener, pid_t group, int max);

typedef struct {
    int processes;
    long memory_kb; /* resident, of all processes */
} GroupUse;
GroupUse confine_use(pid_t group);

#endif
