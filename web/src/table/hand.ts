// Fingers and mouse on the hand: tap, drag over many, flick up to play, long press for a whole rank.
// A point is matched to a card by arithmetic, so half-hidden and raised cards act alike.
import { rankOf, type Card } from "../cards";
import { cardAt, type HandLayout } from "./layout";

export interface HandEvents {
  toggle(card: Card): void;
  /** While dragging: exactly these are chosen. */
  drag(cards: Card[]): void;
  settle(): void;
  rank(rank: number): void;
  flick(): void;
  focus(index: number): void;
}
export interface HandState { cards: readonly Card[]; layout: HandLayout; chosen: ReadonlySet<Card>; live: boolean; x: number; y: number }

const LONG_PRESS_MS = 350, FLICK_PX = 40;

export function bindHand(el: HTMLElement, root: HTMLElement, state: () => HandState | null, on: HandEvents): void {
  let start: { x: number; y: number; at: number; last: number; base: ReadonlySet<Card>; moved: boolean } | null = null;
  let long: ReturnType<typeof setTimeout> | undefined;

  const locate = (s: HandState, e: PointerEvent): number => {
    const box = root.getBoundingClientRect();
    const x = e.clientX - box.left - s.x, y = e.clientY - box.top - s.y;
    const front = s.layout.rows[1];
    if (front && y < front.y && y >= front.y - s.layout.lift) {
      const i = cardAt(s.layout, x, front.y); // the raised edge of a chosen card of the front row
      if (s.chosen.has(s.cards[i]!)) return i;
    }
    return cardAt(s.layout, x, y);
  };

  el.addEventListener("pointerdown", (e) => {
    const s = state();
    if (!s?.live || e.button === 2) return;
    const at = locate(s, e), card = s.cards[at];
    if (card === undefined) return;
    e.preventDefault();
    if (e.shiftKey || e.button === 1) return on.rank(rankOf(card));
    el.setPointerCapture(e.pointerId);
    start = { x: e.clientX, y: e.clientY, at, last: at, base: s.chosen, moved: false };
    on.toggle(card);
    on.focus(at);
    clearTimeout(long);
    long = setTimeout(() => {
      if (!start || start.moved) return;
      start = null;
      on.drag([...s.chosen]);
      on.rank(rankOf(card));
    }, LONG_PRESS_MS);
  });

  el.addEventListener("pointermove", (e) => {
    const s = state();
    if (!start || !s) return;
    if (start.y - e.clientY > FLICK_PX && Math.abs(e.clientX - start.x) < FLICK_PX) clearTimeout(long);
    const at = locate(s, e);
    if (at === start.last || at < 0) return;
    if (!start.moved && Math.abs(e.clientX - start.x) < 6 && Math.abs(e.clientY - start.y) < 20) return;
    start.moved = true;
    start.last = at;
    clearTimeout(long);
    const [a, z] = [Math.min(at, start.at), Math.max(at, start.at)];
    const base = start.base;
    on.drag(s.cards.filter((c, i) => base.has(c) !== (i >= a && i <= z)));
  });

  const up = (e: PointerEvent): void => {
    clearTimeout(long);
    const was = start, s = state();
    start = null;
    if (!was || !s) return;
    if (was.y - e.clientY > FLICK_PX && Math.abs(e.clientX - was.x) < (was.y - e.clientY)) {
      const card = s.cards[was.at]!;
      on.drag(was.base.has(card) ? [...was.base] : [...was.base, card]);
      on.settle();
      on.flick();
    } else if (was.moved) on.settle();
  };
  el.addEventListener("pointerup", up);
  el.addEventListener("pointercancel", () => {
    clearTimeout(long);
    start = null;
  });
}
