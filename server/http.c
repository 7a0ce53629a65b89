/* http.c - plain HTTP: the built page from memory, /api through the reader thread, /metrics. */
#include "engine/base/log.h"
#include "server/server.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16 << 10, HEADER_BYTES = 2048 };

typedef struct {
    const uint8_t *body; /* what is being sent */
    size_t n, at;
    char *owned;     /* body, if it is this connection's */
    ApiJob *waiting; /* its answer is awaited; it knows us as owner */
    ApiJob *upload;  /* a body is arriving */
    struct lws *wsi;
    bool head; /* without a body */
} HttpConn;
const size_t http_conn_bytes = sizeof(HttpConn);

static const char policy[] =
    "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self' ws: wss:; frame-ancestors 'none'";

static Server *server_of(struct lws *wsi) { return lws_context_user(lws_get_context(wsi)); }

typedef struct {
    int status;
    const char *mime, *encoding, *cache, *etag, *file;
    bool vary;
} Head;

typedef struct {
    struct lws *wsi;
    uint8_t *start, *p, *end;
    bool failed;
} HeaderOut;

static void header(HeaderOut *h, const char *name, const char *value) {
    if (!value || h->failed) return;
    h->failed = lws_add_http_header_by_name(h->wsi, (const uint8_t *)name, (const uint8_t *)value,
                                            (int)strlen(value), &h->p, h->end) != 0;
}

/* Writes the headers; the body follows when the socket can take it. */
static int respond(struct lws *wsi, HttpConn *c, const Head *head, const void *body, size_t n) {
    uint8_t buf[LWS_PRE + HEADER_BYTES];
    HeaderOut h = {wsi, buf + LWS_PRE, buf + LWS_PRE, buf + sizeof buf - 1, false};
    char disposition[128];
    if (lws_add_http_common_headers(wsi, (unsigned)head->status, head->mime, n, &h.p, h.end) != 0)
        return -1;
    header(&h, "content-encoding:", head->encoding);
    header(&h, "cache-control:", head->cache);
    header(&h, "etag:", head->etag);
    header(&h, "vary:", head->vary ? "accept-encoding" : NULL);
    header(&h, "content-security-policy:", policy);
    header(&h, "x-content-type-options:", "nosniff");
    header(&h, "referrer-policy:", "no-referrer");
    if (head->file && *head->file) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", head->file);
        header(&h, "content-disposition:", disposition);
    }
    if (h.failed || lws_finalize_write_http_header(wsi, h.start, &h.p, h.end) != 0) return -1;
    c->body = body;
    c->n = n;
    c->at = 0;
    if (n > 0 && !c->head) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int respond_owned(struct lws *wsi, HttpConn *c, const Head *head, char *body, size_t n) {
    free(c->owned);
    c->owned = body;
    return respond(wsi, c, head, body, n);
}

static int respond_error(struct lws *wsi, HttpConn *c, int status, const char *code) {
    JsonOut o;
    size_t n;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "error", code);
    jsonout_close(&o, '}');
    char *body = jsonout_take(&o, &n);
    Head head = {status, "application/json", .cache = "no-store"};
    return respond_owned(wsi, c, &head, body, n);
}

static int send_body(struct lws *wsi, HttpConn *c) {
    uint8_t buf[LWS_PRE + CHUNK];
    size_t n = c->n - c->at < CHUNK ? c->n - c->at : CHUNK;
    bool last = c->at + n == c->n;
    if (n == 0) return 0;
    memcpy(buf + LWS_PRE, c->body + c->at, n);
    int wrote = lws_write(wsi, buf + LWS_PRE, n, last ? LWS_WRITE_HTTP_FINAL : LWS_WRITE_HTTP);
    if (wrote < 0) return -1;
    c->at += n;
    if (!last) {
        lws_callback_on_writable(wsi);
        return 0;
    }
    free(c->owned);
    c->owned = NULL;
    return lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* ---- the page ---- */

static bool header_has(struct lws *wsi, enum lws_token_indexes token, const char *word) {
    char text[256];
    return lws_hdr_copy(wsi, text, sizeof text, token) > 0 && strstr(text, word) != NULL;
}

static int send_page(Server *s, struct lws *wsi, HttpConn *c, const char *path) {
    const Page *page = s->pages ? pages_find(s->pages, path) : NULL;
    if (!page) return respond_error(wsi, c, 404, "gone");
    Head head = {200, page->mime, .etag = page->etag, .vary = true};
    head.cache = page->forever ? "public, max-age=31536000, immutable" : "no-cache";
    if (header_has(wsi, WSI_TOKEN_HTTP_IF_NONE_MATCH, page->etag)) {
        head.status = 304;
        return respond(wsi, c, &head, NULL, 0);
    }
    const Body *body = &page->plain;
    if (page->brotli.n && header_has(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING, "br")) {
        body = &page->brotli;
        head.encoding = "br";
    } else if (page->gzip.n && header_has(wsi, WSI_TOKEN_HTTP_ACCEPT_ENCODING, "gzip")) {
        body = &page->gzip;
        head.encoding = "gzip";
    }
    return respond(wsi, c, &head, body->p, body->n);
}

/* ---- /api ---- */

static uint64_t asking_user(Server *s, struct lws *wsi) {
    static const char bearer[] = "Bearer ";
    char text[128];
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP_AUTHORIZATION) <= 0) return 0;
    if (strncasecmp(text, bearer, sizeof bearer - 1) != 0) return 0;
    return lobby_user_of_token(s->lobby, text + sizeof bearer - 1);
}

