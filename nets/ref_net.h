/* ref_net.h - the value net written down plainly, in double: the definition that every fast path
 * is tested against. Slow on purpose; 70 kB of scratch on the stack.                            */
#ifndef DIZHU_NETS_REF_NET_H
#define DIZHU_NETS_REF_NET_H
#include "nets/net.h"

/* q of one (state, action) given as expanded features. */
double ref_net_forward(Role role, const double *params, const float *x, const float *z);
/* Adds d(weight * (q - target)^2)/d(params) to grad, returns weight * (q - target)^2. */
double ref_net_backward(Role role, const double *params, const float *x, const float *z,
                        double target, double weight, double *grad);

#endif
