/* y[512] += rows of m, which has n_rows rows a panel. */
TARGET static void FN(add_rows)(const float *m, int n_rows, const int *row, int n, float *y) {
    int p, c, i;
    for (p = 0; p < 16; p++, m += (size_t)n_rows * PANEL, y += PANEL)
        for (c = 0; c < PANEL; c += 8) {
            __m256 sum = _mm256_loadu_ps(y + c);
            for (i = 0; i < n; i++)
                sum = _mm256_add_ps(sum, _mm256_loadu_ps(m + (size_t)row[i] * PANEL + c));
            _mm256_storeu_ps(y + c, sum);
        }
}

/* y = W x + y for one row of k inputs and 512 outputs. */
TARGET static void FN(add_product)(const float *w, int k, const float *x, float *y) {
    int p, i;
    for (p = 0; p < 16; p++, y += PANEL) {
        __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
        for (i = 0; i < k; i++, w += PANEL) {
            __m256 v = _mm256_broadcast_ss(x + i);
            a = MADD(v, _mm256_loadu_ps(w), a);
            b = MADD(v, _mm256_loadu_ps(w + 8), b);
            c = MADD(v, _mm256_loadu_ps(w + 16), c);
            d = MADD(v, _mm256_loadu_ps(w + 24), d);
        }
        _mm256_storeu_ps(y, _mm256_add_ps(a, _mm256_loadu_ps(y)));
        _mm256_storeu_ps(y + 8, _mm256_add_ps(b, _mm256_loadu_ps(y + 8)));
        _mm256_storeu_ps(y + 16, _mm256_add_ps(c, _mm256_loadu_ps(y + 16)));
        _mm256_storeu_ps(y + 24, _mm256_add_ps(d, _mm256_loadu_ps(y + 24)));
    }
}

/* 4 rows of x by 16 columns: y = relu(x W + bias). */
TARGET static void FN(tile)(const float *w, const float *bias, const float *x, float *y) {
    __m256 a0 = _mm256_setzero_ps(), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, d0 = a0, d1 = a0;
    __m256 u, v, t, zero = a0;
    int i;
    for (i = 0; i < HIDDEN; i++, w += PANEL) {
        u = _mm256_loadu_ps(w);
        v = _mm256_loadu_ps(w + 8);
        t = _mm256_broadcast_ss(x + i);
        a0 = MADD(t, u, a0);
        a1 = MADD(t, v, a1);
        t = _mm256_broadcast_ss(x + HIDDEN + i);
        b0 = MADD(t, u, b0);
        b1 = MADD(t, v, b1);
        t = _mm256_broadcast_ss(x + 2 * HIDDEN + i);
        c0 = MADD(t, u, c0);
        c1 = MADD(t, v, c1);
        t = _mm256_broadcast_ss(x + 3 * HIDDEN + i);
        d0 = MADD(t, u, d0);
        d1 = MADD(t, v, d1);
    }
    u = _mm256_loadu_ps(bias);
    v = _mm256_loadu_ps(bias + 8);
    _mm256_storeu_ps(y, _mm256_max_ps(_mm256_add_ps(a0, u), zero));
    _mm256_storeu_ps(y + 8, _mm256_max_ps(_mm256_add_ps(a1, v), zero));
    _mm256_storeu_ps(y + HIDDEN, _mm256_max_ps(_mm256_add_ps(b0, u), zero));
    _mm256_storeu_ps(y + HIDDEN + 8, _mm256_max_ps(_mm256_add_ps(b1, v), zero));
    _mm256_storeu_ps(y + 2 * HIDDEN, _mm256_max_ps(_mm256_add_ps(c0, u), zero));
    _mm256_storeu_ps(y + 2 * HIDDEN + 8, _mm256_max_ps(_mm256_add_ps(c1, v), zero));
    _mm256_storeu_ps(y + 3 * HIDDEN, _mm256_max_ps(_mm256_add_ps(d0, u), zero));
    _mm256_storeu_ps(y + 3 * HIDDEN + 8, _mm256_max_ps(_mm256_add_ps(d1, v), zero));
}

/* One square layer for `rows` rows, a multiple of 4. */
TARGET static void FN(layer)(const float *w, const float *bias, int rows, const float *x,
                             float *y) {
    int p, r;
    for (p = 0; p < 16; p++, w += HIDDEN * PANEL, bias += PANEL)
        for (r = 0; r < rows; r += 4) {
            FN(tile)(w, bias, x + r * HIDDEN, y + r * HIDDEN + p * PANEL);
            FN(tile)(w + 16, bias + 16, x + r * HIDDEN, y + r * HIDDEN + p * PANEL + 16);
        }
}

TARGET static float FN(last_layer)(const float *x, const float *w, float bias) {
    __m256 a = _mm256_setzero_ps(), b = a, c = a, d = a;
    float lane[8], sum = 0;
    int i;
    for (i = 0; i < HIDDEN; i += 32) {
        a = MADD(_mm256_loadu_ps(x + i), _mm256_loadu_ps(w + i), a);
        b = MADD(_mm256_loadu_ps(x + i + 8), _mm256_loadu_ps(w + i + 8), b);
        c = MADD(_mm256_loadu_ps(x + i + 16), _mm256_loadu_ps(w + i + 16), c);
        d = MADD(_mm256_loadu_ps(x + i + 24), _mm256_loadu_ps(w + i + 24), d);
    }
    _mm256_storeu_ps(lane, _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), c), d));
    for (i = 0; i < 8; i++) sum += lane[i];
    return sum + bias;
}

