/* ---------------------------------------------------------------------------------------------
 * The turn: read a line, choose, answer. */

static char *read_line(size_t *length) {
    size_t cap = 1 << 16, n = 0;
    char *line = (char *)malloc(cap);
    int c = EOF;
    while (line && (c = getchar()) != EOF && c != '\n') {
        if (n + 1 == cap) {
            char *larger = (char *)realloc(line, cap *= 2);
            if (!larger) break;
            line = larger;
        }
        line[n++] = (char)c;
    }
    if (line && n == 0 && c == EOF) {
        free(line);
        return NULL;
    }
    *length = n;
    return line;
}

/* ---- the game so far: whole inputs, or request by request ---- */

enum { MAX_TURNS = 400 };

typedef struct {
    Json json; /* of all lines since the last whole input */
    int request[MAX_TURNS], response[MAX_TURNS];
    int n;
} History;

static int members(const Json *j, int list, int *out, int max) {
    int c, n = 0;
    if (!json_is(j, list, JSON_ARRAY)) return 0;
    for (c = j->node[list].child; c != NO_NODE && n < max; c = j->node[c].next) out[n++] = c;
    return n;
}

/* 0: no JSON object, or answers that do not fit the requests; then nothing of the line is kept. */
static int take_line(History *h, const char *line, size_t length) {
    Json *j = &h->json;
    int before = j->n, root, answers, requests;
    j->at = line;
    j->end = line + length;
    root = json_value(j, 0);
    json_space(j);
    if (!json_is(j, root, JSON_OBJECT) || j->at != j->end) {
        j->n = before;
        return 0;
    }
    requests = json_get(j, root, "requests");
    if (requests == NO_NODE && h->n < MAX_TURNS) {
        h->request[h->n++] = root;
        return 1;
    }
    h->n = members(j, requests, h->request, MAX_TURNS);
    answers = members(j, json_get(j, root, "responses"), h->response, MAX_TURNS);
    if (h->n > 0 && answers + 1 == h->n) return 1;
    h->n = 0;
    j->n = 0;
    return 0;
}

/* Our own answer becomes part of the history, as the judge would tell it. */
static void note_answer(History *h, const Cards *cards) {
    Json *j = &h->json;
    int i, node, last = NO_NODE;
    if (h->n == 0) return;
    node = json_new(j, JSON_ARRAY);
    h->response[h->n - 1] = node;
    for (i = 0; node != NO_NODE && i < cards->n; i++) {
        int child = json_new(j, JSON_NUMBER);
        if (child == NO_NODE) return;
        j->node[child].number = cards->id[i];
        if (last == NO_NODE) j->node[node].child = child;
        else j->node[last].next = child;
        last = child;
        j->node[node].length++;
    }
}

/* ---- the choice ---- */

static Net net_of_role;
static int net_role = -1; /* which role's weights are in memory */

static Hand choose_play(const View *v, const char **debug) {
    static Hand legal[MAX_LEGAL];
    static float q[MAX_LEGAL];
    int n = legal_plays(v->hand, &v->last, v->old_game, legal), i, best = 0;
    if (n == 1) return legal[0];
    if (net_role != v->role && !load_net(&net_of_role, v->role)) {
        *debug = "the weights " BOT_WEIGHTS " cannot be read";
        return v->last.cards ? 0 : legal[0];
    }
    net_role = v->role;
    if (has_fma()) net_run_fma(&net_of_role, v, legal, n, q);
    else net_run_avx(&net_of_role, v, legal, n, q);
    for (i = 1; i < n; i++)
        if (q[i] > q[best]) best = i;
    return legal[best];
}

/* For what makes no sense: pass, or the lowest card. */
static Cards safest(const View *v) {
    Cards out;
    int i;
    memset(&out, 0, sizeof out);
    if (!v->leading || v->left.n == 0) return out;
    out.id[out.n++] = v->left.id[0];
    for (i = 1; i < v->left.n; i++)
        if (v->left.id[i] < out.id[0]) out.id[0] = v->left.id[i];
    return out;
}

static void print_answer(int bidding, int bid, const Cards *cards, const char *debug) {
    int i;
    printf("{\"response\":");
    if (bidding) {
        printf("%d", bid);
    } else {
        putchar('[');
        for (i = 0; i < cards->n; i++) printf(i ? ",%d" : "%d", cards->id[i]);
        putchar(']');
    }
    if (debug) printf(",\"debug\":\"%s\"", debug);
    printf("}\n");
    if (BOT_KEEP_RUNNING) printf(">>>BOTZONE_REQUEST_KEEP_RUNNING<<<\n");
    fflush(stdout);
}

/* The line becomes part of the history, or is freed. */
static void answer_line(History *h, char *line, size_t length) {
    View v;
    Cards cards;
    const char *debug = NULL;
    int sense = take_line(h, line, length), bid = 0;
    memset(&v, 0, sizeof v);
    memset(&cards, 0, sizeof cards);
    if (!sense) free(line);
    else sense = view_of(&h->json, h->request, h->response, h->n, &v);
    if (!sense) {
        debug = "unexpected input";
        cards = safest(&v);
    } else if (v.bidding) {
        bid = choose_bid(&v);
    } else {
        cards = pick(&v.left, choose_play(&v, &debug));
    }
    print_answer(v.bidding, bid, &cards, debug);
    note_answer(h, &cards);
}

int main(void) {
    static History history;
    size_t length;
    char *line;
    while ((line = read_line(&length)) != NULL) {
        answer_line(&history, line, length);
        if (!BOT_KEEP_RUNNING) break;
    }
    return 0;
}
