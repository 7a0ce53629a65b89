/* material.h - something to learn from, for benches: random games, as records and as samples. */
#ifndef DIZHU_LEARNER_MATERIAL_H
#define DIZHU_LEARNER_MATERIAL_H
#include "learner/samples.h"

typedef struct Material Material;
/* n games of the douzero ruleset. */
Status material_new(int n, Material **out);
void material_free(Material *m); /* NULL is allowed */

/* Samples of game i (counted round and round), borrowed until the next material_decode. */
void material_game(const Material *m, size_t i, const Sample **samples, int *n);
/* The first `n` samples of a role; fewer if there are not so many. Returns how many. */
int material_of_role(const Material *m, Role role, int n, Sample *out);
/* From now on decode all decisions, or those with a choice. */
void material_unforced(Material *m, bool unforced);
/* Once more from records to samples, as the inbox does it; returns the decisions in them. */
uint64_t material_decode(Material *m);
/* Samples to decisions at the last decoding. */
double material_share(const Material *m);

#endif
