/* bench_engine.c - the engine's rows of `dizhu bench`.
 *
 * The positions are those of random games under `douzero`: leads are opening hands of 20 cards,
 * answers are what seats were asked in play. All work is done on one thread.                */
#include "engine/bench_engine.h"
#include "engine/movegen_ref.h"
#include "engine/perft.h"
#include "engine/playout.h"
#include "engine/recordfile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N_HANDS = 4096, N_ANSWERS = 65536, N_GAMES = 4096, PERFT_DEPTH = 6 };
/* Repetitions are shorter than a time slice: on a busy machine the median is that of the work. */
enum { N_PLAYED = 256, N_REF = 8 };

typedef struct {
    Hand hand;
    Move last;
} Answer;

typedef struct {
    Hand lead[N_HANDS];
    Answer answer[N_ANSWERS];
    Record record[N_GAMES];
    uint8_t *bytes; /* the records, one after another */
    size_t n_bytes, decisions;
    uint64_t next_game;
    Game perft_start;
    char path[64];
    uint64_t sink; /* results end here, so that no work is optimised away */
} Work;

static void random_game(RulesetId rules, uint64_t index, Deal *d, Game *g) {
    Rng rng;
    deal_random(71, index, d);
    rng_init(&rng, 72, index);
    game_init(g, rules, d, 0);
    playout_random(g, &rng);
}

static void keep_answer(void *ctx, const Game *g, int index, Hand move) {
    Work *w = ctx;
    (void)index, (void)move;
    if (g->to_beat.cards && w->sink < N_ANSWERS)
        w->answer[w->sink++] = (Answer){g->hand[g->turn], g->to_beat};
}

static Status prepare(Work *w) {
    w->bytes = malloc((size_t)N_GAMES * RECORD_MAX_BYTES);
    if (!w->bytes) return ST_NOMEM;
    for (uint64_t i = 0; i < N_GAMES; i++) {
        Record *r = &w->record[i];
        Game g, end;
        random_game(RULES_DOUZERO, i, &r->deal, &g);
        r->game = i;
        record_from_game(r, &g);
        w->lead[i % N_HANDS] = g.dealt[0] + g.bottom;
        w->decisions += g.n_moves;
        w->n_bytes += record_write(r, w->bytes + w->n_bytes);
        record_replay(r, &end, keep_answer, w, NULL, NULL);
    }
    Deal d;
    deal_random(95, 0, &d);
    game_init(&w->perft_start, RULES_DOUZERO, &d, 0);
    snprintf(w->path, sizeof w->path, "/tmp/dizhu-bench-%d.games", (int)getpid());
    return w->sink == N_ANSWERS ? ST_OK : ST_INVALID;
}

static double play_games(void *ctx) {
    Work *w = ctx;
    for (int i = 0; i < N_PLAYED; i++) {
        Deal d;
        Game g;
        random_game(RULES_DOUZERO, w->next_game++, &d, &g);
        w->sink += g.n_moves;
    }
    return N_PLAYED;
}

static double count_decisions(void *ctx) {
    Work *w = ctx;
    uint64_t before = w->sink;
    play_games(w);
    return (double)(w->sink - before);
}

static double list_leads(void *ctx) {
    Work *w = ctx;
    Hand out[MOVEGEN_MAX];
    for (int i = 0; i < N_HANDS; i++)
        w->sink += (uint64_t)movegen_leads(ruleset_get(RULES_DOUZERO), w->lead[i], out);
    return N_HANDS;
}

static double list_answers(void *ctx) {
    Work *w = ctx;
    Hand out[MOVEGEN_MAX];
    const Ruleset *rules = ruleset_get(RULES_DOUZERO);
    for (int i = 0; i < N_ANSWERS; i++) {
        const Answer *a = &w->answer[i];
        w->sink += (uint64_t)movegen_answers(rules, a->hand, &a->last, out);
    }
    return N_ANSWERS;
}

static double filter_leads(void *ctx) {
    Work *w = ctx;
    Hand out[MOVEGEN_MAX];
    for (int i = 0; i < N_REF; i++)
        w->sink += (uint64_t)movegen_ref(ruleset_get(RULES_DOUZERO), w->lead[i], NULL, out);
    return N_REF;
}

