#include "nets/bid_deals.h"
#include "engine/base/log.h"
#include "engine/recordfile.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static Status refuse(const char *path, int64_t record, const char *what) {
    log_error("%s: record %lld: %s", path, (long long)record, what);
    return ST_CORRUPT;
}

/* One record into its place; `at` counts records. */
static Status take(const char *path, int64_t at, const Record *r, RulesetId rules, BidDeal *d) {
    int seat = (int)(at % N_SEATS);
    const char *why = "";
    Game end;
    if (!ruleset_get((RulesetId)r->ruleset)->bidding) return refuse(path, at, "no bidding");
    if (r->ruleset != rules) return refuse(path, at, "of another ruleset than the first");
    if (record_replay(r, &end, NULL, NULL, &why, NULL) != ST_OK) {
        log_error("%s: record %lld: %s", path, (long long)at, why);
        return ST_ILLEGAL;
    }
    if (end.phase != PHASE_OVER || end.landlord != seat)
        return refuse(path, at, "another landlord than the seat whose turn it is");
    if (seat == 0) d->deal = r->deal;
    else if (memcmp(&d->deal, &r->deal, sizeof r->deal) != 0)
        return refuse(path, at, "not the deal of the record before");
    int points = 2 << game_doublings(&end);
    d->outcome[seat] = (int16_t)(game_landlord_won(&end) ? points : -points);
    return ST_OK;
}

Status biddeals_read(const char *path, RulesetId *rules, BidDeal **deals, int64_t *n) {
    RecordReader *reader;
    TRY(recordreader_open(path, &reader));
    BidDeal *list = NULL;
    int64_t at = 0, cap = 0;
    Status st = ST_OK;
    for (bool end = false; st == ST_OK;) {
        Record r;
        if ((st = recordreader_next(reader, &r, &end)) != ST_OK || end) break;
        if (at == 0) *rules = (RulesetId)r.ruleset;
        if (at / N_SEATS == cap) {
            cap = cap ? 2 * cap : 1024;
            BidDeal *larger = realloc(list, (size_t)cap * sizeof *list);
            if (larger) list = larger;
            else st = ST_NOMEM;
        }
        if (st == ST_OK) st = take(path, at, &r, *rules, &list[at / N_SEATS]);
        at++;
    }
    recordreader_close(reader);
    if (st == ST_OK && at == 0) st = refuse(path, 0, "there is none");
    /* A play that was cut short may leave one or two records of a last deal. */
    if (st == ST_OK) {
        *deals = list;
        *n = at / N_SEATS;
    } else {
        free(list);
    }
    return st;
}

void biddeals_auction(const BidDeal *d, RulesetId rules, BidChoose choose, void *const who[N_SEATS],
                      double score[N_SEATS], int *landlord, int *base) {
    Game g;
    game_init(&g, rules, &d->deal, 0);
    while (g.phase == PHASE_BID) {
        Status st = game_bid(&g, choose(who[g.turn], &g), NULL);
        assert(st == ST_OK);
        (void)st;
    }
    for (int s = 0; s < N_SEATS; s++) score[s] = 0;
    *landlord = g.phase == PHASE_PLAY ? g.landlord : SEAT_NONE;
    *base = g.bid > 1 ? g.bid : 1;
    if (*landlord == SEAT_NONE) return;
    double points = *base * (double)d->outcome[*landlord];
    for (int s = 0; s < N_SEATS; s++) score[s] = s == *landlord ? points : -points / 2;
}
