/* The data words are 64-bit atomics: a copy that races with the writer is then merely wrong, not
 * undefined, and the sequence numbers say that it is wrong. Release stores and acquire loads of the
 * words, instead of fences, keep the sequence numbers on their side of the data; they cost nothing
 * on x86, and thread sanitizers understand them. (Boehm, "Can seqlocks get along with programming
 * language memory models?", MSPC 2012.)                                                     */
#include "nets/sharedweights.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/log.h"

enum { MAGIC = 0x31575a44 /* "DZW1" */, N_SLOTS = 2, LINE = 64, MAX_TRIES = 100 };

typedef struct {
    _Alignas(LINE) _Atomic uint64_t sequence; // odd while being written
    _Atomic uint32_t version;
} Slot;

typedef struct {
    _Alignas(LINE) _Atomic uint32_t current; // 1 + index of the newest slot; 0: none yet
    Slot slot[N_SLOTS];
} RoleHead;

typedef struct {
    _Atomic uint32_t magic; // set last: a region without it is unfinished
    uint32_t bytes;
    uint64_t run;
    RoleHead role[N_ROLES];
} Head;

struct SharedWeights {
    Head *head;
    size_t words[N_ROLES]; // 64-bit words of a slot
    _Atomic uint64_t *data[N_ROLES][N_SLOTS];
};

static size_t slot_bytes(int role) {
    size_t bytes = net_layout((Role)role)->n_params * sizeof(float);
    return (bytes + LINE - 1) / LINE * LINE;
}

static size_t region_bytes(void) {
    size_t n = (sizeof(Head) + LINE - 1) / LINE * LINE;
    for (int r = 0; r < N_ROLES; r++) n += N_SLOTS * slot_bytes(r);
    return n;
}

void sharedweights_name(uint64_t run, char out[SHAREDWEIGHTS_NAME_BYTES]) {
    snprintf(out, SHAREDWEIGHTS_NAME_BYTES, "/dizhu-%016llx", (unsigned long long)run);
}

static SharedWeights *view(void *p) {
    SharedWeights *s = malloc(sizeof *s);
    if (s == NULL) return NULL;
    s->head = p;
    uint8_t *at = (uint8_t *)p + (sizeof(Head) + LINE - 1) / LINE * LINE;
    for (int r = 0; r < N_ROLES; r++) {
        s->words[r] = (net_layout((Role)r)->n_params + 1) / 2;
        for (int i = 0; i < N_SLOTS; i++, at += slot_bytes(r))
            s->data[r][i] = (_Atomic uint64_t *)(void *)at;
    }
    return s;
}

