/* room.h - a room: three seats, who watches, what was agreed, and the game that is on.
 *
 * room.c has who is in it, play.c and ending.c the course of its games. */
#ifndef DIZHU_SERVER_ROOM_H
#define DIZHU_SERVER_ROOM_H
#include "server/lobby.h"
#include "server/table.h"

typedef enum { SEAT_EMPTY, SEAT_HUMAN, SEAT_BOT } SeatKind;
typedef enum {
    MODE_QUICK, /* one person and two bots at once */
    MODE_ROOM,  /* people meet */
    MODE_BOTS,  /* bots alone, for watchers */
    MODE_RESUME /* played on from a finished game */
} RoomMode;
typedef enum { ROOM_WAIT, ROOM_PLAY, ROOM_OVER } RoomState;

typedef struct {
    uint8_t kind, strength;
    bool ready, hosted, rematch;
    uint8_t timeouts; /* in a row */
    Session *who;     /* SEAT_HUMAN */
    Session *next;    /* sits here from the next deal on */
    Timer away;       /* running: the owner's line is lost */
    bool is_away;
    Room *room; /* for the timer */
} Seat;

struct Room {
    Room *hash_next;
    Lobby *lobby;
    char code[ROOM_CODE_CHARS + 1], name[NAME_BYTES];
    uint8_t mode, state, rules, allpass, wish;
    bool help, private_, durable; /* durable: the database knows the room */
    int time_s, think_ms;
    int host; /* seat, -1: none */
    Seat seat[N_SEATS];
    Session *people; /* all who are here, seated or not */
    int n_people;
    /* the game */
    Table *table;             /* NULL: none yet */
    Session *player[N_SEATS]; /* whose result it is; NULL: a bot's */
    uint64_t player_user[N_SEATS];
    bool rated, opened, resumed;
    Msg *end[N_SEATS + 1];        /* the end message by seat, and a watcher's */
    uint64_t stamp;               /* changes with every action: an answer to an older one is void */
    int64_t turn_us, deadline_us; /* deadline 0: no limit */
    Timer turn, bot, pause;
    bool bot_ready; /* bot_choice waits for its time */
    Choice bot_choice;
    Advice bot_advice;
    uint8_t bot_why;
    int jobs;    /* of the bots, not yet back */
    bool closed; /* freed when the last job is back */
};

/* room.c */
Room *room_new(Lobby *l, RoomMode mode);
/* The session enters: leaves another room, sees the room and its game. seat -1: watches. */
void room_enter(Room *r, Session *s, int seat);
/* Leaves; a bot takes over a seat in a game. The room may be closed by it. */
void room_leave(Session *s);
void room_sit(Room *r, int seat, Session *s); /* now: the seat must be free or a bot's */
void room_seat_bot(Room *r, int seat, int strength);
void room_seat_empty(Room *r, int seat);
int room_humans(const Room *r);
/* The one person at the table, in a room without other people in seats; NULL otherwise. */
Session *room_alone(const Room *r);
void room_tell(Room *r); /* the room message to all, and the room to the database */
void room_tell_one(Room *r, Session *s);
void room_line_lost(Room *r, Session *s);
void room_line_back(Room *r, Session *s);
/* Closes the room if it has nobody left to play or watch. True: r is gone. */
bool room_close_if_empty(Room *r);
void room_close(Room *r);
void room_job_back(Room *r); /* one of its jobs is back: a closed room goes with its last */
StoreRoom room_to_store(const Room *r);
/* Puts a person whose line is lost into a seat, as after a restart. */
void room_restore_person(Room *r, Session *s, int seat);
void room_forget(Room *r); /* frees it in silence; the database keeps it */
void room_free(Room *r);   /* one that is closed */

/* play.c, and ending.c */
void play_start(Room *r);                             /* deals; all seats are taken */
void play_start_from(Room *r, Table *t);              /* goes on from t, which is copied */
void play_restore_ended(Room *r, const StoreGame *g); /* the game that ended last */
void play_restore(Room *r, const StoreLive *l, int n_acts, const StoreAct *acts);
const char *play_bid(Room *r, int seat, int points, Why why, int64_t id);
const char *play_cards(Room *r, int seat, const uint8_t *cards, int n, Why why, int64_t id);
void play_host(Room *r, int seat, bool on);
void play_undo(Room *r, int ply);
void play_open(Room *r, Session *s, bool on);
void play_snapshot(Room *r, Session *s, const char *why);
void play_unrate(Room *r);
void play_rematch(Room *r, Session *s, bool yes);
void play_job(Room *r, Job *j);            /* a bot's answer */
void play_seat_changed(Room *r, int seat); /* another plays it now */
void play_drop(Room *r);                   /* ends a game without a result */
int64_t play_left_ms(const Room *r);       /* -1: no limit */
/* between the two */
void play_ended(Room *r);                /* the table's game is over */
void play_hold(Room *r, uint64_t write); /* what people hear from now on waits for it */
void play_set_state(Room *r, RoomState state);
void play_release(Room *r); /* the players of a game that ended or begins anew */

#endif
