/* text.c - cards as letters, both ways. One table of letters serves reading and writing. */
#include "engine/text.h"

static const char letters[N_RANKS + 1] = "3456789TJQKA2BR";

int text_from_hand(Hand h, char out[TEXT_MAX]) {
    int n = 0;
    for (int rank = 0; rank < N_RANKS; rank++)
        for (int i = hand_count(h, rank); i > 0 && n < TEXT_MAX - 1; i--) out[n++] = letters[rank];
    out[n] = '\0';
    return n;
}

int text_from_move(Hand h, char out[TEXT_MAX]) {
    if (h != 0) return text_from_hand(h, out);
    __builtin_memcpy(out, "pass", 5);
    return 4;
}

static char upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

/* Rank of the card written at s, and how many characters it takes; -1: no card. */
static int read_rank(const char *s, int *used) {
    char c = upper(*s);
    *used = 1;
    if (c == '1' && s[1] == '0') {
        *used = 2;
        return RANK_T;
    }
    if (c == 'X') return RANK_B;
    if (c == 'D') return RANK_R;
    for (int rank = 0; rank < N_RANKS; rank++)
        if (letters[rank] == c) return rank;
    return -1;
}

Status text_to_hand(const char *s, Hand *out, int *bad) {
    Hand h = 0;
    for (int i = 0, used; s[i]; i += used) {
        used = 1;
        if (s[i] == ' ' || s[i] == '\t') continue;
        int rank = read_rank(s + i, &used);
        bool full = rank >= 0 && hand_count(h, rank) == hand_count(HAND_FULL, rank);
        if (rank < 0 || full) {
            if (bad) *bad = i;
            return full ? ST_INVALID : ST_PARSE;
        }
        h += hand_of(rank, 1);
    }
    *out = h;
    return ST_OK;
}

static bool is_pass(const char *s) {
    for (int i = 0; i < 4; i++)
        if (upper(s[i]) != "PASS"[i]) return false;
    return s[4] == '\0';
}

Status text_to_move(const char *s, Hand *out, int *bad) {
    if (!is_pass(s)) return text_to_hand(s, out, bad);
    *out = 0;
    return ST_OK;
}
