/* net.h - the value net of one role: its tensors, their order and names, and their first values.
 *
 * z[B][5][162] --LSTM(128)--> h[B][128] --+
 * x[B][X+54] -----------------------------+--> 5 x (Linear 512, relu) --> Linear 1 --> q[B]
 *
 * X is 319 for the landlord, 430 for a peasant; dense1's input is h first, then x. All parameters
 * of a role are one flat fp32 block in the order of PyTorch's state_dict:
 * lstm.weight_ih_l0 [512][162], lstm.weight_hh_l0 [512][128], lstm.bias_ih_l0, lstm.bias_hh_l0
 * (gate order i, f, g, o), dense1.weight [512][128+X+54], dense1.bias, ... dense6.weight [1][512],
 * dense6.bias. 1,457,665 parameters for the landlord, 1,514,497 for each peasant.
 * Source: Zha et al., DouZero, ICML 2021, arXiv:2106.06135.                                 */
#ifndef DIZHU_NETS_NET_H
#define DIZHU_NETS_NET_H
#include "nets/encode.h"
#include <stddef.h>

enum {
    NET_LSTM = 128,
    NET_GATES = 4 * NET_LSTM,
    NET_HIDDEN = 512,
    NET_DENSE = 6,
    NET_TENSORS = 16
};

typedef struct {
    const char *name;    /* "lstm.weight_ih_l0" ... "dense6.bias"; files prefix it with the role */
    int rows, cols;      /* cols 0: a vector of rows */
    size_t offset, size; /* in the flat block, in floats */
} NetTensor;

typedef struct {
    int role, x_dim; /* x_dim without the action */
    size_t n_params;
    NetTensor tensor[NET_TENSORS];
} NetLayout;

/* The layout of a role; static, never NULL. */
const NetLayout *net_layout(Role role);
const char *role_name(Role role); /* "landlord", "landlord_down", "landlord_up" */

/* PyTorch's initialisation: uniform +-1/sqrt(128) for the LSTM, +-1/sqrt(fan_in) for the rest,
 * bias included. A pure function of the seed.                                               */
void net_init(Role role, uint64_t seed, float *params);

#endif
