/* torch_peer.c - the C side of torch_interop.py: random positions, and what a weights file says of
 * them.
 *   torch_peer write DIR      DIR/fp32 bf16 int8 (fresh random weights), DIR/SEAT.x and SEAT.z:
 *                             features of 64 positions, raw fp32
 *   torch_peer values FILE    for each seat and position of DIR (that of FILE): a line "SEAT q"  */
#include "engine/base/rng.h"
#include "engine/game.h"
#include "nets/ref_net.h"
#include "nets/weights.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POSITIONS = 64, SEED = 17 };

typedef struct {
    float x[X_DIM_MAX], z[OBS_STEPS * STEP_DIM];
} Features;

/* Position i of a role: the last decision of that role in the first i + 1 moves of a random game.
 */
static void position(Role role, int i, Features *out) {
    static Hand legal[MOVEGEN_MAX];
    Deal deal;
    Game g;
    Rng rng;
    rng_init(&rng, SEED, (uint64_t)i);
    deal_random(SEED, (uint64_t)i, &deal);
    game_init(&g, RULES_DOUZERO, &deal, 0);
    for (int m = 0; g.phase == PHASE_PLAY && m < i + N_ROLES; m++) {
        Hand action = legal[rng_below(&rng, (uint32_t)game_legal(&g, legal))];
        if (game_role(&g, g.turn) == (int)role) {
            Obs o;
            obs_from_game(&g, &o);
            obs_expand(&o, action, out->x, out->z);
        }
        game_apply(&g, action);
    }
}

static int write_all(const char *dir) {
    Weights w;
    if (weights_new(&w) != ST_OK) return 1;
    snprintf(w.info.command, sizeof w.info.command, "torch_peer");
    for (int r = 0; r < N_ROLES; r++) {
        char path[2][4096];
        snprintf(path[0], sizeof path[0], "%s/%s.x", dir, role_name(r));
        snprintf(path[1], sizeof path[1], "%s/%s.z", dir, role_name(r));
        FILE *x = fopen(path[0], "wb"), *z = fopen(path[1], "wb");
        if (!x || !z) return 1;
        for (int i = 0; i < POSITIONS; i++) {
            Features f;
            position(r, i, &f);
            fwrite(f.x, sizeof(float), (size_t)obs_x_dim(r) + CARDS_DIM, x);
            fwrite(f.z, sizeof f.z, 1, z);
        }
        if (fclose(x) || fclose(z)) return 1;
        net_init(r, SEED, w.params[r]);
    }
    for (int d = 0; d < N_DTYPES; d++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, dtype_name(d));
        if (weights_save(&w, d, path) != ST_OK) return 1;
    }
    weights_free(&w);
    return 0;
}

static int print_values(const char *file) {
    Weights w;
    if (weights_load(file, &w) != ST_OK) return 1;
    for (int r = 0; r < N_ROLES; r++) {
        size_t n = net_layout(r)->n_params;
        double *p = malloc(n * sizeof *p);
        if (!p) return 1;
        for (size_t i = 0; w.params[r] && i < n; i++) p[i] = (double)w.params[r][i];
        for (int i = 0; w.params[r] && i < POSITIONS; i++) {
            Features f;
            position(r, i, &f);
            printf("%s %.9g\n", role_name(r), ref_net_forward(r, p, f.x, f.z));
        }
        free(p);
    }
    weights_free(&w);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_all(argv[2]);
    if (argc == 3 && strcmp(argv[1], "values") == 0) return print_values(argv[2]);
    fprintf(stderr, "usage: torch_peer write DIR | values FILE\n");
    return 2;
}
