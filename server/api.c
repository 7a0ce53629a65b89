#include "server/api.h"
#include "engine/base/log.h"
#include "server/jsonout.h"
#include "server/table.h"
#include "server/view.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAITING_MAX = 256, GAMES_MAX = 100 };

struct Api {
    Reader *reader;
    char run_dir[512]; /* "": none */
    StoreWake wake;
    void *ctx;
    pthread_mutex_t lock;
    pthread_cond_t more;
    ApiJob *head, *tail, *done, *done_tail; /* under lock, with n and stop */
    int n;
    bool stop;
    pthread_t thread;
};

ApiJob *api_job_new(void) {
    ApiJob *j = calloc(1, sizeof *j);
    if (!j) abort();
    j->mime = "application/json";
    return j;
}

void api_job_free(ApiJob *j) {
    if (!j) return;
    free(j->body);
    free(j->store);
    free(j);
}

/* ---- arguments and answers ---- */

const char *api_arg(const ApiJob *j, const char *name, char out[64]) {
    size_t len = strlen(name);
    for (const char *p = j->query; *p;) {
        size_t n = strcspn(p, "&");
        if (n > len && strncmp(p, name, len) == 0 && p[len] == '=' && n - len - 1 < 64) {
            memcpy(out, p + len + 1, n - len - 1);
            out[n - len - 1] = '\0';
            return out;
        }
        p += n;
        if (*p) p++;
    }
    return NULL;
}

int64_t api_arg_int(const ApiJob *j, const char *name, int64_t if_none, int64_t lo, int64_t hi) {
    char text[64], *end;
    if (!api_arg(j, name, text)) return if_none;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end) return if_none;
    return v < lo ? lo : v > hi ? hi : v;
}

void api_error(ApiJob *j, int status, const char *code) {
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "error", code);
    jsonout_close(&o, '}');
    free(j->body);
    j->body = jsonout_take(&o, &j->n);
    j->status = status;
}

static void answer(ApiJob *j, JsonOut *o) {
    j->body = jsonout_take(o, &j->n);
    j->status = 200;
}

/* ---- games ---- */

static const char *role_text(int role) {
    return role == ROLE_LANDLORD ? "landlord" : role == ROLE_LANDLORD_UP ? "up" : "down";
}

/* A row: game, at, rules, seat, role, won, points, plies, rated. */
static void write_game_row(JsonOut *o, sqlite3_stmt *q, sqlite3_stmt *names) {
    char id[GAME_ID_CHARS + 1];
    auth_game_text((uint64_t)sqlite3_column_int64(q, 0), id);
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "game", id);
    jsonout_int(o, "at", sqlite3_column_int64(q, 1));
    jsonout_str(o, "rules", rules_name(sqlite3_column_int(q, 2) % N_RULESETS));
    jsonout_str(o, "role", role_text(sqlite3_column_int(q, 4)));
    jsonout_bool(o, "won", sqlite3_column_int(q, 5));
    jsonout_real(o, "points", sqlite3_column_double(q, 6));
    jsonout_open(o, "names", '[');
    sqlite3_bind_int64(names, 1, sqlite3_column_int64(q, 0));
    while (sqlite3_step(names) == SQLITE_ROW)
        jsonout_str(o, NULL, (const char *)sqlite3_column_text(names, 0));
    sqlite3_reset(names);
    jsonout_close(o, ']');
    jsonout_int(o, "seat", sqlite3_column_int(q, 3));
    jsonout_int(o, "plies", sqlite3_column_int(q, 7));
    jsonout_bool(o, "rated", sqlite3_column_int(q, 8));
    jsonout_close(o, '}');
}

static const char own_games[] =
    "SELECT s.game, s.at, g.rules, s.seat, s.role, s.won, s.points, g.plies, g.rated FROM seat s "
    "JOIN game g ON g.id = s.game WHERE s.user = ?1 AND (?2 = 0 OR (s.at, s.game) < ((SELECT at "
    "FROM game WHERE id = ?2), ?2)) ORDER BY s.at DESC, s.game DESC LIMIT ?3";
