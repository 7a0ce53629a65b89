#include "nets/bidder.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "nets/encode.h"
#include "nets/safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "dizhu-bid/1"
enum { MAX_FILE_BYTES = 1 << 20 };

void bidder_features(const Game *g, float x[BIDDER_FEATURES]) {
    memset(x, 0, BIDDER_FEATURES * sizeof *x);
    encode_cards(g->hand[g->turn], x);
    x[54 + g->n_bids] = 1; /* the first to bid, the second, the third */
    for (int i = 0; i < g->n_bids; i++) x[57 + 4 * i + g->bids[i]] = 1;
}

static void layer(int n_out, int n_in, const float *w, const float *b, const float *x, bool relu,
                  float *y) {
    for (int i = 0; i < n_out; i++, w += n_in) {
        float sum = b[i];
        for (int k = 0; k < n_in; k++) sum += w[k] * x[k];
        y[i] = relu && sum < 0 ? 0 : sum;
    }
}

void bidder_values(const Bidder *b, const float x[BIDDER_FEATURES], float v[BIDDER_VALUES]) {
    const BidNet *n = &b->net;
    float h1[BIDDER_HIDDEN1], h2[BIDDER_HIDDEN2];
    layer(BIDDER_HIDDEN1, BIDDER_FEATURES, n->w1[0], n->b1, x, true, h1);
    layer(BIDDER_HIDDEN2, BIDDER_HIDDEN1, n->w2[0], n->b2, h1, true, h2);
    layer(BIDDER_VALUES, BIDDER_HIDDEN2, n->w3[0], n->b3, h2, false, v);
}

/* What passing is worth, in points. Whoever may still bid is taken to pass. */
static float value_of_passing(const Game *g, const float v[BIDDER_VALUES]) {
    int landlord = g->bid ? g->leader : g->first_bidder;
    if (!g->bid && ruleset_get((RulesetId)g->ruleset)->redeal) return 0;
    int after = (landlord - g->turn + N_SEATS) % N_SEATS;
    float base = g->bid ? g->bid : 1;
    if (after == 0) return v[BID_LANDLORD]; /* all pass: the first bidder has it at base 1 */
    return base * v[after == 1 ? BID_PEASANT_NEXT : BID_PEASANT_AFTER];
}

int bidder_decide(const float margin[BIDDER_MARGINS], const Game *g, const float v[BIDDER_VALUES]) {
    float pass = value_of_passing(g, v), most = 0;
    int best = 0;
    for (int bid = g->bid + 1; bid <= 3; bid++) {
        float gain = (float)bid * v[BID_LANDLORD] - pass - margin[bid];
        if (gain <= most) continue;
        most = gain;
        best = bid;
    }
    return best;
}

int bidder_bid(const Bidder *b, const Game *g) {
    float x[BIDDER_FEATURES], v[BIDDER_VALUES];
    bidder_features(g, x);
    bidder_values(b, x, v);
    return bidder_decide(b->margin, g, v);
}

/* ---- files ---- */

typedef struct {
    const char *name;
    int rows, cols; /* cols 0: a vector */
    float *p;
} Part;

enum { N_PARTS = 6 };

static void parts_of(BidNet *n, Part out[N_PARTS]) {
    const Part parts[N_PARTS] = {
        {"dense1.weight", BIDDER_HIDDEN1, BIDDER_FEATURES, n->w1[0]},
        {"dense1.bias", BIDDER_HIDDEN1, 0, n->b1},
        {"dense2.weight", BIDDER_HIDDEN2, BIDDER_HIDDEN1, n->w2[0]},
        {"dense2.bias", BIDDER_HIDDEN2, 0, n->b2},
        {"dense3.weight", BIDDER_VALUES, BIDDER_HIDDEN2, n->w3[0]},
        {"dense3.bias", BIDDER_VALUES, 0, n->b3},
    };
    memcpy(out, parts, sizeof parts);
}

static size_t part_floats(const Part *p) {
    return (size_t)p->rows * (size_t)(p->cols ? p->cols : 1);
}

