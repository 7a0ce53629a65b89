#include "learner/material.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 1 };

struct Material {
    int n_games;
    uint8_t *bytes;
    size_t n_bytes;
    SampleRules rules;
    GameSamples scratch;
    Sample *samples; /* of all games, one after another */
    int *first;      /* [n_games + 1] */
    uint64_t decisions;
};

static void random_record(uint64_t index, Record *r) {
    Hand legal[MOVEGEN_MAX];
    Game g;
    Rng rng;
    *r = (Record){.game = index, .version = {1, 1, 1}};
    rng_init(&rng, SEED + 1, index);
    deal_random(SEED, index, &r->deal);
    game_init(&g, RULES_DOUZERO, &r->deal, 0);
    while (g.phase == PHASE_PLAY)
        game_apply(&g, legal[rng_below(&rng, (uint32_t)game_legal(&g, legal))]);
    record_from_game(r, &g);
}

Status material_new(int n, Material **out) {
    Material *m = calloc(1, sizeof *m);
    if (m == NULL) return ST_NOMEM;
    m->n_games = n;
    m->bytes = malloc((size_t)n * RECORD_MAX_BYTES);
    m->samples = malloc((size_t)n * GAME_MAX_MOVES * sizeof *m->samples);
    m->first = calloc((size_t)n + 1, sizeof *m->first);
    if (m->bytes == NULL || m->samples == NULL || m->first == NULL) {
        material_free(m);
        return ST_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        Record r;
        random_record((uint64_t)i, &r);
        m->n_bytes += record_write(&r, m->bytes + m->n_bytes);
    }
    material_decode(m);
    *out = m;
    return ST_OK;
}

void material_free(Material *m) {
    if (m == NULL) return;
    free(m->bytes);
    free(m->samples);
    free(m->first);
    free(m);
}

void material_game(const Material *m, size_t i, const Sample **samples, int *n) {
    size_t game = i % (size_t)m->n_games;
    *samples = m->samples + m->first[game];
    *n = m->first[game + 1] - m->first[game];
}

int material_of_role(const Material *m, Role role, int n, Sample *out) {
    int found = 0;
    for (int i = 0; i < m->first[m->n_games] && found < n; i++)
        if (m->samples[i].obs.role == role) out[found++] = m->samples[i];
    return found;
}

void material_unforced(Material *m, bool unforced) { m->rules.unforced_only = unforced; }

uint64_t material_decode(Material *m) {
    const char *why;
    Record r;
    Deal deal;
    int game = 0;
    m->decisions = 0;
    for (size_t at = 0, used; at < m->n_bytes; at += used, game++) {
        Status st = record_read(m->bytes + at, m->n_bytes - at, &r, &used);
        if (st == ST_OK) st = samples_from_record(&m->rules, &r, &m->scratch, &why);
        deal_random(SEED, r.game, &deal);
        assert(st == ST_OK && memcmp(&deal, &r.deal, sizeof deal) == 0);
        memcpy(m->samples + m->first[game], m->scratch.sample,
               (size_t)m->scratch.n * sizeof *m->samples);
        m->first[game + 1] = m->first[game] + m->scratch.n;
        m->decisions += r.n_moves;
    }
    return m->decisions;
}

double material_share(const Material *m) {
    return (double)m->first[m->n_games] / (double)m->decisions;
}
