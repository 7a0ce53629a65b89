#define XXH_INLINE_ALL
#include "learner/checkpoint.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "engine/base/bytes.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "engine/game.h"
#include "learner/runfolder.h"

static const uint8_t magic[4] = {'D', 'Z', 'C', 'P'};
enum {
    VERSION = 1,
    HEADER_BYTES = 24, // magic, version, length of the file, checksum
    CHECKSUM_AT = 16,
    COUNTERS_BYTES = 112,
    SECTION_BYTES = 12,           // tag, length
    N_SECTIONS = 2 + 3 * N_ROLES, // at most
    MAX_BYTES = 1 << 30
};
/* Tags: a role's block is the tag plus the role. */
enum { TAG_COUNTERS = 1, TAG_CONFIG = 2, TAG_PARAMS = 16, TAG_OPTIM = 32, TAG_ALGO = 48 };

void checkpoint_free(Checkpoint *c) {
    free(c->config);
    for (int r = 0; r < N_ROLES; r++) {
        free(c->params[r]);
        free(c->optim[r]);
        free(c->algo[r]);
    }
    *c = (Checkpoint){0};
}

static void counters_write(const Checkpoint *c, uint8_t *p) {
    uint64_t seconds_bits;
    memcpy(&seconds_bits, &c->seconds, 8);
    put_u64(p, c->run);
    put_u64(p + 8, c->seed);
    put_u64(p + 16, c->number);
    put_u64(p + 24, c->frames);
    put_u64(p + 32, c->games);
    put_u64(p + 40, seconds_bits);
    for (int r = 0; r < N_ROLES; r++) {
        put_u64(p + 48 + 8 * r, c->steps[r]);
        put_u64(p + 72 + 8 * r, c->samples[r]);
    }
    memset(p + 96, 0, COUNTERS_BYTES - 96);
    p[96] = c->ruleset;
    p[97] = c->objective;
    p[98] = c->optimizer;
}

static Status counters_read(Checkpoint *c, const uint8_t *p, size_t n) {
    if (n != COUNTERS_BYTES) return ST_CORRUPT;
    uint64_t seconds_bits = get_u64(p + 40);
    c->run = get_u64(p);
    c->seed = get_u64(p + 8);
    c->number = get_u64(p + 16);
    c->frames = get_u64(p + 24);
    c->games = get_u64(p + 32);
    memcpy(&c->seconds, &seconds_bits, 8);
    for (int r = 0; r < N_ROLES; r++) {
        c->steps[r] = get_u64(p + 48 + 8 * r);
        c->samples[r] = get_u64(p + 72 + 8 * r);
    }
    c->ruleset = p[96];
    c->objective = p[97];
    c->optimizer = p[98];
    return isfinite(c->seconds) && c->seconds >= 0 ? ST_OK : ST_CORRUPT;
}

static uint8_t *section(uint8_t *p, uint32_t tag, size_t n) {
    put_u32(p, tag);
    put_u64(p + 4, n);
    return p + SECTION_BYTES;
}

static uint64_t checksum(const uint8_t *p, size_t n) {
    uint64_t head = XXH3_64bits(p, CHECKSUM_AT);
    return XXH3_64bits_withSeed(p + HEADER_BYTES, n - HEADER_BYTES, head);
}

static size_t params_bytes(int role) { return 4 * net_layout((Role)role)->n_params; }

Status checkpoint_write(const Checkpoint *c, const char *path) {
    size_t n_config = strlen(c->config), n = HEADER_BYTES + COUNTERS_BYTES + n_config;
    int sections = N_SECTIONS;
    for (int r = 0; r < N_ROLES; r++) {
        n += params_bytes(r) + c->n_optim[r] + (c->algo[r] ? c->n_algo[r] : 0);
        sections -= c->algo[r] == NULL;
    }
    n += (size_t)sections * SECTION_BYTES;
    uint8_t *bytes = malloc(n);
    if (bytes == NULL) return ST_NOMEM;
    uint8_t *p = section(bytes + HEADER_BYTES, TAG_COUNTERS, COUNTERS_BYTES);
    counters_write(c, p);
    p = section(p + COUNTERS_BYTES, TAG_CONFIG, n_config);
    memcpy(p, c->config, n_config);
    p += n_config;
    for (int r = 0; r < N_ROLES; r++) {
        p = section(p, TAG_PARAMS + (uint32_t)r, params_bytes(r));
        memcpy(p, c->params[r], params_bytes(r));
        p = section(p + params_bytes(r), TAG_OPTIM + (uint32_t)r, c->n_optim[r]);
        memcpy(p, c->optim[r], c->n_optim[r]);
        p += c->n_optim[r];
        if (c->algo[r] == NULL) continue;
        p = section(p, TAG_ALGO + (uint32_t)r, c->n_algo[r]);
        memcpy(p, c->algo[r], c->n_algo[r]);
        p += c->n_algo[r];
    }
    assert(p == bytes + n);
    memcpy(bytes, magic, 4);
    put_u32(bytes + 4, VERSION);
    put_u64(bytes + 8, n);
    put_u64(bytes + CHECKSUM_AT, checksum(bytes, n));
    Status st = file_save(path, bytes, n);
    free(bytes);
    return st;
}

static Status copy_block(const uint8_t *p, size_t n, void **out) {
    free(*out); // a repeated section replaces the earlier one
    *out = malloc(n ? n : 1);
    if (*out == NULL) return ST_NOMEM;
    memcpy(*out, p, n);
    return ST_OK;
}

