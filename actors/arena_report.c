#include "actors/arena_report.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Places, best rating first. */
static void rank(const ArenaStats *s, int place[ARENA_MAX_AGENTS]) {
    for (int i = 0; i < s->n_agents; i++) {
        int k = i;
        for (; k > 0 && s->agent[place[k - 1]].elo.mean < s->agent[i].elo.mean; k--)
            place[k] = place[k - 1];
        place[k] = i;
    }
}

/* ---- text ---- */

static int name_width(const ArenaReport *r) {
    int width = 5;
    for (int i = 0; i < r->stats->n_agents; i++) {
        int n = (int)strlen(r->agents[i].name);
        if (n > width) width = n;
    }
    return width < 48 ? width : 48;
}

/* A name cut from the front to the width: its end tells more. */
static const char *short_name(const ArenaReport *r, int agent, int width) {
    const char *name = r->agents[agent].name;
    size_t n = strlen(name);
    return n > (size_t)width ? name + n - (size_t)width : name;
}

static void text_standings(const ArenaReport *r, const int *place, int width, FILE *out) {
    const ArenaStats *s = r->stats;
    fprintf(out, "    %-*s %16s %9s %9s %18s %15s %15s %8s %6s\n", width, "agent", "Elo",
            "landlord", "peasants", "score a game", "won as landlord", "won as peasant", "seats",
            "faults");
    for (int i = 0; i < s->n_agents; i++) {
        const AgentStats *a = &s->agent[place[i]];
        fprintf(out,
                "%2d  %-*s %8.0f +-%5.0f %9.0f %9.0f %9.3f +-%6.3f %8.3f +-%5.3f %8.3f +-%5.3f "
                "%8lld %6lld\n",
                i + 1, width, short_name(r, place[i], width), a->elo.mean, a->elo.ci95,
                a->elo_landlord.mean, a->elo_peasants.mean, a->score.mean, a->score.ci95,
                a->landlord.mean, a->landlord.ci95, a->peasants.mean, a->peasants.ci95,
                (long long)a->seats, (long long)a->faults);
    }
}

static void text_cross(const ArenaReport *r, const int *place, int width, FILE *out) {
    const ArenaStats *s = r->stats;
    fprintf(out, "\nshare of games won by the row's agent against the column's, in percent\n");
    fprintf(out, "    %-*s", width, "");
    for (int i = 0; i < s->n_agents; i++) fprintf(out, " %12d", i + 1);
    for (int i = 0; i < s->n_agents; i++) {
        fprintf(out, "\n%2d  %-*s", i + 1, width, short_name(r, place[i], width));
        for (int k = 0; k < s->n_agents; k++) {
            const PairStats *p = &s->pair[place[i]][place[k]];
            if (p->games == 0) fprintf(out, " %12s", i == k ? "." : "");
            else fprintf(out, " %6.2f+-%4.2f", 100 * p->won.mean, 100 * p->won.ci95);
        }
    }
    fputc('\n', out);
}

void arena_report_text(const ArenaReport *r, FILE *out) {
    const ArenaStats *s = r->stats;
    int place[ARENA_MAX_AGENTS], width = name_width(r);
    rank(s, place);
    fprintf(out, "%s: %lld games on %lld deals; the landlord won %.3f (worth %.0f Elo)", r->title,
            (long long)s->games, (long long)s->deals, s->landlord_won, s->elo_seat.mean);
    if (s->void_deals) fprintf(out, "; nobody bid in %lld", (long long)s->void_deals);
    fputs("\n\n", out);
    text_standings(r, place, width, out);
    text_cross(r, place, width, out);
}

/* ---- CSV ---- */

static void csv_name(const char *name, FILE *out) {
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"') fputc('"', out);
        fputc(*name, out);
    }
    fputc('"', out);
}

static void csv_spread(Spread s, FILE *out) { fprintf(out, ",%.6g,%.4g", s.mean, s.ci95); }

