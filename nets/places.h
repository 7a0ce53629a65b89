/* places.h - which rows of a weight matrix a decision adds up.
 *
 * A card set is a thermometer code: n cards of a rank are the first n of its four bits. With rows
 * replaced by prefix sums (row 4r+j := sum of the rank's rows up to j) a set needs one row for each
 * distinct rank instead of one a card: rows_prefix makes them, rows_suffix undoes it for gradients
 * (each prefix row's gradient belongs to all rows in it). Jokers have one bit, hence one row.  */
#ifndef DIZHU_NETS_PLACES_H
#define DIZHU_NETS_PLACES_H
#include "kernels/ops.h"
#include "nets/encode.h"

enum {
    SET_PLACES = N_RANKS,
    STEP_PLACES = 3 * SET_PLACES,                 /* at most, of one LSTM step */
    STATE_PLACES = OBS_MAX_SETS * SET_PLACES + 3, /* at most, of a state */
};

/* Writes the places of one card set whose 54 rows begin at `first`; returns the end. */
uint32_t *places_cards(Hand h, uint32_t first, uint32_t *out);
/* The state part of x: rows 0..x_dim-1. The action's set begins at row x_dim. */
uint32_t *places_state(const Obs *o, uint32_t *out);
/* Step t of the history: rows 0..161. */
uint32_t *places_step(const Obs *o, int t, uint32_t *out);
/* How many steps at the beginning of the history are all zeros: 0..5. */
int places_zero_steps(const Obs *o);

/* Panels of n_rows rows, of which n_sets card sets begin at `first`, 54 rows each. */
void rows_prefix(float *panels, int n_panels, size_t n_rows, size_t first, int n_sets);
void rows_suffix(float *panels, int n_panels, size_t n_rows, size_t first, int n_sets);

#endif
