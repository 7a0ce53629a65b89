/* perft.c - counts of move sequences. The last ply is counted, not played. */
#include "engine/perft.h"

uint64_t perft(const Game *g, int depth) {
    if (depth == 0 || g->phase != PHASE_PLAY) return 1;
    Hand moves[MOVEGEN_MAX];
    int n = game_legal(g, moves);
    if (depth == 1) return (uint64_t)n;
    uint64_t total = 0;
    for (int i = 0; i < n; i++) {
        Game next = *g;
        game_apply(&next, moves[i]);
        total += perft(&next, depth - 1);
    }
    return total;
}
