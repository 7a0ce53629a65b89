/* The rule policy, in order:
 *
 *   1. the whole hand can be played: play it;
 *   2. some play cannot be beaten, and after it the rest can be played out without losing the lead:
 *      play it (short hands only);
 *   3. else each play is worth what it takes off the hand's cost (hand_cost.h), plus the chance
 *      that it holds the lead times what the lead is worth, which grows as an enemy nears his end;
 *      minus a fine for beating a teammate and for feeding an enemy who has as few cards as the
 *      play. Passing is worth 0. The best one is played.                                    */
#include "actors/policy_rule.h"

enum { SURE_CARDS = 10 /* hands up to this size are searched for a certain win */ };

/* What the lead is worth: a base, and a part in inverse proportion to the nearest enemy's cards. */
static const float lead_base = 0.35f, lead_urgent = 1.6f;
/* Beating a partner's play that the landlord has passed on, or has yet to answer; more so if it is
 * likely to hold, and if the partner has few cards left.                                    */
static const float fine_partner_led = 0.7f, fine_partner_next = 0.5f;
static const float fine_partner_holds = 0.3f, fine_partner_short = 1.0f;
static const float fine_feeding = 1.5f;
/* How likely one more way to be beaten leaves a play alone, by cards in the play's group. */
static const float survive_single = 0.80f, survive_pair = 0.78f, survive_trio = 0.85f;
static const float survive_chain = 0.85f, survive_bombs = 0.93f;

typedef struct {
    RuleMemo *memo;
    const Ruleset *rules;
    Hand own, unseen;
    int role;
    int enemy_left, enemy_most; /* cards of the enemy nearest to, and farthest from, his end */
    int partner_left;           /* 0: no partner */
    bool partner_next;          /* the partner acts right after this seat */
    bool partner_leads;         /* the play to beat is the partner's */
    bool landlord_passed;       /* ... and the landlord has passed on it */
    float lead;                 /* what having the lead is worth */
    float partner_fine;         /* 0 unless partner_leads */
} View;

static View view_of(RuleMemo *memo, const Game *g) {
    int seat = g->turn, next = (seat + 1) % N_SEATS, last = (seat + 2) % N_SEATS;
    View v = {.memo = memo, .rules = ruleset_get((RulesetId)g->ruleset), .own = g->hand[seat]};
    v.role = game_role(g, seat);
    v.unseen = HAND_FULL - g->hand[seat] - g->played[0] - g->played[1] - g->played[2];
    if (v.role == ROLE_LANDLORD) {
        int a = g->left[next], b = g->left[last];
        v.enemy_left = a < b ? a : b;
        v.enemy_most = a < b ? b : a;
    } else {
        int partner = v.role == ROLE_LANDLORD_DOWN ? next : last;
        v.enemy_left = v.enemy_most = g->left[g->landlord];
        v.partner_left = g->left[partner];
        v.partner_next = partner == next;
        v.partner_leads = g->to_beat.cards != 0 && g->leader == partner;
        v.landlord_passed = v.partner_leads && v.role == ROLE_LANDLORD_DOWN;
    }
    v.lead = lead_base + lead_urgent / (float)v.enemy_left;
    return v;
}

/* Width of the groups a play is made of: 1 singles, 2 pairs, 3 trios, 4 quads. */
static int group_width(const Move *m) {
    switch (m->type) {
    case MOVE_SINGLE:
    case MOVE_STRAIGHT: return 1;
    case MOVE_PAIR:
    case MOVE_PAIR_CHAIN: return 2;
    case MOVE_TRIO:
    case MOVE_TRIO_SINGLE:
    case MOVE_TRIO_PAIR:
    case MOVE_PLANE:
    case MOVE_PLANE_SINGLES:
    case MOVE_PLANE_PAIRS: return 3;
    default: return 4;
    }
}

/* In how many main ranks the unseen cards could beat m with its own type. Kickers are taken to be
 * there. Never too small: 0 means that only a bomb or the rocket can beat it.               */
static int ways_to_beat(const Move *m, Hand unseen) {
    uint64_t has = hand_at_least(unseen, group_width(m));
    if (m->length == 1) {
        uint64_t above = m->rank >= RANK_R ? 0 : has >> (4 * (m->rank + 1));
        return __builtin_popcountll(above);
    }
    int ways = 0, lowest = __builtin_ctzll(hand_at_least(m->cards, group_width(m))) / 4;
    for (int from = lowest + 1; from + m->length <= RANK_2; from++) {
        Hand chain = HAND_ONES & HAND_NIBBLES(from, m->length);
        if ((has & chain) == chain) ways++;
    }
    return ways;
}

