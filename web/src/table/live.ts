// The running game as the felt shows it. Pure: the state in, a model out.
import { cardName, percent, rankName, signed, t, type Key } from "../i18n";
import { handOf, rankOf, rankText, sortCards, suitOf, type Card } from "../cards";
import { findMove, lay, type Verdict } from "../choice";
import { cardsText, kindName, moveText } from "../moves";
import { nameOf } from "../names";
import { adviceOnBids, canPass, helped, hintList, hosted, judge, options } from "../play";
import type { Seat } from "../protocol";
import { known, myTurn, unseen, type Game, type Lying } from "../state";
import type { App } from "../store";
import { NO_LIE, placeOf, type Button, type Chip, type Effect, type Lie, type Place, type SeatView, type TableModel, type Tool } from "./model";

const bottomOf = (g: Game): Seat => g.me ?? 0;

export function liveModel(a: App): TableModel | null {
  const g = a.net.game;
  if (!g) return null;
  const bottom = bottomOf(g);
  const seats = { left: null, right: null, me: null } as Record<Place, SeatView | null>;
  const lies = { left: NO_LIE, right: NO_LIE, me: NO_LIE } as Record<Place, Lie>;
  const open = { left: [] as Card[], right: [] as Card[] };
  for (const seat of [0, 1, 2] as Seat[]) {
    const place = placeOf(seat, bottom);
    seats[place] = seatView(a, g, seat, place);
    lies[place] = lieOf(a, g, g.lying[seat]);
    if (g.end) lies[place] = leftOver(g.end.hands[seat]);
    else if (place !== "me" && g.hands) open[place] = sortCards(g.hands[seat]);
  }
  const mine = myTurn(g), open0 = g.me === null ? (g.hands?.[0] ?? null) : null;
  const hand = sortCards(open0 ?? g.hand, a.settings.sort);
  return {
    game: g.id, seats, lies, open, kitty: g.kitty ? sortCards(g.kitty) : [null, null, null],
    meta: g.landlord === null ? { base: "", mult: "", label: g.void ? t("chip.void") : t("bid.phase") }
      : { base: String(g.base), mult: `×${g.mult}`, label: "" },
    metaWords: { base: t("table.base"), mult: t("table.mult") },
    hand: g.end ? [] : hand,
    backs: g.me === null && !open0 && !g.end ? g.counts[0] : 0,
    chosen: a.choice.chosen, fresh: new Set(g.fresh), prepared: !mine, live: g.me !== null && g.phase === "play" && !hosted(g),
    veil: hosted(g) && !g.end ? t("chip.hosted") : "",
    chip: chipOf(a, g), clock: mine && !hosted(g) ? { deadline: g.deadline, total: g.total } : null, buttons: mine && !hosted(g) ? buttonsOf(a, g) : g.me === null ? watcherButtons(a) : [],
    tools: g.end ? [] : toolsOf(a, g),
    centre: mine && g.phase === "play" && !g.beat ? t(g.history.length === 0 && g.landlord === g.me ? "turn.llfirst" : "turn.lead") : "",
    banner: "", strip: a.settings.counter && g.phase === "play" && g.me !== null && !g.hands ? counterCells(g) : null,
    effect: effectOf(g, bottom), over: g.end !== null, replay: false, handLabel: t("say.hand"),
    names: (c) => cardName(rankOf(c), suitOf(c), a.settings.ranksOnly), wrong: a.wrong,
  };
}

function seatView(a: App, g: Game, seat: Seat, place: Place): SeatView {
  const info = a.net.room?.seats[seat];
  const you = seat === g.me;
  const role = g.landlord === null ? "" : g.landlord === seat ? "ll" : "fm";
  const count = g.end ? g.end.hands[seat].length : g.counts[seat];
  return {
    seat, name: you ? t("role.you") : nameOf(a.net.room?.seats, seat), role, roleText: role === "ll" ? t("role.landlord") : role === "fm" ? t("role.farmer") : "",
    icon: role === "ll" ? "crown" : info?.kind === "bot" && role === "" ? "bot" : role === "fm" ? "hat" : "user",
    sub: subText(a, g, seat, place, count), count, low: count <= 2 && !g.end,
    turn: g.turn === seat && !you ? { deadline: g.deadline, total: g.total } : null, gone: g.away[seat] !== null,
    phrase: a.net.phrase?.seat === seat && Date.now() - a.net.phrase.at < 4000 && !a.settings.muted.includes(info?.name ?? "") ? t(`phr.${a.net.phrase.n}` as Key) : "",
  };
}

