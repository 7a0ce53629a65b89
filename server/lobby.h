/* lobby.h - everybody who is here and every room: the state of the service thread.
 *
 * Sessions are people (by token), rooms hold a game or its preparation. All of this runs on one
 * thread and never blocks: writes go to the store, thinking to the bots, messages to `out`, and
 * what comes later is a timer. It does not know what a socket is: a connection is an opaque pointer
 * that `out` understands. The time is set by the caller before each call.                   */
#ifndef DIZHU_SERVER_LOBBY_H
#define DIZHU_SERVER_LOBBY_H
#include "server/bots.h"
#include "server/msg.h"
#include "server/protocol.h"
#include "server/store.h"
#include "server/timers.h"

typedef struct Room Room;
typedef struct Session Session;
typedef struct Lobby Lobby;

enum {
    RING_EVENTS = 256, /* of a viewer, kept for one who comes back */
    ANSWERS_KEPT = 8,
    AWAY_MS = 60000,
    GRACE_MS = 300,
    REMATCH_MS = 20000,
    BOTS_PAUSE_MS = 5000 /* between games of bots alone */
};

/* So many at once, refilled evenly. */
typedef struct {
    float left;
    int64_t at_us;
} Bucket;
bool bucket_take(Bucket *b, int64_t now_us, float burst, float per_s);

typedef struct {
    int64_t id;
    Msg *msg;
    uint32_t seq; /* 0: not numbered */
} Answer;

struct Session {
    Session *hash_next;
    Lobby *lobby;
    uint64_t user;
    char name[NAME_BYTES];
    TokenKey key;
    Rating rating;
    bool saved; /* the user is in the database */
    uint8_t lang;
    bool wants_lobby;
    void *conn; /* NULL: not connected */
    Room *room;
    int8_t seat;             /* in room, -1: watches */
    Session *room_next;      /* all in the room */
    int holds;               /* games in progress whose result is his */
    uint32_t seq, ring_from; /* last number given; the lowest that the ring has */
    Msg **ring;              /* [RING_EVENTS], by seq; allocated when first needed */
    int64_t last_id;
    Answer answers[ANSWERS_KEPT]; /* the newest first */
    uint64_t hold;                /* the write that must be committed before he hears more */
    int asking;                   /* advice and reviews that he waits for */
    Bucket rooms, phrases;
};

typedef struct {
    void *ctx;
    /* Sends m (numbered seq, 0: not) once write `after` is committed. */
    void (*send)(void *ctx, void *conn, Msg *m, uint32_t seq, uint64_t after);
    /* The connection belongs to nobody any more; it gets a bye and closes. */
    void (*bye)(void *ctx, void *conn, const char *reason);
} Out;

typedef struct {
    int max_sessions, max_rooms;
    int think_ms;     /* a bot's time to a move, if a room does not say */
    int away_ms;      /* how long a seat is kept */
    bool auto_review; /* every game with people in it */
} LobbyConfig;

struct Lobby {
    LobbyConfig config;
    Store *store;
    Reader *reader;
    Bots *bots;
    Out out;
    Timers timers;
    int64_t now_us;                /* monotonic */
    int64_t (*wall_ms)(void);      /* Unix time */
    void (*deal)(Deal *out);       /* auth_deal, or a test's */
    uint32_t (*below)(uint32_t n); /* auth_below, or a test's */
    size_t n_buckets;              /* of both tables, a power of two */
    Session **sessions;
    Room **rooms;
    Room *closing; /* closed, but bots still think for them */
    int n_sessions, n_connected, n_rooms, n_playing;
    bool list_changed;
    Timer list_timer;
    uint64_t next_stamp;
    Rating bot_rating[N_STRENGTHS];
    uint64_t n_games, n_moves, n_refused, n_commands;
};

LobbyConfig lobby_defaults(void);
/* Restores rooms and games through the reader. Store, reader and bots are borrowed. */
Status lobby_new(const LobbyConfig *c, Store *store, Reader *reader, Bots *bots, const Out *out,
                 int64_t now_us, Lobby **l);
void lobby_free(Lobby *l); /* NULL is allowed; says nothing to anybody */

/* A connection's hello: the session that it now speaks for, or NULL (an error was sent, or a bye).
 * Any other connection of that session gets a bye "moved".                                  */
Session *lobby_hello(Lobby *l, void *conn, const ClientMessage *c);
/* The user of a token; 0: nobody's. */
uint64_t lobby_user_of_token(Lobby *l, const char *token);
/* Any other command of a session's connection. */
void lobby_command(Session *s, const ClientMessage *c);
/* A message that did not decode. */
void lobby_refuse(Session *s, int64_t id, const char *code);
void lobby_gone(Session *s); /* its connection was lost; s may be freed */
/* The connection dropped what it could not send: the session gets a snapshot. */
void lobby_resync(Session *s);
void lobby_jobs(Lobby *l); /* takes the bots' answers */
/* Runs what is due at now_us. */
void lobby_tick(Lobby *l);

/* ---- for the parts of the lobby (session.c, room.c, play.c, commands.c) ---- */
Session *session_by_user(Lobby *l, uint64_t user);
Session *session_new(Lobby *l, const StoreUser *u, bool saved);
/* Frees a session that nobody needs: no connection, no room, no game. */
void session_release(Session *s);
void session_save(Session *s);          /* its user exists in the database from here on */
void session_send(Session *s, Msg *m);  /* takes the reference */
void session_event(Session *s, Msg *m); /* the same, numbered and kept */
void session_answer(Session *s, int64_t id, Msg *m,
                    uint32_t seq); /* remembers; keeps the caller's reference */
void session_ok(Session *s, int64_t id);
void session_ok_room(Session *s, int64_t id, const Room *room, int seat); /* seat -1: watches */
void session_error(Session *s, int64_t id, const char *code);
void session_forget_events(Session *s, uint32_t seq);
Room *lobby_room(Lobby *l, const char *code); /* NULL: there is none */
void lobby_list_changed(Lobby *l);
void lobby_send_list(Session *s);

#endif
