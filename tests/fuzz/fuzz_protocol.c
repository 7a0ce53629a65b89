/* Any bytes from a client: decoded or refused with a reason; what is decoded is in range. */
#include "engine/cards.h"
#include "engine/ruleset.h"
#include "server/protocol.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok) {
    if (!ok) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ClientMessage m;
    const char *code = NULL, *why = NULL;
    if (protocol_decode((const char *)data, size, &m, &code, &why) != ST_OK) {
        check(code && why && m.id >= -1);
        return 0;
    }
    check(m.kind < N_COMMANDS && size <= PROTOCOL_MAX_BYTES);
    check(m.id >= 1 || m.kind == CMD_HELLO || m.kind == CMD_PING);
    check(m.rules == -1 || m.rules == RULES_CLASSIC || m.rules == RULES_DOUZERO);
    check(m.strength >= -1 && m.strength < N_STRENGTHS && m.seat >= -1 && m.seat < 3);
    check(m.points >= -1 && m.points <= 3 && m.think >= -1 && m.think <= 5000);
    check(m.n_cards >= -1 && m.n_cards <= PLAY_CARDS_MAX);
    uint64_t seen = 0;
    for (int i = 0; i < m.n_cards; i++) {
        check(m.cards[i] < N_CARDS && !(seen >> m.cards[i] & 1));
        seen |= 1ull << m.cards[i];
    }
    char name[NAME_BYTES];
    if (*m.name) check(name_clean(m.name, strlen(m.name), name) && strcmp(name, m.name) == 0);
    check(!*m.room || strlen(m.room) == ROOM_CODE_CHARS);
    return 0;
}