/* e^x: x = n ln 2 + r, e^r by its series, 2^n put into the exponent. */
TARGET static __m256 FN(exponential)(__m256 x) {
    const __m256 magic = _mm256_set1_ps(12582912.0f); /* 1.5 * 2^23: adding it rounds */
    __m256 t, n, r, y, scale;
    int32_t bits[8];
    float f[8];
    int i;
    x = _mm256_max_ps(x, _mm256_set1_ps(-87.0f));
    x = _mm256_min_ps(x, _mm256_set1_ps(87.0f));
    t = MADD(x, _mm256_set1_ps(1.44269504f), magic);
    n = _mm256_sub_ps(t, magic);
    r = MADD(n, _mm256_set1_ps(-0.693359375f), x);
    r = MADD(n, _mm256_set1_ps(2.12194440e-4f), r);
    y = _mm256_set1_ps(1.0f / 5040);
    y = MADD(y, r, _mm256_set1_ps(1.0f / 720));
    y = MADD(y, r, _mm256_set1_ps(1.0f / 120));
    y = MADD(y, r, _mm256_set1_ps(1.0f / 24));
    y = MADD(y, r, _mm256_set1_ps(1.0f / 6));
    y = MADD(y, r, _mm256_set1_ps(0.5f));
    y = MADD(y, r, _mm256_set1_ps(1.0f));
    y = MADD(y, r, _mm256_set1_ps(1.0f));
    _mm256_storeu_ps(f, n);
    for (i = 0; i < 8; i++) bits[i] = ((int32_t)f[i] + 127) * (1 << 23);
    memcpy(f, bits, sizeof f);
    scale = _mm256_loadu_ps(f);
    return _mm256_mul_ps(y, scale); /* exact: a power of two */
}

TARGET static __m256 FN(sigmoid)(__m256 x) {
    const __m256 one = _mm256_set1_ps(1.0f);
    __m256 minus = _mm256_sub_ps(_mm256_setzero_ps(), x);
    return _mm256_div_ps(one, _mm256_add_ps(one, FN(exponential)(minus)));
}

TARGET static __m256 FN(hyperbolic)(__m256 x) {
    const __m256 one = _mm256_set1_ps(1.0f), two = _mm256_set1_ps(2.0f);
    __m256 e = FN(exponential)(_mm256_add_ps(x, x));
    return _mm256_sub_ps(one, _mm256_div_ps(two, _mm256_add_ps(one, e)));
}

/* From the gates i, f, g, o to the next state. */
TARGET static void FN(lstm_step)(const float *gates, float *c, float *h) {
    int u;
    for (u = 0; u < LSTM; u += 8) {
        __m256 i = FN(sigmoid)(_mm256_loadu_ps(gates + u));
        __m256 f = FN(sigmoid)(_mm256_loadu_ps(gates + LSTM + u));
        __m256 g = FN(hyperbolic)(_mm256_loadu_ps(gates + 2 * LSTM + u));
        __m256 o = FN(sigmoid)(_mm256_loadu_ps(gates + 3 * LSTM + u));
        __m256 next = MADD(f, _mm256_loadu_ps(c + u), _mm256_mul_ps(i, g));
        _mm256_storeu_ps(c + u, next);
        _mm256_storeu_ps(h + u, _mm256_mul_ps(o, FN(hyperbolic)(next)));
    }
}

/* Steps without any card, at the beginning of a history, are the weights' alone: their product
 * comes before the rows of the first step with cards, as where they are computed once for all
 * games. */
TARGET static void FN(run_lstm)(const Net *net, const View *v, float *h) {
    float gates[GATES], c[LSTM];
    int rows[MAX_ROWS], step, begun = 0;
    memset(c, 0, sizeof c);
    memset(h, 0, LSTM * sizeof *h);
    for (step = 0; step < 5; step++) {
        int n = step_rows(v, step, rows);
        memcpy(gates, net->gate_bias, sizeof gates);
        if (!begun && step > 0) FN(add_product)(net->hh, LSTM, h, gates);
        FN(add_rows)(net->ih, STEP_ROWS, rows, n, gates);
        if (begun) FN(add_product)(net->hh, LSTM, h, gates);
        begun |= n > 0;
        FN(lstm_step)(gates, c, h);
    }
}

/* q of each of n plays. */
TARGET static void FN(net_run)(const Net *net, const View *v, const Hand *plays, int n, float *q) {
    static float state[HIDDEN], block[2][BLOCK * HIDDEN];
    float h[LSTM];
    int rows[MAX_ROWS], count, at, r, i;
    FN(run_lstm)(net, v, h);
    memcpy(state, net->bias, sizeof state);
    count = state_rows(v, rows);
    FN(add_rows)(net->x, net->x_rows, rows, count, state);
    FN(add_product)(net->dense1_h, LSTM, h, state);
    for (at = 0; at < n; at += BLOCK) {
        int m = n - at < BLOCK ? n - at : BLOCK, padded = (m + 3) / 4 * 4;
        for (r = 0; r < padded; r++) {
            float *x = block[0] + r * HIDDEN;
            memcpy(x, state, sizeof state);
            if (r >= m) continue;
            count = (int)(rows_of(plays[at + r], net->x_dim, rows) - rows);
            FN(add_rows)(net->x, net->x_rows, rows, count, x);
            for (i = 0; i < HIDDEN; i++) x[i] = x[i] > 0 ? x[i] : 0;
        }
        for (i = 0; i < 4; i++) FN(layer)
        (net->hidden[i], net->bias + (i + 1) * HIDDEN, padded, block[i % 2], block[(i + 1) % 2]);
        for (r = 0; r < m; r++) q[at + r] = FN(last_layer)(block[0] + r * HIDDEN, net->w6, net->b6);
    }
}