static Status section_read(Checkpoint *c, uint32_t tag, const uint8_t *p, size_t n) {
    if (tag == TAG_COUNTERS) return counters_read(c, p, n);
    if (tag == TAG_CONFIG) {
        free(c->config);
        c->config = malloc(n + 1);
        if (c->config == NULL) return ST_NOMEM;
        memcpy(c->config, p, n);
        c->config[n] = '\0';
        return ST_OK;
    }
    if (tag >= TAG_PARAMS && tag < TAG_PARAMS + N_ROLES) {
        int r = (int)tag - TAG_PARAMS;
        if (n != params_bytes(r)) return ST_CORRUPT;
        return copy_block(p, n, (void **)&c->params[r]);
    }
    if (tag >= TAG_OPTIM && tag < TAG_OPTIM + N_ROLES) {
        int r = (int)tag - TAG_OPTIM;
        c->n_optim[r] = n;
        return copy_block(p, n, (void **)&c->optim[r]);
    }
    if (tag >= TAG_ALGO && tag < TAG_ALGO + N_ROLES) {
        int r = (int)tag - TAG_ALGO;
        c->n_algo[r] = n;
        return copy_block(p, n, (void **)&c->algo[r]);
    }
    return ST_OK; // of a later version: not needed here
}

static Status decode(const uint8_t *p, size_t n, Checkpoint *c) {
    if (n < HEADER_BYTES) return ST_TRUNCATED;
    if (memcmp(p, magic, 4) != 0) return ST_CORRUPT;
    if (get_u32(p + 4) != VERSION) return ST_VERSION;
    if (get_u64(p + 8) > n) return ST_TRUNCATED;
    if (get_u64(p + 8) < n || get_u64(p + CHECKSUM_AT) != checksum(p, n)) return ST_CORRUPT;
    bool counters = false;
    for (size_t at = HEADER_BYTES; at < n;) {
        if (n - at < SECTION_BYTES) return ST_CORRUPT;
        uint32_t tag = get_u32(p + at);
        uint64_t len = get_u64(p + at + 4);
        at += SECTION_BYTES;
        if (len > n - at) return ST_CORRUPT;
        TRY(section_read(c, tag, p + at, (size_t)len));
        counters |= tag == TAG_COUNTERS;
        at += (size_t)len;
    }
    bool whole = counters && c->config;
    for (int r = 0; r < N_ROLES; r++) whole = whole && c->params[r] && c->optim[r];
    return whole ? ST_OK : ST_CORRUPT;
}

Status checkpoint_read(const char *path, Checkpoint *out) {
    uint8_t *p;
    size_t n;
    TRY(file_read(path, MAX_BYTES, &p, &n));
    Checkpoint c = {0};
    Status st = decode(p, n, &c);
    free(p);
    if (st == ST_OK) {
        *out = c;
        return ST_OK;
    }
    checkpoint_free(&c);
    log_warn("%s: %s", path, status_text(st));
    return st;
}

/* The numbers of a run's checkpoints, ascending; the caller frees. */
static Status list(const char *run, uint64_t **out, size_t *n_out) {
    char path[RUN_PATH_BYTES];
    runfolder_path(run, "checkpoints", path);
    DIR *dir = opendir(path);
    if (dir == NULL) {
        log_error("%s: %s", path, strerror(errno));
        return ST_IO;
    }
    uint64_t *numbers = NULL;
    size_t n = 0, cap = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        unsigned long long number;
        int end = 0;
        if (sscanf(e->d_name, "%8llu.ckpt%n", &number, &end) != 1 || end == 0 || e->d_name[end])
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 16;
            uint64_t *more = realloc(numbers, cap * sizeof *more);
            if (more == NULL) {
                free(numbers);
                closedir(dir);
                return ST_NOMEM;
            }
            numbers = more;
        }
        size_t at = n++; // insertion sort: a handful of files
        for (; at > 0 && numbers[at - 1] > number; at--) numbers[at] = numbers[at - 1];
        numbers[at] = number;
    }
    closedir(dir);
    *out = numbers;
    *n_out = n;
    return ST_OK;
}

static void file_path(const char *run, uint64_t number, char out[RUN_PATH_BYTES]) {
    char name[64];
    snprintf(name, sizeof name, "checkpoints/%08llu.ckpt", (unsigned long long)number);
    runfolder_path(run, name, out);
}

Status checkpoint_store(const char *run, Checkpoint *c, int keep) {
    char path[RUN_PATH_BYTES];
    uint64_t *numbers;
    size_t n;
    TRY(list(run, &numbers, &n));
    c->number = n ? numbers[n - 1] + 1 : 1;
    file_path(run, c->number, path);
    Status st = checkpoint_write(c, path);
    for (size_t i = 0; st == ST_OK && i + (size_t)keep < n + 1; i++) {
        file_path(run, numbers[i], path);
        if (unlink(path) != 0) log_warn("%s: %s", path, strerror(errno));
    }
    free(numbers);
    return st;
}

Status checkpoint_newest(const char *run, Checkpoint *out, bool *found) {
    char path[RUN_PATH_BYTES];
    uint64_t *numbers;
    size_t n;
    TRY(list(run, &numbers, &n));
    Status st = ST_OK;
    *found = false;
    for (size_t i = n; i-- > 0 && !*found;) {
        file_path(run, numbers[i], path);
        st = checkpoint_read(path, out);
        if (st == ST_OK) {
            if (i + 1 < n) log_warn("going on from the older %s", path);
            *found = true;
        } else if (st == ST_NOMEM) break;
    }
    free(numbers);
    if (*found || n == 0) return ST_OK;
    log_error("%s/checkpoints: none of %zu files is whole", run, n);
    return st == ST_NOMEM ? st : ST_CORRUPT;
}
