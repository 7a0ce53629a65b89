// Where cards lie: pure arithmetic from the table's size and the number of cards.
import { rankOf, type Card } from "../cards";

export type Shape = "big" | "wide" | "tablet" | "upright" | "sideways";

/** The breakpoints; the style sheets' media queries say the same. */
export function shapeOf(w: number, h: number): Shape {
  if (h <= 480 && w > h) return "sideways";
  if (w < 600) return "upright";
  if (w < 1024) return "tablet";
  return w >= 1600 && h >= 900 ? "big" : "wide";
}

export interface Spot { x: number; y: number; covered: boolean }
export interface HandLayout { cw: number; lift: number; height: number; spots: Spot[]; rows: Row[] }
interface Row { from: number; n: number; x: number; y: number; step: number }

/** Two rows of at most 12: cut between ranks, nearest to the middle, so that no group is split. */
export function cutOf(cards: readonly Card[]): number {
  const n = cards.length;
  let cut = n, best = Infinity;
  for (let k = 1; k < n; k++) {
    if (rankOf(cards[k]!) === rankOf(cards[k - 1]!)) continue;
    const cost = Math.abs(k - n / 2) + (Math.max(k, n - k) > 12 ? 50 : 0);
    if (cost < best) [best, cut] = [cost, k];
  }
  return cut;
}

/** The hand, relative to its own top left corner; `w` its width, `vh` the height of the window; `small`: one row of small cards. */
export function handLayout(cards: readonly Card[], w: number, vh: number, shape: Shape, small = false): HandLayout {
  const cw = small ? 40 : shape === "upright" ? Math.min(68, Math.round(w * 0.174), Math.round(vh * 0.083))
    : shape === "sideways" ? Math.min(66, Math.round(vh * 0.165))
    : Math.round(Math.max(64, Math.min(120, w / 10, vh * 0.118)));
  const kmax = shape === "upright" ? 0.6 : shape === "sideways" ? 0.66 : 0.52;
  const lift = shape === "upright" ? 14 : shape === "sideways" ? 12 : 20;
  const two = shape === "upright" && cards.length > 11 && !small;
  const cut = two ? cutOf(cards) : cards.length;
  const drop = two && cut < cards.length ? Math.round(cw * 0.92) : 0;
  const rows: Row[] = [];
  const spots: Spot[] = [];
  const sizes = cut < cards.length ? [cut, cards.length - cut] : [cards.length];
  sizes.forEach((n, r) => {
    const step = n > 1 ? Math.min(kmax * cw, (w - cw) / (n - 1)) : 0;
    const x = (w - cw - step * (n - 1)) / 2;
    rows.push({ from: spots.length, n, x, y: r * drop, step });
    for (let i = 0; i < n; i++) {
      const under = sizes.length === 2 && r === 0; // the front row lies over it
      spots.push({ x: x + i * step, y: r * drop, covered: under || (i < n - 1 && step <= 0.8 * cw) });
    }
  });
  return { cw, lift, height: cw * 1.4 + drop, spots, rows };
}

/** Which card a point of the hand is for, by arithmetic: half-hidden and raised cards act alike. -1: no cards. */
export function cardAt(l: HandLayout, x: number, y: number): number {
  if (l.spots.length === 0) return -1;
  const row = l.rows.length === 2 && y >= l.rows[1]!.y ? l.rows[1]! : l.rows[0]!;
  const i = row.step > 0 ? Math.floor((x - row.x) / row.step) : 0;
  return row.from + Math.max(0, Math.min(row.n - 1, i));
}

export interface Box { x: number; y: number; w: number; h: number }
export type Align = "left" | "right" | "middle";

/** A fan of n cards in a box; more than `wrap` cards, or too many for the width, lie in two lines. */
export function fanLayout(n: number, cw: number, box: Box, align: Align, k = 0.42, wrap = 14): { spots: Spot[]; w: number; h: number } {
  const fits = (m: number): boolean => cw * (1 + k * (m - 1)) <= box.w;
  const lines = n > wrap || !fits(n) ? (n > 3 ? 2 : 1) : 1;
  const per = Math.ceil(n / lines);
  const step = per > 1 ? Math.min(k * cw, (box.w - cw) / (per - 1)) : 0;
  const w = cw + step * (per - 1), drop = 0.72 * cw, h = 1.4 * cw + (lines - 1) * drop;
  const x0 = align === "left" ? box.x : align === "right" ? box.x + box.w - w : box.x + (box.w - w) / 2;
  const spots = Array.from({ length: n }, (_, i) => {
    const line = Math.floor(i / per), col = i % per, inLine = Math.min(per, n - line * per);
    const shift = align === "right" ? (per - inLine) * step : align === "middle" ? ((per - inLine) * step) / 2 : 0;
    return { x: x0 + shift + col * step, y: box.y + line * drop, covered: col < inLine - 1 && step <= 0.8 * cw };
  });
  return { spots, w, h };
}
