// What a change of the game sounds like and what a screen reader says about it: by comparing before and after.
import { rankName, t } from "./i18n";
import { kindName } from "./moves";
import { handOf, ranksOf } from "./cards";
import { nameOf } from "./names";
import type { Seat } from "./protocol";
import { buzz, cue } from "./sound";
import { myTurn, type Game } from "./state";
import { listen, type App } from "./store";

export interface Spoken { log: string; status: string; alert: string }
const called = (a: App, g: Game, seat: Seat): string => (seat === g.me ? t("role.you") : nameOf(a.net.room?.seats, seat));

/** The texts for the live regions, "" where nothing changed. */
export function changes(now: App, before: App): Spoken {
  const g = now.net.game, old = before.net.game?.id === g?.id ? before.net.game : null;
  const out: Spoken = { log: "", status: "", alert: "" };
  if (!g) return out;
  const last = g.history.at(-1);
  if (last && old && g.history.length === old.history.length + 1) {
    const name = called(now, g, last.seat);
    out.log = last.cards.length
      ? t("say.play", { name, kind: kindName(last.kind), ranks: ranksOf(handOf(last.cards)).map(rankName).join(" "), n: g.counts[last.seat] })
      : t("say.pass", { name });
  }
  const bid = g.bids.at(-1);
  if (bid && old && g.bids.length > old.bids.length) out.log = bid.points ? t("say.bid", { name: called(now, g, bid.seat), n: bid.points }) : t("say.nobid", { name: called(now, g, bid.seat) });
  if (old && g.landlord !== null && old.landlord === null) out.status = t("bid.become", { name: called(now, g, g.landlord), n: g.base });
  if (myTurn(g) && !(old && myTurn(old) && old.ply === g.ply)) out.status = t(g.phase === "bid" ? "bid.you" : g.beat ? "turn.you" : "turn.lead");
  if (g.end && !old?.end) out.status = t(g.end.winner === "landlord" ? "end.llwin" : "end.fmwin");
  return out;
}

/** Cues for the ear, from the same comparison. */
export function sounds(now: App, before: App): void {
  const g = now.net.game, old = before.net.game;
  if (!g || !old || g.id !== old.id) return g && g !== old && !old?.end ? cue("card") : undefined;
  const last = g.history.at(-1);
  if (last && g.history.length === old.history.length + 1) {
    cue(last.cards.length === 0 ? "pass" : last.kind === "bomb" || last.kind === "rocket" ? last.kind : "play");
    if (last.kind === "bomb" || last.kind === "rocket") buzz([20, 40, 60]);
    const left = g.counts[last.seat];
    if (last.cards.length && (left === 1 || left === 2) && !g.end) cue("low");
  }
  const bid = g.bids.at(-1);
  if (bid && g.bids.length > old.bids.length) cue(bid.points ? (`bid${bid.points}` as "bid1") : "pass");
  if (g.end && !old.end) cue(g.me === null || g.end.points[g.me] > 0 ? "win" : "lose");
  else if (myTurn(g) && !myTurn(old)) {
    cue("turn");
    buzz(15);
  }
  if (now.wrong !== before.wrong) cue("wrong");
}

let speak: ((s: Spoken) => void) | null = null;
/** Said at once, once. */
export const warn = (text: string): void => speak?.({ log: "", status: "", alert: text });

export function watchEvents(say: (s: Spoken) => void): () => void {
  speak = say;
  return listen((now, before) => {
    if (now.wrong !== before.wrong && now.net.game === before.net.game) cue("wrong");
    if (now.net.game === before.net.game) return;
    sounds(now, before);
    const s = changes(now, before);
    if (s.log || s.status || s.alert) say(s);
    const base = t("app");
    document.title = myTurn(now.net.game) ? `● ${t("turn.you")} – ${base}` : base;
  });
}
