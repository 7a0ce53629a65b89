// What the player does at the table: choosing, hints, bidding, playing. Changes the state, sends commands.
import { handOf, pick, rankOf, sortCards, type Card } from "./cards";
import { complete, findMove, hints, snap, verdict, type Verdict } from "./choice";
import { send } from "./connection";
import type { Move } from "./engine";
import { myTurn, type Advice, type Game } from "./state";
import { get, listen, NO_CHOICE, update, type App, type Choice } from "./store";

interface Options { key: string; legal: Move[]; beat: Move | null }
let cached: Options = { key: "", legal: [], beat: null };

/** The legal plays from my hand against what lies on the table now, my turn or not; by the engine. */
export function options(a: App = get()): Options {
  const g = a.net.game;
  if (!g || !a.engine || g.phase !== "play" || g.me === null) return { key: "", legal: [], beat: null };
  const standing = g.turn === g.me ? g.beat : standingPlay(g);
  const hand = handOf(g.hand), over = standing ? handOf(standing.cards) : 0n;
  const key = `${g.rules} ${hand} ${over}`;
  if (cached.key !== key)
    cached = { key, legal: a.engine.moves(g.rules, hand, over), beat: over ? a.engine.classify(g.rules, over) : null };
  return cached;
}

/** While others think: the play that I would have to beat now, to judge a prepared choice. */
function standingPlay(g: Game): { cards: Card[] } | null {
  for (let i = g.history.length - 1; i >= 0; i--) {
    const h = g.history[i]!;
    if (h.cards.length) return h.seat === g.me ? null : h;
  }
  return null;
}

export function judge(a: App = get()): Verdict {
  const g = a.net.game, { legal, beat } = options(a);
  if (!g || !a.engine) return { t: "none" };
  const chosen = handOf([...a.choice.chosen]);
  return verdict(legal, chosen, chosen ? a.engine.classify(g.rules, chosen) : null, beat);
}

export const canPass = (g: Game | null): boolean => myTurn(g) && g.phase === "play" && g.beat !== null;
/** Help is shown where the room allows it and the player wants it. */
export const helped = (a: App): boolean => a.settings.help && (a.net.room?.help ?? false) && a.net.game?.me !== null;

function choose(change: Partial<Choice>): void {
  stopAutopass();
  update({ choice: { ...get().choice, ...change } });
}

export function clear(): void {
  choose({ chosen: new Set(), hint: -1, added: new Set() });
}

/** A card was pressed. */
export function toggle(card: Card): void {
  const a = get(), g = a.net.game;
  if (!g || g.me === null || g.phase !== "play") return;
  const chosen = new Set(a.choice.chosen);
  if (chosen.delete(card)) {
    const own = a.choice.own || a.choice.added.has(card);
    return choose({ chosen, hint: -1, own, added: new Set([...a.choice.added].filter((c) => c !== card)) });
  }
  chosen.add(card);
  let added = a.choice.added;
  if (a.settings.smart && !a.choice.own && chosen.size === 1 && myTurn(g) && g.beat) {
    const move = complete(options(a).legal, card, handOf(g.hand));
    const cards = move && pick(g.hand, move.cards, chosen);
    if (cards) {
      added = new Set(cards.filter((c) => c !== card));
      for (const c of cards) chosen.add(c);
    }
  }
  choose({ chosen, hint: -1, added });
}

/** During a drag: exactly these cards. */
export function setChosen(cards: Iterable<Card>): void {
  choose({ chosen: new Set(cards), hint: -1 });
}

/** After a drag: keep the legal play inside, if the choice itself is none. */
export function settle(): void {
  const a = get(), g = a.net.game;
  if (!g || !a.settings.smart || a.choice.own || !myTurn(g)) return;
  const move = snap(options(a).legal, handOf([...a.choice.chosen]), handOf(g.hand));
  const cards = move && pick(g.hand.filter((c) => a.choice.chosen.has(c)), move.cards);
  if (cards) choose({ chosen: new Set(cards), added: new Set() });
}

/** One more card of a rank, or all; when all are chosen, none. */
export function chooseRank(rank: number, all: boolean): void {
  const a = get(), g = a.net.game;
  if (!g || g.phase !== "play") return;
  const of = sortCards(g.hand).filter((c) => rankOf(c) === rank);
  const free = of.filter((c) => !a.choice.chosen.has(c));
  const chosen = new Set(a.choice.chosen);
  if (free.length === 0) of.forEach((c) => chosen.delete(c));
  else for (const c of all ? free : free.slice(0, 1)) chosen.add(c);
  choose({ chosen, hint: -1 });
}

/** What the bot says of each bid, best first. */
export const adviceOnBids = (a: App): NonNullable<Advice["bids"]> =>
  [...((helped(a) && a.net.advice?.bids) || [])].sort((x, y) => (y.exp ?? 0) - (x.exp ?? 0) || (y.win ?? 0) - (x.win ?? 0));

