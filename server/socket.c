/* socket.c - WebSockets: who may connect, bytes in and commands out, messages in and bytes out.
 *
 * Each connection has a queue of messages, each with the write it must wait for. The queue goes out
 * in order as far as writes are committed; a connection that waits for a commit stands in a list.
 * Who does not read loses his queue when it grows too long, and gets a snapshot once he reads. */
#include "engine/base/log.h"
#include "server/server.h"
#include <stdlib.h>
#include <string.h>

enum {
    QUEUE_BYTES = 64 << 10,
    QUEUE_ITEMS = 1024,
    WRITES_AT_ONCE = 16,
    SILENCE_S = 40,
    HELLO_S = 10,
    STUCK_S = 60,    /* not reading at all for so long closes */
    STRIKES = 100,   /* messages over the limit before a ban */
    SPARE_BYTES = 32 /* before a message's text: `{"seq":4294967295,` */
};
static const float messages_burst = 40, messages_per_s = 20;

typedef struct {
    Msg *msg;
    uint32_t seq;
    uint64_t after;
} Item;

struct Conn {
    struct lws *wsi;
    Conn *next, **link;           /* of all */
    Conn *wait_next, **wait_link; /* of those that wait; wait_link NULL: not in it */
    Address *from;
    Session *session;
    Item *item; /* a ring */
    uint16_t head, n, cap;
    uint8_t strikes;
    bool resync, closing;
    const char *bye;
    uint32_t bytes;
    char *part; /* of a message that came in pieces */
    uint32_t n_part;
    int64_t heard_us, read_us; /* last message; last time the queue moved or was empty */
    Bucket messages;
};
const size_t socket_conn_bytes = sizeof(Conn);

static Server *server_of(struct lws *wsi) { return lws_context_user(lws_get_context(wsi)); }

/* ---- who may connect ---- */

/* "https://example.org:8443" names the host "example.org:8443". */
static bool same_host(const char *origin, const char *host) {
    const char *at = strstr(origin, "://");
    return at && strcasecmp(at + 3, host) == 0;
}

int socket_check_upgrade(Server *s, struct lws *wsi) {
    char uri[64], origin[256], host[256], protocols[128];
    if (lws_hdr_copy(wsi, uri, sizeof uri, WSI_TOKEN_GET_URI) <= 0 || strcmp(uri, "/ws") != 0)
        return HTTP_STATUS_NOT_FOUND;
    if (lws_hdr_copy(wsi, protocols, sizeof protocols, WSI_TOKEN_PROTOCOL) <= 0 ||
        !strstr(protocols, "ddz.v1"))
        return HTTP_STATUS_BAD_REQUEST;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) > 0) {
        // browsers always send it; programs need not, and have no cookies to be abused
        bool read = lws_hdr_copy(wsi, origin, sizeof origin, WSI_TOKEN_ORIGIN) > 0 &&
                    lws_hdr_copy(wsi, host, sizeof host, WSI_TOKEN_HOST) > 0;
        bool own = read && same_host(origin, host);
        bool other = read && s->options.origin && strcmp(origin, s->options.origin) == 0;
        if (!own && !other) {
            s->count.refused_origin++;
            return HTTP_STATUS_FORBIDDEN;
        }
    }
    if (s->n_conns >= s->options.max_clients) return HTTP_STATUS_SERVICE_UNAVAILABLE;
    return 0;
}

/* ---- queues ---- */

static void stop_waiting(Conn *c) {
    if (!c->wait_link) return;
    *c->wait_link = c->wait_next;
    if (c->wait_next) c->wait_next->wait_link = c->wait_link;
    c->wait_link = NULL;
}

static void start_waiting(Server *s, Conn *c) {
    if (c->wait_link) return;
    c->wait_next = s->waiting;
    c->wait_link = &s->waiting;
    if (s->waiting) s->waiting->wait_link = &c->wait_next;
    s->waiting = c;
}

static Item *first(Conn *c) { return c->n ? &c->item[c->head] : NULL; }

static void pop(Conn *c) {
    Item *i = first(c);
    c->bytes -= i->msg->len;
    msg_unref(i->msg);
    c->head = (uint16_t)((c->head + 1) % c->cap);
    c->n--;
}

static void drop_queue(Conn *c) {
    while (c->n) pop(c);
    free(c->item);
    c->item = NULL;
    c->cap = c->head = 0;
    stop_waiting(c);
}

static void grow(Conn *c) {
    uint16_t cap = c->cap ? (uint16_t)(2 * c->cap) : 4;
    Item *item = malloc(cap * sizeof *item);
    if (!item) abort();
    for (int i = 0; i < c->n; i++) item[i] = c->item[(c->head + i) % c->cap];
    free(c->item);
    c->item = item;
    c->head = 0;
    c->cap = cap;
}

