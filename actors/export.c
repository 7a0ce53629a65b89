#include "actors/export.h"
#include "actors/export_parts.h"
#include "actors/quantise.h"
#include "engine/base/file.h"
#include "engine/base/log.h"
#include "kernels/ops.h"
#include "nets/places.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- growing text and bytes ---- */

typedef struct {
    char *p;
    size_t n, cap;
    bool failed;
} Buffer;

static void put_bytes(Buffer *b, const void *p, size_t n) {
    if (b->n + n > b->cap && !b->failed) {
        size_t cap = b->cap ? b->cap : 1 << 16;
        while (cap < b->n + n) cap *= 2;
        char *larger = realloc(b->p, cap);
        b->failed = !larger;
        if (larger) {
            b->p = larger;
            b->cap = cap;
        }
    }
    if (b->failed) return;
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

static void put_text(Buffer *b, const char *text) { put_bytes(b, text, strlen(text)); }

static void put_format(Buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_format(Buffer *b, const char *format, ...) {
    char text[2048];
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    put_bytes(b, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- the weights file ---- */

enum { T_IH, T_HH, T_BIAS_IH, T_BIAS_HH, T_DENSE1, HEAD_BYTES = 64 };
static int weight_tensor(int dense) { return T_DENSE1 + 2 * (dense - 1); }

static const float *tensor(const NetLayout *l, const float *params, int t) {
    return params + l->tensor[t].offset;
}

/* n inputs, from column `first` on, of a matrix of 512 outputs. */
static float *put_panels(float *out, const float *m, size_t cols, size_t first, int n) {
    kernels_find("ref")->pack(NET_HIDDEN, n, m + first, cols, out);
    return out + (size_t)NET_HIDDEN * (size_t)n;
}

static float *put_vector(float *out, const float *v, size_t n) {
    memcpy(out, v, n * sizeof *out);
    return out + n;
}

/* A role in the order of net_view in actors/export/50_net.c. Returns the end. */
static float *put_role(Role role, const float *params, float *out) {
    enum { PANELS = NET_HIDDEN / PANEL };
    const NetLayout *l = net_layout(role);
    int x_rows = l->x_dim + CARDS_DIM, n_sets = role == ROLE_LANDLORD ? 5 : 7;
    size_t cols = (size_t)(NET_LSTM + x_rows);
    const float *dense1 = tensor(l, params, T_DENSE1);
    float *at = out;
    out = put_panels(out, tensor(l, params, T_IH), STEP_DIM, 0, STEP_DIM);
    rows_prefix(at, PANELS, STEP_DIM, 0, 3);
    for (int i = 0; i < NET_GATES; i++)
        *out++ = tensor(l, params, T_BIAS_IH)[i] + tensor(l, params, T_BIAS_HH)[i];
    out = put_panels(out, tensor(l, params, T_HH), NET_LSTM, 0, NET_LSTM);
    at = out;
    out = put_panels(out, dense1, cols, NET_LSTM, x_rows);
    rows_prefix(at, PANELS, (size_t)x_rows, 0, n_sets);
    rows_prefix(at, PANELS, (size_t)x_rows, (size_t)l->x_dim, 1);
    out = put_panels(out, dense1, cols, 0, NET_LSTM);
    for (int d = 1; d < NET_DENSE; d++)
        out = put_vector(out, tensor(l, params, weight_tensor(d) + 1), NET_HIDDEN);
    for (int d = 2; d < NET_DENSE; d++)
        out = put_panels(out, tensor(l, params, weight_tensor(d)), NET_HIDDEN, 0, NET_HIDDEN);
    out = put_vector(out, tensor(l, params, weight_tensor(NET_DENSE)), NET_HIDDEN);
    memset(out, 0, 16 * sizeof *out);
    out[0] = *tensor(l, params, weight_tensor(NET_DENSE) + 1);
    return out + 16;
}

static size_t role_floats(Role role) {
    size_t x_rows = (size_t)(net_layout(role)->x_dim + CARDS_DIM), h = NET_HIDDEN;
    return h * STEP_DIM + h + h * NET_LSTM + h * x_rows + h * NET_LSTM + 5 * h + 4 * h * h + h + 16;
}

static Status make_weights(const Weights *w, Buffer *out) {
    size_t n = HEAD_BYTES;
    for (Role r = 0; r < N_ROLES; r++) n += role_floats(r) * sizeof(float);
    out->p = calloc(n, 1);
    if (!out->p) return ST_NOMEM;
    out->n = out->cap = n;
    memcpy(out->p, "DIZHUBOT1", 9);
    float *at = (float *)(void *)(out->p + HEAD_BYTES);
    for (Role r = 0; r < N_ROLES; r++) at = put_role(r, w->params[r], at);
    return ST_OK;
}

/* FNV-1a, for a name. */
static uint64_t hash_of(const Buffer *b) {
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < b->n; i++) h = (h ^ (uint8_t)b->p[i]) * 0x100000001b3ull;
    return h;
}

/* ---- embedded weights ---- */

/* Four bytes become five letters; the last group is padded with zeros. */
typedef struct {
    Buffer *out;
    uint32_t bytes;
    int n, column;
} Letters;

static char letter(uint32_t v) {
    char c = (char)(35 + v);
    c = (char)(c + (c >= '?'));
    return (char)(c + (c >= '\\'));
}

static void flush_letters(Letters *l) {
    char text[5];
    for (int i = 4; i >= 0; i--, l->bytes /= 85) text[i] = letter(l->bytes % 85);
    put_bytes(l->out, text, 5);
    l->bytes = 0;
    l->n = 0;
    if ((l->column += 5) < 4000) return;
    l->column = 0;
    put_text(l->out, "\"\n\"");
}

static void put_byte(Letters *l, uint32_t b) {
    l->bytes = l->bytes << 8 | b;
    if (++l->n == 4) flush_letters(l);
}

static void put_float(Letters *l, float f) {
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    for (int i = 0; i < 4; i++) put_byte(l, u >> (8 * i) & 255);
}

/* Scales and vectors in the order of the tensors, then the levels of all matrices. */
static void put_quantised(Letters *l, Role role, const float *params, int bits,
                          const int8_t *levels, const float *scales) {
    const NetLayout *layout = net_layout(role);
    for (int t = 0; t < NET_TENSORS; t++) {
        const NetTensor *m = &layout->tensor[t];
        if (m->cols)
            for (int r = 0; r < m->rows; r++) put_float(l, *scales++);
        else
            for (size_t i = 0; i < m->size; i++) put_float(l, params[m->offset + i]);
    }
    uint32_t pending = 0;
    int n = 0, most = (1 << (bits - 1)) - 1;
    for (int t = 0; t < NET_TENSORS; t++) {
        const NetTensor *m = &layout->tensor[t];
        for (size_t i = 0; m->cols && i < m->size; i++) {
            pending |= (uint32_t)(levels[m->offset + i] + most) << n;
            for (n += bits; n >= 8; n -= 8, pending >>= 8) put_byte(l, pending & 255);
        }
    }
    put_byte(l, pending & 255);
    while (l->n) put_byte(l, 0);
}

static Status put_embedded(Buffer *out, const Weights *w, int bits, Weights *quantised) {
    static const char *const names[N_ROLES] = {"landlord", "down", "up"};
    for (Role r = 0; r < N_ROLES; r++) {
        size_t n = net_layout(r)->n_params;
        int8_t *levels = calloc(n, 1);
        float *scales = calloc(quantise_rows(r), sizeof *scales);
        if (levels && scales) {
            Letters l = {.out = out};
            quantise_role(r, w->params[r], bits, levels, scales);
            put_format(out, "static const char weights_%s[] =\n\"", names[r]);
            put_quantised(&l, r, w->params[r], bits, levels, scales);
            put_text(out, "\";\n");
            memcpy(quantised->params[r], w->params[r], n * sizeof(float));
            quantise_undo(r, levels, scales, quantised->params[r]);
        }
        bool failed = !levels || !scales;
        free(levels);
        free(scales);
        if (failed) return ST_NOMEM;
    }
    return out->failed ? ST_NOMEM : ST_OK;
}

/* ---- the source ---- */

static void put_part(Buffer *b, const char *name) {
    for (const ExportPart *p = export_parts; p->name; p++)
        if (strcmp(p->name, name) == 0) put_text(b, p->text);
    put_text(b, "\n");
}

static void put_math(Buffer *b) {
    static const char avx[] =
        "/* The same arithmetic twice: with AVX, and with FMA where the processor has it. */\n"
        "#define TARGET\n#define FN(name) name##_avx\n"
        "#define MADD(a, b, c) _mm256_add_ps(_mm256_mul_ps(a, b), c)\n";
    static const char fma[] = "#undef TARGET\n#undef FN\n#undef MADD\n"
                              "#define TARGET __attribute__((target(\"avx2,fma\")))\n"
                              "#define FN(name) name##_fma\n"
                              "#define MADD(a, b, c) _mm256_fmadd_ps(a, b, c)\n";
    static const char choice[] =
        "static int has_fma(void) {\n#ifdef BOT_NO_FMA\n    return 0;\n#else\n"
        "    __builtin_cpu_init();\n"
        "    return __builtin_cpu_supports(\"avx2\") && "
        "__builtin_cpu_supports(\"fma\");\n#endif\n}\n\n";
    put_text(b, avx);
    put_part(b, "51_math.c");
    put_text(b, fma);
    put_part(b, "51_math.c");
    put_text(b, choice);
}

static void put_head(Buffer *b, const ExportConfig *c, const Weights *w, const char *weights) {
    put_format(b,
               "/* A DouDizhu player for Botzone (FightTheLandlord2 and FightTheLandlord).\n"
               " *\n * Written by `dizhu export botzone`; net: %s, trained under %s for %s,\n"
               " * %llu decisions. ",
               c->model, ruleset_get((RulesetId)w->info.ruleset)->name,
               objective_name((Objective)w->info.objective), (unsigned long long)w->info.frames);
    if (c->embed) put_text(b, "The weights are below, in few bits.");
    else put_format(b, "It needs its weights as %s.", weights);
    put_text(b, " C99 or C++11, for processors with AVX. */\n"
                "#include <immintrin.h>\n#include <stdint.h>\n#include <stdio.h>\n"
                "#include <stdlib.h>\n#include <string.h>\n\n");
    put_format(b,
               "#define BOT_WEIGHTS \"%s\"\n#define BOT_KEEP_RUNNING %d\n"
               "#define BOT_EMBEDDED %d\n\n",
               weights, c->keep_running, c->embed);
}

static void put_source(Buffer *b, const ExportConfig *c, const Weights *w, const char *weights) {
    put_head(b, c, w, weights);
    put_part(b, "10_types.c");
    put_part(b, "20_rules.c");
    put_part(b, "30_json.c");
    put_part(b, "40_view.c");
    put_part(b, "50_net.c");
    put_math(b);
    if (c->embed || c->bidder) put_part(b, "52_letters.c");
}

static void put_bidder(Buffer *b, const Bidder *bidder) {
    const float *w = (const float *)&bidder->net;
    Letters l = {.out = b};
    put_text(b, "static const char bid_weights[] =\n\"");
    for (size_t i = 0; i < sizeof bidder->net / sizeof *w; i++) put_float(&l, w[i]);
    put_text(b, "\";\n");
    put_format(b, "#define BOT_MARGINS {0, %.8ef, %.8ef, %.8ef}\n\n", (double)bidder->margin[1],
               (double)bidder->margin[2], (double)bidder->margin[3]);
    put_part(b, "61_bidder.c");
}

static void put_end(Buffer *b, const ExportConfig *c) {
    if (c->bidder) {
        put_bidder(b, c->bidder);
    } else {
        put_part(b, "59_costs.c");
        put_part(b, "60_bid.c");
    }
    put_part(b, "70_main.c");
}

/* ---- files ---- */

static Status save(const char *directory, const char *name, const Buffer *b, char path[1024]) {
    if (b->failed) return ST_NOMEM;
    int n = snprintf(path, 1024, "%s/%s", directory, name);
    if (n < 0 || n >= 1024) return ST_INVALID;
    return file_save(path, (const uint8_t *)b->p, b->n);
}

static Status write_page(const ExportConfig *c, const char *weights, const ExportResult *r) {
    Buffer b = {0};
    char path[1024];
    put_format(&b, "# Submitting this bot\n\n1. On botzone.org, open *My bots*, create a bot for "
                   "**FightTheLandlord2** (or FightTheLandlord),\n   choose a C++ compiler (G++ "
                   "without further libraries is enough) and upload `bot.c` as its source.\n");
    if (!c->embed)
        put_format(&b,
                   "2. Open *Manage storage* of your account and upload `%s`. Bots find it as\n   "
                   "`data/%s`; all bots of an account share the storage, so this name may be "
                   "uploaded once\n   for several bots. The name carries a hash: another net "
                   "has another name.\n",
                   weights, weights);
    put_format(&b,
               "%d. Start a match. The bot speaks the JSON interaction, in %s mode; of the\n   "
               "second a turn has it needs less than a third, and less than 100 MB.\n\n",
               c->embed ? 2 : 3, c->keep_running ? "keep-running" : "plain");
    put_format(&b,
               "To try it here: `g++ -x c++ -std=c++11 -O2 -mavx bot.c -o bot`, then\n"
               "`dizhu arena 'cmd%s:./bot' rule --rules botzone` from a directory in which "
               "`data/` holds the weights.\n\nSource %zu bytes, weights %zu bytes.\n",
               c->keep_running ? "keep" : "", r->source_bytes, r->weights_bytes);
    Status st = save(c->directory, "SUBMIT.md", &b, path);
    free(b.p);
    return st;
}

static Status export_with_file(const ExportConfig *c, const Weights *w, ExportResult *out) {
    Buffer weights = {0}, source = {0};
    char name[64], path[80];
    Status st = make_weights(w, &weights);
    if (st == ST_OK) {
        snprintf(name, sizeof name, "dizhu-%012llx.weights",
                 (unsigned long long)(hash_of(&weights) >> 16));
        snprintf(path, sizeof path, "data/%s", name);
        put_source(&source, c, w, path);
        put_part(&source, "55_load.c");
        put_end(&source, c);
        st = save(c->directory, name, &weights, out->weights);
    }
    if (st == ST_OK) st = save(c->directory, "bot.c", &source, out->source);
    out->source_bytes = source.n;
    out->weights_bytes = weights.n;
    if (st == ST_OK) st = write_page(c, name, out);
    free(weights.p);
    free(source.p);
    return st;
}

/* One try with so many bits. */
static Status embed(const ExportConfig *c, const Weights *w, int bits, Buffer *b, Weights *q) {
    b->n = 0;
    put_source(b, c, w, "");
    put_format(b, "#define BOT_BITS %d\n\n", bits);
    Status st = put_embedded(b, w, bits, q);
    put_part(b, "56_embedded.c");
    put_end(b, c);
    return st;
}

static Status export_embedded(const ExportConfig *c, const Weights *w, ExportResult *out) {
    Buffer b = {0};
    Weights q = {0};
    Status st = weights_new(&q);
    int bits = c->bits ? c->bits : 8;
    if (st == ST_OK) st = embed(c, w, bits, &b, &q);
    while (st == ST_OK && b.n >= EXPORT_MAX_SOURCE && !c->bits && bits > 3)
        st = embed(c, w, --bits, &b, &q);
    if (st == ST_OK && b.n >= EXPORT_MAX_SOURCE) {
        log_error("with %d bits a weight the source has %zu bytes; %d is the limit", bits, b.n,
                  EXPORT_MAX_SOURCE);
        st = ST_INVALID;
    }
    q.info = w->info;
    if (st == ST_OK && c->save_quantised) st = weights_save(&q, DTYPE_F32, c->save_quantised);
    if (st == ST_OK) st = save(c->directory, "bot.c", &b, out->source);
    out->source_bytes = b.n;
    out->bits = bits;
    if (st == ST_OK) st = write_page(c, "", out);
    free(b.p);
    weights_free(&q);
    return st;
}

Status export_botzone(const ExportConfig *c, const Weights *w, ExportResult *out) {
    memset(out, 0, sizeof *out);
    for (Role r = 0; r < N_ROLES; r++) {
        if (w->params[r]) continue;
        log_error("%s has no net for the %s", c->model, role_name(r));
        return ST_MISMATCH;
    }
    if (mkdir(c->directory, 0777) != 0 && errno != EEXIST) {
        log_error("%s: %s", c->directory, strerror(errno));
        return ST_IO;
    }
    return c->embed ? export_embedded(c, w, out) : export_with_file(c, w, out);
}
