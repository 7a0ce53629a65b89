/* search_config.c - "FILE,key=value,..." of an agent's name. */
#include "actors/search.h"
#include "engine/base/log.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const SearchConfig defaults = {.ms = 0,
                                      .candidates = 4,
                                      .z = 0.5,
                                      .gap = 0.5,
                                      .window = 0.5,
                                      .solve_cards = 20,
                                      .solve_worlds = 1};

typedef struct {
    const char *key;
    size_t at;
    bool real;
    double min, max;
} Key;

#define WHOLE(name, min, max)                                                                      \
    { #name, offsetof(SearchConfig, name), false, min, max }
#define REAL(name, min, max)                                                                       \
    { #name, offsetof(SearchConfig, name), true, min, max }
static const Key keys[] = {
    WHOLE(ms, 1, 1e6),
    WHOLE(cpu_ms, 1, 1e6),
    WHOLE(playouts, 1, 1e6),
    WHOLE(candidates, 2, SEARCH_MAX_CANDIDATES),
    REAL(z, 0, 10),
    REAL(gap, 0, 100),
    REAL(window, 0, 100),
    WHOLE(solve_cards, 0, 54),
    WHOLE(solve_worlds, 1, SEARCH_MAX_LISTED),
};

static Status set_key(SearchConfig *c, const char *key, size_t n_key, const char *value, size_t n) {
    char text[32], *end;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const Key *k = &keys[i];
        if (strlen(k->key) != n_key || memcmp(k->key, key, n_key) != 0) continue;
        if (n == 0 || n >= sizeof text) return ST_INVALID;
        memcpy(text, value, n);
        text[n] = '\0';
        double v = strtod(text, &end);
        if (*end || !(v >= k->min && v <= k->max)) return ST_INVALID;
        if (k->real) memcpy((char *)c + k->at, &v, sizeof v);
        else memcpy((char *)c + k->at, &(int){(int)v}, sizeof(int));
        return ST_OK;
    }
    return ST_INVALID;
}

Status searchconfig_parse(const char *text, SearchConfig *out, char *path, size_t size) {
    SearchConfig c = defaults;
    size_t n = strcspn(text, ",");
    if (n == 0 || n >= size) {
        log_error("search:%s: no file is named", text);
        return ST_INVALID;
    }
    memcpy(path, text, n);
    path[n] = '\0';
    for (const char *p = text + n; *p == ',';) {
        size_t all = strcspn(++p, ","), n_key = strcspn(p, "=,");
        const char *value = p + n_key + 1;
        Status st = n_key < all ? set_key(&c, p, n_key, value, all - n_key - 1) : ST_INVALID;
        if (st != ST_OK) {
            log_error("search: '%.*s': known are ms, cpu_ms, playouts, candidates, z, gap, window, "
                      "solve_cards, solve_worlds, each =NUMBER in its range",
                      (int)all, p);
            return st;
        }
        p += all;
    }
    if (!c.ms && !c.cpu_ms && !c.playouts) c.ms = 100;
    *out = c;
    return ST_OK;
}
