/* A message is a header, the code of the chunk's living numbers, and the list of its dead ones:
 *
 *   0 u32 step     4 u16 bucket   6 u8 ok   7 u8 zero   8 u32 numbers in the chunk
 *  12 u32 entries in the list     16 code ... | entries (u32 index in the chunk, number)      */
#include "learner/algo/squeeze.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/bytes.h"
#include "engine/base/log.h"
#include "engine/base/rng.h"

enum { HEAD = 16, ENTRY = 4 + sizeof(Real) };

struct Squeeze {
    SqueezeConfig c;
    int rank, ranks, owners;
    size_t n_buckets;
    Feedback worker, server, carry;
    bool has_carry;
    const uint8_t *dead;
    size_t max_chunk, message; // room for one chunk, and for one message
    uint8_t *out, *in;         // [ranks][message] each
    Real *spare, *sum;         // [max_chunk] each
    double error, norm;
};

static size_t bucket_at(const Squeeze *s, size_t bucket, size_t *n) {
    size_t at = bucket * s->c.bucket;
    *n = s->c.n - at < s->c.bucket ? s->c.n - at : s->c.bucket;
    return at;
}

// Where the server residual of this rank's chunk of a bucket begins.
static size_t server_at(const Squeeze *s, size_t bucket) {
    size_t at, whole = s->rank < s->owners ? comm_chunk(s->c.bucket, s->owners, s->rank, &at) : 0;
    return bucket * whole;
}

static Status make_room(Squeeze *s) {
    size_t dead = 0, most_dead = 0;
    if (s->dead)
        for (size_t i = 0; i < s->c.n; i++) dead += s->dead[i];
    most_dead = dead < s->max_chunk ? dead : s->max_chunk;
    size_t up = codec_bound(&s->c.up, s->max_chunk), down = codec_bound(&s->c.down, s->max_chunk);
    s->message = HEAD + (up > down ? up : down) + most_dead * ENTRY;
    free(s->out);
    free(s->in);
    s->out = malloc((size_t)s->ranks * s->message);
    s->in = malloc((size_t)s->ranks * s->message);
    return s->out && s->in ? ST_OK : ST_NOMEM;
}

Status squeeze_new(const SqueezeConfig *c, Squeeze **out) {
    Squeeze *s = calloc(1, sizeof *s);
    Status st = ST_NOMEM;
    size_t at, own;
    if (!s) return ST_NOMEM;
    s->c = *c;
    if (s->c.bucket == 0 || s->c.bucket > c->n) s->c.bucket = c->n > 0 ? c->n : 1;
    s->rank = comm_rank(c->comm);
    s->ranks = comm_size(c->comm);
    s->owners = c->server ? 1 : s->ranks;
    s->n_buckets = (c->n + s->c.bucket - 1) / s->c.bucket;
    s->max_chunk = comm_chunk(s->c.bucket, s->owners, 0, &at);
    own = s->rank < s->owners ? comm_chunk(s->c.bucket, s->owners, s->rank, &at) : 0;
    s->spare = malloc((s->max_chunk + 1) * sizeof *s->spare);
    s->sum = malloc((s->max_chunk + 1) * sizeof *s->sum);
    if (!s->spare || !s->sum) goto fail;
    TRY_TO(st, make_room(s), fail);
    TRY_TO(st, feedback_init(&s->worker, c->n, c->feedback_up), fail);
    TRY_TO(st, feedback_init(&s->server, own * s->n_buckets, c->feedback_down), fail);
    TRY_TO(st, feedback_init(&s->carry, c->n, c->feedback_up || c->feedback_down), fail);
    *out = s;
    return ST_OK;
fail:
    squeeze_free(s);
    return st;
}

void squeeze_free(Squeeze *s) {
    if (!s) return;
    feedback_deinit(&s->worker);
    feedback_deinit(&s->server);
    feedback_deinit(&s->carry);
    free(s->out);
    free(s->in);
    free(s->spare);
    free(s->sum);
    free(s);
}

void squeeze_rate(Squeeze *s, double lr) {
    feedback_rate(&s->worker, lr);
    feedback_rate(&s->server, lr);
    feedback_rate(&s->carry, lr);
}

Status squeeze_dead(Squeeze *s, const uint8_t *dead) {
    s->dead = dead;
    return make_room(s);
}

Feedback *squeeze_worker(Squeeze *s) { return &s->worker; }
Feedback *squeeze_server(Squeeze *s) { return &s->server; }
Feedback *squeeze_carry(Squeeze *s) {
    s->has_carry = true; // the caller may write to it
    return &s->carry;
}
double squeeze_error(const Squeeze *s) { return s->norm > 0 ? s->error / s->norm : 0; }

