/* Any string is a hand, a move or an error; what was read is written canonically, and that text
 * reads as the same cards. Moves that are read are typed, named and generated alike.        */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "engine/movegen.h"
#include "engine/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lists(const Hand *list, int n, Hand move) {
    for (int i = 0; i < n; i++)
        if (list[i] == move) return true;
    return false;
}

/* Under every ruleset: the generator lists a set of cards as a lead of itself iff it is a play. */
static void check_move(Hand cards) {
    Hand leads[MOVEGEN_MAX];
    if (cards == 0 || hand_size(cards) > 20) return;
    bool any = false;
    for (int r = 0; r < N_RULESETS; r++) {
        const Ruleset *rules = ruleset_get((RulesetId)r);
        bool play = move_classify(rules, cards).type != MOVE_NONE;
        assert(lists(leads, movegen_leads(rules, cards, leads), cards) == play);
        any |= play;
    }
    assert((move_id(cards) != MOVE_ID_NONE) == any);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Hand h, again;
    char canonical[TEXT_MAX];
    int bad = -1;
    char *s = malloc(size + 1);
    if (!s) return 0;
    memcpy(s, data, size);
    s[size] = '\0';
    move_init();
    Status st = text_to_hand(s, &h, &bad);
    if (st == ST_OK) {
        assert(hand_valid(h));
        assert(text_from_hand(h, canonical) == hand_size(h));
        assert(text_to_hand(canonical, &again, NULL) == ST_OK && again == h);
        check_move(h);
    } else {
        assert(st == ST_PARSE || st == ST_INVALID);
        assert(bad >= 0 && (size_t)bad < strlen(s));
    }
    Status as_move = text_to_move(s, &again, NULL);
    assert(as_move == st || (as_move == ST_OK && again == 0));
    free(s);
    return 0;
}
