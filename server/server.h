/* server.h - the parts of `dizhu serve` and how they hang together.
 *
 *   socket.c  WebSockets: bytes <-> commands and messages, queues, limits      } service thread
 *   http.c    the page, /api, /metrics                                         }
 *   lobby.c.. people, rooms, games                                             }
 *   bots.c    workers that think     store.c  the writer     api.c  the reader   threads
 * The service thread owns all but what the threads are given; they wake it by lws_cancel_service.
 */
#ifndef DIZHU_SERVER_SERVER_H
#define DIZHU_SERVER_SERVER_H
#include "server/address.h"
#include "server/api.h"
#include "server/lobby.h"
#include "server/pages.h"
#include <libwebsockets.h>

typedef struct {
    int port;
    const char *bind, *db, *model, *run, *web, *tls_cert, *tls_key, *origin, *log;
    int workers, think_ms, commit_ms, precision, max_clients, per_address, away_s;
    bool any_port;
} ServerOptions;

typedef struct Conn Conn;

typedef struct {
    uint64_t connections, refused_origin, refused_address, messages_in, messages_out, bytes_out,
        bad_messages, rate_limited, resyncs, http_requests;
} Counters;

typedef struct {
    ServerOptions options;
    struct lws_context *lws;
    Store *store;
    Reader *reader;
    Bots *bots;
    Lobby *lobby;
    Api *api;
    ApiJob *api_waiting; /* answers that wait for a commit */
    Pages *pages;        /* NULL: no page */
    Addresses *addresses;
    Conn *conns, *waiting; /* all WebSockets; those that wait for a commit */
    int n_conns;
    uint64_t committed; /* as last seen */
    Counters count;
    int64_t started_ms;
    struct lws_protocols protocols[3];
    lws_sorted_usec_list_t alarm, sweeper; /* the lobby's next timer; once a second */
    int64_t alarm_us;
    unsigned sweeps;
} Server;

/* Opens everything and listens. ST_IO: the port is in use, ...: the log has why. */
Status server_start(const ServerOptions *o, Server **out);
int server_port(const Server *s);
/* Serves until *stop; then tells everybody and flushes. */
void server_run(Server *s, volatile const int *stop); /* SIGINT and lws_cancel_service end a wait */
void server_free(Server *s);                          /* NULL is allowed */
void server_woken(Server *s); /* a thread has something for the service thread */

/* socket.c */
int socket_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len);
extern const size_t socket_conn_bytes;
void socket_send(void *server, void *conn, Msg *m, uint32_t seq, uint64_t after);
void socket_bye(void *server, void *conn, const char *reason);
void socket_committed(Server *s); /* what waited for it may go out */
void socket_sweep(Server *s);     /* closes the silent */
void socket_close_all(Server *s);
/* Is this upgrade to be accepted? 0, or the HTTP status that refuses it. */
int socket_check_upgrade(Server *s, struct lws *wsi);

/* http.c */
int http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t len);
extern const size_t http_conn_bytes;
void http_api_done(Server *s); /* answers that the reader thread has ready */
/* The text of /metrics. */
char *metrics_text(Server *s, size_t *n);

#endif