// One stream of random numbers per (seed, group, step, place), and per sender unless the receiver
// must know it: then all senders draw the same places.
static uint64_t seed_of(const Squeeze *s, const Codec *c, uint64_t step, size_t at, int sender) {
    Rng r;
    uint64_t who = c->ops->seeded ? 0 : (uint64_t)sender + 1;
    rng_init(&r, s->c.seed ^ step << 16 ^ who << 48, (uint64_t)at << 4 | (uint64_t)s->c.group);
    return rng_u64(&r);
}

static size_t put_entries(const uint8_t *dead, const Real *x, size_t n, uint8_t *p) {
    size_t k = 0;
    for (size_t i = 0; dead && i < n; i++)
        if (dead[i] && x[i] != 0) {
            put_u32(p + k * ENTRY, (uint32_t)i);
            memcpy(p + k++ * ENTRY + 4, &x[i], sizeof x[i]);
        }
    return k;
}

static size_t put_head(uint8_t *p, uint64_t step, size_t bucket, bool ok, size_t n,
                       size_t entries) {
    put_u32(p, (uint32_t)step);
    put_u16(p + 4, (uint16_t)bucket);
    p[6] = ok;
    p[7] = 0;
    put_u32(p + 8, (uint32_t)n);
    put_u32(p + 12, (uint32_t)entries);
    return HEAD;
}

// Header, code and list of numbers x[at..at+n); the residual is f's from f_at on.
static size_t pack(Squeeze *s, const Codec *c, Feedback *f, size_t f_at, const Real *x,
                   const uint8_t *dead, size_t n, uint64_t step, size_t bucket, bool ok,
                   uint64_t seed, uint8_t *p) {
    if (!ok) return put_head(p, step, bucket, false, n, 0);
    size_t code = feedback_encode(f, c, x, dead, f_at, n, seed, p + HEAD, s->spare);
    size_t entries = put_entries(dead, x, n, p + HEAD + code);
    put_head(p, step, bucket, true, n, entries);
    return HEAD + code + entries * ENTRY;
}

static Status check_head(const uint8_t *p, size_t bytes, size_t n, uint64_t step, size_t bucket,
                         int from) {
    if (bytes >= HEAD && get_u32(p) == (uint32_t)step && get_u16(p + 4) == (uint16_t)bucket &&
        get_u32(p + 8) == (uint32_t)n)
        return ST_OK;
    if (bytes < HEAD) log_error("squeeze: rank %d sends %zu bytes", from, bytes);
    else
        log_error(
            "squeeze: rank %d is at step %u, bucket %u, %u numbers; here step %u, bucket %zu, "
            "%zu numbers",
            from, get_u32(p), get_u16(p + 4), get_u32(p + 8), (unsigned)step, bucket, n);
    return ST_MISMATCH;
}

// The numbers of a checked message whose flag is set are added to y.
static Status unpack(Squeeze *s, const Codec *c, const uint8_t *p, size_t bytes,
                     const uint8_t *dead, size_t n, uint64_t seed, Real *y) {
    size_t entries = get_u32(p + 12);
    if (entries > n || HEAD + entries * ENTRY > bytes) return ST_CORRUPT;
    size_t code = bytes - HEAD - entries * ENTRY;
    TRY(feedback_decode_add(c, p + HEAD, code, dead, n, seed, 1, y, s->spare));
    const uint8_t *e = p + HEAD + code;
    for (size_t k = 0; k < entries; k++, e += ENTRY) {
        size_t i = get_u32(e);
        Real value;
        memcpy(&value, e + 4, sizeof value);
        if (i >= n || !dead || !dead[i] || !isfinite(value)) return ST_CORRUPT;
        y[i] += value;
    }
    return ST_OK;
}

enum { TAG_UP = 0x100000, TAG_DOWN = 0x200000 };

static uint32_t tag_of(const Squeeze *s, uint32_t way, size_t bucket) {
    return way | (uint32_t)s->c.group << 16 | (uint32_t)(bucket & 0xffff);
}

static const uint8_t *dead_at(const Squeeze *s, size_t at) { return s->dead ? s->dead + at : NULL; }

