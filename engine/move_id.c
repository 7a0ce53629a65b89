/* move_id.c - the stable number of every play.
 *
 * The list of ids is not stored: move_init asks the generator for every play of the whole deck
 * under the rulesets that together know them all, and sorts the union. From cards to id goes
 * through a hash table with linear probing; from id to cards through the sorted list.      */
#include "engine/move.h"
#include "engine/movegen.h"
#include <stddef.h>

enum { HASH_BITS = 17, HASH_SIZE = 1 << HASH_BITS, MAX_GENERATED = 90000 };

static Hand by_id[MAX_GENERATED]; /* the first N_MOVE_IDS stay; the rest is room for duplicates */
static Hand scratch[MAX_GENERATED];
static uint16_t by_hash[HASH_SIZE]; /* 0: empty */
static bool ready;

static uint32_t hash(Hand cards) {
    return (uint32_t)(cards * 0x9e3779b97f4a7c15ull >> (64 - HASH_BITS));
}

/* One stable counting sort by the number of cards of a rank. */
static void sort_by_rank(const Hand *in, Hand *out, int n, int rank) {
    int at[6] = {0};
    for (int i = 0; i < n; i++) at[hand_count(in[i], rank) + 1]++;
    for (int c = 1; c < 6; c++) at[c] += at[c - 1];
    for (int i = 0; i < n; i++) out[at[hand_count(in[i], rank)]++] = in[i];
}

/* Sorts by the number of 3s, then of 4s, ... : least significant rank first. */
static void sort_all(int n) {
    for (int rank = N_RANKS - 1; rank >= 0; rank--) {
        sort_by_rank(by_id, scratch, n, rank);
        __builtin_memcpy(by_id, scratch, (size_t)n * sizeof *by_id);
    }
}

static int drop_duplicates(int n) {
    int kept = 1;
    for (int i = 1; i < n; i++)
        if (by_id[i] != by_id[kept - 1]) by_id[kept++] = by_id[i];
    return kept;
}

void move_init(void) {
    static const RulesetId sources[] = {RULES_DOUZERO, RULES_BOTZONE, RULES_BOTZONE1};
    if (ready) return;
    int n = 1;
    by_id[0] = 0; /* pass */
    for (int i = 0; i < 3; i++) n += movegen_leads(ruleset_get(sources[i]), HAND_FULL, by_id + n);
    sort_all(n);
    n = drop_duplicates(n);
    if (n != N_MOVE_IDS) __builtin_trap(); /* ids are for ever: never go on with other ones */
    for (int id = 1; id < n; id++) {
        uint32_t h = hash(by_id[id]);
        while (by_hash[h]) h = (h + 1) % HASH_SIZE;
        by_hash[h] = (uint16_t)id;
    }
    ready = true;
}

uint16_t move_id(Hand cards) {
    if (cards == 0) return MOVE_ID_PASS;
    for (uint32_t h = hash(cards); by_hash[h]; h = (h + 1) % HASH_SIZE)
        if (by_id[by_hash[h]] == cards) return by_hash[h];
    return MOVE_ID_NONE;
}

Hand move_from_id(uint16_t id) { return by_id[id]; }
