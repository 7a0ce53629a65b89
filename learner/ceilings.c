#include "learner/ceilings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/link.h"
#include "learner/config.h"

enum { MAX_READERS = 64, READ_BYTES = 128 << 20, FRAME_BYTES = 8 << 10 };

/* ---- memory ---- */

typedef struct {
    const uint64_t *p;
    double seconds, bytes_s;
    uint64_t sum;
    pthread_t thread;
    bool started;
} Reader;

static uint64_t read_all(const uint64_t *p) {
    uint64_t sum[8] = {0};
    for (size_t i = 0; i < READ_BYTES / sizeof *p; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += p[i + (size_t)k];
    for (int k = 1; k < 8; k++) sum[0] += sum[k];
    return sum[0];
}

static void *reader_main(void *arg) {
    Reader *r = arg;
    double start = clock_s(), cpu = clock_thread_s(), bytes = 0;
    do {
        r->sum += read_all(r->p);
        bytes += READ_BYTES;
    } while (clock_s() - start < r->seconds);
    r->bytes_s = bytes / (clock_thread_s() - cpu);
    return NULL;
}

/* The mean of all cores at once, each reading a block that no cache holds. */
static Status measure_memory(double seconds, double *out) {
    Reader reader[MAX_READERS] = {0};
    int n = settings_cores() < MAX_READERS ? settings_cores() : MAX_READERS, started = 0;
    uint64_t *block = malloc(READ_BYTES);
    if (block == NULL) return ST_NOMEM;
    memset(block, 1, READ_BYTES);
    *out = 0;
    for (int i = 0; i < n; i++) {
        reader[i].p = block;
        reader[i].seconds = seconds;
        reader[i].started = pthread_create(&reader[i].thread, NULL, reader_main, &reader[i]) == 0;
        started += reader[i].started;
    }
    for (int i = 0; i < n; i++)
        if (reader[i].started) {
            pthread_join(reader[i].thread, NULL);
            *out += reader[i].bytes_s / started;
        }
    free(block);
    return started ? ST_OK : ST_NOMEM;
}

/* ---- sockets ---- */

typedef struct {
    Link *push;
    atomic_bool stop;
} Pusher;

static void *pusher_main(void *arg) {
    static const uint8_t body[FRAME_BYTES];
    Pusher *p = arg;
    Frame f = {.kind = FRAME_RECORDS, .length = sizeof body};
    while (!atomic_load(&p->stop)) link_send(p->push, &f, body, 50);
    return NULL;
}

/* How much the pulling thread could take in a second of its own. */
static Status pull(Link *from, double seconds, double *out) {
    double start = clock_s(), bytes = 0, cpu = 0;
    while (clock_s() - start < seconds) {
        Frame f;
        const uint8_t *body;
        double before = clock_thread_s();
        Status st = link_recv(from, 1000, &f, &body);
        if (st != ST_OK && st != ST_TIMEOUT) return st;
        if (st != ST_OK) continue;
        cpu += clock_thread_s() - before;
        bytes += f.length;
    }
    *out = cpu > 0 ? bytes / cpu : 0;
    return cpu > 0 ? ST_OK : ST_TIMEOUT;
}

static Status measure_socket(double seconds, double *out) {
    LinkContext *context;
    Link *in = NULL;
    Pusher p = {0};
    pthread_t thread;
    LinkOptions from = {.kind = LINK_PULL, .bind = true, .high_water = 4},
                to = {.kind = LINK_PUSH, .high_water = 4};
    TRY(link_context_new(&context));
    Status st = link_open(context, &from, "tcp://127.0.0.1:*", &in);
    if (st == ST_OK) st = link_open(context, &to, link_endpoint(in), &p.push);
    if (st == ST_OK && pthread_create(&thread, NULL, pusher_main, &p) != 0) st = ST_NOMEM;
    else if (st == ST_OK) {
        st = pull(in, seconds, out);
        atomic_store(&p.stop, true);
        pthread_join(thread, NULL);
    }
    link_close(p.push);
    link_close(in);
    link_context_free(context);
    return st;
}

Status ceilings_measure(double seconds, Ceilings *out) {
    Ceilings c;
    TRY(measure_memory(seconds, &c.memory_bytes_s));
    TRY(measure_socket(seconds, &c.socket_bytes_s));
    *out = c;
    return ST_OK;
}