/* Asks for the socket, or for the commit that the next message waits for. */
static void schedule(Server *s, Conn *c) {
    const Item *i = first(c);
    if (c->bye || c->resync || (i && i->after <= s->committed)) lws_callback_on_writable(c->wsi);
    else if (i) start_waiting(s, c);
}

void socket_send(void *server, void *conn, Msg *m, uint32_t seq, uint64_t after) {
    Server *s = server;
    Conn *c = conn;
    if (c->bye || c->closing) return;
    if (c->resync && seq) return; // the snapshot will have it
    if (c->n == QUEUE_ITEMS || c->bytes + m->len > QUEUE_BYTES) {
        drop_queue(c);
        if (c->resync) c->closing = true; // not even answers fit: he does not read
        c->resync = true;
        s->count.resyncs++;
        schedule(s, c);
        return;
    }
    if (c->n == c->cap) grow(c);
    c->item[(c->head + c->n) % c->cap] = (Item){msg_ref(m), seq, after};
    c->n++;
    c->bytes += m->len;
    schedule(s, c);
}

void socket_bye(void *server, void *conn, const char *reason) {
    Conn *c = conn;
    c->session = NULL; // it is another's now, or nobody's
    drop_queue(c);
    c->bye = reason;
    schedule(server, c);
}

void socket_committed(Server *s) {
    s->committed = store_committed(s->store);
    for (Conn *c = s->waiting, *next; c; c = next) {
        next = c->wait_next;
        if (first(c)->after > s->committed) continue;
        stop_waiting(c);
        lws_callback_on_writable(c->wsi);
    }
}

/* ---- bytes out ---- */

static uint8_t frame[LWS_PRE + SPARE_BYTES + (1 << 20)]; /* the service thread's */

static int write_text(Server *s, Conn *c, const Msg *m, uint32_t seq) {
    char lead[SPARE_BYTES] = "{";
    size_t n = 1;
    if (seq) n = (size_t)snprintf(lead, sizeof lead, "{\"seq\":%u,", seq);
    if (n + m->len > sizeof frame - LWS_PRE) return -1;
    memcpy(frame + LWS_PRE, lead, n);
    memcpy(frame + LWS_PRE + n, m->text, m->len);
    s->count.messages_out++;
    s->count.bytes_out += n + m->len;
    return lws_write(c->wsi, frame + LWS_PRE, n + m->len, LWS_WRITE_TEXT) < 0 ? -1 : 0;
}

