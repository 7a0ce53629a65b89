#include "server/jsonout.h"
#include "engine/base/log.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jsonout_init(JsonOut *o) { memset(o, 0, sizeof *o); }

void jsonout_deinit(JsonOut *o) {
    free(o->p);
    jsonout_init(o);
}

static void reserve(JsonOut *o, size_t more) {
    if (o->n + more + 1 <= o->cap) return;
    size_t cap = o->cap ? o->cap : 256;
    while (cap < o->n + more + 1) cap *= 2;
    char *p = realloc(o->p, cap);
    if (!p) {
        log_error("out of memory: a message of %zu bytes", cap);
        abort();
    }
    o->p = p;
    o->cap = cap;
}

char *jsonout_take(JsonOut *o, size_t *n) {
    reserve(o, 0);
    o->p[o->n] = '\0';
    char *p = o->p;
    if (n) *n = o->n;
    jsonout_init(o);
    return p;
}

void jsonout_bytes(JsonOut *o, const void *p, size_t n) {
    reserve(o, n);
    if (n) memcpy(o->p + o->n, p, n);
    o->n += n;
    o->p[o->n] = '\0';
}

static void put(JsonOut *o, const char *s) { jsonout_bytes(o, s, strlen(s)); }

static void put_string(JsonOut *o, const char *s) {
    jsonout_bytes(o, "\"", 1);
    for (const char *p = s;; p++) {
        size_t plain = 0;
        while ((unsigned char)p[plain] >= 0x20 && p[plain] != '"' && p[plain] != '\\') plain++;
        jsonout_bytes(o, p, plain);
        p += plain;
        if (*p == '\0') break;
        char esc[8];
        snprintf(esc, sizeof esc, (unsigned char)*p < 0x20 ? "\\u%04x" : "\\%c", *p);
        put(o, esc);
    }
    jsonout_bytes(o, "\"", 1);
}

/* What comes before a value. */
static void begin(JsonOut *o, const char *key) {
    if (o->comma) jsonout_bytes(o, ",", 1);
    o->comma = true;
    if (!key) return;
    put_string(o, key);
    jsonout_bytes(o, ":", 1);
}

void jsonout_open(JsonOut *o, const char *key, char bracket) {
    begin(o, key);
    jsonout_bytes(o, &bracket, 1);
    o->comma = false;
}

void jsonout_close(JsonOut *o, char bracket) {
    jsonout_bytes(o, &bracket, 1);
    o->comma = true;
}

void jsonout_int(JsonOut *o, const char *key, int64_t v) {
    char buf[24];
    begin(o, key);
    int n = snprintf(buf, sizeof buf, "%lld", (long long)v);
    jsonout_bytes(o, buf, (size_t)n);
}

void jsonout_real(JsonOut *o, const char *key, double v) {
    char buf[40];
    begin(o, key);
    if (!isfinite(v) || fabs(v) > 1e15) {
        put(o, "null");
        return;
    }
    int n = snprintf(buf, sizeof buf, "%.4f", v);
    while (n > 1 && buf[n - 1] == '0') n--;
    if (buf[n - 1] == '.') n--;
    jsonout_bytes(o, buf, (size_t)n);
}

void jsonout_bool(JsonOut *o, const char *key, bool v) {
    begin(o, key);
    put(o, v ? "true" : "false");
}

void jsonout_null(JsonOut *o, const char *key) {
    begin(o, key);
    put(o, "null");
}

void jsonout_str(JsonOut *o, const char *key, const char *v) {
    if (!v) {
        jsonout_null(o, key);
        return;
    }
    begin(o, key);
    put_string(o, v);
}

void jsonout_raw(JsonOut *o, const char *key, const char *json, size_t n) {
    begin(o, key);
    jsonout_bytes(o, json, n);
}

void jsonout_ints(JsonOut *o, const char *key, const uint8_t *v, int n) {
    jsonout_open(o, key, '[');
    for (int i = 0; i < n; i++) jsonout_int(o, NULL, v[i]);
    jsonout_close(o, ']');
}
