/* Any bytes are a record or an error. A record that was read is written back the same; one that
 * replays is a valid game, from which the same record follows.                              */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void validate(void *ctx, const Game *g, int index, Hand move) {
    const char *why;
    (void)ctx, (void)move;
    assert(index == g->n_moves);
    assert(game_validate(g, &why));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Record r, again;
    uint8_t bytes[RECORD_MAX_BYTES];
    size_t used;
    Game end;
    move_init();
    if (record_read(data, size, &r, &used) != ST_OK) return 0;
    assert(used <= size);
    size_t n = record_write(&r, bytes);
    assert(n == used && memcmp(bytes, data, n) == 0);
    if (record_replay(&r, &end, validate, NULL, NULL, NULL) != ST_OK) return 0;
    assert(game_validate(&end, NULL));
    again = r;
    record_from_game(&again, &end);
    assert(memcmp(&again, &r, sizeof r) == 0);
    return 0;
}
