/* quantise.h - weights as whole numbers of a few bits, a scale for each row of a matrix. */
#ifndef DIZHU_ACTORS_QUANTISE_H
#define DIZHU_ACTORS_QUANTISE_H
#include "nets/weights.h"

/* levels[n_params]: -(2^(bits-1) - 1) .. 2^(bits-1) - 1 for matrices, in net_layout order; scales:
 * one float a row of each matrix, in the same order (its tensors one after another); vectors are
 * not touched. The scale of a row is the one with the least squared error of a few that are tried.
 */
void quantise_role(Role role, const float *params, int bits, int8_t *levels, float *scales);
/* Rows of all matrices of a role. */
size_t quantise_rows(Role role);
/* What the numbers stand for, over the matrices of params. */
void quantise_undo(Role role, const int8_t *levels, const float *scales, float *params);

#endif