function subText(a: App, g: Game, seat: Seat, place: Place, count: number): string {
  if (g.end) return signed(g.end.points[seat], 0);
  if (place === "me") return t("seat.cards", { n: count });
  const away = g.away[seat];
  if (away !== null) return t("seat.away", { n: Math.max(0, Math.ceil((away - Date.now()) / 1000)) });
  if (g.hosted[seat]) return t("seat.host");
  if (count === 1) return t("seat.one");
  if (count === 2) return t("seat.two");
  const info = a.net.room?.seats[seat];
  const strength = info?.kind === "bot" && info.strength ? ` · ${t(`str.${info.strength}` as Key)}` : "";
  return t(place === "left" ? "seat.prev" : "seat.next") + strength;
}

/** Cards that were not played lie open after the end. */
function leftOver(cards: readonly Card[]): Lie {
  return { cards: sortCards(cards), caption: cards.length ? t("end.leftn", { n: cards.length }) : "", word: "", chip: false };
}

function lieOf(a: App, g: Game, l: Lying): Lie {
  if (!l) return NO_LIE;
  if ("bid" in l) return { cards: [], caption: "", word: l.bid ? t("bid.n", { n: l.bid }) : t("bid.none"), chip: true };
  const late = l.why === "timeout" && l.seat === g.me ? t("turn.timeout") : "";
  if (l.cards.length === 0) return { cards: [], caption: late, word: t("act.pass"), chip: false };
  const move = a.engine?.classify(g.rules, handOf(l.cards)) ?? null;
  return { cards: lay(l.cards, move), caption: late || kindName(l.kind), word: "", chip: false };
}

export function counterCells(g: Game): NonNullable<TableModel["strip"]> {
  const out = unseen(g), dots = new Set(known(g).map(rankOf));
  return Array.from({ length: 15 }, (_, i) => {
    const rank = 14 - i, n = out.filter((c) => rankOf(c) === rank).length;
    return { head: rankText(rank), n, four: n === 4, dot: dots.has(rank) };
  });
}

// ---- the chip over the buttons

const plain = (text: string): Chip => ({ parts: [{ text, as: "" }], bad: false, shrink: null, press: "" });

function chipOf(a: App, g: Game): Chip | null {
  if (g.end) return null;
  if (g.void) return plain(t("chip.void"));
  if (!myTurn(g)) return waitingChip(a, g);
  if (hosted(g)) return null;
  if (g.phase === "bid") return bidChip(a);
  const v = judge(a);
  if (v.t === "none") return emptyChip(a, g);
  if (v.t !== "legal") return { parts: [{ text: verdictText(v), as: "b" }], bad: true, shrink: null, press: "" };
  return moveChip(a, v);
}

function moveChip(a: App, v: Extract<Verdict, { t: "legal" }>): Chip {
  const parts: Chip["parts"] = [{ text: kindName(v.move.kind), as: "b" }];
  if (v.move.kind !== "rocket") parts.push({ text: moveText(v.move), as: "num" });
  const win = helped(a) ? a.net.advice?.moves?.find((m) => handOf(m.cards) === v.move.cards)?.win : null;
  if (win != null) parts.push({ text: percent(win), as: "gold" });
  else if (a.choice.hint >= 0) parts.push({ text: t("chip.hint", hintPlace(a)), as: "faint" });
  return { parts, bad: false, shrink: null, press: "" };
}

function hintPlace(a: App): { i: number; n: number } {
  const { moves, pass } = hintList(a);
  return { i: a.choice.hint + 1, n: moves.length + (pass ? 1 : 0) };
}

function emptyChip(a: App, g: Game): Chip {
  if (options(a).legal.length === 0 && g.beat)
    return { parts: [{ text: t("turn.nobeat"), as: "b" }], bad: false, shrink: a.autopass, press: a.autopass ? "nopass" : "" };
  if (a.choice.hint >= 0) return { parts: [{ text: t("act.pass"), as: "b" }, { text: t("chip.hint", hintPlace(a)), as: "faint" }], bad: false, shrink: null, press: "" };
  if (g.beat) return { parts: [{ text: t("turn.you"), as: "b" }, { text: t("chip.answer", { move: cardsText(a.engine, g.rules, g.beat.cards) }), as: "" }], bad: false, shrink: null, press: "" };
  return plain(t("chip.choose"));
}

