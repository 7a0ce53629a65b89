/* The game loop takes no memory: calls of the allocator are counted (linked with --wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/playout.h"
#include "engine/record.h"
#include <cmocka.h>
#include <stdlib.h>

/* The linker sends the engine's calls of the allocator here. */
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
static volatile int allocations; /* the compiler thinks that malloc touches no variable */

void *__wrap_malloc(size_t n) {
    allocations++;
    return __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
    allocations++;
    return __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n) {
    allocations++;
    return __real_realloc(p, n);
}

/* Games, records and replays take no memory but their arguments'. */
static void allocates_nothing(void **state) {
    (void)state;
    allocations = 0;
    void *volatile kept = malloc(1); /* volatile: or the compiler leaves it out */
    free(kept);
    assert_int_equal(allocations, 1); /* the counter counts */
    uint64_t h = playout_signature(200);
    for (int i = 0; i < 200; i++) {
        Record r = {0}, back;
        uint8_t bytes[RECORD_MAX_BYTES];
        size_t used;
        Game g, end;
        Rng rng;
        deal_random(45, (uint64_t)i, &r.deal);
        rng_init(&rng, 46, (uint64_t)i);
        game_init(&g, (RulesetId)(i % N_RULESETS), &r.deal, i % 3);
        playout_random(&g, &rng);
        record_from_game(&r, &g);
        if (record_read(bytes, record_write(&r, bytes), &back, &used) == ST_OK)
            h += record_replay(&back, &end, NULL, NULL, NULL, NULL);
    }
    assert_int_equal(allocations, 1);
    assert_int_not_equal(h, 0);
}

int main(void) {
    move_init();
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocates_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
