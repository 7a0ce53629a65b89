#include "learner/sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/log.h"
#include "learner/runfolder.h"

enum { RECORDS_HIGH_WATER = 4, LINGER_MS = 300 };

/* Endpoint i of the three: as told, as --listen says (its port, and the next two), or any port. */
static Status endpoint(const LearnConfig *c, int i, char out[LINK_ENDPOINT_BYTES]) {
    if (c->endpoints[i]) snprintf(out, LINK_ENDPOINT_BYTES, "%s", c->endpoints[i]);
    else if (c->settings->listen == NULL) snprintf(out, LINK_ENDPOINT_BYTES, "tcp://127.0.0.1:*");
    else {
        const char *colon = strrchr(c->settings->listen, ':');
        int port = colon ? atoi(colon + 1) : 0;
        if (port < 1 || port > 65533 || strncmp(c->settings->listen, "tcp://", 6) != 0) {
            log_error("--listen '%s' is not tcp://HOST:PORT with a port below 65534",
                      c->settings->listen);
            return ST_INVALID;
        }
        snprintf(out, LINK_ENDPOINT_BYTES, "%.*s:%d", (int)(colon - c->settings->listen),
                 c->settings->listen, port + i);
    }
    return ST_OK;
}

/* The keys of a run that other hosts may join; made when first needed. */
static Status load_keys(const Settings *s, LinkKeys *keys) {
    char path[RUN_PATH_BYTES];
    runfolder_path(s->run, "server.key", path);
    if (access(path, F_OK) != 0) {
        TRY(link_keys_new(keys));
        TRY(link_keys_save(keys, path));
    }
    TRY(link_keys_load(path, keys));
    log_info("actors of other hosts join with --server-key %s", keys->public_key);
    return ST_OK;
}

Status sockets_open(const LearnConfig *c, Sockets *out) {
    static const LinkKind kinds[3] = {LINK_ROUTER, LINK_PULL, LINK_PUB};
    Link **links[3] = {&out->control, &out->pull, &out->pub};
    const Settings *s = c->settings;
    char at[LINK_ENDPOINT_BYTES];
    LinkKeys keys;
    TRY(link_context_new(&out->context));
    if (s->listen) TRY(load_keys(s, &keys));
    for (int i = 0; i < 3; i++) {
        LinkOptions o = {.kind = kinds[i],
                         .bind = true,
                         .linger_ms = LINGER_MS,
                         .high_water = kinds[i] == LINK_PULL ? RECORDS_HIGH_WATER : 0,
                         .keys = s->listen ? &keys : NULL};
        TRY(endpoint(c, i, at));
        TRY(link_open(out->context, &o, at, links[i]));
    }
    return ST_OK;
}

void sockets_close(Sockets *s) {
    link_close(s->control);
    link_close(s->pull);
    link_close(s->pub);
    link_context_free(s->context);
}