static bool bombs_against(const View *v, const Move *m) {
    if (m->type == MOVE_ROCKET) return false;
    bool rocket = v->unseen >> (4 * RANK_B) == 0x11 && v->enemy_most >= 2;
    uint64_t quads = hand_at_least(v->unseen, 4);
    if (m->type == MOVE_BOMB) quads &= ~HAND_NIBBLES(0, m->rank + 1);
    return rocket || (quads != 0 && v->enemy_most >= 4);
}

static bool unbeatable(const View *v, const Move *m) {
    if (bombs_against(v, m)) return false;
    if (m->type == MOVE_BOMB || m->type == MOVE_ROCKET) return true;
    return v->enemy_most < m->size || ways_to_beat(m, v->unseen) == 0;
}

static float power(float base, int n) {
    float x = 1;
    while (n-- > 0) x *= base;
    return x;
}

/* The chance that m keeps the lead. */
static float holds(const View *v, const Move *m) {
    float p = bombs_against(v, m) ? survive_bombs : 1;
    if (m->type == MOVE_BOMB || m->type == MOVE_ROCKET || v->enemy_most < m->size) return p;
    int ways = ways_to_beat(m, v->unseen);
    static const float by_width[5] = {0, survive_single, survive_pair, survive_trio, 0.9f};
    return p * power(m->length > 1 ? survive_chain : by_width[group_width(m)], ways);
}

/* Can the hand, having the lead, be played out with nobody able to take it? */
static bool sure_win(const View *v, Hand hand) {
    Move all = move_classify(v->rules, hand);
    if (all.type != MOVE_NONE) return true;
    Hand leads[MOVEGEN_MAX];
    int n = movegen_leads(v->rules, hand, leads);
    for (int i = 0; i < n; i++) {
        Move m = move_classify(v->rules, leads[i]);
        if (m.type != MOVE_NONE && unbeatable(v, &m) && sure_win(v, hand - leads[i])) return true;
    }
    return false;
}

/* Would m let an enemy with as few cards go out? */
static float feeding(const View *v, const Move *m, float hold) {
    bool fits = (v->enemy_left == 1 && m->type == MOVE_SINGLE) ||
                (v->enemy_left == 2 && m->type == MOVE_PAIR);
    return fits ? fine_feeding * (1 - hold) : 0;
}

/* A partner who acts next and needs one card is given the lowest single. */
static float helping(const View *v, const Move *m) {
    bool helps = v->partner_next && ((v->partner_left == 1 && m->type == MOVE_SINGLE) ||
                                     (v->partner_left == 2 && m->type == MOVE_PAIR));
    return helps ? 0.1f * (float)(N_RANKS - m->rank) : 0;
}

static float partner_fine(const View *v, const Move *to_beat) {
    return (v->landlord_passed ? fine_partner_led : fine_partner_next) +
           fine_partner_holds * holds(v, to_beat) + fine_partner_short / (float)v->partner_left;
}

static float worth(const View *v, Hand cards, float cost_now, bool leading) {
    if (cards == 0) return 0;
    Move m = move_classify(v->rules, cards);
    float hold = holds(v, &m);
    float w = cost_now - hand_cost(v->memo, v->own - cards) + hold * v->lead - feeding(v, &m, hold);
    if (leading) w += helping(v, &m);
    w -= v->partner_fine;
    return w;
}

static int find_sure_win(const View *v, const Hand *legal, int n) {
    int size = hand_size(v->own);
    for (int i = 0; i < n; i++)
        if (legal[i] == v->own) return i;
    if (size > SURE_CARDS) return -1;
    for (int i = 0; i < n; i++) {
        if (legal[i] == 0) continue;
        Move m = move_classify(v->rules, legal[i]);
        if (m.type != MOVE_NONE && unbeatable(v, &m) && sure_win(v, v->own - legal[i])) return i;
    }
    return -1;
}

int rule_choose(RuleMemo *memo, const Game *g, const Hand *legal, int n) {
    View v = view_of(memo, g);
    int best = find_sure_win(&v, legal, n);
    if (best >= 0) return best;
    bool leading = g->to_beat.cards == 0;
    float cost_now = hand_cost(memo, v.own), best_worth = 0;
    if (v.partner_leads) v.partner_fine = partner_fine(&v, &g->to_beat);
    for (int i = 0; i < n; i++) {
        float w = worth(&v, legal[i], cost_now, leading);
        if (best >= 0 && w <= best_worth) continue;
        best = i;
        best_worth = w;
    }
    return best;
}

int rule_bid(RuleMemo *m, const Game *g) {
    int wish = hand_bid(m, g->hand[g->turn]);
    return wish > g->bid ? wish : 0;
}
