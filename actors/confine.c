#include "actors/confine.h"
#include <dirent.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

enum { EPERM_ERRNO = 1, OTHER_PROCESSES = 1000, FILE_MB = 64 };

/* setsid and setpgid fail with EPERM; system calls of another architecture, by which they could be
 * reached too, kill. Without seccomp in the kernel the group can be left, and nothing else. */
static void stay_in_group(void) {
#if defined(OWN_ARCH)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* x32 */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsid, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setpgid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM_ERRNO),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
#endif
}

static void limit(int what, rlim_t most) {
    struct rlimit l;
    if (getrlimit(what, &l) != 0) return;
    if (l.rlim_max != RLIM_INFINITY && l.rlim_max < most) most = l.rlim_max;
    l.rlim_cur = l.rlim_max = most;
    setrlimit(what, &l);
}

void confine_self(int memory_mb, int processes) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, (rlim_t)FILE_MB << 20);
    limit(RLIMIT_DATA, (rlim_t)memory_mb << 21);
    limit(RLIMIT_NPROC, (rlim_t)(processes + OTHER_PROCESSES));
    stay_in_group();
}

/* Adds a process to the sum if it belongs to the group. Its name, in parentheses, may hold
 * anything: fields are counted from the last ')': state, parent, group, ... (23rd from there:
 * resident pages). */
static void add_process(const char *pid, pid_t group, GroupUse *use) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    char *field = strrchr(text, ')');
    if (!field) return;
    field += 2;
    long value[22] = {0};
    for (int i = 0; i < 22 && field; i++) {
        value[i] = strtol(field, NULL, 10);
        field = strchr(field, ' ');
        if (field) field++;
    }
    if (value[2] != group) return;
    use->processes++;
    use->memory_kb += value[21] * (sysconf(_SC_PAGESIZE) / 1024);
}

GroupUse confine_use(pid_t group) {
    GroupUse use = {0};
    DIR *dir = opendir("/proc");
    if (!dir) return use;
    for (struct dirent *d; (d = readdir(dir));)
        if (d->d_name[0] >= '0' && d->d_name[0] <= '9') add_process(d->d_name, group, &use);
    closedir(dir);
    return use;
}
