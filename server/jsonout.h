/* jsonout.h - JSON written straight into a growing buffer: what the server sends.
 *
 * The caller opens and closes brackets in pairs; commas are put where they belong. Strings must be
 * UTF-8 and are escaped. Running out of memory ends the process: nothing could be answered then. */
#ifndef DIZHU_SERVER_JSONOUT_H
#define DIZHU_SERVER_JSONOUT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *p; /* n bytes, and a terminator that n does not count */
    size_t n, cap;
    bool comma; /* the next value or key is not the first of its bracket */
} JsonOut;

void jsonout_init(JsonOut *o);
void jsonout_deinit(JsonOut *o);
/* Gives the text away: the caller frees it, o is as after jsonout_init. */
char *jsonout_take(JsonOut *o, size_t *n);

/* A bracket as a value, or as the value of `key` (NULL: none). */
void jsonout_open(JsonOut *o, const char *key, char bracket);
void jsonout_close(JsonOut *o, char bracket);

/* Values; key NULL inside an array. A real that is not finite becomes null. */
void jsonout_int(JsonOut *o, const char *key, int64_t v);
void jsonout_real(JsonOut *o, const char *key, double v); /* four decimals */
void jsonout_bool(JsonOut *o, const char *key, bool v);
void jsonout_str(JsonOut *o, const char *key, const char *v); /* v NULL: null */
void jsonout_null(JsonOut *o, const char *key);
/* Text that is JSON already, as one value. */
void jsonout_raw(JsonOut *o, const char *key, const char *json, size_t n);
void jsonout_ints(JsonOut *o, const char *key, const uint8_t *v, int n); /* an array */
/* Bytes as they are, outside any structure. */
void jsonout_bytes(JsonOut *o, const void *p, size_t n);

#endif
