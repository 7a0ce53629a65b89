#include "learner/samples.h"

typedef struct {
    const SampleRules *rules;
    GameSamples *out;
} Visit;

static void visit_decision(void *ctx, const Game *g, int index, Hand move) {
    Visit *v = ctx;
    Hand legal[MOVEGEN_MAX];
    (void)index;
    v->out->n_decisions[game_role(g, g->turn)]++;
    if (v->rules->unforced_only && game_legal(g, legal) == 1) return;
    Sample *s = &v->out->sample[v->out->n++];
    obs_from_game(g, &s->obs);
    s->action = move;
    s->weight = 1;
}

Status samples_from_record(const SampleRules *rules, const Record *r, GameSamples *out,
                           const char **why) {
    if (r->ruleset != rules->ruleset) return ST_MISMATCH;
    Visit v = {rules, out};
    Game end;
    int at;
    out->n = 0;
    for (int role = 0; role < N_ROLES; role++) out->n_decisions[role] = 0;
    TRY(record_replay(r, &end, visit_decision, &v, why, &at));
    if (end.phase == PHASE_VOID) {
        out->n = 0;
        return ST_OK;
    }
    float target[N_ROLES];
    for (int role = 0; role < N_ROLES; role++) {
        out->seat[role] = game_seat(&end, role);
        target[role] = game_return(&end, rules->objective, (Role)role);
    }
    for (int i = 0; i < out->n; i++) out->sample[i].target = target[out->sample[i].obs.role];
    return ST_OK;
}