static const char all_games[] =
    "SELECT s.game, g.at, g.rules, s.seat, s.role, s.won, s.points, g.plies, g.rated FROM game g "
    "JOIN seat s ON s.game = g.id AND s.seat = g.landlord WHERE ?1 = ?1 AND (?2 = 0 OR (g.at, g.id)"
    " < ((SELECT at FROM game WHERE id = ?2), ?2)) ORDER BY g.at DESC, g.id DESC LIMIT ?3";

static void api_games(ApiJob *j, sqlite3 *db, bool all) {
    char text[64];
    if (!all && !j->user) {
        api_error(j, 401, "token");
        return;
    }
    int64_t n = api_arg_int(j, "n", 20, 1, GAMES_MAX), sent = 0;
    uint64_t before = api_arg(j, "before", text) ? auth_game_parse(text) : 0;
    sqlite3_stmt *q = NULL, *names = NULL;
    sqlite3_prepare_v2(db, all ? all_games : own_games, -1, &q, NULL);
    sqlite3_prepare_v2(db, "SELECT name FROM seat WHERE game = ?1 ORDER BY seat", -1, &names, NULL);
    sqlite3_bind_int64(q, 1, (int64_t)j->user);
    sqlite3_bind_int64(q, 2, (int64_t)before);
    sqlite3_bind_int64(q, 3, n + 1);
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_open(&o, "games", '[');
    for (; sqlite3_step(q) == SQLITE_ROW; sent++)
        if (sent < n) write_game_row(&o, q, names);
    jsonout_close(&o, ']');
    jsonout_bool(&o, "more", sent > n);
    jsonout_close(&o, '}');
    sqlite3_finalize(q);
    sqlite3_finalize(names);
    answer(j, &o);
}

static void write_deal(JsonOut *o, const Table *t) {
    uint8_t cards[PLAY_CARDS_MAX];
    jsonout_open(o, "deal", '[');
    for (int s = 0; s < N_SEATS; s++) {
        int n = 0;
        for (int c = N_CARDS - 1; c >= 0; c--)
            if (t->setup.deal.owner[c] == s) cards[n++] = (uint8_t)c;
        jsonout_ints(o, NULL, cards, n);
    }
    jsonout_close(o, ']');
    jsonout_ints(o, "kitty", cards, table_kitty(t, cards));
}

static void write_actions(JsonOut *o, const Table *t) {
    int mult = 1;
    jsonout_open(o, "bids", '[');
    for (int i = 0; i < t->n_bids; i++) {
        uint8_t pair[2] = {(uint8_t)table_seat_at(t, i), t->bids[i]};
        jsonout_ints(o, NULL, pair, 2);
    }
    jsonout_close(o, ']');
    jsonout_open(o, "plays", '[');
    for (int i = 0; i < t->n_plays; i++) {
        const TablePlay *p = &t->plays[i];
        if (p->type == MOVE_BOMB || p->type == MOVE_ROCKET) mult *= 2;
        jsonout_open(o, NULL, '[');
        jsonout_int(o, NULL, p->seat);
        jsonout_ints(o, NULL, t->cards + p->at, p->n);
        jsonout_str(o, NULL, move_kind((MoveType)p->type));
        jsonout_int(o, NULL, mult);
        jsonout_str(o, NULL, why_name((Why)p->why));
        jsonout_close(o, ']');
    }
    jsonout_close(o, ']');
}

