/* review.c - a finished game's review as messages (docs/protocol.md). think.c has the thinking. */
#include "server/review.h"
#include "server/view.h"

enum { ITEMS_A_MESSAGE = 16 };

static void write_choice(JsonOut *o, const Table *t, int seat, const Choice *best) {
    uint8_t points = (uint8_t)best->points;
    if (best->points >= 0) jsonout_ints(o, "best", &points, 1);
    else view_write_hand_cards(o, "best", t, seat, best->cards);
}

static void write_item(JsonOut *o, const Table *t, const ReviewItem *e) {
    jsonout_open(o, NULL, '{');
    jsonout_int(o, "ply", e->ply);
    jsonout_int(o, "seat", e->seat);
    jsonout_int(o, "legal", e->n_legal);
    jsonout_real(o, "win", (double)e->made.win);
    jsonout_real(o, "exp", (double)e->made.exp);
    write_choice(o, t, e->seat, &e->best);
    jsonout_real(o, "best_win", (double)e->best.win);
    jsonout_real(o, "best_exp", (double)e->best.exp);
    jsonout_real(o, "loss", (double)e->loss);
    jsonout_close(o, '}');
}

static int seat_of_user(Lobby *l, uint64_t game, uint64_t user) {
    StoreGame g;
    if (reader_game(l->reader, game, &g) != ST_OK) return -1;
    for (int s = 0; s < N_SEATS; s++)
        if (g.seat[s].user == user) return s;
    return -1;
}

static void write_verdict(JsonOut *o, const Job *j, int seat) {
    const ReviewItem *worst = NULL;
    jsonout_open(o, "agree", '[');
    for (int s = 0; s < N_SEATS; s++) jsonout_real(o, NULL, j->agree[s]);
    jsonout_close(o, ']');
    for (int i = 0; i < j->n_items; i++)
        if (j->items[i].seat == seat && j->items[i].loss > 0 &&
            (!worst || j->items[i].loss > worst->loss))
            worst = &j->items[i];
    if (!worst) {
        jsonout_null(o, "worst");
        return;
    }
    jsonout_open(o, "worst", '{');
    jsonout_int(o, "ply", worst->ply);
    jsonout_real(o, "loss", (double)worst->loss);
    jsonout_close(o, '}');
}

/* The items in parts; each is written over the table as it was at its ply. */
void review_send(Session *s, const Job *j) {
    const Table *t = j->table;
    int seat = seat_of_user(s->lobby, t->setup.number, s->user), i = 0, ply = 0;
    Table at;
    table_init(&at, &t->setup);
    while (i < j->n_items && j->items[i].ply < j->from) i++;
    do {
        JsonOut o;
        msg_begin(&o, "review");
        jsonout_str(&o, "game", t->id);
        jsonout_open(&o, "items", '[');
        for (int n = 0; i < j->n_items && n < ITEMS_A_MESSAGE; i++, n++) {
            for (; ply < j->items[i].ply; ply++) {
                StoreAct a = table_act(t, ply);
                table_redo(&at, &a);
            }
            write_item(&o, &at, &j->items[i]);
        }
        jsonout_close(&o, ']');
        jsonout_bool(&o, "done", i == j->n_items);
        if (i == j->n_items) write_verdict(&o, j, seat);
        session_send(s, msg_end(&o));
    } while (i < j->n_items);
}