static Status refuse(const char *path, const char *what) {
    log_error("%s: %s", path, what);
    return ST_MISMATCH;
}

static Status read_part(const char *path, const SafeTensors *s, const Part *p) {
    const SafeTensor *t = safetensors_find(s, p->name);
    if (!t) return refuse(path, "a tensor of a bidder is missing");
    bool shape = t->n_dims == (p->cols ? 2 : 1) && t->dims[0] == (uint64_t)p->rows &&
                 (!p->cols || t->dims[1] == (uint64_t)p->cols);
    if (!shape || strcmp(t->dtype, "F32") != 0) return refuse(path, "a tensor of another shape");
    memcpy(p->p, s->data + t->begin, t->size);
    for (size_t i = 0; i < part_floats(p); i++)
        if (!isfinite(p->p[i])) return refuse(path, "a number that is not finite");
    return ST_OK;
}

static Status read_text(const char *path, const SafeTensors *s, Bidder *b) {
    const char *format = safetensors_text(s, "format"), *kind = safetensors_text(s, "kind");
    const char *rules = safetensors_text(s, "ruleset"), *margins = safetensors_text(s, "margins");
    if (!format || strcmp(format, FORMAT) != 0) return refuse(path, "no " FORMAT " file");
    if (!kind || strcmp(kind, "mlp") != 0)
        return refuse(path, "a kind of bidder that is not known");
    int id = rules ? ruleset_find(rules) : -1;
    if (id < 0) return refuse(path, "an unknown ruleset");
    if (!margins || sscanf(margins, "%f %f %f", &b->margin[1], &b->margin[2], &b->margin[3]) != 3)
        return refuse(path, "no margins");
    for (int i = 1; i < BIDDER_MARGINS; i++)
        if (!isfinite(b->margin[i])) return refuse(path, "a margin that is not finite");
    b->ruleset = (uint8_t)id;
    strcpy(b->kind, "mlp");
    return ST_OK;
}

Status bidder_load(const char *path, Bidder *out) {
    uint8_t *bytes;
    size_t n;
    SafeTensors s;
    Bidder b = {.ruleset = 0};
    Part parts[N_PARTS];
    TRY(file_read(path, MAX_FILE_BYTES, &bytes, &n));
    Status st = safetensors_read(path, bytes, n, &s);
    if (st != ST_OK) {
        free(bytes);
        return st;
    }
    parts_of(&b.net, parts);
    st = read_text(path, &s, &b);
    for (int i = 0; st == ST_OK && i < N_PARTS; i++) st = read_part(path, &s, &parts[i]);
    safetensors_deinit(&s);
    free(bytes);
    if (st == ST_OK) *out = b;
    return st;
}

Status bidder_save(const Bidder *b, const char *path) {
    Bidder copy = *b;
    Part parts[N_PARTS];
    SafeTensor tensor[N_PARTS];
    char margins[64];
    uint8_t *file, *data;
    size_t n;
    parts_of(&copy.net, parts);
    for (int i = 0; i < N_PARTS; i++)
        tensor[i] = (SafeTensor){.name = parts[i].name,
                                 .dtype = "F32",
                                 .n_dims = parts[i].cols ? 2 : 1,
                                 .dims = {(uint64_t)parts[i].rows, (uint64_t)parts[i].cols}};
    snprintf(margins, sizeof margins, "%.4f %.4f %.4f", (double)b->margin[1], (double)b->margin[2],
             (double)b->margin[3]);
    const SafeText text[] = {{"format", FORMAT},
                             {"kind", b->kind},
                             {"ruleset", ruleset_get((RulesetId)b->ruleset)->name},
                             {"margins", margins}};
    TRY(safetensors_layout(tensor, N_PARTS, text, sizeof text / sizeof *text, &file, &n, &data));
    for (int i = 0; i < N_PARTS; i++)
        memcpy(data + tensor[i].begin, parts[i].p, part_floats(&parts[i]) * sizeof(float));
    safetensors_seal(file, n);
    Status st = file_save(path, file, n);
    free(file);
    return st;
}