// Everyone's code of this rank's chunk is in s->in: the mean, plus D, back into code for everyone.
static Status answer(Squeeze *s, size_t bucket, size_t at, size_t n, uint64_t step,
                     const size_t *got, uint8_t *out, size_t *bytes, bool *kept) {
    memset(s->sum, 0, n * sizeof *s->sum);
    *kept = true;
    for (int r = 0; r < s->ranks; r++) {
        const uint8_t *p = s->in + (size_t)r * s->message;
        TRY(check_head(p, got[r], n, step, bucket, r));
        if (p[6] != 1) *kept = false;
        else
            TRY(unpack(s, &s->c.up, p, got[r], dead_at(s, at), n, seed_of(s, &s->c.up, step, at, r),
                       s->sum));
    }
    for (size_t i = 0; i < n; i++) s->sum[i] /= (Real)s->ranks;
    if (*kept && !real_finite(s->sum, n)) *kept = false; // finite parts, infinite sum
    *bytes = pack(s, &s->c.down, &s->server, server_at(s, bucket), s->sum, dead_at(s, at), n, step,
                  bucket, *kept, seed_of(s, &s->c.down, step, at, s->rank), out);
    return ST_OK;
}

// Sends this rank's code of each chunk to its owner; the owner's own part goes straight to s->in.
static Status gather_up(Squeeze *s, size_t bucket, size_t base, size_t n, uint64_t step,
                        const Real *x, bool finite, size_t *got) {
    CommExchange e[2 * COMM_MAX_RANKS];
    int k = 0, received[COMM_MAX_RANKS];
    size_t own_at, own = s->rank < s->owners ? comm_chunk(n, s->owners, s->rank, &own_at) : 0;
    for (int d = 0; d < s->owners; d++) {
        int o = (s->rank + 1 + d) % s->owners;
        size_t at, length = comm_chunk(n, s->owners, o, &at);
        uint8_t *p = (o == s->rank ? s->in : s->out) + (size_t)o * s->message;
        if (length == 0) continue;
        size_t bytes =
            pack(s, &s->c.up, &s->worker, base + at, x + base + at, dead_at(s, base + at), length,
                 step, bucket, finite, seed_of(s, &s->c.up, step, base + at, s->rank), p);
        if (o == s->rank) got[o] = bytes;
        else e[k++] = (CommExchange){.peer = o, .out = p, .out_bytes = bytes};
    }
    for (int d = 1; own > 0 && d < s->ranks; d++) {
        int r = (s->rank + s->ranks - d) % s->ranks;
        received[k] = r;
        e[k++] =
            (CommExchange){.peer = r, .in = s->in + (size_t)r * s->message, .in_bytes = s->message};
    }
    TRY(comm_exchange(s->c.comm, tag_of(s, TAG_UP, bucket), e, k));
    for (int i = 0; i < k; i++)
        if (e[i].in) got[received[i]] = e[i].got;
    return ST_OK;
}

// Everyone gets every owner's answer; *kept as the owners found.
static Status scatter_down(Squeeze *s, size_t bucket, size_t base, size_t n, uint64_t step,
                           size_t own_bytes, Real *mean, bool *kept) {
    CommExchange e[2 * COMM_MAX_RANKS];
    int k = 0, owner[2 * COMM_MAX_RANKS];
    size_t at, got[COMM_MAX_RANKS] = {0};
    const uint8_t *own = s->out + (size_t)s->rank * s->message;
    for (int o = 0; o < s->owners; o++)
        if (o != s->rank && comm_chunk(n, s->owners, o, &at) > 0) {
            owner[k] = o;
            e[k++] = (CommExchange){
                .peer = o, .in = s->in + (size_t)o * s->message, .in_bytes = s->message};
        }
    for (int d = 1; own_bytes > 0 && d < s->ranks; d++)
        e[k++] =
            (CommExchange){.peer = (s->rank + d) % s->ranks, .out = own, .out_bytes = own_bytes};
    TRY(comm_exchange(s->c.comm, tag_of(s, TAG_DOWN, bucket), e, k));
    for (int i = 0; i < k; i++)
        if (e[i].in) got[owner[i]] = e[i].got;
    const uint8_t *from[COMM_MAX_RANKS];
    got[s->rank] = own_bytes;
    *kept = true;
    for (int o = 0; o < s->owners; o++) {
        size_t length = comm_chunk(n, s->owners, o, &at);
        from[o] = o == s->rank ? own : s->in + (size_t)o * s->message;
        if (length == 0) continue;
        TRY(check_head(from[o], got[o], length, step, bucket, o));
        *kept = *kept && from[o][6] == 1;
    }
    if (!*kept) return ST_OK;
    memset(mean + base, 0, n * sizeof *mean);
    for (int o = 0; o < s->owners; o++) {
        size_t length = comm_chunk(n, s->owners, o, &at);
        if (length == 0) continue;
        TRY(unpack(s, &s->c.down, from[o], got[o], dead_at(s, base + at), length,
                   seed_of(s, &s->c.down, step, base + at, o), mean + base + at));
    }
    return ST_OK;
}