void arena_report_csv(const ArenaReport *r, FILE *out) {
    const ArenaStats *s = r->stats;
    int place[ARENA_MAX_AGENTS];
    rank(s, place);
    fputs("kind,agent,against,games,won,won_ci95,score,score_ci95,elo,elo_ci95,elo_landlord,"
          "elo_landlord_ci95,elo_peasants,elo_peasants_ci95,won_landlord,won_landlord_ci95,"
          "won_peasants,won_peasants_ci95,faults\n",
          out);
    for (int i = 0; i < s->n_agents; i++) {
        const AgentStats *a = &s->agent[place[i]];
        fputs("agent,", out);
        csv_name(r->agents[place[i]].name, out);
        fprintf(out, ",,%lld,,", (long long)a->seats);
        csv_spread(a->score, out);
        csv_spread(a->elo, out);
        csv_spread(a->elo_landlord, out);
        csv_spread(a->elo_peasants, out);
        csv_spread(a->landlord, out);
        csv_spread(a->peasants, out);
        fprintf(out, ",%lld\n", (long long)a->faults);
    }
    for (int i = 0; i < s->n_agents; i++)
        for (int k = 0; k < s->n_agents; k++) {
            const PairStats *p = &s->pair[place[i]][place[k]];
            if (p->games == 0) continue;
            fputs("pair,", out);
            csv_name(r->agents[place[i]].name, out);
            fputc(',', out);
            csv_name(r->agents[place[k]].name, out);
            fprintf(out, ",%lld", (long long)p->games);
            csv_spread(p->won, out);
            csv_spread(p->score, out);
            fputs(",,,,,,,,,,,\n", out);
        }
}

/* ---- HTML ---- */

static void html_text(const char *s, FILE *out) {
    for (; *s; s++) {
        const char *entity = *s == '<' ? "&lt;" : *s == '&' ? "&amp;" : *s == '"' ? "&quot;" : NULL;
        if (entity) fputs(entity, out);
        else fputc(*s, out);
    }
}

static void html_cell(Spread s, const char *format, double unit, FILE *out) {
    fputs("<td>", out);
    fprintf(out, format, unit * s.mean);
    if (s.ci95 > 0) {
        fputs(" <small>&plusmn;", out);
        fprintf(out, format, unit * s.ci95);
        fputs("</small>", out);
    }
    fputs("</td>", out);
}

