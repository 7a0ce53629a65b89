/* ---------------------------------------------------------------------------------------------
 * What this seat knows, from all requests and its own answers. Roles: 0 landlord, 1 plays after
 * him, 2 before him. */

typedef struct {
    /* what is asked, and what holds even if the rest makes no sense */
    int bidding, leading;
    Cards left; /* own cards not yet played */
    /* while bidding */
    int n_bids, highest, bids[3];
    /* while playing */
    int playing, old_game, role;
    Cards own, bottom;
    int n_plays;
    Hand plays[MAX_PLAYS]; /* from the landlord's first on */
    Hand hand;             /* own */
    Hand played[3];
    int cards_left[3], bombs;
    Play last; /* to beat; cards 0: none */
} View;

static int is_empty_list(const Json *j, int node) {
    return json_is(j, node, JSON_ARRAY) && j->node[node].length == 0;
}

static void add_cards(const Json *j, int list, Cards *out) {
    int c;
    if (!json_is(j, list, JSON_ARRAY)) return;
    for (c = j->node[list].child; c != NO_NODE; c = j->node[c].next) {
        int id = json_int(j, c, N_CARDS - 1);
        if (id >= 0 && !cards_have(out, id) && out->n < 20) out->id[out->n++] = id;
    }
}

static void remove_cards(Cards *from, const Cards *gone) {
    int i, n = 0;
    for (i = 0; i < from->n; i++)
        if (!cards_have(gone, from->id[i])) from->id[n++] = from->id[i];
    from->n = n;
}

static void note_certain(const Json *j, const int *requests, const int *responses, int n, View *v) {
    int i, history, bids;
    Cards gone;
    gone.n = 0;
    for (i = 0; i < n; i++) {
        int pos = json_int(j, json_get(j, requests[i], "pos"), 2);
        add_cards(j, json_get(j, requests[i], "own"), &v->left);
        if (pos >= 0 && pos == json_int(j, json_get(j, requests[i], "landlord"), 2))
            add_cards(j, json_get(j, requests[i], "publiccard"), &v->left);
        if (i + 1 < n) add_cards(j, responses[i], &gone);
    }
    remove_cards(&v->left, &gone);
    history = json_get(j, requests[n - 1], "history");
    bids = json_get(j, requests[n - 1], "bid");
    v->bidding = bids != NO_NODE && history == NO_NODE;
    if (json_is(j, history, JSON_ARRAY) && j->node[history].length == 2) {
        int first = j->node[history].child;
        v->leading = is_empty_list(j, first) && is_empty_list(j, j->node[first].next);
    }
}

/* One play by the seat whose turn it is. */
static int add_play(View *v, const Cards *cards) {
    int role = v->n_plays % 3;
    Hand h = cards_hand(cards);
    Play p = classify(h, v->old_game);
    if (v->n_plays == MAX_PLAYS || (h && p.type == PLAY_NONE)) return 0;
    v->plays[v->n_plays++] = h;
    if (h) {
        if (cards->n > v->cards_left[role]) return 0;
        v->cards_left[role] -= cards->n;
        v->played[role] += h;
        v->bombs += p.type == PLAY_BOMB || p.type == PLAY_ROCKET;
        v->last = p;
    } else {
        int n = v->n_plays;
        if (!v->last.cards) return 0;
        if (n >= 2 && !v->plays[n - 2]) v->last.cards = 0; /* two passes: a new lead */
    }
    return 1;
}

