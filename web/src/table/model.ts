// What the felt shows, ready to draw: texts in the player's language, cards in drawing order.
// Both the running game (live.ts) and the replay make one of these.
import type { Card } from "../cards";
import type { Seat } from "../protocol";

export type Place = "left" | "right" | "me";
export interface Clock { deadline: number | null; total: number | null }

export interface SeatView {
  seat: Seat;
  name: string;
  role: "" | "ll" | "fm";
  roleText: string;
  icon: "bot" | "user" | "crown" | "hat";
  sub: string;
  count: number | null;
  low: boolean;
  /** It is this seat's turn. */
  turn: Clock | null;
  gone: boolean;
  phrase: string;
}

export interface Lie {
  cards: Card[];
  /** Under the cards; `loss` follows it in red. */
  caption: string;
  loss?: string;
  /** A pass, a bid: a word instead of cards. */
  word: string;
  chip: boolean;
}

export interface Button {
  id: string;
  label: string;
  key: string;
  shortcut: string;
  primary: boolean;
  off: boolean;
  /** Off, but a press says why. */
  soft: boolean;
  sub: string;
  gold: boolean;
}

/** A small sign at the right of the buttons: hosting, phrases, leaving. */
export interface Tool { id: string; icon: string; label: string; shortcut: string }

export interface Chip { parts: { text: string; as: "" | "b" | "gold" | "num" | "faint"; title?: string }[]; bad: boolean; shrink: number | null; press: string }
export interface Effect { key: string; name: "bomb" | "rocket" | "plane" | "straight" | "spring" | "none"; at: Place; word: string }

export interface TableModel {
  game: string;
  seats: Record<Place, SeatView | null>;
  /** null: a card face down. */
  kitty: (Card | null)[];
  meta: { base: string; mult: string; label: string };
  metaWords: { base: string; mult: string };
  lies: Record<Place, Lie>;
  /** Open hands of the other seats. */
  open: Record<"left" | "right", Card[]>;
  hand: Card[];
  /** Cards of an unseen own hand, as backs (watching). */
  backs: number;
  chosen: ReadonlySet<Card>;
  fresh: ReadonlySet<Card>;
  /** The choice is only prepared: another's turn. */
  prepared: boolean;
  /** The hand can be chosen from. */
  live: boolean;
  veil: string;
  chip: Chip | null;
  clock: Clock | null;
  buttons: Button[];
  tools: Tool[];
  centre: string;
  banner: string;
  strip: { head: string; n: number; four: boolean; dot: boolean }[] | null;
  effect: Effect;
  /** Left-over hands lie open after the end. */
  over: boolean;
  replay: boolean;
  handLabel: string;
  names: (card: Card) => string;
  /** Shake the chip once for each new number. */
  wrong: number;
}

export const NO_LIE: Lie = { cards: [], caption: "", word: "", chip: false };
export const placeOf = (seat: Seat, bottom: Seat): Place => (["me", "right", "left"] as const)[(seat - bottom + 3) % 3]!;
