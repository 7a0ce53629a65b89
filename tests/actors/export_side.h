/* export_side.h - see export_side.c. */
#ifndef DIZHU_TESTS_ACTORS_EXPORT_SIDE_H
#define DIZHU_TESTS_ACTORS_EXPORT_SIDE_H
#include <stdint.h>

int side_legal(uint64_t hand, uint64_t last, int old_game, uint64_t *out);
int side_is_play(uint64_t cards, int old_game);
int side_unused(void);

#endif