// What was lost in this bucket's message, for the metrics.
static void measure(Squeeze *s, size_t base, size_t n, const Real *x) {
    if (base == 0) s->error = s->norm = 0;
    for (size_t i = base; i < base + n && s->worker.e; i++) {
        double v = (double)x[i] + (double)s->worker.e[i], lost = (double)s->worker.pending[i];
        s->norm += v * v;
        s->error += lost * lost;
    }
}

/* The carry of a bucket is its owners' from here on, and goes out with their codes, little by
 * little: paid back in one step it would be a leap. */
static void carry_to_server(Squeeze *s, size_t bucket) {
    size_t n, at, base = bucket_at(s, bucket, &n);
    size_t own = s->rank < s->owners ? comm_chunk(n, s->owners, s->rank, &at) : 0;
    for (size_t i = 0; i < own; i++)
        s->server.e[server_at(s, bucket) + i] += s->carry.e[base + at + i];
    memset(s->carry.e + base, 0, n * sizeof *s->carry.e);
}

Status squeeze_run(Squeeze *s, size_t bucket, uint64_t step, const Real *x, Real *mean,
                   bool *kept) {
    size_t n, base = bucket_at(s, bucket, &n), own_at = 0, bytes = 0;
    size_t own = s->rank < s->owners ? comm_chunk(n, s->owners, s->rank, &own_at) : 0;
    size_t got[COMM_MAX_RANKS] = {0};
    bool finite = real_finite(x + base, n), own_kept = true;
    if (s->has_carry && s->server.e) carry_to_server(s, bucket);
    TRY(gather_up(s, bucket, base, n, step, x, finite, got));
    if (own > 0)
        TRY(answer(s, bucket, base + own_at, own, step, got, s->out + (size_t)s->rank * s->message,
                   &bytes, &own_kept));
    if (finite) measure(s, base, n, x);
    TRY(scatter_down(s, bucket, base, n, step, bytes, mean, kept));
    if (*kept && s->has_carry && s->carry.e && !s->server.e)
        for (size_t i = base; i < base + n; i++) mean[i] += s->carry.e[i];
    return ST_OK;
}

void squeeze_settle(Squeeze *s, bool keep) {
    feedback_settle(&s->worker, 0, s->worker.n, keep);
    feedback_settle(&s->server, 0, s->server.n, keep);
    if (keep && s->has_carry && s->carry.e) {
        memset(s->carry.e, 0, s->carry.n * sizeof *s->carry.e);
        s->has_carry = false;
    }
}

void squeeze_rescale(Squeeze *s, const Real *factor) {
    for (size_t i = 0; s->worker.e && i < s->c.n; i++) s->worker.e[i] *= factor[i];
    for (size_t i = 0; s->carry.e && i < s->c.n; i++) s->carry.e[i] *= factor[i];
    for (size_t b = 0; s->server.e && s->rank < s->owners && b < s->n_buckets; b++) {
        size_t n, at, base = bucket_at(s, b, &n), own = comm_chunk(n, s->owners, s->rank, &at);
        for (size_t i = 0; i < own; i++) s->server.e[server_at(s, b) + i] *= factor[base + at + i];
    }
}

Status squeeze_drain(Squeeze *s) {
    if (!s->carry.e) return ST_OK;
    Real *total = calloc(s->c.n + 1, sizeof *total);
    if (!total) return ST_NOMEM;
    if (s->worker.e) memcpy(total, s->worker.e, s->c.n * sizeof *total);
    for (size_t b = 0; s->server.e && s->rank < s->owners && b < s->n_buckets; b++) {
        size_t n, base = bucket_at(s, b, &n), at, own = comm_chunk(n, s->owners, s->rank, &at);
        const Real *d = s->server.e + server_at(s, b);
        for (size_t i = 0; i < own; i++) total[base + at + i] += d[i] * (Real)s->ranks;
    }
    Status st = comm_allreduce(s->c.comm, total, s->c.n);
    if (st == ST_OK) {
        for (size_t i = 0; i < s->c.n; i++) s->carry.e[i] += total[i] / (Real)s->ranks;
        if (s->worker.e) memset(s->worker.e, 0, s->worker.n * sizeof *s->worker.e);
        if (s->server.e) memset(s->server.e, 0, s->server.n * sizeof *s->server.e);
        s->has_carry = true;
    }
    free(total);
    return st;
}
