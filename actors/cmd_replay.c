/* dizhu replay: shows the games of a record file move by move, or checks them all. */
#include "actors/commands.h"
#include "actors/record_json.h"
#include "engine/base/options.h"
#include "engine/recordfile.h"
#include "engine/text.h"
#include <inttypes.h>
#include <stdio.h>

typedef struct {
    uint64_t first, count; /* games to show: places in the file, from 0 */
    int64_t game;          /* the index to show; -1: any */
    bool check, json;
} ReplayOptions;

typedef struct {
    int64_t games, shown, moves, landlord_won, void_deals, bytes;
} Totals;

static const char *const role_texts[] = {"landlord", "landlord_down", "landlord_up"};

static void show_move(void *ctx, const Game *g, int index, Hand move) {
    const Record *r = ctx;
    char hand[TEXT_MAX], text[TEXT_MAX];
    text_from_hand(g->hand[g->turn], hand);
    text_from_move(move, text);
    bool explored = r->explored[index / 8] >> index % 8 & 1;
    printf("  %3d %-13s %-20s %s%s\n", index + 1, role_texts[game_role(g, g->turn)], text, hand,
           explored ? "  (explored)" : "");
}

static void show_head(const Record *r, uint64_t place) {
    static const char *const owners[] = {"seat 0", "seat 1", "seat 2", "public"};
    printf("%" PRIu64 ": game %" PRIu64 ", %s, weights %u %u %u\n", place, r->game,
           ruleset_get((RulesetId)r->ruleset)->name, r->version[0], r->version[1], r->version[2]);
    for (int owner = 0; owner < 4; owner++) {
        char text[TEXT_MAX];
        Hand h = 0;
        for (int c = 0; c < N_CARDS; c++)
            if (r->deal.owner[c] == owner) h += hand_of(card_rank(c), 1);
        text_from_hand(h, text);
        printf("  %s %s\n", owners[owner], text);
    }
    for (int i = 0; i < r->n_bids; i++)
        printf("  seat %d bids %d\n", (r->first_bidder + i) % N_SEATS, r->bids[i]);
}

static void show_end(const Game *g) {
    double score[N_SEATS];
    if (g->phase == PHASE_VOID) {
        puts("  nobody bid: void\n");
        return;
    }
    game_scores(g, score);
    printf("  %s wins", game_landlord_won(g) ? "the landlord" : "the peasants' side");
    int n = game_doublings(g);
    if (n) printf(", %d doubling%s", n, n == 1 ? "" : "s");
    printf("; scores %g %g %g\n\n", score[0], score[1], score[2]);
}

static void show_json(const Record *r) {
    json_t *o = record_to_json(r);
    json_dumpf(o, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(o);
}

static bool wanted(const ReplayOptions *o, const Record *r, uint64_t place) {
    if (o->check) return false;
    if (o->game >= 0) return r->game == (uint64_t)o->game;
    return place >= o->first && place - o->first < o->count;
}

/* Replays a record, shown or not; an illegal one is an error. */
static Status replay(const ReplayOptions *o, const Record *r, uint64_t place, Totals *t) {
    const char *why = "";
    uint8_t bytes[RECORD_MAX_BYTES];
    int at = 0;
    Game end;
    bool show = wanted(o, r, place), text = show && !o->json;
    if (text) show_head(r, place);
    Status st = record_replay(r, &end, text ? show_move : NULL, (void *)r, &why, &at);
    if (st != ST_OK) {
        fflush(stdout);
        fprintf(stderr, "dizhu: replay: game %" PRIu64 " at place %" PRIu64 ", move %d: %s\n",
                r->game, place, at + 1, why);
        return st;
    }
    if (text) show_end(&end);
    else if (show) show_json(r);
    t->games++;
    t->shown += show;
    t->moves += end.n_moves;
    t->landlord_won += game_landlord_won(&end);
    t->void_deals += end.phase == PHASE_VOID;
    t->bytes += (int64_t)record_write(r, bytes);
    return ST_OK;
}

static Status replay_file(const ReplayOptions *o, const char *path, Totals *t) {
    RecordReader *reader;
    TRY(recordreader_open(path, &reader));
    Status st = ST_OK;
    bool end = false;
    for (uint64_t place = 0; st == ST_OK; place++) {
        Record r;
        if (!o->check && o->game < 0 && place >= o->first && place - o->first >= o->count) break;
        if ((st = recordreader_next(reader, &r, &end)) != ST_OK || end) break;
        st = replay(o, &r, place, t);
    }
    recordreader_close(reader);
    return st;
}

static void print_totals(const Totals *t, bool json) {
    double played = (double)(t->games - t->void_deals), moves = (double)t->moves;
    double rate = played > 0 ? (double)t->landlord_won / played : 0;
    double bytes = moves > 0 ? (double)t->bytes / moves : 0;
    printf(json ? "{\"games\":%lld,\"void\":%lld,\"decisions\":%lld,\"landlord_won\":%.6f,"
                  "\"bytes_per_decision\":%.4f}\n"
                : "%lld games, %lld of them void, %lld decisions, landlord won %.4f, "
                  "%.2f bytes a decision; all legal\n",
           (long long)t->games, (long long)t->void_deals, (long long)t->moves, rate, bytes);
}

int cmd_replay(int argc, char **argv) {
    ReplayOptions o = {.count = 1, .game = -1};
    int game = -1;
    const Option options[] = {
        {"first", OPT_U64, &o.first, "place in the file of the first game shown", 0, 0, NULL,
         false},
        {"count", OPT_U64, &o.count, "games to show", 0, 0, NULL, false},
        {"game", OPT_INT, &game, "show the games of this index instead", -1, 2e9, NULL, false},
        {"check", OPT_FLAG, &o.check, "show none: replay all and print totals", 0, 0, NULL, false},
        {"json", OPT_FLAG, &o.json, "one JSON object a game, or of totals", 0, 0, NULL, true},
        {0}};
    const Command c = {.usage = "dizhu replay FILE [options]",
                       .about = "Shows games of a record file, every move checked by the rules.",
                       .options = options,
                       .min_args = 1,
                       .max_args = 1};
    int n_args;
    bool done;
    if (options_parse(&c, argc, argv, &n_args, &done) != ST_OK) return 2;
    if (done) return 0;
    o.game = game;
    Totals t = {0};
    if (replay_file(&o, argv[1], &t) != ST_OK) return 1;
    if (o.check) print_totals(&t, o.json);
    else if (t.shown == 0) {
        fprintf(stderr, "dizhu: replay: %s has no such game\n", argv[1]);
        return 1;
    }
    return 0;
}
