/* ---- bidding by values: what the deal is worth as landlord, and as a peasant ---- */

enum { BID_INPUTS = 65, BID_HIDDEN1 = 128, BID_HIDDEN2 = 64, BID_VALUES = 4 };

static void dense(int n_out, int n_in, const float *w, const float *b, const float *x, int relu,
                  float *y) {
    int i, k;
    for (i = 0; i < n_out; i++, w += n_in) {
        float sum = b[i];
        for (k = 0; k < n_in; k++) sum += w[k] * x[k];
        y[i] = relu && sum < 0 ? 0 : sum;
    }
}

/* The points of a landlord at base 1, of a peasant if the next seat is landlord, or the one after.
 */
static void bid_values(const float *x, float *v) {
    static float w[BID_HIDDEN1 * (BID_INPUTS + 1) + BID_HIDDEN2 * (BID_HIDDEN1 + 1) +
                   BID_VALUES * (BID_HIDDEN2 + 1)];
    const float *w1 = w, *b1 = w1 + BID_HIDDEN1 * BID_INPUTS, *w2 = b1 + BID_HIDDEN1;
    const float *b2 = w2 + BID_HIDDEN2 * BID_HIDDEN1, *w3 = b2 + BID_HIDDEN2;
    const float *b3 = w3 + BID_VALUES * BID_HIDDEN2;
    float h1[BID_HIDDEN1], h2[BID_HIDDEN2];
    Letters l;
    size_t i;
    l.at = bid_weights;
    l.left = 0;
    for (i = 0; i < sizeof w / sizeof *w; i++) w[i] = next_float(&l);
    dense(BID_HIDDEN1, BID_INPUTS, w1, b1, x, 1, h1);
    dense(BID_HIDDEN2, BID_HIDDEN1, w2, b2, h1, 1, h2);
    dense(BID_VALUES, BID_HIDDEN2, w3, b3, h2, 0, v);
}

static int choose_bid(const View *v) {
    static const float margin[4] = BOT_MARGINS;
    float x[BID_INPUTS], value[BID_VALUES], pass, most = 0;
    int i, bid, best = 0, landlord = 0, after;
    memset(x, 0, sizeof x);
    for (i = 0; i < N_RANKS; i++) {
        int n = hand_count(v->hand, i), k;
        for (k = 0; k < n; k++) x[i <= RANK_2 ? 4 * i + k : i + 39] = 1;
    }
    x[54 + v->n_bids] = 1;
    for (i = 0; i < v->n_bids; i++) {
        x[57 + 4 * i + v->bids[i]] = 1;
        if (v->bids[i]) landlord = i; /* each bid is higher than the one before */
    }
    bid_values(x, value);
    after = (landlord - v->n_bids + 3) % 3;
    pass = (float)(v->highest > 0 ? v->highest : 1) *
           (after == 0 ? value[0] : value[after == 1 ? 1 : 2]);
    for (bid = v->highest + 1; bid <= 3; bid++) {
        float gain = (float)bid * value[0] - pass - margin[bid];
        if (gain <= most) continue;
        most = gain;
        best = bid;
    }
    return best;
}
