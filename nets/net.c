/* net.c - the three layouts as constant tables, and the first values of the parameters. */
#include "nets/net.h"

#include <math.h>
#include <string.h>

#include "engine/base/rng.h"

enum {
    INPUT_LANDLORD = NET_LSTM + X_DIM_LANDLORD + CARDS_DIM, /* of dense1 */
    INPUT_PEASANT = NET_LSTM + X_DIM_PEASANT + CARDS_DIM,
    /* where each tensor begins; after dense1 everything is shifted by the size of its weight */
    AT_HH = NET_GATES * STEP_DIM,
    AT_BIAS_IH = AT_HH + NET_GATES * NET_LSTM,
    AT_BIAS_HH = AT_BIAS_IH + NET_GATES,
    AT_DENSE1 = AT_BIAS_HH + NET_GATES,
    HIDDEN_WEIGHT = NET_HIDDEN * NET_HIDDEN,
    HIDDEN_LAYER = HIDDEN_WEIGHT + NET_HIDDEN
};

/* clang-format off */
#define VECTOR(name, n, at)    {name, n, 0, at, n}
#define MATRIX(name, r, c, at) {name, r, c, at, (size_t)(r) * (c)}
#define HIDDEN(k, at)                                                                              \
    MATRIX("dense" #k ".weight", NET_HIDDEN, NET_HIDDEN, (at) + (k - 2) * HIDDEN_LAYER),           \
    VECTOR("dense" #k ".bias", NET_HIDDEN, (at) + (k - 2) * HIDDEN_LAYER + HIDDEN_WEIGHT)
#define LAYOUT(role, x_dim, input, after_dense1)                                                   \
    {role, x_dim, (after_dense1) + 4 * HIDDEN_LAYER + NET_HIDDEN + 1, {                            \
        MATRIX("lstm.weight_ih_l0", NET_GATES, STEP_DIM, 0),                                       \
        MATRIX("lstm.weight_hh_l0", NET_GATES, NET_LSTM, AT_HH),                                   \
        VECTOR("lstm.bias_ih_l0", NET_GATES, AT_BIAS_IH),                                          \
        VECTOR("lstm.bias_hh_l0", NET_GATES, AT_BIAS_HH),                                          \
        MATRIX("dense1.weight", NET_HIDDEN, input, AT_DENSE1),                                     \
        VECTOR("dense1.bias", NET_HIDDEN, (after_dense1) - NET_HIDDEN),                            \
        HIDDEN(2, after_dense1), HIDDEN(3, after_dense1),                                          \
        HIDDEN(4, after_dense1), HIDDEN(5, after_dense1),                                          \
        MATRIX("dense6.weight", 1, NET_HIDDEN, (after_dense1) + 4 * HIDDEN_LAYER),                 \
        VECTOR("dense6.bias", 1, (after_dense1) + 4 * HIDDEN_LAYER + NET_HIDDEN)}}
#define AFTER_DENSE1(input) (AT_DENSE1 + NET_HIDDEN * (input) + NET_HIDDEN)
#define PEASANT(role)       LAYOUT(role, X_DIM_PEASANT, INPUT_PEASANT, AFTER_DENSE1(INPUT_PEASANT))
/* clang-format on */

static const NetLayout layouts[N_ROLES] = {
    LAYOUT(ROLE_LANDLORD, X_DIM_LANDLORD, INPUT_LANDLORD, AFTER_DENSE1(INPUT_LANDLORD)),
    PEASANT(ROLE_LANDLORD_DOWN),
    PEASANT(ROLE_LANDLORD_UP),
};

const NetLayout *net_layout(Role role) { return &layouts[role]; }

const char *role_name(Role role) {
    static const char *const names[N_ROLES] = {"landlord", "landlord_down", "landlord_up"};
    return names[role];
}

/* Number of inputs that the uniform bound of a tensor is made of; a bias follows its weight. */
static int fan_in(const NetLayout *l, int t) {
    if (strncmp(l->tensor[t].name, "lstm.", 5) == 0) return NET_LSTM;
    return l->tensor[t].cols ? l->tensor[t].cols : l->tensor[t - 1].cols;
}

void net_init(Role role, uint64_t seed, float *params) {
    const NetLayout *l = net_layout(role);
    Rng rng;
    rng_init(&rng, seed, (uint64_t)role);
    for (int t = 0; t < NET_TENSORS; t++) {
        float bound = 1.0f / sqrtf((float)fan_in(l, t)), *p = params + l->tensor[t].offset;
        for (size_t i = 0; i < l->tensor[t].size; i++)
            p[i] = bound * (2.0f * rng_float(&rng) - 1.0f);
    }
}