static double filter_answers(void *ctx) {
    Work *w = ctx;
    Hand out[MOVEGEN_MAX];
    const Ruleset *rules = ruleset_get(RULES_DOUZERO);
    for (int i = 0; i < N_REF; i++) {
        const Answer *a = &w->answer[i * (N_ANSWERS / N_REF)];
        w->sink += (uint64_t)movegen_ref(rules, a->hand, &a->last, out);
    }
    return N_REF;
}

static double walk_perft(void *ctx) {
    Work *w = ctx;
    return (double)perft(&w->perft_start, PERFT_DEPTH);
}

static double write_records(void *ctx) {
    Work *w = ctx;
    uint8_t *p = w->bytes;
    for (int i = 0; i < N_GAMES; i++) p += record_write(&w->record[i], p);
    return N_GAMES;
}

static double read_records(void *ctx) {
    Work *w = ctx;
    Record r;
    size_t used = 0;
    for (size_t at = 0; at < w->n_bytes; at += used) {
        if (record_read(w->bytes + at, w->n_bytes - at, &r, &used) != ST_OK) abort();
        w->sink += r.n_moves;
    }
    return N_GAMES;
}

static double replay_records(void *ctx) {
    Work *w = ctx;
    Game end;
    for (int i = 0; i < N_PLAYED; i++) {
        const Record *r = &w->record[w->next_game++ % N_GAMES];
        if (record_replay(r, &end, NULL, NULL, NULL, NULL) != ST_OK) abort();
        w->sink += end.n_moves;
    }
    return N_PLAYED;
}

static Status write_file(Work *w) {
    RecordWriter *f;
    size_t at = 0, used = 0;
    Record r;
    unlink(w->path);
    TRY(recordwriter_open(w->path, &f));
    for (Status st = ST_OK; at < w->n_bytes; at += used) {
        record_read(w->bytes + at, w->n_bytes - at, &r, &used);
        st = recordwriter_add(f, w->bytes + at, used);
        if (st != ST_OK) {
            recordwriter_close(f);
            return st;
        }
    }
    return recordwriter_close(f);
}

static double time_write_file(void *ctx) {
    Work *w = ctx;
    if (write_file(w) != ST_OK) return 0;
    return (double)w->n_bytes / 1e6;
}

static double time_read_file(void *ctx) {
    Work *w = ctx;
    RecordReader *f;
    if (recordreader_open(w->path, &f) != ST_OK) return 0;
    for (bool end = false; !end;) {
        Record r;
        if (recordreader_next(f, &r, &end) != ST_OK) abort();
        if (!end) w->sink += r.n_moves;
    }
    recordreader_close(f);
    return (double)w->n_bytes / 1e6;
}

static void generation(Bench *b, Work *w) {
    bench_time(b, "random games with move generation", "games/s", play_games, w, 0, 0);
    bench_time(b, "the same", "decisions/s", count_decisions, w, 0, 0);
    double leads_ref =
        bench_time(b, "leads of 20 cards, by filter", "calls/s", filter_leads, w, 0, 0);
    double leads = bench_time(b, "leads of 20 cards", "calls/s", list_leads, w, leads_ref, 0);
    bench_value(b, "the same", "ns/call", 1e9 / leads, 0, 0);
    double answers_ref = bench_time(b, "answers, by filter", "calls/s", filter_answers, w, 0, 0);
    double answers = bench_time(b, "answers", "calls/s", list_answers, w, answers_ref, 0);
    bench_value(b, "the same", "ns/call", 1e9 / answers, 0, 0);
    bench_time(b, "perft", "nodes/s", walk_perft, w, 0, 0);
}

static void records(Bench *b, Work *w) {
    bench_value(b, "record size", "bytes/decision", (double)w->n_bytes / (double)w->decisions, 0,
                0);
    bench_time(b, "records written to bytes", "records/s", write_records, w, 0, 0);
    bench_time(b, "records read from bytes", "records/s", read_records, w, 0, 0);
    bench_time(b, "games replayed and checked", "games/s", replay_records, w, 0, 0);
    bench_time(b, "record file written, zstd and fsync", "MB/s", time_write_file, w, 0, 0);
    bench_time(b, "record file read", "MB/s", time_read_file, w, 0, 0);
}

Status bench_engine(Bench *b) {
    Work *w = calloc(1, sizeof *w);
    if (!w) return ST_NOMEM;
    move_init();
    Status st = prepare(w);
    if (st == ST_OK) st = write_file(w);
    if (st == ST_OK) {
        generation(b, w);
        records(b, w);
    }
    unlink(w->path);
    free(w->bytes);
    free(w);
    return st;
}
