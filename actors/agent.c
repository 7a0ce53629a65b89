#include "actors/agent.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 30 };

static const char *after(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

/* FNV-1a of the file that follows the prefix, up to a comma. */
static Status fingerprint(const char *file, uint64_t *out) {
    char path[1024];
    uint8_t *p;
    size_t size, n = strcspn(file, ",");
    if (n >= sizeof path) return ST_INVALID;
    memcpy(path, file, n);
    path[n] = '\0';
    TRY(file_read(path, MAX_FILE, &p, &size));
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < size; i++) h = (h ^ p[i]) * 0x100000001b3ull;
    free(p);
    *out = h;
    return ST_OK;
}

Status agent_open(const char *name, RulesetId rules, Precision precision, bool any_rules,
                  const ExternalConfig *limits, Agent *out) {
    Agent a = {.name = name, .external = *limits};
    const char *once = after(name, "cmd:"), *keep = after(name, "cmdkeep:");
    if (once || keep) {
        a.external.command = once ? once : keep;
        a.external.keep_running = keep != NULL;
        a.slow = true;
        if (!*a.external.command) {
            log_error("%s names no program", name);
            return ST_INVALID;
        }
        *out = a;
        return ST_OK;
    }
    const char *net = after(name, "net:"), *search = after(name, "search:");
    a.slow = search != NULL;
    TRY(policy_open(name, rules, precision, any_rules, &a.policy));
    Status st = net || search ? fingerprint(net ? net : search, &a.fingerprint) : ST_OK;
    if (st == ST_OK) *out = a;
    else policy_free(a.policy);
    return st;
}

void agent_close(Agent *a) {
    policy_free(a->policy);
    a->policy = NULL;
}