static int first_play(const Json *j, int request, View *v, Cards history[2]) {
    int landlord = 0, pos;
    if (v->playing) return 0;
    if (!json_cards(j, json_get(j, request, "own"), &v->own)) return 0;
    if (!json_cards(j, json_get(j, request, "publiccard"), &v->bottom) || v->bottom.n != 3)
        return 0;
    v->playing = 1;
    v->old_game = json_get(j, request, "landlord") == NO_NODE;
    if (v->old_game) {
        v->role = v->own.n == 20 ? 0 : history[0].n > 0 ? 2 : 1;
    } else {
        landlord = json_int(j, json_get(j, request, "landlord"), 2);
        pos = json_int(j, json_get(j, request, "pos"), 2);
        if (landlord < 0 || pos < 0) return 0;
        v->role = (pos - landlord + 3) % 3;
    }
    if (v->own.n != 17 && !(v->old_game && v->own.n == 20)) return 0;
    v->hand = cards_hand(&v->own);
    if (v->role == 0 && v->own.n == 17) v->hand += cards_hand(&v->bottom);
    v->cards_left[0] = 20;
    v->cards_left[1] = v->cards_left[2] = 17;
    if (v->role < 2 && history[0].n > 0) return 0;
    if (v->role < 1 && history[1].n > 0) return 0;
    if (v->role == 2 && !add_play(v, &history[0])) return 0;
    return v->role == 0 || add_play(v, &history[1]);
}

static int take_bid(const Json *j, int request, View *v) {
    int c, bids = json_get(j, request, "bid");
    if (v->playing || !json_cards(j, json_get(j, request, "own"), &v->own) || v->own.n != 17)
        return 0;
    if (!json_is(j, bids, JSON_ARRAY) || j->node[bids].length > 2) return 0;
    v->n_bids = v->highest = 0;
    for (c = j->node[bids].child; c != NO_NODE; c = j->node[c].next) {
        int bid = json_int(j, c, 3);
        if (bid < 0) return 0;
        v->bids[v->n_bids++] = bid;
        if (bid > v->highest) v->highest = bid;
    }
    v->hand = cards_hand(&v->own);
    return 1;
}

static int take_request(const Json *j, int request, View *v, int *is_play) {
    int list = json_get(j, request, "history");
    Cards history[2];
    *is_play = list != NO_NODE;
    if (!*is_play) return take_bid(j, request, v);
    if (!json_is(j, list, JSON_ARRAY) || j->node[list].length != 2) return 0;
    list = j->node[list].child;
    if (!json_cards(j, list, &history[0]) || !json_cards(j, j->node[list].next, &history[1]))
        return 0;
    if (json_get(j, request, "own") != NO_NODE) return first_play(j, request, v, history);
    return v->playing && add_play(v, &history[0]) && add_play(v, &history[1]);
}

/* 0: it makes no sense; then only the first part of v means something. */
static int view_of(const Json *j, const int *requests, const int *responses, int n, View *v) {
    int i, is_play = 0;
    Hand unseen;
    memset(v, 0, sizeof *v);
    if (n == 0) return 0;
    note_certain(j, requests, responses, n, v);
    for (i = 0; i < n; i++) {
        Cards answer;
        if (!take_request(j, requests[i], v, &is_play)) return 0;
        if (i + 1 == n) break;
        if (!is_play) continue;
        if (!json_cards(j, responses[i], &answer)) return 0;
        if (v->n_plays % 3 != v->role || !add_play(v, &answer)) return 0;
        v->hand -= cards_hand(&answer);
    }
    if (!is_play) return 1;
    if (v->n_plays % 3 != v->role || hand_size(v->hand) != v->cards_left[v->role] || !v->hand)
        return 0;
    if (v->left.n != hand_size(v->hand) || cards_hand(&v->left) != v->hand) return 0;
    unseen = v->hand + v->played[0] + v->played[1] + v->played[2];
    for (i = 0; i < N_RANKS; i++)
        if (hand_count(unseen, i) > hand_count(FULL_DECK, i)) return 0;
    return 1;
}

/* The cards of h, from the front of what is left. */
static Cards pick(const Cards *from, Hand h) {
    Cards out;
    int i;
    memset(&out, 0, sizeof out);
    for (i = 0; i < from->n; i++) {
        int rank = card_rank(from->id[i]);
        if (hand_count(h, rank) == 0) continue;
        h -= hand_of(rank, 1);
        out.id[out.n++] = from->id[i];
    }
    return out;
}