static void write_game(JsonOut *o, const ApiJob *j, const StoreGame *g, const Table *t) {
    int me = -1;
    jsonout_open(o, NULL, '{');
    jsonout_str(o, "game", t->id);
    jsonout_int(o, "at", g->at_ms);
    jsonout_str(o, "rules", rules_name(t->setup.rules));
    jsonout_open(o, "names", '[');
    for (int s = 0; s < N_SEATS; s++) {
        jsonout_str(o, NULL, g->seat[s].name);
        if (j->user && g->seat[s].user == j->user) me = s;
    }
    jsonout_close(o, ']');
    jsonout_open(o, "kinds", '[');
    for (int s = 0; s < N_SEATS; s++) jsonout_str(o, NULL, g->seat[s].bot ? "bot" : "human");
    jsonout_close(o, ']');
    if (me >= 0) jsonout_int(o, "me", me);
    else jsonout_null(o, "me");
    jsonout_int(o, "first", t->n_bids ? t->setup.first : t->game.landlord);
    jsonout_int(o, "landlord", t->game.landlord);
    jsonout_int(o, "base", table_base(t));
    write_deal(o, t);
    write_actions(o, t);
    jsonout_open(o, "end", '{');
    jsonout_str(o, "t", "end");
    view_write_end(o, t, g->rated);
    jsonout_close(o, '}');
    jsonout_close(o, '}');
}

static void api_game(ApiJob *j, Reader *r, const char *id, bool record) {
    StoreGame g;
    Table t;
    uint64_t number = auth_game_parse(id);
    if (number == 0 || reader_game(r, number, &g) != ST_OK) {
        api_error(j, 404, "gone");
        return;
    }
    if (record) {
        j->body = malloc(g.n_record + 1u);
        if (!j->body) abort();
        memcpy(j->body, g.record, g.n_record);
        j->n = g.n_record;
        j->mime = "application/octet-stream";
        snprintf(j->file, sizeof j->file, "%.16s.dzr", id);
        j->status = 200;
        return;
    }
    if (table_from_game(&g, &t) != ST_OK) {
        log_error("game %s does not replay", id);
        api_error(j, 500, "server");
        return;
    }
    JsonOut o;
    jsonout_init(&o);
    write_game(&o, j, &g, &t);
    answer(j, &o);
}

static void refuse_record(ApiJob *j, const char *why) {
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "error", "record");
    jsonout_str(&o, "why", why);
    jsonout_close(&o, '}');
    j->body = jsonout_take(&o, &j->n);
    j->status = 400;
}

/* A record from outside: read, replayed, then kept as a game of unknown players. */
static void api_upload(ApiJob *j) {
    Record r;
    Game end;
    size_t used;
    const char *why = "not a record";
    int at;
    Status st = record_read(j->upload, j->n_upload, &r, &used);
    if (st != ST_OK || used != j->n_upload) {
        refuse_record(j, st == ST_VERSION ? "unknown version" : "not a record");
        return;
    }
    st = record_replay(&r, &end, NULL, NULL, &why, &at);
    if (st != ST_OK || end.phase != PHASE_OVER) {
        refuse_record(j, st != ST_OK ? why : "the game is not over");
        return;
    }
    bool bidding = ruleset_get((RulesetId)r.ruleset)->bidding;
    StoreGame in = {.id = auth_game_number(), .how = bidding ? HOW_BID : HOW_DEALT};
    Table t;
    in.n_record = (uint16_t)record_write(&r, in.record);
    if (table_from_game(&in, &t) != ST_OK) {
        refuse_record(j, "the server cannot show it");
        return;
    }
    j->store = malloc(sizeof *j->store);
    if (!j->store) abort();
    table_to_game(&t, j->store);
    j->store->n_cards = j->store->n_why = 0;
    JsonOut o;
    jsonout_init(&o);
    jsonout_open(&o, NULL, '{');
    jsonout_str(&o, "game", t.id);
    jsonout_close(&o, '}');
    answer(j, &o);
}

/* ---- the thread ---- */

