/* msg.h - one outgoing message, shared by all who are sent it.
 *
 * The text is the JSON object without its opening brace: the sender puts `{` before it, or
 * `{"seq":N,` where each viewer has a number of his own. Counted references, one thread.     */
#ifndef DIZHU_SERVER_MSG_H
#define DIZHU_SERVER_MSG_H
#include "server/jsonout.h"

typedef struct {
    int refs;
    uint32_t len;
    char text[]; /* len bytes */
} Msg;

/* Begins a message of this type in o (jsonout_init is done here); msg_end closes it, frees o's
 * buffer and returns the message with one reference.                                        */
void msg_begin(JsonOut *o, const char *type);
Msg *msg_end(JsonOut *o);
static inline Msg *msg_ref(Msg *m) {
    m->refs++;
    return m;
}
void msg_unref(Msg *m); /* NULL is allowed */

#endif
