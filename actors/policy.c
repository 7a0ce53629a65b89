#include "actors/policy.h"
#include "actors/policy_rule.h"
#include "actors/search.h"
#include "engine/base/log.h"
#include "nets/bidder.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { POLICY_RANDOM, POLICY_RULE, POLICY_NET, POLICY_SEARCH } PolicyKind;

struct Policy {
    PolicyKind kind;
    char *name;
    const PackedNet *net[N_ROLES];
    PackedNet *owned[N_ROLES]; /* those of net[] that are freed with the policy */
    WeightsInfo info;
    SearchConfig search;
    Bidder *bidder; /* NULL: bids as the rule policy */
    Policy *player; /* of a search: the net that plays on, in the fastest precision */
};

enum { MAX_SEARCHES = 8 /* search policies in one scratch */ };
enum { BATCH_DECISIONS = 1024, BATCH_ACTIONS = 8 * MOVEGEN_MAX };

struct PolicyScratch {
    Scorer *scorer;
    RuleMemo *memo;
    int n, n_actions_total;
    int decision[BATCH_DECISIONS]; /* which of the caller's decisions */
    int n_actions[BATCH_DECISIONS];
    Obs obs[BATCH_DECISIONS];
    Hand actions[BATCH_ACTIONS];
    float q[BATCH_ACTIONS];
    int n_searches;
    struct {
        const Policy *policy;
        Search *search;
    } searches[MAX_SEARCHES];
};

