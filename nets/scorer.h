/* scorer.h - Q of every legal action of many decisions at once: the actors' hot path.
 *
 * A PackedNet is one role's weights in the layout of the chosen kernels and precision: immutable,
 * shared by any number of threads, built once per version. A Scorer is one thread's scratch.
 * Per decision the LSTM and the state part of dense1 are computed once; an action adds a few rows.
 * Exact up to rounding; precision bf16 and int8 are measured against fp32 by `dizhu bench nets`. */
#ifndef DIZHU_NETS_SCORER_H
#define DIZHU_NETS_SCORER_H
#include "engine/base/status.h"
#include "kernels/ops.h"
#include "nets/net.h"

typedef enum { PRECISION_FP32, PRECISION_BF16, PRECISION_INT8, N_PRECISIONS } Precision;
const char *precision_name(Precision p);
int precision_find(const char *name); /* -1: unknown */
/* Have these kernels that precision? Without fast bf16 instructions they do not, because fp32 is
 * then the faster one: callers that asked for bf16 fall back to fp32.                       */
bool precision_usable(const KernelTable *k, Precision p);

typedef struct PackedNet PackedNet;
/* Room for one role's weights; packednet_set fills it (again and again, without allocating).
 * ST_UNSUPPORTED: these kernels do not have that precision. Free with packednet_free (NULL ok). */
Status packednet_new(Role role, Precision p, const KernelTable *k, PackedNet **out);
void packednet_set(PackedNet *net, const float *params);
void packednet_free(PackedNet *net);

typedef struct Scorer Scorer;
/* Scratch for any role; batches beyond its capacity are cut into pieces by scorer_run. */
Status scorer_new(const KernelTable *k, Scorer **out);
void scorer_free(Scorer *s);

/* n decisions of the net's role; decision i has n_actions[i] actions, concatenated in `actions`;
 * q gets as many values in the same order. Allocates nothing.                              */
void scorer_run(Scorer *s, const PackedNet *net, int n, const Obs *obs, const int *n_actions,
                const Hand *actions, float *q);

#endif