function waitingChip(a: App, g: Game): Chip | null {
  if (g.me !== null && a.choice.chosen.size) return plain(t("chip.prepared"));
  if (g.turn === null) return null;
  return plain(t(g.phase === "bid" ? "chip.waitbid" : "chip.wait", { name: nameOf(a.net.room?.seats, g.turn) }));
}

function bidChip(a: App): Chip {
  const bids = adviceOnBids(a);
  if (!bids.length) return plain(t("bid.you"));
  const best = bids[0]!;
  const parts: Chip["parts"] = [{ text: t("ai.bid", { x: "" }).trim(), as: "" }, { text: best.points ? t("bid.say", { n: best.points }) : t("bid.none"), as: "b" }];
  if (a.net.advice?.win != null) parts.push({ text: t("ai.aslandlord"), as: "faint" }, { text: percent(a.net.advice.win), as: "gold" });
  return { parts, bad: false, shrink: null, press: "" };
}

/** What is missing, as an instruction. */
export function verdictText(v: Verdict): string {
  switch (v.t) {
    case "low": return t("err.low");
    case "len": return t("err.len", { n: v.need });
    case "kind": return t("err.kind", { kind: kindName(v.need) });
    case "nokind": return t("err.nokind");
    case "add": {
      const add = t("err.add", { r: v.ranks.map(rankName).join(" ") });
      return v.kind && v.over && v.kind !== v.over ? `${t("chip.over", { a: kindName(v.kind), b: kindName(v.over) })}${t("chip.sep")}${add}` : add;
    }
    default: return "";
  }
}

// ---- the buttons

function button(id: string, label: string, key: string, shortcut: string, more: Partial<Button> = {}): Button {
  return { id, label, key, shortcut, primary: false, off: false, soft: false, sub: "", gold: false, ...more };
}

function buttonsOf(a: App, g: Game): Button[] {
  if (g.phase === "bid") return bidButtons(a, g);
  const legal = findMove(options(a).legal, handOf([...a.choice.chosen])) !== null;
  const none = options(a).legal.length === 0;
  return [
    button("pass", t("act.pass"), "P", "P", { off: !canPass(g), primary: none && canPass(g) }),
    button("hint", t("act.hint"), "H", "H", { off: none }),
    button("play", t("act.play"), "↵", "Enter", { primary: !none, soft: !legal, off: none || a.net.link !== "online" }),
  ];
}

/** A watcher may take a bot's seat, from the next deal on; not where bots play each other. */
function watcherButtons(a: App): Button[] {
  const room = a.net.room;
  const free = room && room.host !== null && room.seats.some((s) => s.kind === "bot");
  return free ? [button("sit", t("room.sit"), "", "", { primary: true })] : [];
}

function toolsOf(a: App, g: Game): Tool[] {
  const people = a.net.room?.seats.filter((s) => s.kind === "human").length ?? 0;
  const seated = g.me !== null;
  return [
    ...(seated && !hosted(g) ? [{ id: "host", icon: "hand", label: t("act.host"), shortcut: "G" }] : []),
    ...(seated && people > 1 ? [{ id: "talk", icon: "talk", label: t("phr.title"), shortcut: "" }] : []),
    { id: "leave", icon: "exit", label: t("room.leave"), shortcut: "" },
  ];
}

function bidButtons(a: App, g: Game): Button[] {
  const bids = adviceOnBids(a);
  return [0, 1, 2, 3].map((points) => {
    const advice = bids.find((b) => b.points === points);
    const best = bids[0]?.points === points;
    return button(`bid${points}`, points ? t("bid.n", { n: points }) : t("bid.none"), "", String(points), {
      off: points !== 0 && points < g.min, primary: best, sub: advice?.exp != null ? signed(advice.exp) : bids.length ? " " : "", gold: best,
    });
  });
}

// ---- what the last event looks like

function effectOf(g: Game, bottom: Seat): Effect {
  const last = g.history.at(-1);
  const factor = g.end?.factors.find((f) => f.name === "spring" || f.name === "anti");
  if (g.end) return { key: `${g.id} end`, name: factor ? "spring" : "none", at: "me", word: factor ? t(factor.name === "spring" ? "end.spring" : "end.anti") : "" };
  if (!last) return { key: `${g.id} 0`, name: "none", at: "me", word: "" };
  const name = last.kind === "bomb" || last.kind === "rocket" ? last.kind : last.kind.startsWith("plane") ? "plane" : last.kind === "straight" || last.kind === "pairs" ? "straight" : "none";
  return { key: `${g.id} ${g.history.length}`, name, at: placeOf(last.seat, bottom), word: "" };
}