export interface HintList { moves: Move[]; pass: boolean }
export function hintList(a: App = get()): HintList {
  const g = a.net.game;
  if (!g) return { moves: [], pass: false };
  const advised = helped(a) ? (a.net.advice?.moves ?? []).map((m) => handOf(m.cards)) : [];
  return { moves: hints(options(a).legal, handOf(g.hand), g.beat === null, advised), pass: canPass(g) };
}

/** Next (1) or previous (-1) hint; after the last one nothing is chosen: a pass. Then again. */
export function hint(step: 1 | -1): void {
  const a = get(), g = a.net.game;
  if (!myTurn(g) || g.phase !== "play") return;
  const { moves, pass } = hintList(a);
  const n = moves.length + (pass ? 1 : 0);
  if (n === 0) return;
  const at = a.choice.hint < 0 ? (step > 0 ? 0 : n - 1) : (a.choice.hint + step + n) % n;
  const move = moves[at];
  choose({ chosen: new Set(move ? (pick(sortCards(g.hand), move.cards) ?? []) : []), hint: at, added: new Set() });
}

/** Chooses the cards of a suggested play; true if they were chosen already. */
export function chooseCards(cards: readonly Card[]): boolean {
  const a = get();
  const same = cards.length === a.choice.chosen.size && cards.every((c) => a.choice.chosen.has(c));
  if (!same) choose({ chosen: new Set(cards), hint: -1, added: new Set() });
  return same;
}

let sending = false;
async function act(c: Parameters<typeof send>[0]): Promise<void> {
  if (sending) return;
  sending = true;
  try {
    await send(c);
  } finally {
    sending = false;
  }
}

export function play(): void {
  const a = get(), g = a.net.game;
  if (!myTurn(g) || g.phase !== "play" || a.net.link !== "online") return;
  if (!findMove(options(a).legal, handOf([...a.choice.chosen]))) return update({ wrong: a.wrong + 1 });
  stopAutopass();
  void act({ t: "play", ply: g.ply, cards: [...a.choice.chosen] });
}

export function pass(): void {
  const g = get().net.game;
  if (!g || !canPass(g)) return;
  stopAutopass();
  void act({ t: "play", ply: g.ply, cards: [] });
}

export function bid(points: number): void {
  const g = get().net.game;
  if (!myTurn(g) || g.phase !== "bid" || (points !== 0 && points < g.min)) return;
  void act({ t: "bid", ply: g.ply, points });
}

export function host(on: boolean): void {
  void send({ t: "host", on });
}
export function undo(): void {
  const g = get().net.game;
  if (g) void send({ t: "undo", ply: g.ply });
}
export const hosted = (g: Game | null): boolean => g !== null && g.me !== null && g.hosted[g.me];

// ---- what follows from a turn by itself: advice, the automatic pass, the ready last move

let passTimer: ReturnType<typeof setTimeout> | undefined;
const AUTOPASS_MS = 1200;

export function stopAutopass(): void {
  clearTimeout(passTimer);
  if (get().autopass !== null) update({ autopass: null });
}

/** Against people the time of an automatic pass tells nothing about the hand. */
function passDelay(a: App): number {
  const people = a.net.room?.seats.filter((s) => s.kind === "human").length ?? 1;
  return people > 1 ? 800 + 1700 * Math.random() : AUTOPASS_MS;
}

function begin(a: App, g: Game): void {
  const { legal } = options(a);
  if (g.phase === "play") {
    const hand = handOf(g.hand);
    const kept = findMove(legal, handOf([...a.choice.chosen])) ? a.choice.chosen : new Set<Card>();
    const last = findMove(legal, hand);
    update({ choice: { ...NO_CHOICE, chosen: last ? new Set(g.hand) : kept } });
    if (legal.length === 0 && canPass(g) && a.settings.autopass && !hosted(g)) {
      const ms = passDelay(a);
      update({ autopass: Date.now() + ms });
      passTimer = setTimeout(pass, ms);
    }
  }
  if (helped(a) && !hosted(g)) void send({ t: "advise", ply: g.ply });
}

/** Asks again for advice, when help was switched on during a turn. */
export function askAdvice(): void {
  const a = get(), g = a.net.game;
  if (myTurn(g) && helped(a) && !a.net.advice) void send({ t: "advise", ply: g.ply });
}

const turnKey = (a: App): string => {
  const g = a.net.game;
  return g && myTurn(g) && a.engine ? `${g.id} ${g.ply} ${g.hand.length}` : "";
};

export function watchTurns(): () => void {
  return listen((now, before) => {
    const g = now.net.game;
    if (turnKey(now) !== turnKey(before)) {
      if (passTimer !== undefined) stopAutopass();
      if (myTurn(g) && now.engine) begin(now, g);
    }
    if (g !== before.net.game && g && now.choice.chosen.size) {
      const here = new Set(g.hand);
      const chosen = [...now.choice.chosen].filter((c) => here.has(c));
      if (chosen.length !== now.choice.chosen.size) update({ choice: { ...NO_CHOICE, chosen: new Set(g.id === before.net.game?.id ? chosen : []) } });
    }
  });
}
