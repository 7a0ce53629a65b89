/* ---------------------------------------------------------------------------------------------
 * The value net of one role: an LSTM over the last 15 plays, then six dense layers over its output,
 * the state and the play. Matrices lie in panels of 32 outputs: [outputs / 32][inputs][32]. Card
 * sets are sums of few rows: row 4r+n-1 of a set stands for n cards of rank r. */

enum { LSTM = 128, GATES = 512, HIDDEN = 512, STEP_ROWS = 162, SET_ROWS = 54, PANEL = 32 };
enum { MAX_ROWS = 128, BLOCK = 64 /* plays scored at once */ };

typedef struct {
    int x_dim, x_rows;                  /* features of the state; and of the play */
    const float *ih, *gate_bias, *hh;   /* 162 -> 512; 512; 128 -> 512 */
    const float *x, *dense1_h;          /* x_rows -> 512; 128 -> 512 */
    const float *bias, *hidden[4], *w6; /* 5 x 512; 512 -> 512; 512 */
    float b6;
    float *memory;
} Net;

static size_t net_floats(int x_rows) {
    return (size_t)GATES * STEP_ROWS + GATES + (size_t)GATES * LSTM +
           (size_t)HIDDEN * (size_t)x_rows + (size_t)HIDDEN * LSTM + 5 * HIDDEN +
           4 * (size_t)HIDDEN * HIDDEN + HIDDEN + 16;
}

static int net_x_dim(int role) { return role == 0 ? 319 : 430; }

/* Points into the role's floats, which are in this order in the weights file too. */
static void net_view(Net *net, int role, const float *p) {
    int i;
    net->x_dim = net_x_dim(role);
    net->x_rows = net->x_dim + SET_ROWS;
    net->ih = p;
    p += GATES * STEP_ROWS;
    net->gate_bias = p;
    p += GATES;
    net->hh = p;
    p += GATES * LSTM;
    net->x = p;
    p += HIDDEN * net->x_rows;
    net->dense1_h = p;
    p += HIDDEN * LSTM;
    net->bias = p;
    p += 5 * HIDDEN;
    for (i = 0; i < 4; i++, p += HIDDEN * HIDDEN) net->hidden[i] = p;
    net->w6 = p;
    net->b6 = p[HIDDEN];
}

/* ---- which rows a decision adds up ---- */

static int *rows_of(Hand h, int first, int *out) {
    int r;
    for (r = 0; r < N_RANKS; r++) {
        int n = hand_count(h, r);
        if (n) *out++ = first + (r <= RANK_2 ? 4 * r + n - 1 : r + 39);
    }
    return out;
}

/* The last play of a role, 0 if it passed or has not played. */
static Hand last_play(const View *v, int role) {
    int i;
    for (i = v->n_plays - 1; i >= 0 && i >= v->n_plays - 3; i--)
        if (i % 3 == role) return v->plays[i];
    return 0;
}

static int state_rows(const View *v, int *out) {
    int *begin = out, first = 0, i, mate = v->role == 1 ? 2 : 1;
    Hand others = FULL_DECK - v->hand - v->played[0] - v->played[1] - v->played[2];
    Hand sets[7];
    int n_sets = 0;
    sets[n_sets++] = v->hand;
    sets[n_sets++] = others;
    if (v->role == 0) {
        sets[n_sets++] = v->last.cards;
        sets[n_sets++] = v->played[2];
        sets[n_sets++] = v->played[1];
    } else {
        sets[n_sets++] = v->played[0];
        sets[n_sets++] = v->played[mate];
        sets[n_sets++] = v->last.cards;
        sets[n_sets++] = last_play(v, 0);
        sets[n_sets++] = last_play(v, mate);
    }
    for (i = 0; i < n_sets; i++, first += SET_ROWS) out = rows_of(sets[i], first, out);
    *out++ = first + (v->role == 0 ? v->cards_left[2] : v->cards_left[0]) - 1;
    first += v->role == 0 ? 17 : 20;
    *out++ = first + (v->role == 0 ? v->cards_left[1] : v->cards_left[mate]) - 1;
    *out++ = first + 17 + v->bombs;
    return (int)(out - begin);
}

/* Play i of the last 15, oldest first; before the first play there are passes. */
static Hand history_play(const View *v, int i) {
    int at = v->n_plays - 15 + i;
    return at >= 0 ? v->plays[at] : 0;
}

static int step_rows(const View *v, int step, int *out) {
    int *begin = out, i;
    for (i = 0; i < 3; i++) out = rows_of(history_play(v, 3 * step + i), i * SET_ROWS, out);
    return (int)(out - begin);
}