/* What follows the prefix of a policy's name, or NULL if it has another one. */
static const char *after_prefix(const char *name, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

static Status pack_nets(Policy *p, const Weights *w, Precision precision) {
    const KernelTable *k = kernels_get();
    if (!k) return ST_UNSUPPORTED;
    for (Role r = 0; r < N_ROLES; r++) {
        if (!w->params[r]) {
            log_error("%s has no net for the %s", p->name, role_name(r));
            return ST_MISMATCH;
        }
        TRY(packednet_new(r, precision, k, &p->owned[r]));
        packednet_set(p->owned[r], w->params[r]);
        p->net[r] = p->owned[r];
    }
    return ST_OK;
}

static Status load_net(Policy *p, const char *path, RulesetId rules, Precision precision,
                       bool any_rules) {
    Weights w;
    TRY(weights_load(path, &w));
    Status st = ST_OK;
    if (w.info.ruleset != rules && !any_rules) {
        log_error("%s was trained under %s, not %s", path,
                  ruleset_get((RulesetId)w.info.ruleset)->name, ruleset_get(rules)->name);
        st = ST_MISMATCH;
    }
    p->info = w.info;
    if (st == ST_OK) st = pack_nets(p, &w, precision);
    weights_free(&w);
    return st;
}

/* The precision that plays fastest here. */
static Precision fastest(void) {
    const KernelTable *k = kernels_get();
    for (Precision p = PRECISION_INT8; k && p > PRECISION_FP32; p--)
        if (precision_usable(k, p)) return p;
    return PRECISION_FP32;
}

static Status open_search(Policy *p, const char *text, RulesetId rules, Precision precision,
                          bool any_rules) {
    char path[1024], name[1040];
    TRY(searchconfig_parse(text, &p->search, path, sizeof path));
    TRY(load_net(p, path, rules, precision, any_rules));
    snprintf(name, sizeof name, "net:%s", path);
    return policy_open(name, rules, fastest(), any_rules, &p->player);
}

/* "AGENT,bid=FILE": the agent bids by a bidder. Cuts the rest off the name. */
static Status open_bidder(Policy *p, char *name) {
    char *at = strstr(name, ",bid=");
    if (!at) return ST_OK;
    p->bidder = malloc(sizeof *p->bidder);
    if (!p->bidder) return ST_NOMEM;
    *at = '\0';
    return bidder_load(at + strlen(",bid="), p->bidder);
}

static Status open_kind(Policy *p, const char *name, RulesetId rules, Precision precision,
                        bool any_rules) {
    Status st = ST_OK;
    const char *path = after_prefix(name, "net:"), *search = after_prefix(name, "search:");
    if (path) {
        p->kind = POLICY_NET;
        st = load_net(p, path, rules, precision, any_rules);
    } else if (search) {
        p->kind = POLICY_SEARCH;
        st = open_search(p, search, rules, precision, any_rules);
    } else if (strcmp(name, "random") == 0) {
        p->kind = POLICY_RANDOM;
    } else if (strcmp(name, "rule") == 0) {
        p->kind = POLICY_RULE;
    } else {
        log_error("no policy is named '%s': random, rule, net:FILE or search:FILE,...", name);
        st = ST_INVALID;
    }
    return st;
}

Status policy_open(const char *name, RulesetId rules, Precision precision, bool any_rules,
                   Policy **out) {
    Policy *p = calloc(1, sizeof *p);
    char *agent = strdup(name);
    Status st = p && agent && (p->name = strdup(name)) ? ST_OK : ST_NOMEM;
    if (st == ST_OK) st = open_bidder(p, agent);
    if (st == ST_OK) st = open_kind(p, agent, rules, precision, any_rules);
    free(agent);
    if (st == ST_OK) *out = p;
    else policy_free(p);
    return st;
}

Status policy_from_nets(Policy **out) {
    Policy *p = calloc(1, sizeof *p);
    if (!p || !(p->name = strdup("nets"))) {
        policy_free(p);
        return ST_NOMEM;
    }
    p->kind = POLICY_NET;
    *out = p;
    return ST_OK;
}

void policy_set_nets(Policy *p, const PackedNet *const nets[N_ROLES]) {
    for (int r = 0; r < N_ROLES; r++) p->net[r] = nets[r];
}

void policy_free(Policy *p) {
    if (!p) return;
    policy_free(p->player);
    free(p->bidder);
    for (int r = 0; r < N_ROLES; r++) packednet_free(p->owned[r]);
    free(p->name);
    free(p);
}

const char *policy_name(const Policy *p) { return p->name; }
const WeightsInfo *policy_info(const Policy *p) {
    return p->kind == POLICY_NET || p->kind == POLICY_SEARCH ? &p->info : NULL;
}

Status policyscratch_new(PolicyScratch **out) {
    PolicyScratch *s = calloc(1, sizeof *s);
    if (!s) return ST_NOMEM;
    const KernelTable *k = kernels_get();
    Status st = k ? scorer_new(k, &s->scorer) : ST_UNSUPPORTED;
    if (st == ST_OK) st = rulememo_new(&s->memo);
    if (st == ST_OK) *out = s;
    else policyscratch_free(s);
    return st;
}

void policyscratch_free(PolicyScratch *s) {
    if (!s) return;
    for (int i = 0; i < s->n_searches; i++) search_free(s->searches[i].search);
    scorer_free(s->scorer);
    rulememo_free(s->memo);
    free(s);
}

/* Scores what has been gathered for a role and picks the best play of each decision. */
static void score_batch(const PackedNet *net, PolicyScratch *s, Decision *d) {
    scorer_run(s->scorer, net, s->n, s->obs, s->n_actions, s->actions, s->q);
    const float *q = s->q;
    for (int i = 0; i < s->n; i++) {
        int best = 0;
        for (int a = 1; a < s->n_actions[i]; a++)
            if (q[a] > q[best]) best = a;
        d[s->decision[i]].choice = best;
        q += s->n_actions[i];
    }
    s->n = s->n_actions_total = 0;
}

static void choose_by_net(const Policy *p, PolicyScratch *s, int n, Decision *d) {
    for (int role = 0; role < N_ROLES; role++) {
        s->n = s->n_actions_total = 0;
        for (int i = 0; i < n; i++) {
            const Game *g = d[i].game;
            if (game_role(g, g->turn) != role) continue;
            if (s->n == BATCH_DECISIONS || s->n_actions_total + d[i].n_legal > BATCH_ACTIONS)
                score_batch(p->net[role], s, d);
            obs_from_game(g, &s->obs[s->n]);
            memcpy(s->actions + s->n_actions_total, d[i].legal,
                   (size_t)d[i].n_legal * sizeof(Hand));
            s->n_actions_total += d[i].n_legal;
            s->n_actions[s->n] = d[i].n_legal;
            s->decision[s->n++] = i;
        }
        if (s->n > 0) score_batch(p->net[role], s, d);
    }
}

void policy_score(const Policy *p, PolicyScratch *s, const Game *g, const Hand *legal, int n,
                  float *q) {
    obs_from_game(g, &s->obs[0]);
    scorer_run(s->scorer, p->net[game_role(g, g->turn)], 1, &s->obs[0], &n, legal, q);
}

static Search *find_search(const Policy *p, const PolicyScratch *s) {
    for (int i = 0; i < s->n_searches; i++)
        if (s->searches[i].policy == p) return s->searches[i].search;
    return NULL;
}

const SearchStats *policy_search_stats(const Policy *p, const PolicyScratch *s) {
    const Search *search = find_search(p, s);
    return search ? search_stats(search) : NULL;
}

static Search *get_search(const Policy *p, PolicyScratch *s) {
    Search *search = find_search(p, s);
    if (search) return search;
    if (s->n_searches == MAX_SEARCHES || search_new(&p->search, p, p->player, &search) != ST_OK) {
        log_error("no room for a search of %s: its net plays alone", p->name);
        return NULL;
    }
    s->searches[s->n_searches].policy = p;
    s->searches[s->n_searches++].search = search;
    return search;
}

static void choose_by_search(const Policy *p, PolicyScratch *s, int n, Decision *d) {
    Search *search = get_search(p, s);
    if (!search) choose_by_net(p, s, n, d);
    for (int i = 0; search && i < n; i++) search_choose(search, s, &d[i]);
}

void policy_choose(const Policy *p, PolicyScratch *s, int n, Decision *d) {
    switch (p->kind) {
    case POLICY_NET: choose_by_net(p, s, n, d); break;
    case POLICY_SEARCH: choose_by_search(p, s, n, d); break;
    case POLICY_RULE:
        for (int i = 0; i < n; i++)
            d[i].choice = rule_choose(s->memo, d[i].game, d[i].legal, d[i].n_legal);
        break;
    case POLICY_RANDOM:
        for (int i = 0; i < n; i++) d[i].choice = (int)rng_below(d[i].rng, (uint32_t)d[i].n_legal);
        break;
    }
}

int policy_bid(const Policy *p, PolicyScratch *s, const Game *g, Rng *rng) {
    if (p->bidder) return bidder_bid(p->bidder, g);
    if (p->kind != POLICY_RANDOM) return rule_bid(s->memo, g);
    /* 0 or any bid above the highest so far, each as likely. */
    uint32_t pick = rng_below(rng, 4u - g->bid);
    return pick == 0 ? 0 : g->bid + (int)pick;
}
