/* export_side.c - the rules of the exported bot behind a plain interface: test_export.c compares
 * them with the engine's, whose names they share. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/export/10_types.c"
#include "actors/export/20_rules.c"

#include "tests/actors/export_side.h"

int side_legal(uint64_t hand, uint64_t last, int old_game, uint64_t *out) {
    Play p = last ? classify(last, old_game) : play_of(0, PLAY_NONE, 0, 0);
    return legal_plays(hand, &p, old_game, out);
}

int side_is_play(uint64_t cards, int old_game) {
    return classify(cards, old_game).type != PLAY_NONE;
}

/* What the rest of the bot uses of its types. */
int side_unused(void) {
    Cards c;
    c.n = 0;
    return cards_have(&c, 1) + (int)cards_hand(&c) + hand_count(0, 1);
}
