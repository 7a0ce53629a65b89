/* encode.c - from a game to what its acting seat knows, and from that to 0/1 vectors.
 *
 * Everything is read from public fields of the game, the seat's own hand, and the sum of the other
 * two hands: never from one hidden hand alone.                                               */
#include "nets/encode.h"

#include <assert.h>
#include <string.h>

/* The last play of a role, 0 if it passed or has not played. Roles move in turn from the landlord
 * on, so a role's moves are every third one.                                                 */
static Hand last_play(const Game *g, int role) {
    int n = g->n_moves;
    for (int i = n - 1; i >= 0 && i >= n - N_SEATS; i--)
        if (i % N_SEATS == role) return g->moves[i];
    return 0;
}

static void landlord_sets(const Game *g, Hand own, Hand others, Obs *out) {
    int up = game_seat(g, ROLE_LANDLORD_UP), down = game_seat(g, ROLE_LANDLORD_DOWN);
    const Hand sets[] = {own, others, g->to_beat.cards, g->played[up], g->played[down]};
    out->n_sets = sizeof sets / sizeof sets[0];
    memcpy(out->sets, sets, sizeof sets);
    out->onehot[0] = g->left[up];
    out->onehot[1] = g->left[down];
}

static void peasant_sets(const Game *g, int role, Hand own, Hand others, Obs *out) {
    int mate_role = role == ROLE_LANDLORD_UP ? ROLE_LANDLORD_DOWN : ROLE_LANDLORD_UP;
    int mate = game_seat(g, mate_role);
    const Hand sets[] = {own,
                         others,
                         g->played[g->landlord],
                         g->played[mate],
                         g->to_beat.cards,
                         last_play(g, ROLE_LANDLORD),
                         last_play(g, mate_role)};
    out->n_sets = sizeof sets / sizeof sets[0];
    memcpy(out->sets, sets, sizeof sets);
    out->onehot[0] = g->left[g->landlord];
    out->onehot[1] = g->left[mate];
}

void obs_from_game(const Game *g, Obs *out) {
    assert(g->phase == PHASE_PLAY);
    int seat = g->turn, role = game_role(g, seat);
    Hand own = g->hand[seat],
         others = g->hand[(seat + 1) % N_SEATS] + g->hand[(seat + 2) % N_SEATS];
    memset(out, 0, sizeof *out);
    out->role = (uint8_t)role;
    if (role == ROLE_LANDLORD) landlord_sets(g, own, others, out);
    else peasant_sets(g, role, own, others, out);
    out->onehot[2] = g->bombs;

    int n = g->n_moves < OBS_PLAYS ? g->n_moves : OBS_PLAYS;
    memcpy(out->plays + OBS_PLAYS - n, g->moves + g->n_moves - n, (size_t)n * sizeof(Hand));
}

void encode_cards(Hand h, float out[CARDS_DIM]) {
    for (int rank = RANK_3; rank <= RANK_2; rank++)
        for (int i = 0; i < 4; i++) out[4 * rank + i] = i < hand_count(h, rank);
    out[52] = (float)hand_count(h, RANK_B);
    out[53] = (float)hand_count(h, RANK_R);
}

static float *put_onehot(float *x, int width, int index) {
    assert(index >= 0 && index < width);
    for (int i = 0; i < width; i++) x[i] = i == index;
    return x + width;
}

void obs_expand(const Obs *o, Hand action, float *x, float *z) {
    for (int i = 0; i < o->n_sets; i++, x += CARDS_DIM) encode_cards(o->sets[i], x);
    x = put_onehot(x, o->role == ROLE_LANDLORD ? 17 : 20, o->onehot[0] - 1);
    x = put_onehot(x, 17, o->onehot[1] - 1);
    x = put_onehot(x, 15, o->onehot[2]);
    encode_cards(action, x);
    for (int i = 0; i < OBS_PLAYS; i++) encode_cards(o->plays[i], z + i * CARDS_DIM);
}
