/* ruleset.c - the table of rulesets: one row each, in the order of RulesetId. */
#include "engine/ruleset.h"

static const Ruleset rows[N_RULESETS] = {
    [RULES_DOUZERO] = {.name = "douzero",
                       .about =
                           "no bidding; any cards ride on planes; the quirks of DouZero's typing",
                       .score = SCORE_PLAIN,
                       .detector_quirks = true,
                       .plane_kicker_pairs = true,
                       .plane_kicker_trios = true,
                       .plane_kicker_quads = true,
                       .plane_kicker_rocket = true,
                       .plane_kicker_lengthens = true,
                       .four_kicker_pair = true,
                       .four_kicker_rocket = true},
    [RULES_RLCARD] = {.name = "rlcard",
                      .about = "no bidding; no bomb or rocket rides on a plane",
                      .score = SCORE_PLAIN,
                      .plane_kicker_pairs = true,
                      .plane_kicker_trios = true,
                      .four_kicker_pair = true},
    [RULES_BOTZONE] = {.name = "botzone",
                       .about =
                           "FightTheLandlord2: bids 0-3, space shuttles, kickers all different",
                       .score = SCORE_STAKES,
                       .bidding = true,
                       .shuttles = true,
                       .spring = true,
                       .plane_kicker_rocket = true,
                       .four_kicker_rocket = true},
    [RULES_BOTZONE1] = {.name = "botzone1",
                        .about =
                            "FightTheLandlord: no bidding, shuttles with light wings, small points",
                        .score = SCORE_POINTS,
                        .shuttles = true,
                        .shuttle_loose = true,
                        .plane_kicker_rocket = true,
                        .four_kicker_rocket = true},
    [RULES_CLASSIC] = {.name = "classic",
                       .about = "online play: bids 0-3, redeal if nobody bids, spring doubles",
                       .score = SCORE_STAKES,
                       .bidding = true,
                       .redeal = true,
                       .spring = true,
                       .plane_kicker_pairs = true,
                       .plane_kicker_trios = true,
                       .four_kicker_pair = true},
};

const Ruleset *ruleset_get(RulesetId id) { return &rows[id]; }

int ruleset_find(const char *name) {
    for (int id = 0; id < N_RULESETS; id++) {
        const char *a = rows[id].name, *b = name;
        while (*a && *a == *b) a++, b++;
        if (*a == *b) return id;
    }
    return -1;
}