static void route(Api *a, ApiJob *j) {
    static const char one[] = "/api/games/";
    const char *p = j->path, *run_dir = *a->run_dir ? a->run_dir : NULL;
    char id[64];
    int n = -1;
    sqlite3 *db = reader_db(a->reader);
    if (strcmp(p, "/api/records") == 0 && j->post) api_upload(j);
    else if (j->post) api_error(j, 405, "method");
    else if (strcmp(p, "/api/games") == 0) api_games(j, db, false);
    else if (strcmp(p, "/api/games/recent") == 0) api_games(j, db, true);
    else if (strcmp(p, "/api/stats") == 0) api_stats(j, db);
    else if (strcmp(p, "/api/board") == 0) api_board(j, db);
    else if (strcmp(p, "/api/runs") == 0) api_runs(j, run_dir);
    else if (strcmp(p, "/api/train") == 0) api_train(j, run_dir);
    else if (strncmp(p, one, sizeof one - 1) == 0 &&
             sscanf(p + sizeof one - 1, "%16[0-9A-Za-z]%n", id, &n) == 1) {
        const char *rest = p + sizeof one - 1 + n;
        if (*rest == '\0') api_game(j, a->reader, id, false);
        else if (strcmp(rest, "/record") == 0) api_game(j, a->reader, id, true);
    }
    if (j->status == 0) api_error(j, 404, "gone");
}

static void *reader_thread(void *arg) {
    Api *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->stop) {
        ApiJob *j = a->head;
        if (!j) {
            pthread_cond_wait(&a->more, &a->lock);
            continue;
        }
        a->head = j->next;
        if (!a->head) a->tail = NULL;
        pthread_mutex_unlock(&a->lock);
        route(a, j);
        pthread_mutex_lock(&a->lock);
        j->next = NULL;
        if (a->done_tail) a->done_tail->next = j;
        else a->done = j;
        a->done_tail = j;
        a->n--;
        pthread_mutex_unlock(&a->lock);
        if (a->wake) a->wake(a->ctx);
        pthread_mutex_lock(&a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

Status api_new(const char *db, const char *run_dir, StoreWake wake, void *ctx, Api **out) {
    Api *a = calloc(1, sizeof *a);
    if (!a) return ST_NOMEM;
    snprintf(a->run_dir, sizeof a->run_dir, "%s", run_dir ? run_dir : "");
    a->wake = wake;
    a->ctx = ctx;
    Status st = reader_open(db, &a->reader);
    if (st != ST_OK) {
        free(a);
        return st;
    }
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->more, NULL);
    if (pthread_create(&a->thread, NULL, reader_thread, a) != 0) {
        reader_close(a->reader);
        free(a);
        return ST_NOMEM;
    }
    *out = a;
    return ST_OK;
}

static void free_list(ApiJob *j) {
    for (ApiJob *next; j; j = next) {
        next = j->next;
        api_job_free(j);
    }
}

void api_free(Api *a) {
    if (!a) return;
    pthread_mutex_lock(&a->lock);
    a->stop = true;
    pthread_cond_signal(&a->more);
    pthread_mutex_unlock(&a->lock);
    pthread_join(a->thread, NULL);
    free_list(a->head);
    free_list(a->done);
    reader_close(a->reader);
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->more);
    free(a);
}

void api_submit(Api *a, ApiJob *j) {
    j->next = NULL;
    pthread_mutex_lock(&a->lock);
    if (a->tail) a->tail->next = j;
    else a->head = j;
    a->tail = j;
    a->n++;
    pthread_cond_signal(&a->more);
    pthread_mutex_unlock(&a->lock);
}

ApiJob *api_take(Api *a) {
    pthread_mutex_lock(&a->lock);
    ApiJob *list = a->done;
    a->done = a->done_tail = NULL;
    pthread_mutex_unlock(&a->lock);
    return list;
}

bool api_busy(Api *a) {
    pthread_mutex_lock(&a->lock);
    bool busy = a->n >= WAITING_MAX;
    pthread_mutex_unlock(&a->lock);
    return busy;
}
