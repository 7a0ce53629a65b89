// Choosing cards: hints, completing and snapping a choice to a legal play, and saying what is missing.
// Which plays are legal comes from the engine as a list; here they are only searched and ordered.
import { contains, countOf, type Hand, N_RANKS, rankOf, ranksOf, type Card } from "./cards";
import type { Move } from "./engine";
import type { Kind } from "./protocol";

const isBomb = (m: Move): boolean => m.kind === "bomb" || m.kind === "rocket";

/** How dear a play is, the most important first: a bomb spent; groups of four, three, two torn; its rank; its cards. */
export function price(m: Move, hand: Hand): number[] {
  const torn = [0, 0, 0, 0, 0];
  for (let r = 0; r < 13; r++) {
    const had = countOf(hand, r), used = countOf(m.cards, r);
    if (used > 0 && used < had) torn[had]!++;
  }
  const jokers = countOf(hand, 13) + countOf(hand, 14), used = countOf(m.cards, 13) + countOf(m.cards, 14);
  if (jokers === 2 && used === 1) torn[4]!++;
  const weight = ranksOf(m.cards).reduce((sum, r) => sum + r, 0);
  return [isBomb(m) ? 1 : 0, torn[4]!, torn[3]!, torn[2]!, m.rank, weight];
}

function lower(a: number[], b: number[]): number {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return 0;
}

/** All legal plays in the order a hint offers them: the bot's first, then from cheap to dear, a lead with long ones first. */
export function hints(legal: readonly Move[], hand: Hand, leading: boolean, advised: readonly Hand[] = []): Move[] {
  const key = (m: Move): number[] => {
    const p = price(m, hand);
    return leading ? [p[0]!, p[1]!, p[2]!, p[3]!, -m.size, p[4]!, p[5]!] : p;
  };
  const keys = new Map(legal.map((m) => [m, key(m)]));
  const place = (m: Move): number => {
    const i = advised.indexOf(m.cards);
    return i < 0 ? advised.length : i;
  };
  return [...legal].sort((a, b) => place(a) - place(b) || lower(keys.get(a)!, keys.get(b)!));
}

export const findMove = (legal: readonly Move[], cards: Hand): Move | null => legal.find((m) => m.cards === cards) ?? null;

/** After a drag over `chosen`: the legal play inside it with most cards; null: leave the choice as it is. */
export function snap(legal: readonly Move[], chosen: Hand, hand: Hand): Move | null {
  if (findMove(legal, chosen)) return null;
  let best: Move | null = null, bestKey: number[] = [];
  for (const m of legal) {
    if (!contains(chosen, m.cards)) continue;
    const key = [-m.size, -m.length, ...price(m, hand)];
    if (!best || lower(key, bestKey) < 0) [best, bestKey] = [m, key];
  }
  return best;
}

/** A card was tapped while answering and is the only one chosen: if just one kind of answer begins at its rank, the cheapest. */
export function complete(legal: readonly Move[], card: Card, hand: Hand): Move | null {
  const begins = legal.filter((m) => m.rank === rankOf(card) && countOf(m.cards, m.rank) > 0);
  const plain = begins.filter((m) => !isBomb(m));
  const from = plain.length ? plain : begins;
  if (from.length === 0 || from.some((m) => m.kind !== from[0]!.kind)) return null;
  return from.reduce((a, b) => (lower(price(b, hand), price(a, hand)) < 0 ? b : a));
}

export type Verdict =
  | { t: "none" }
  | { t: "legal"; move: Move }
  | { t: "add"; ranks: number[]; kind: Kind | null; over: Kind | null }
  | { t: "low" }
  | { t: "kind"; need: Kind; kind: Kind | null }
  | { t: "len"; need: number }
  | { t: "nokind" };

/** What the chosen cards are, or what keeps them from being a legal play. `is`: how the engine types them on their own. */
export function verdict(legal: readonly Move[], chosen: Hand, is: Move | null, beat: Move | null): Verdict {
  if (chosen === 0n) return { t: "none" };
  const move = findMove(legal, chosen);
  if (move) return { t: "legal", move };
  if (beat && is && is.kind === beat.kind && is.size === beat.size) return { t: "low" };
  const missing = nearest(legal, chosen);
  if (missing) return { t: "add", ranks: missing, kind: is?.kind ?? null, over: beat?.kind ?? null };
  if (!beat) return { t: "nokind" };
  if (is && is.kind === beat.kind) return { t: "len", need: beat.size };
  return { t: "kind", need: beat.kind, kind: is?.kind ?? null };
}

/** The fewest ranks (one or two) that make the chosen cards a legal play. */
function nearest(legal: readonly Move[], chosen: Hand): number[] | null {
  let best: number[] | null = null;
  for (const m of legal) {
    if (!contains(m.cards, chosen)) continue;
    const more = ranksOf(m.cards - chosen);
    if (more.length > 2) continue;
    if (!best || more.length < best.length || (more.length === best.length && lower(more, best) < 0)) best = more;
  }
  return best;
}

/** A play's ranks in the order they are read: the main part, and what rides on it. */
export function parts(m: Move): { main: number[]; kickers: number[] } {
  const per = { t1: 3, t2: 3, plane1: 3, plane2: 3, q2: 4, q22: 4, shuttle1: 4, shuttle2: 4 }[m.kind as string];
  if (!per) return { main: ranksOf(m.cards), kickers: [] };
  const main: number[] = [], kickers: number[] = [];
  for (let r = 0; r < N_RANKS; r++) {
    const chained = r >= m.rank && r < m.rank + m.length ? per : 0;
    for (let k = 0; k < countOf(m.cards, r); k++) (k < chained ? main : kickers).push(r);
  }
  return { main, kickers };
}

/** Cards of a play as they lie on the table: the main part high to low, then the rest. */
export function lay(cards: readonly Card[], m: Move | null): Card[] {
  const high = [...cards].sort((a, b) => rankOf(b) - rankOf(a) || b - a);
  if (!m) return high;
  const left = [...parts(m).main];
  const main: Card[] = [], rest: Card[] = [];
  for (const c of high) {
    const i = left.indexOf(rankOf(c));
    if (i >= 0) left.splice(i, 1), main.push(c);
    else rest.push(c);
  }
  return [...main, ...rest];
}
