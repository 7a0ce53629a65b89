/* movegen_ref.c - legal plays by asking of every play there is whether it is one. */
#include "engine/movegen_ref.h"

int movegen_ref(const Ruleset *rules, Hand hand, const Move *last, Hand out[MOVEGEN_MAX]) {
    int n = 0;
    for (int id = 1; id < N_MOVE_IDS; id++) {
        Hand cards = move_from_id((uint16_t)id);
        if (!hand_contains(hand, cards)) continue;
        Move m = move_classify(rules, cards);
        if (m.type != MOVE_NONE && (!last || move_beats(&m, last))) out[n++] = cards;
    }
    return n;
}