static ApiJob *new_job(Server *s, struct lws *wsi, const char *path, bool post) {
    ApiJob *j = api_job_new();
    char part[API_QUERY_BYTES];
    size_t n = 0;
    snprintf(j->path, sizeof j->path, "%s", path);
    j->post = post;
    j->user = asking_user(s, wsi);
    for (int i = 0; lws_hdr_copy_fragment(wsi, part, sizeof part, WSI_TOKEN_HTTP_URI_ARGS, i) > 0;
         i++) {
        int more = snprintf(j->query + n, sizeof j->query - n, "%s%s", n ? "&" : "", part);
        if (more < 0 || n + (size_t)more >= sizeof j->query) {
            j->query[n] = '\0';
            break;
        }
        n += (size_t)more;
    }
    return j;
}

static int submit(Server *s, struct lws *wsi, HttpConn *c, ApiJob *j) {
    if (api_busy(s->api)) {
        api_job_free(j);
        return respond_error(wsi, c, 503, "busy");
    }
    j->owner = c;
    c->wsi = wsi;
    c->waiting = j;
    lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, 30);
    api_submit(s->api, j);
    return 0;
}

static void answer_api(ApiJob *j) {
    HttpConn *c = j->owner;
    if (!c) return;
    Head head = {j->status, j->mime, .cache = "no-store", .file = j->file};
    c->waiting = NULL;
    char *body = j->body;
    j->body = NULL;
    if (respond_owned(c->wsi, c, &head, body, j->n) != 0)
        lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

/* Answers whose writes are not yet committed are put back until they are. */
void http_api_done(Server *s) {
    ApiJob *keep = NULL;
    ApiJob *lists[2] = {s->api_waiting, api_take(s->api)};
    s->api_waiting = NULL;
    for (int l = 0; l < 2; l++)
        for (ApiJob *j = lists[l], *next; j; j = next) {
            next = j->next;
            if (j->store && !j->after) {
                j->store->at_ms = s->lobby->wall_ms();
                j->after = store_put_game(s->store, j->store);
            }
            if (j->after > store_committed(s->store)) {
                j->next = keep;
                keep = j;
                continue;
            }
            answer_api(j);
            api_job_free(j);
        }
    s->api_waiting = keep;
}

static int health(Server *s, struct lws *wsi, HttpConn *c) {
    JsonOut o;
    size_t n;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_bool(&o, "ok", true);
    jsonout_str(&o, "ver", PROTOCOL_VERSION);
    jsonout_int(&o, "games", s->lobby->n_playing);
    jsonout_int(&o, "clients", s->n_conns);
    jsonout_close(&o, '}');
    char *body = jsonout_take(&o, &n);
    Head head = {200, "application/json", .cache = "no-store"};
    return respond_owned(wsi, c, &head, body, n);
}

static int metrics(Server *s, struct lws *wsi, HttpConn *c) {
    size_t n;
    char *body = metrics_text(s, &n);
    Head head = {200, "text/plain; version=0.0.4; charset=utf-8", .cache = "no-store"};
    return respond_owned(wsi, c, &head, body, n);
}

/* ---- requests ---- */

/* The request line's last word; a request without one (HTTP/0.9) has none. */
static bool known_version(struct lws *wsi) {
    char text[16];
    if (lws_hdr_copy(wsi, text, sizeof text, WSI_TOKEN_HTTP) <= 0) return false;
    return strcmp(text, "HTTP/1.1") == 0 || strcmp(text, "HTTP/1.0") == 0;
}

static int request(Server *s, struct lws *wsi, HttpConn *c, const char *path) {
    Address *from = lws_get_opaque_user_data(wsi);
    bool post = lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0;
    c->head = lws_hdr_total_length(wsi, WSI_TOKEN_HEAD_URI) > 0;
    bool get = lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) > 0 || c->head;
    s->count.http_requests++;
    if (from && !address_request(s->addresses, from, s->lobby->now_us))
        return respond_error(wsi, c, 429, "rate");
    if (!known_version(wsi)) return respond_error(wsi, c, 505, "version");
    if (!get && !post) return respond_error(wsi, c, 405, "method");
    if (strcmp(path, "/api/health") == 0 && get) return health(s, wsi, c);
    if (strcmp(path, "/metrics") == 0 && get) return metrics(s, wsi, c);
    if (strncmp(path, "/api/", 5) != 0) {
        return post ? respond_error(wsi, c, 405, "method") : send_page(s, wsi, c, path);
    }
    if (strlen(path) >= API_PATH_BYTES) return respond_error(wsi, c, 404, "gone");
    if (!post) return submit(s, wsi, c, new_job(s, wsi, path, false));
    if (from && !address_upload(from, s->lobby->now_us)) return respond_error(wsi, c, 429, "rate");
    char length[32];
    if (lws_hdr_copy(wsi, length, sizeof length, WSI_TOKEN_HTTP_CONTENT_LENGTH) <= 0 ||
        strtol(length, NULL, 10) > API_UPLOAD_MAX)
        return respond_error(wsi, c, 413, "record");
    c->upload = new_job(s, wsi, path, true);
    return 0;
}