static const char html_head[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\"><style>"
    "body{font:15px/1.4 system-ui,sans-serif;margin:2rem auto;max-width:75rem;padding:0 1rem;"
    "color:#222;background:#fff}table{border-collapse:collapse;margin:1rem 0;display:block;"
    "overflow-x:auto}td,th{padding:.3rem .7rem;text-align:right;border-bottom:1px solid #ddd;"
    "white-space:nowrap}td:nth-child(2),th:nth-child(2){text-align:left}small{color:#777}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}td,th{border-color:#444}}"
    "</style>\n<title>";

static void html_standings(const ArenaReport *r, const int *place, FILE *out) {
    const ArenaStats *s = r->stats;
    fputs("<table><tr><th><th>agent<th>Elo<th>landlord<th>peasants<th>score a game"
          "<th>won as landlord %<th>won as peasant %<th>seats<th>faults</tr>\n",
          out);
    for (int i = 0; i < s->n_agents; i++) {
        const AgentStats *a = &s->agent[place[i]];
        fprintf(out, "<tr><td>%d</td><td>", i + 1);
        html_text(r->agents[place[i]].name, out);
        fputs("</td>", out);
        html_cell(a->elo, "%.0f", 1, out);
        html_cell(a->elo_landlord, "%.0f", 1, out);
        html_cell(a->elo_peasants, "%.0f", 1, out);
        html_cell(a->score, "%.3f", 1, out);
        html_cell(a->landlord, "%.1f", 100, out);
        html_cell(a->peasants, "%.1f", 100, out);
        fprintf(out, "<td>%lld</td><td>%lld</td></tr>\n", (long long)a->seats,
                (long long)a->faults);
    }
    fputs("</table>\n", out);
}

/* Greener the more is won, redder the less. */
static void html_pair(const PairStats *p, FILE *out) {
    if (p->games == 0) {
        fputs("<td></td>", out);
        return;
    }
    double strength = (p->won.mean - 0.5) * 2;
    int hue = strength > 0 ? 130 : 0;
    double alpha = strength > 0 ? strength : -strength;
    fprintf(out,
            "<td style=\"background:hsla(%d,60%%,50%%,%.2f)\">%.1f <small>&plusmn;%.1f</small>",
            hue, 0.5 * alpha, 100 * p->won.mean, 100 * p->won.ci95);
    fputs("</td>", out);
}

void arena_report_html(const ArenaReport *r, FILE *out) {
    const ArenaStats *s = r->stats;
    int place[ARENA_MAX_AGENTS];
    rank(s, place);
    fputs(html_head, out);
    html_text(r->title, out);
    fputs("</title><h1>", out);
    html_text(r->title, out);
    fprintf(out,
            "</h1><p>%lld games on %lld deals; the landlord won %.1f%%. Intervals are 95%%, from "
            "deals.</p>\n",
            (long long)s->games, (long long)s->deals, 100 * s->landlord_won);
    html_standings(r, place, out);
    fputs("<h2>Won by the row against the column, %</h2><table><tr><th><th>", out);
    for (int i = 0; i < s->n_agents; i++) fprintf(out, "<th>%d", i + 1);
    fputs("</tr>\n", out);
    for (int i = 0; i < s->n_agents; i++) {
        fprintf(out, "<tr><td>%d</td><td>", i + 1);
        html_text(r->agents[place[i]].name, out);
        fputs("</td>", out);
        for (int k = 0; k < s->n_agents; k++) html_pair(&s->pair[place[i]][place[k]], out);
        fputs("</tr>\n", out);
    }
    fputs("</table></html>\n", out);
}

/* ---- JSON ---- */

static void json_spread(json_t *o, const char *key, Spread s) {
    char ci[64];
    snprintf(ci, sizeof ci, "%s_ci95", key);
    json_object_set_new(o, key, json_real(s.mean));
    json_object_set_new(o, ci, json_real(s.ci95));
}

static json_t *json_agent(const ArenaReport *r, int i) {
    const AgentStats *a = &r->stats->agent[i];
    json_t *o = json_object();
    json_object_set_new(o, "agent", json_string(r->agents[i].name));
    json_object_set_new(o, "seats", json_integer(a->seats));
    json_object_set_new(o, "faults", json_integer(a->faults));
    json_spread(o, "elo", a->elo);
    json_spread(o, "elo_landlord", a->elo_landlord);
    json_spread(o, "elo_peasants", a->elo_peasants);
    json_spread(o, "score", a->score);
    json_spread(o, "won_landlord", a->landlord);
    json_spread(o, "won_peasants", a->peasants);
    return o;
}

static json_t *json_pair(const ArenaReport *r, int i, int k) {
    const PairStats *p = &r->stats->pair[i][k];
    json_t *o = json_object();
    json_object_set_new(o, "agent", json_string(r->agents[i].name));
    json_object_set_new(o, "against", json_string(r->agents[k].name));
    json_object_set_new(o, "games", json_integer(p->games));
    json_object_set_new(o, "deals", json_integer(p->deals));
    json_spread(o, "won", p->won);
    json_spread(o, "score", p->score);
    return o;
}

void arena_report_json(const ArenaReport *r, FILE *out) {
    const ArenaStats *s = r->stats;
    int place[ARENA_MAX_AGENTS];
    rank(s, place);
    json_t *o = json_object(), *agents = json_array(), *pairs = json_array();
    for (int i = 0; i < s->n_agents; i++) {
        json_array_append_new(agents, json_agent(r, place[i]));
        for (int k = 0; k < s->n_agents; k++)
            if (s->pair[place[i]][place[k]].games)
                json_array_append_new(pairs, json_pair(r, place[i], place[k]));
    }
    json_object_set_new(o, "games", json_integer(s->games));
    json_object_set_new(o, "deals", json_integer(s->deals));
    json_object_set_new(o, "void_deals", json_integer(s->void_deals));
    json_object_set_new(o, "landlord_won", json_real(s->landlord_won));
    json_spread(o, "elo_seat", s->elo_seat);
    json_object_set_new(o, "agents", agents);
    json_object_set_new(o, "pairs", pairs);
    json_dumpf(o, out, JSON_REAL_PRECISION(8) | JSON_INDENT(1));
    fputc('\n', out);
    json_decref(o);
}
