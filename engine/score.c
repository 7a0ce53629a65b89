/* score.c - what a finished game is worth, to the arena and to the learner. */
#include "engine/game.h"

static const char *const objective_names[N_OBJECTIVES] = {"wp", "adp", "logadp", "score"};

const char *objective_name(Objective o) { return objective_names[o]; }

int objective_find(const char *name) {
    for (int o = 0; o < N_OBJECTIVES; o++) {
        const char *a = objective_names[o], *b = name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return o;
    }
    return -1;
}

bool game_landlord_won(const Game *g) { return g->phase == PHASE_OVER && g->turn == g->landlord; }

bool game_spring(const Game *g) {
    return game_landlord_won(g) && g->n_plays[game_seat(g, ROLE_LANDLORD_DOWN)] == 0 &&
           g->n_plays[game_seat(g, ROLE_LANDLORD_UP)] == 0;
}

bool game_anti_spring(const Game *g) {
    return g->phase == PHASE_OVER && !game_landlord_won(g) && g->n_plays[g->landlord] == 1;
}

int game_doublings(const Game *g) {
    bool spring = ruleset_get(g->ruleset)->spring && (game_spring(g) || game_anti_spring(g));
    return g->bombs + spring;
}

static double power_of_two(int n) { return (double)(1u << n); }

/* Winners 2, losers 0, plus own small points / 100; the peasants share their mean. */
static void score_points(const Game *g, double score[N_SEATS]) {
    bool won = game_landlord_won(g);
    int down = game_seat(g, ROLE_LANDLORD_DOWN), up = game_seat(g, ROLE_LANDLORD_UP);
    score[g->landlord] = (won ? 2 : 0) + g->points[g->landlord] / 100.0;
    score[down] = score[up] = (won ? 0 : 2) + (g->points[down] + g->points[up]) / 200.0;
}

void game_scores(const Game *g, double score[N_SEATS]) {
    ScoreKind kind = ruleset_get(g->ruleset)->score;
    for (int s = 0; s < N_SEATS; s++) score[s] = 0;
    if (g->phase != PHASE_OVER) return;
    if (kind == SCORE_POINTS) {
        score_points(g, score);
        return;
    }
    double base = kind == SCORE_STAKES && g->bid > 1 ? g->bid : 1;
    double stake = base * power_of_two(game_doublings(g)) * (game_landlord_won(g) ? 1 : -1);
    for (int s = 0; s < N_SEATS; s++) score[s] = s == g->landlord ? 2 * stake : -stake;
}

float game_return(const Game *g, Objective o, Role role) {
    if (g->phase != PHASE_OVER) return 0;
    if (o == OBJECTIVE_SCORE) {
        double score[N_SEATS];
        game_scores(g, score);
        return (float)score[game_seat(g, (int)role)];
    }
    double size = o == OBJECTIVE_WP    ? 1
                  : o == OBJECTIVE_ADP ? power_of_two(g->bombs)
                                       : g->bombs + 1;
    return (float)(game_landlord_won(g) == (role == ROLE_LANDLORD) ? size : -size);
}
