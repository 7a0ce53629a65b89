/* Any lines to the player for Botzone's judge: it answers each with a JSON object whose response is
 * a bid or a list of different cards, and a request that it understands with a legal play. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "actors/botzone.h"
#include "actors/botzone_view.h"
#include "engine/base/log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Botzone *bot;

static void set_up(void) {
    static Policy *policy;
    move_init();
    log_level(LOG_NONE);
    assert(policy_open("rule", RULES_BOTZONE, PRECISION_FP32, true, &policy) == ST_OK);
    BotzoneConfig c = {.policy = policy, .rules = RULES_BY_SHAPE, .seed = 1};
    assert(botzone_new(&c, &bot) == ST_OK);
}

/* A whole input whose last request makes sense: the answer must be legal. */
static void check_legal(const json_t *input, const json_t *response) {
    const json_t *requests = json_object_get(input, "requests");
    const json_t *responses = json_object_get(input, "responses");
    static BotzoneView v;
    const char *why;
    if (!json_is_array(requests) || !json_is_array(responses)) return;
    if (botzone_view(requests, responses, RULES_BY_SHAPE, &v, &why) != ST_OK) return;
    assert(game_validate(&v.game, NULL));
    if (v.game.phase == PHASE_BID) {
        assert(game_bid(&v.game, (int)json_integer_value(response), NULL) == ST_OK);
        return;
    }
    Hand play = 0;
    for (size_t i = 0; i < json_array_size(response); i++) {
        int id = (int)json_integer_value(json_array_get(response, i));
        assert(cardlist_has(&v.left, id));
        play += hand_of(card_rank(id), 1);
    }
    assert(game_play(&v.game, play, NULL) == ST_OK);
}

static void check_answer(const char *line, size_t n) {
    json_t *answer = json_loads(botzone_answer(bot, line, n, 0), 0, NULL);
    json_t *response = json_object_get(answer, "response");
    uint64_t seen = 0;
    assert(response);
    assert(json_is_array(response) ||
           (json_integer_value(response) >= 0 && json_integer_value(response) <= 3));
    for (size_t i = 0; i < json_array_size(response); i++) {
        json_int_t id = json_integer_value(json_array_get(response, i));
        assert(id >= 0 && id < N_CARDS && !(seen >> id & 1));
        seen |= 1ull << id;
    }
    json_t *input = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(input)) check_legal(input, response);
    json_decref(input);
    json_decref(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!bot) set_up();
    botzone_answer(bot, "{\"requests\":[]}", 15, 0); /* forget the game before */
    const char *at = (const char *)data, *end = at + size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);
        check_answer(at, n);
        at += n + 1;
    }
    return 0;
}
