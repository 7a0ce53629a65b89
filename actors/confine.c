#include "actors/confine.h"
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

enum { OTHER_PROCESSES = 1000, FILE_MB = 64 };

#define ON_CALL(nr, action)                                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

/* setsid and setpgid fail with EPERM, so that one kill reaches all; forks wait for an answer, if
 * `forks` says so; system calls of another architecture, by which they could be reached too, kill.
 * Returns what seccomp does. */
static int install_filter(unsigned flags, unsigned forks) {
#if defined(OWN_ARCH)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* x32 */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
        ON_CALL(SYS_setsid, SECCOMP_RET_ERRNO | EPERM),
        ON_CALL(SYS_setpgid, SECCOMP_RET_ERRNO | EPERM),
        ON_CALL(SYS_clone, forks),
        ON_CALL(SYS_clone3, forks),
#if defined(SYS_fork)
        ON_CALL(SYS_fork, forks),
        ON_CALL(SYS_vfork, forks),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
#else
    (void)flags, (void)forks;
    return -1;
#endif
}

/* One file descriptor over a Unix socket. */
typedef struct {
    struct msghdr head;
    struct iovec body;
    char byte;
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
} FdMessage;

static void prepare_message(FdMessage *m) {
    memset(m, 0, sizeof *m);
    m->body = (struct iovec){&m->byte, 1};
    m->head = (struct msghdr){.msg_iov = &m->body,
                              .msg_iovlen = 1,
                              .msg_control = m->control,
                              .msg_controllen = sizeof m->control};
}

static void send_fd(int socket, int fd) {
    FdMessage m;
    prepare_message(&m);
    struct cmsghdr *c = CMSG_FIRSTHDR(&m.head);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    sendmsg(socket, &m.head, MSG_NOSIGNAL);
    close(fd);
}

int confine_listener(int socket) {
    FdMessage m;
    prepare_message(&m);
    ssize_t n;
    while ((n = recvmsg(socket, &m.head, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {}
    struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&m.head) : NULL;
    int fd = -1;
    if (c && c->cmsg_type == SCM_RIGHTS) memcpy(&fd, CMSG_DATA(c), sizeof fd);
    return fd;
}

static void guard_group(int tell) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
    int listener = install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_RET_USER_NOTIF);
    if (listener >= 0) send_fd(tell, listener);
    else install_filter(0, SECCOMP_RET_ALLOW);
}

bool confine_answer(int listener, pid_t group, int max) {
    union { /* the kernel's may be larger than the header's */
        struct seccomp_notif request;
        struct seccomp_notif_resp response;
        char room[512];
    } u;
    memset(&u, 0, sizeof u);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &u) != 0) return true;
    __u64 id = u.request.id;
    bool allowed = confine_use(group).processes < max;
    memset(&u, 0, sizeof u);
    u.response.id = id;
    if (allowed) u.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else u.response.error = -EAGAIN;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &u);
    return allowed;
}

static void limit(int what, rlim_t most) {
    struct rlimit l;
    if (getrlimit(what, &l) != 0) return;
    if (l.rlim_max != RLIM_INFINITY && l.rlim_max < most) most = l.rlim_max;
    l.rlim_cur = l.rlim_max = most;
    setrlimit(what, &l);
}

void confine_self(int memory_mb, int processes, int tell) {
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, (rlim_t)FILE_MB << 20);
    limit(RLIMIT_DATA, (rlim_t)memory_mb << 21);
    limit(RLIMIT_NPROC, (rlim_t)(processes + OTHER_PROCESSES));
    guard_group(tell);
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