static int write_bye(Server *s, Conn *c) {
    bool again = strcmp(c->bye, "closing") == 0 || strcmp(c->bye, "full") == 0;
    JsonOut o;
    msg_begin(&o, "bye");
    jsonout_str(&o, "reason", c->bye);
    jsonout_int(&o, "retry_ms", again ? 1000 : 0);
    Msg *m = msg_end(&o);
    write_text(s, c, m, 0);
    msg_unref(m);
    lws_close_reason(c->wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
    return -1;
}

static int writable(Server *s, Conn *c) {
    if (c->closing) return -1;
    if (c->bye) return write_bye(s, c);
    c->read_us = s->lobby->now_us;
    for (int n = 0; n < WRITES_AT_ONCE; n++) {
        const Item *i = first(c);
        if (!i || i->after > s->committed) break;
        if (n > 0 && lws_send_pipe_choked(c->wsi)) break;
        if (write_text(s, c, i->msg, i->seq) != 0) return -1;
        pop(c);
    }
    if (c->n == 0 && c->resync) {
        c->resync = false;
        if (c->session) lobby_resync(c->session);
    }
    if (c->n == 0) drop_queue(c); // an idle connection keeps no buffer
    schedule(s, c);
    return 0;
}

/* ---- bytes in ---- */

static void send_error(Server *s, Conn *c, int64_t id, const char *code) {
    if (c->session) {
        lobby_refuse(c->session, id, code);
        return;
    }
    JsonOut o;
    msg_begin(&o, "error");
    if (id >= 0) jsonout_int(&o, "id", id);
    else jsonout_null(&o, "id");
    jsonout_str(&o, "code", code);
    Msg *m = msg_end(&o);
    socket_send(s, c, m, 0, 0);
    msg_unref(m);
}

static bool within_rate(Server *s, Conn *c) {
    if (bucket_take(&c->messages, s->lobby->now_us, messages_burst, messages_per_s)) {
        if (c->strikes > 0 && c->messages.left > messages_burst / 2) c->strikes--;
        return true;
    }
    s->count.rate_limited++;
    if (++c->strikes < STRIKES) {
        send_error(s, c, -1, "rate");
        return false;
    }
    Session *who = c->session;
    address_ban(c->from, s->lobby->now_us);
    socket_bye(s, c, "banned");
    if (who) lobby_gone(who);
    return false;
}

static void hello(Server *s, Conn *c, const ClientMessage *cmd) {
    if (!*cmd->token && !address_guest(s->addresses, c->from, s->lobby->now_us)) {
        send_error(s, c, -1, "rate");
        return;
    }
    Session *old = c->session, *who = lobby_hello(s->lobby, c, cmd);
    if (old && old != who && old->conn == c) lobby_gone(old);
    if (!c->bye) c->session = who;
}

static void message(Server *s, Conn *c, const char *text, size_t n) {
    ClientMessage cmd;
    const char *code, *why;
    s->count.messages_in++;
    c->heard_us = s->lobby->now_us;
    if (c->bye || c->closing || !within_rate(s, c)) return;
    if (protocol_decode(text, n, &cmd, &code, &why) != ST_OK) {
        s->count.bad_messages++;
        log_debug("message refused: %s", why);
        send_error(s, c, cmd.id, code);
    } else if (cmd.kind == CMD_HELLO) {
        hello(s, c, &cmd);
    } else if (!c->session) {
        send_error(s, c, cmd.id, "bad_state");
    } else {
        lobby_command(c->session, &cmd);
    }
}

static int refuse_frame(Server *s, Conn *c, enum lws_close_status status) {
    s->count.bad_messages++;
    lws_close_reason(c->wsi, status, NULL, 0);
    return -1;
}

static int receive(Server *s, Conn *c, const char *in, size_t len) {
    bool whole = lws_is_final_fragment(c->wsi) && lws_remaining_packet_payload(c->wsi) == 0;
    if (lws_frame_is_binary(c->wsi))
        return refuse_frame(s, c, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE);
    if (c->n_part + len > PROTOCOL_MAX_BYTES)
        return refuse_frame(s, c, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE);
    if (whole && c->n_part == 0) {
        message(s, c, in, len);
        return 0;
    }
    if (!c->part) c->part = malloc(PROTOCOL_MAX_BYTES);
    if (!c->part) abort();
    memcpy(c->part + c->n_part, in, len);
    c->n_part += (uint32_t)len;
    if (!whole) return 0;
    char *text = c->part;
    size_t n = c->n_part;
    c->part = NULL;
    c->n_part = 0;
    message(s, c, text, n);
    free(text);
    return 0;
}

/* ---- life ---- */

static void established(Server *s, Conn *c, struct lws *wsi) {
    memset(c, 0, sizeof *c);
    c->wsi = wsi;
    c->from = lws_get_opaque_user_data(wsi); // set by the HTTP side of this connection
    c->heard_us = c->read_us = s->lobby->now_us;
    // what the system keeps for one who does not read, beside our own queue
    setsockopt(lws_get_socket_fd(wsi), SOL_SOCKET, SO_SNDBUF, &(int){QUEUE_BYTES}, sizeof(int));
    c->next = s->conns;
    c->link = &s->conns;
    if (s->conns) s->conns->link = &c->next;
    s->conns = c;
    s->n_conns++;
    s->count.connections++;
}

static void closed(Server *s, Conn *c) {
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    s->n_conns--;
    drop_queue(c);
    free(c->part);
    Session *who = c->session;
    c->session = NULL;
    if (who && s->lobby) lobby_gone(who);
}

void socket_sweep(Server *s) {
    int64_t now = s->lobby->now_us;
    for (Conn *c = s->conns; c; c = c->next) {
        int64_t silent = now - c->heard_us, stuck = c->n ? now - c->read_us : 0;
        if (c->closing) continue;
        bool late = !c->session && silent > (int64_t)HELLO_S * 1000000;
        if (late || stuck > (int64_t)STUCK_S * 1000000) {
            c->closing = true;
            lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
        } else if (silent > (int64_t)SILENCE_S * 1000000 && !c->bye) {
            Session *who = c->session;
            socket_bye(s, c, "idle");
            if (who) lobby_gone(who);
        }
    }
}

void socket_close_all(Server *s) {
    for (Conn *c = s->conns; c; c = c->next)
        if (!c->bye) socket_bye(s, c, "closing");
}

int socket_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len) {
    Server *s = server_of(wsi);
    Conn *c = user;
    switch (reason) {
    case LWS_CALLBACK_ESTABLISHED: established(s, c, wsi); return 0;
    case LWS_CALLBACK_CLOSED:
        if (c && c->wsi) closed(s, c);
        return 0;
    case LWS_CALLBACK_RECEIVE: return receive(s, c, in, len);
    case LWS_CALLBACK_SERVER_WRITEABLE: return writable(s, c);
    default: return 0;
    }
}