static int body_part(HttpConn *c, const void *in, size_t len) {
    ApiJob *j = c->upload;
    if (!j) return 0;
    if (j->n_upload + len > API_UPLOAD_MAX) return -1;
    memcpy(j->upload + j->n_upload, in, len);
    j->n_upload += len;
    return 0;
}

static void forget(HttpConn *c) {
    if (c->waiting) c->waiting->owner = NULL;
    c->waiting = NULL;
    api_job_free(c->upload);
    c->upload = NULL;
    free(c->owned);
    c->owned = NULL;
}

/* ---- connections ---- */

static bool admit(Server *s, const struct lws_filter_network_conn_args *args) {
    Address *from =
        addresses_find(s->addresses, (const struct sockaddr *)&args->cli_addr, s->lobby->now_us);
    if (address_admit(s->addresses, from, s->lobby->now_us)) return true;
    s->count.refused_address++;
    return false;
}

static void connected(Server *s, struct lws *wsi) {
    struct sockaddr_storage peer;
    socklen_t n = sizeof peer;
    if (getpeername(lws_get_socket_fd(wsi), (struct sockaddr *)&peer, &n) != 0) return;
    Address *from = addresses_find(s->addresses, (struct sockaddr *)&peer, s->lobby->now_us);
    from->connections++;
    lws_set_opaque_user_data(wsi, from);
}

static void disconnected(struct lws *wsi) {
    Address *from = lws_get_opaque_user_data(wsi);
    if (!from) return;
    from->connections--;
    lws_set_opaque_user_data(wsi, NULL);
}

static int upgrade(Server *s, struct lws *wsi) {
    int status = known_version(wsi) ? socket_check_upgrade(s, wsi) : 505;
    if (status == 0) return 0;
    return lws_return_http_status(wsi, (unsigned)status, NULL) < 0 ? -1 : 1;
}

int http_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t len) {
    Server *s = server_of(wsi);
    HttpConn *c = user;
    if (!s || !s->lobby) return 0; // starting or ending
    switch (reason) {
    case LWS_CALLBACK_FILTER_NETWORK_CONNECTION: return admit(s, user) ? 0 : 1;
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED: connected(s, wsi); return 0;
    case LWS_CALLBACK_WSI_DESTROY: disconnected(wsi); return 0;
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE: return upgrade(s, wsi);
    case LWS_CALLBACK_HTTP: return request(s, wsi, c, in);
    case LWS_CALLBACK_HTTP_BODY: return body_part(c, in, len);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION: {
        ApiJob *j = c->upload;
        c->upload = NULL;
        return j ? submit(s, wsi, c, j) : 0;
    }
    case LWS_CALLBACK_HTTP_WRITEABLE: return send_body(wsi, c);
    case LWS_CALLBACK_CLOSED_HTTP:
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
        if (c) forget(c);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED: server_woken(s); return 0;
    default: return 0;
    }
}
