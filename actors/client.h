/* client.h - an actor's side of the wire (docs/frame.md): joining a run, sending records and
 * heartbeats, hearing of weights and of the end.
 *
 * Nothing here blocks for longer than it is told to. A learner that falls silent is asked again
 * every second (HELLO with the number it gave us) until it is back; what is queued is kept. One
 * thread owns a Client.                                                                     */
#ifndef DIZHU_ACTORS_CLIENT_H
#define DIZHU_ACTORS_CLIENT_H
#include "actors/crew.h"
#include "engine/base/link.h"
#include <stdatomic.h>
#include <stdbool.h>

typedef struct {
    const char *endpoint;   /* the learner's control socket */
    const char *server_key; /* its public key; NULL: plain text */
    int rules;              /* RulesetId that the user insists on; -1: whatever the run has */
} ClientConfig;

/* The run's settings, checked. */
typedef struct {
    uint64_t run, seed;
    uint32_t actor;
    RulesetId rules;
    Objective objective;
    double epsilon;
    int lockstep; /* games a round; 0: free running */
    char records[LINK_ENDPOINT_BYTES], weights[LINK_ENDPOINT_BYTES];
    char shm[64]; /* name of the weights in shared memory; "" if there are none */
} Welcome;

typedef enum {
    CLIENT_NOTHING,
    CLIENT_VERSION,   /* new weights lie in shared memory: versions and sequence are set */
    CLIENT_WEIGHTS,   /* body: three versions and a weights file (intake.h) */
    CLIENT_BYE,       /* the run has ended */
    CLIENT_REFUSED,   /* ... us: the line is logged */
    CLIENT_OTHER_RUN, /* another run now lives at the endpoint: join anew */
} ClientEventKind;

typedef struct {
    ClientEventKind kind;
    bool back; /* the learner had been silent and is there again */
    uint32_t version[N_ROLES];
    uint64_t sequence;
    const uint8_t *body; /* valid until the next call */
    size_t n;
} ClientEvent;

typedef struct Client Client;
Status client_new(const ClientConfig *c, Client **out);
/* Sends what is queued for up to a second. NULL is allowed. */
void client_free(Client *c);

/* Says HELLO every second until the learner answers. ST_MISMATCH: refused, or other rules than the
 * user insists on (logged); ST_INTERRUPTED: *stop became true.                              */
Status client_join(Client *c, atomic_bool *stop, Welcome *out);

/* Sends one RECORDS frame. ST_TIMEOUT: no room in the queue within timeout_ms; the frame keeps its
 * sequence number for the next try.                                                         */
Status client_send_records(Client *c, const uint8_t *records, size_t n, uint32_t weights_version,
                           int timeout_ms);
/* Sequence number of the last frame that was sent; 0: none. */
uint64_t client_sequence(const Client *c);
/* Sends that frame again (lockstep, when the learner came back). */
Status client_resend_records(Client *c, const uint8_t *records, size_t n, uint32_t version);
/* shared: weights come through shared memory, and need not be sent. */
void client_heartbeat(Client *c, const CrewStats *s, double weights_age_s, bool shared);
/* Asks for the weights in full; the answer comes as CLIENT_WEIGHTS. */
void client_want_weights(Client *c);
/* Waits up to timeout_ms for something to happen, keeps the conversation alive. */
void client_poll(Client *c, int timeout_ms, ClientEvent *out);

#endif
