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

static int load_net(Net *net, int role) {
    static const char *const texts[3] = {weights_landlord, weights_down, weights_up};
    int x_dim = net_x_dim(role), x_rows = x_dim + SET_ROWS, i, r, c;
    int n_sets = role == 0 ? 5 : 7;
    size_t n = net_floats(x_rows);
    /* matrices in the order of the net: ih, hh, dense1..dense6 */
    int rows[N_MATRICES], cols[N_MATRICES];
    float *scale[N_MATRICES], *vector[N_MATRICES + 1];
    float *matrix, *p, *floats;
    Bits b;
    for (i = 0; i < N_MATRICES; i++) {
        rows[i] = i == N_MATRICES - 1 ? 1 : HIDDEN;
        cols[i] = i == 0 ? STEP_ROWS : i == 1 ? LSTM : i == 2 ? LSTM + x_rows : HIDDEN;
    }
    free(net->memory);
    net->memory = p = (float *)malloc(n * sizeof(float));
    matrix = (float *)malloc((size_t)HIDDEN * (size_t)(LSTM + x_rows) * sizeof(float));
    floats = (float *)malloc((size_t)HIDDEN * 32 * sizeof(float));
    if (!p || !matrix || !floats) return 0;
    b.letters.at = texts[role];
    b.letters.left = 0;
    b.bits = 0;
    b.n_bits = 0;
    /* ih, hh; their two biases; then each dense layer and its bias */
    {
        float *f = floats;
        for (i = 0; i < N_MATRICES; i++) {
            scale[i] = f;
            for (r = 0; r < rows[i]; r++) *f++ = next_float(&b.letters);
            if (i == 0) continue;
            vector[i] = f;
            for (r = 0; r < rows[i]; r++) *f++ = next_float(&b.letters);
            if (i > 1) continue;
            vector[0] = f;
            for (r = 0; r < rows[i]; r++) *f++ = next_float(&b.letters);
        }
    }
    net_view(net, role, p);
    for (i = 0; i < N_MATRICES; i++) {
        float *m = matrix;
        for (r = 0; r < rows[i]; r++)
            for (c = 0; c < cols[i]; c++) *m++ = scale[i][r] * (float)next_level(&b);
        if (i == 0) {
            to_panels(matrix, STEP_ROWS, 0, STEP_ROWS, p);
            add_up_sets(p, STEP_ROWS, 0, 3);
            p += GATES * STEP_ROWS;
            for (r = 0; r < GATES; r++) *p++ = vector[1][r] + vector[0][r];
        } else if (i == 1) {
            to_panels(matrix, LSTM, 0, LSTM, p);
            p += GATES * LSTM;
        } else if (i == 2) {
            to_panels(matrix, cols[i], LSTM, x_rows, p);
            add_up_sets(p, x_rows, 0, n_sets);
            add_up_sets(p, x_rows, x_dim, 1);
            p += HIDDEN * x_rows;
            to_panels(matrix, cols[i], 0, LSTM, p);
            p += HIDDEN * LSTM;
            for (c = 0; c < 5; c++, p += HIDDEN) memcpy(p, vector[2 + c], HIDDEN * sizeof(float));
        } else if (i < N_MATRICES - 1) {
            to_panels(matrix, HIDDEN, 0, HIDDEN, p);
            p += HIDDEN * HIDDEN;
        } else {
            memcpy(p, matrix, HIDDEN * sizeof(float));
            p[HIDDEN] = vector[i][0];
        }
    }
    net_view(net, role, net->memory); /* now b6 is there too */
    free(matrix);
    free(floats);
    return 1;
}
