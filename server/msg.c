#include "server/msg.h"
#include <stdlib.h>
#include <string.h>

void msg_begin(JsonOut *o, const char *type) {
    jsonout_init(o);
    jsonout_str(o, "t", type);
}

Msg *msg_end(JsonOut *o) {
    jsonout_close(o, '}');
    Msg *m = malloc(sizeof *m + o->n);
    if (!m) abort();
    m->refs = 1;
    m->len = (uint32_t)o->n;
    memcpy(m->text, o->p, o->n);
    jsonout_deinit(o);
    return m;
}

void msg_unref(Msg *m) {
    if (m && --m->refs == 0) free(m);
}
