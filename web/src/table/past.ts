// A finished game as the felt shows it at one step: all hands open. Pure.
import type { GameRecord } from "../api";
import { handOf, rankOf, sortCards, suitOf, type Card } from "../cards";
import { lay } from "../choice";
import type { Engine } from "../engine";
import { cardName, percent, signed, t } from "../i18n";
import { kindName } from "../moves";
import { recordName } from "../names";
import type { Kind, ReviewItem, Seat } from "../protocol";
import { NO_LIE, placeOf, type Lie, type Place, type SeatView, type TableModel } from "./model";

/** The game before and after each action: frame n is after n actions. */
export interface Frame {
  /** Who made the last action, and what it was; frame 0 has none. */
  seat: Seat;
  bid: number | null;
  cards: Card[] | null;
  kind: Kind;
  mult: number;
  hands: Card[][];
  lying: ({ bid: number } | { cards: Card[]; kind: Kind } | null)[];
  landlord: boolean;
}

export function framesOf(g: GameRecord): Frame[] {
  const hands = g.deal.map((h) => [...h]);
  const takes = () => hands[g.landlord]!.push(...g.kitty);
  if (g.bids.length === 0) takes();
  const frames: Frame[] = [{ seat: g.first, bid: null, cards: null, kind: "pass", mult: 1, hands: hands.map((h) => [...h]), lying: [null, null, null], landlord: g.bids.length === 0 }];
  let lying: Frame["lying"] = [null, null, null];
  g.bids.forEach(([seat, bid], i) => {
    lying = lying.map((l, s) => (s === seat ? { bid } : l));
    const done = i === g.bids.length - 1;
    if (done) takes();
    frames.push({ seat, bid, cards: null, kind: "pass", mult: 1, hands: hands.map((h) => [...h]), lying, landlord: done });
  });
  lying = [null, null, null];
  let lastPlay: Seat | null = null;
  for (const [seat, cards, kind, mult] of g.plays) {
    // All others passed and the player of the last cards plays again: the felt is cleared first.
    lying = lastPlay === seat ? [null, null, null] : lying;
    lying = lying.map((l, s) => (s === seat ? { cards, kind } : l));
    if (cards.length) lastPlay = seat;
    hands[seat] = hands[seat]!.filter((c) => !cards.includes(c));
    frames.push({ seat, bid: null, cards, kind, mult, hands: hands.map((h) => [...h]), lying, landlord: true });
  }
  return frames;
}

export function replayModel(g: GameRecord, frames: readonly Frame[], at: number, engine: Engine | null, items: readonly ReviewItem[]): TableModel {
  const f = frames[at]!, bottom: Seat = g.me ?? g.landlord, over = at === frames.length - 1;
  const item = items.find((i) => i.ply === at - 1);
  const seats = {} as Record<Place, SeatView | null>, lies = { left: NO_LIE, right: NO_LIE, me: NO_LIE } as Record<Place, Lie>;
  for (const seat of [0, 1, 2] as Seat[]) {
    const place = placeOf(seat, bottom), role = !f.landlord ? "" : seat === g.landlord ? "ll" : "fm";
    seats[place] = {
      seat, name: seat === g.me ? t("role.you") : recordName(g.names, seat), role, roleText: role ? t(role === "ll" ? "role.landlord" : "role.farmer") : "",
      icon: role === "ll" ? "crown" : role === "fm" ? "hat" : g.kinds[seat] === "bot" ? "bot" : "user", sub: over ? signed(g.end.points[seat], 0) : place === "me" ? t("seat.cards", { n: f.hands[seat]!.length }) : "",
      count: f.hands[seat]!.length, low: f.hands[seat]!.length <= 2, turn: null, gone: false, phrase: "",
    };
    lies[place] = lieOf(g, f, seat, engine, at > 0 && seat === f.seat ? item : undefined);
  }
  const open = (place: Place): Card[] => sortCards(f.hands[seats[place]!.seat]!);
  return {
    game: g.game, seats, lies, open: { left: open("left"), right: open("right") }, kitty: f.landlord ? sortCards(g.kitty) : [null, null, null],
    meta: f.landlord ? { base: String(g.base), mult: `×${f.mult}`, label: "" } : { base: "", mult: "", label: t("bid.phase") }, metaWords: { base: t("table.base"), mult: t("table.mult") },
    hand: open("me"), backs: 0, chosen: new Set(), fresh: new Set(), prepared: false, live: false, veil: "", chip: null, clock: null, buttons: [], tools: [],
    centre: "", banner: "", strip: null, effect: { key: `${g.game} ${at + 1}`, name: f.kind === "bomb" || f.kind === "rocket" ? f.kind : "none", at: placeOf(f.seat, bottom), word: "" },
    over: false, replay: true, handLabel: t("say.hand"), names: (c) => cardName(rankOf(c), suitOf(c)), wrong: 0,
  };
}

function lieOf(g: GameRecord, f: Frame, seat: Seat, engine: Engine | null, item: ReviewItem | undefined): Lie {
  const l = f.lying[seat];
  if (!l) return NO_LIE;
  const loss = item?.loss != null && item.loss >= 0.02 ? `−${percent(item.loss)}` : undefined;
  if ("bid" in l) return { cards: [], caption: "", word: l.bid ? t("bid.n", { n: l.bid }) : t("bid.none"), chip: true };
  if (l.cards.length === 0) return { cards: [], caption: loss ? t("act.pass") : "", loss, word: t("act.pass"), chip: false };
  return { cards: lay(l.cards, engine?.classify(g.rules, handOf(l.cards)) ?? null), caption: kindName(l.kind), loss, word: "", chip: false };
}
