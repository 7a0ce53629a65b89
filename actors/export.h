/* export.h - a net as a bot for Botzone: one source file, and one weights file or none.
 *
 * The source is the parts in actors/export/, one after another, valid C99 and C++11; its arithmetic
 * sums in the order of the house's AVX2 kernels, so that it plays what `net:` plays. The weights
 * file has 64 bytes of head ("DIZHUBOT1"), then the three roles as floats in the layout that the
 * bot computes with (actors/export/50_net.c); its name carries a hash of its bytes. Embedded
 * weights are whole numbers of a few bits, with a scale for each row of a matrix, written as
 * letters.    */
#ifndef DIZHU_ACTORS_EXPORT_H
#define DIZHU_ACTORS_EXPORT_H
#include "nets/bidder.h"
#include "nets/weights.h"

enum { EXPORT_MAX_SOURCE = 4000000 /* bytes that arenas' packagers take */ };

typedef struct {
    const char *directory;      /* made if it is not there */
    const char *model;          /* its name, for the comments */
    const Bidder *bidder;       /* bids by it; NULL: by the cost of the hand */
    bool keep_running;          /* the bot stays alive between turns */
    bool embed;                 /* the weights go into the source */
    int bits;                   /* of an embedded weight, 3..8; 0: as many as fit */
    const char *save_quantised; /* also write the embedded weights as a weights file; NULL: no */
} ExportConfig;

typedef struct {
    char source[1024], weights[1024]; /* paths; weights "" if embedded */
    size_t source_bytes, weights_bytes;
    int bits; /* 0: not embedded */
} ExportResult;

/* ST_MISMATCH: a role is missing; ST_INVALID: it does not fit into a source file. */
Status export_botzone(const ExportConfig *c, const Weights *w, ExportResult *out);

#endif
