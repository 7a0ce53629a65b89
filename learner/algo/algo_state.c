/* The state of an algorithm as bytes, for a checkpoint that has its own checksum:
 *
 *   "DZA1", u32 entries, 16 bytes name, u64 n, u32 ranks, u32 rank, u64 steps, u32 size of a
 * number, u32 zero; then each entry: 16 bytes name, u64 length (0: left out), data.
 *
 * Entries that are a rank's own (residuals, replicas) are left out of a flushed state, which thus
 * fits any number of ranks.                                                                 */
#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "learner/algo/algo_ops.h"

enum { HEAD = 56, ENTRY = 24, NAME = 16 };

void algo_keep(Algo *a, const char *name, void *p, size_t bytes, bool own) {
    a->state[a->n_states++] = (AlgoState){name, p, bytes, own};
}

Status algo_block(Algo *a, const char *name, size_t n, bool own, Real **out) {
    if (!(*out = calloc(n + 1, sizeof **out))) return ST_NOMEM;
    algo_keep(a, name, *out, n * sizeof **out, own);
    return ST_OK;
}

Status algo_save(Algo *a, uint8_t **out, size_t *bytes) {
    size_t total = HEAD;
    for (int i = 0; i < a->n_states; i++) total += ENTRY + a->state[i].bytes;
    uint8_t *p = calloc(1, total), *q = p;
    if (!p) return ST_NOMEM;
    memcpy(q, "DZA1", 4);
    put_u32(q + 4, (uint32_t)a->n_states);
    strncpy((char *)q + 8, a->ops->name, NAME - 1);
    put_u64(q + 24, a->c.n);
    put_u32(q + 32, (uint32_t)a->ranks);
    put_u32(q + 36, (uint32_t)a->rank);
    put_u64(q + 40, a->t);
    put_u32(q + 48, sizeof(Real));
    q += HEAD;
    for (int i = 0; i < a->n_states; i++) {
        const AlgoState *s = &a->state[i];
        bool leave_out = s->own && a->flushed;
        strncpy((char *)q, s->name, NAME - 1);
        put_u64(q + NAME, leave_out ? 0 : s->bytes);
        q += ENTRY;
        if (leave_out || s->bytes == 0) continue;
        memcpy(q, s->p, s->bytes);
        q += s->bytes;
    }
    *out = p;
    *bytes = (size_t)(q - p);
    return ST_OK;
}

static Status refuse(const Algo *a, const char *why) {
    log_error("state of %s: %s", a->ops->name, why);
    return ST_MISMATCH;
}

static bool named(const uint8_t *p, const char *name) {
    char text[NAME] = "";
    strncpy(text, name, NAME - 1);
    return memcmp(p, text, NAME) == 0;
}

static Status check_head(const Algo *a, const uint8_t *p, size_t bytes) {
    if (bytes < HEAD) return ST_TRUNCATED;
    if (memcmp(p, "DZA1", 4) != 0) return ST_CORRUPT;
    if (!named(p + 8, a->ops->name)) return refuse(a, "of another algorithm");
    if (get_u64(p + 24) != a->c.n || get_u32(p + 48) != sizeof(Real))
        return refuse(a, "of another size");
    if (get_u32(p + 4) != (uint32_t)a->n_states) return refuse(a, "made with other settings");
    return ST_OK;
}

// Every entry fits; only then anything is changed.
static Status check_entries(const Algo *a, const uint8_t *p, size_t bytes) {
    bool same_rank = get_u32(p + 32) == (uint32_t)a->ranks && get_u32(p + 36) == (uint32_t)a->rank;
    size_t at = HEAD;
    for (int i = 0; i < a->n_states; i++) {
        const AlgoState *s = &a->state[i];
        if (bytes - at < ENTRY) return ST_TRUNCATED;
        uint64_t length = get_u64(p + at + NAME);
        if (!named(p + at, s->name)) return refuse(a, "made with other settings");
        if (length > 0 && s->own && !same_rank)
            return refuse(a, "of another rank or number of ranks, and not flushed");
        if (length != s->bytes && !(length == 0 && s->own))
            return refuse(a, "made with other settings");
        at += ENTRY;
        if (length > bytes - at) return ST_TRUNCATED;
        at += length;
    }
    return at == bytes ? ST_OK : ST_CORRUPT;
}

Status algo_load(Algo *a, const uint8_t *p, size_t bytes) {
    TRY(check_head(a, p, bytes));
    TRY(check_entries(a, p, bytes));
    const uint8_t *q = p + HEAD;
    for (int i = 0; i < a->n_states; i++) {
        size_t length = get_u64(q + NAME);
        q += ENTRY;
        if (length > 0) memcpy(a->state[i].p, q, length);
        else if (a->state[i].bytes > 0) memset(a->state[i].p, 0, a->state[i].bytes);
        q += length;
    }
    a->t = get_u64(p + 40);
    a->flushed = false;
    if (a->ops->loaded) a->ops->loaded(a);
    return ST_OK;
}