/* Maps the whole region; NULL if the file is not exactly that large. */
static void *map(int fd, int protection) {
    struct stat info;
    if (fstat(fd, &info) != 0 || (size_t)info.st_size != region_bytes()) return NULL;
    void *p = mmap(NULL, region_bytes(), protection, MAP_SHARED, fd, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool ours(const Head *h, uint64_t run) {
    return atomic_load(&h->magic) == MAGIC && h->bytes == region_bytes() && h->run == run;
}

static void *adopt(const char *name, uint64_t run, int flags, int protection) {
    int fd = shm_open(name, flags, 0);
    if (fd < 0) return NULL;
    void *p = map(fd, protection);
    close(fd);
    if (p != NULL && ours(p, run)) return p;
    if (p != NULL) munmap(p, region_bytes());
    errno = EEXIST;
    return NULL;
}

static void *make(const char *name, uint64_t run) {
    shm_unlink(name);
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) return NULL;
    // posix_fallocate, not ftruncate: a full /dev/shm is an error here, not a SIGBUS later.
    int e = posix_fallocate(fd, 0, (off_t)region_bytes());
    Head *h = e == 0 ? map(fd, PROT_READ | PROT_WRITE) : NULL;
    close(fd);
    if (h == NULL) {
        shm_unlink(name);
        if (e != 0) errno = e;
        return NULL;
    }
    h->bytes = (uint32_t)region_bytes();
    h->run = run;
    atomic_store(&h->magic, MAGIC);
    return h;
}

/* A writer killed in the middle of a slot left its sequence odd: that slot is not the current one,
 * so making it even again exposes nothing.                                                  */
static void settle(Head *h) {
    for (int r = 0; r < N_ROLES; r++)
        for (int i = 0; i < N_SLOTS; i++) {
            uint64_t sequence = atomic_load(&h->role[r].slot[i].sequence);
            if (sequence & 1) atomic_store(&h->role[r].slot[i].sequence, sequence + 1);
        }
}

Status sharedweights_create(const char *name, uint64_t run, SharedWeights **out) {
    void *p = adopt(name, run, O_RDWR, PROT_READ | PROT_WRITE);
    if (p == NULL) p = make(name, run);
    if (p == NULL) {
        log_error("cannot make %zu MB of shared memory %s: %s", region_bytes() >> 20, name,
                  strerror(errno));
        return ST_IO;
    }
    settle(p);
    SharedWeights *s = view(p);
    if (s == NULL) {
        munmap(p, region_bytes());
        return ST_NOMEM;
    }
    *out = s;
    return ST_OK;
}

Status sharedweights_open(const char *name, uint64_t run, SharedWeights **out) {
    void *p = adopt(name, run, O_RDONLY, PROT_READ);
    if (p == NULL) return errno == EEXIST ? ST_MISMATCH : ST_IO;
    SharedWeights *s = view(p);
    if (s == NULL) {
        munmap(p, region_bytes());
        return ST_NOMEM;
    }
    *out = s;
    return ST_OK;
}

void sharedweights_close(SharedWeights *s) {
    if (s == NULL) return;
    munmap(s->head, region_bytes());
    free(s);
}

void sharedweights_unlink(const char *name) { shm_unlink(name); }

static uint64_t word(const float *params, size_t n_params, size_t i) {
    uint64_t w = 0;
    memcpy(&w, params + 2 * i, 2 * i + 1 < n_params ? 8 : 4);
    return w;
}

void sharedweights_write(SharedWeights *s, Role role, uint32_t version, const float *params) {
    RoleHead *h = &s->head->role[role];
    uint32_t next = atomic_load_explicit(&h->current, memory_order_relaxed) == 1 ? 1 : 0;
    Slot *slot = &h->slot[next];
    _Atomic uint64_t *data = s->data[role][next];
    size_t n = net_layout(role)->n_params, words = s->words[role];
    uint64_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_relaxed);
    for (size_t i = 0; i < words; i++)
        atomic_store_explicit(&data[i], word(params, n, i), memory_order_release);
    atomic_store_explicit(&slot->version, version, memory_order_relaxed);
    atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
    atomic_store_explicit(&h->current, next + 1, memory_order_release);
}

uint32_t sharedweights_version(const SharedWeights *s, Role role) {
    const RoleHead *h = &s->head->role[role];
    uint32_t current = atomic_load_explicit(&h->current, memory_order_acquire);
    if (current == 0 || current > N_SLOTS) return 0;
    return atomic_load_explicit(&h->slot[current - 1].version, memory_order_relaxed);
}

Status sharedweights_read(const SharedWeights *s, Role role, float *params, uint32_t *version) {
    const RoleHead *h = &s->head->role[role];
    size_t n = net_layout(role)->n_params, words = s->words[role];
    for (int tries = 0; tries < MAX_TRIES; tries++) {
        uint32_t current = atomic_load_explicit(&h->current, memory_order_acquire);
        if (current == 0 || current > N_SLOTS) return ST_TIMEOUT;
        const Slot *slot = &h->slot[current - 1];
        const _Atomic uint64_t *data = s->data[role][current - 1];
        uint64_t before = atomic_load_explicit(&slot->sequence, memory_order_acquire);
        if (before & 1) continue;
        uint32_t v = atomic_load_explicit(&slot->version, memory_order_relaxed);
        for (size_t i = 0; i < words; i++) {
            uint64_t w = atomic_load_explicit(&data[i], memory_order_acquire);
            memcpy(params + 2 * i, &w, 2 * i + 1 < n ? 8 : 4);
        }
        if (atomic_load_explicit(&slot->sequence, memory_order_relaxed) != before) continue;
        *version = v;
        return ST_OK;
    }
    return ST_TIMEOUT;
}
