/* ---- the weights, in this file: whole numbers of BOT_BITS bits, a scale for each row ----
 *
 * A role is text: first the scales of all rows of matrices and the
 * numbers of all vectors, as floats in the order of the net, then the bits. */

enum { N_MATRICES = 8 };

typedef struct {
    Letters letters;
    uint32_t bits;
    int n_bits;
} Bits;

static int next_level(Bits *b) {
    int v;
    while (b->n_bits < BOT_BITS) {
        b->bits |= next_byte(&b->letters) << b->n_bits;
        b->n_bits += 8;
    }
    v = (int)(b->bits & ((1u << BOT_BITS) - 1));
    b->bits >>= BOT_BITS;
    b->n_bits -= BOT_BITS;
    return v - ((1 << (BOT_BITS - 1)) - 1);
}

/* A row-major matrix of `rows` by `cols` into panels whose inputs begin at `first` of the file's
 * columns: columns first..first+n of all rows. */
static void to_panels(const float *m, int cols, int first, int n, float *out) {
    int p, k, i;
    for (p = 0; p < 16; p++)
        for (k = 0; k < n; k++)
            for (i = 0; i < PANEL; i++)
                *out++ = m[(size_t)(p * PANEL + i) * (size_t)cols + (size_t)(first + k)];
}

/* Rows of a card set become sums: row 4r+n-1 stands for n cards of rank r. */
static void add_up_sets(float *m, int n_rows, int first, int n_sets) {
    int p, s, i, c;
    for (p = 0; p < 16; p++)
        for (s = 0; s < n_sets; s++) {
            float *set = m + ((size_t)p * (size_t)n_rows + (size_t)(first + s * SET_ROWS)) * PANEL;
            for (i = 0; i < 52; i++) {
                if (i % 4 == 0) continue;
                for (c = 0; c < PANEL; c++) set[i * PANEL + c] += set[(i - 1) * PANEL + c];
            }
        }
}

/* What of a role comes before the bits: scales of the rows of ih, hh, dense1..6, and their biases,
 * those of ih and hh summed. */
typedef struct {
    int rows[N_MATRICES], cols[N_MATRICES];
    float scale[N_MATRICES][HIDDEN], bias[N_MATRICES][HIDDEN]; /* bias[0] is not used */
} Scales;

static void read_floats(Letters *l, int n, float *out) {
    int i;
    for (i = 0; i < n; i++) out[i] = next_float(l);
}

static void read_scales(Letters *l, int x_rows, Scales *s) {
    float bias_ih[GATES];
    int i;
    for (i = 0; i < N_MATRICES; i++) {
        s->rows[i] = i == N_MATRICES - 1 ? 1 : HIDDEN;
        s->cols[i] = i == 0 ? STEP_ROWS : i == 1 ? LSTM : i == 2 ? LSTM + x_rows : HIDDEN;
        read_floats(l, s->rows[i], s->scale[i]);
        if (i == 1) read_floats(l, GATES, bias_ih);
        if (i > 0) read_floats(l, s->rows[i], s->bias[i]);
    }
    for (i = 0; i < GATES; i++) s->bias[1][i] = bias_ih[i] + s->bias[1][i];
}

static void read_matrix(Bits *b, const Scales *s, int i, float *m) {
    int r, c;
    for (r = 0; r < s->rows[i]; r++)
        for (c = 0; c < s->cols[i]; c++) *m++ = s->scale[i][r] * (float)next_level(b);
}

/* All matrices in the order of net_view; m has room for the largest. */
static void read_net(Bits *b, const Scales *s, int x_dim, int n_sets, float *m, float *p) {
    int x_rows = x_dim + SET_ROWS, i;
    read_matrix(b, s, 0, m);
    to_panels(m, STEP_ROWS, 0, STEP_ROWS, p);
    add_up_sets(p, STEP_ROWS, 0, 3);
    p += GATES * STEP_ROWS;
    memcpy(p, s->bias[1], GATES * sizeof(float));
    p += GATES;
    read_matrix(b, s, 1, m);
    to_panels(m, LSTM, 0, LSTM, p);
    p += GATES * LSTM;
    read_matrix(b, s, 2, m);
    to_panels(m, LSTM + x_rows, LSTM, x_rows, p);
    add_up_sets(p, x_rows, 0, n_sets);
    add_up_sets(p, x_rows, x_dim, 1);
    p += HIDDEN * x_rows;
    to_panels(m, LSTM + x_rows, 0, LSTM, p);
    p += HIDDEN * LSTM;
    for (i = 2; i < N_MATRICES - 1; i++, p += HIDDEN) memcpy(p, s->bias[i], HIDDEN * sizeof(float));
    for (i = 3; i < N_MATRICES - 1; i++, p += HIDDEN * HIDDEN) {
        read_matrix(b, s, i, m);
        to_panels(m, HIDDEN, 0, HIDDEN, p);
    }
    read_matrix(b, s, i, p);
    p[HIDDEN] = s->bias[i][0];
}

static int load_net(Net *net, int role) {
    static const char *const texts[3] = {weights_landlord, weights_down, weights_up};
    static Scales scales;
    int x_rows = net_x_dim(role) + SET_ROWS, cols = LSTM + x_rows;
    float *m = (float *)malloc((size_t)HIDDEN * (size_t)(cols > HIDDEN ? cols : HIDDEN) *
                               sizeof(float));
    Bits b;
    memset(&b, 0, sizeof b);
    b.letters.at = texts[role];
    free(net->memory);
    net->memory = (float *)malloc(net_floats(x_rows) * sizeof(float));
    if (!net->memory || !m) {
        free(m);
        return 0;
    }
    read_scales(&b.letters, x_rows, &scales);
    read_net(&b, &scales, net_x_dim(role), role == 0 ? 5 : 7, m, net->memory);
    net_view(net, role, net->memory);
    free(m);
    return 1;
}
