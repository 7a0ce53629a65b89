// Cards and hands as the engine and the protocol write them; nothing here knows a rule.
// A card is 0..53 (rank * 4 + suit, 52 and 53 the jokers); a Hand is 15 rank counts of 4 bits each.

export type Card = number;
export type Hand = bigint;
export type Suit = "h" | "d" | "s" | "c";

export const N_RANKS = 15;
export const SMALL_JOKER = 52;
export const BIG_JOKER = 53;
const RANK_TEXT = ["3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K", "A", "2", "☆", "★"];
const SUITS: Suit[] = ["h", "d", "s", "c"];
const SUIT_ORDER: Record<Suit, number> = { s: 0, h: 1, c: 2, d: 3 };

export const rankOf = (card: Card): number => (card < 52 ? card >> 2 : card - 39);
export const suitOf = (card: Card): Suit | null => (card < 52 ? SUITS[card & 3]! : null);
/** "10", "K", and a star for a joker (filled: big). */
export const rankText = (rank: number): string => RANK_TEXT[rank]!;

/** The rank a key stands for in the hand, or -1: 3-9, T or 0, J Q K A 2, X and D for the jokers. */
export function rankOfKey(key: string): number {
  const at = "3456789TJQKA2XD".indexOf(key.toUpperCase());
  return key.length === 1 ? at : -1;
}

export function handOf(cards: readonly Card[]): Hand {
  let hand = 0n;
  for (const c of cards) hand += 1n << BigInt(4 * rankOf(c));
  return hand;
}
export const countOf = (hand: Hand, rank: number): number => Number((hand >> BigInt(4 * rank)) & 15n);

export function ranksOf(hand: Hand): number[] {
  const out: number[] = [];
  for (let r = 0; r < N_RANKS; r++) for (let k = countOf(hand, r); k > 0; k--) out.push(r);
  return out;
}
export const sizeOf = (hand: Hand): number => ranksOf(hand).length;

/** Is every count of `part` at most that of `whole`? */
export function contains(whole: Hand, part: Hand): boolean {
  for (let r = 0; r < N_RANKS; r++) if (countOf(part, r) > countOf(whole, r)) return false;
  return true;
}

export type SortMode = "rank" | "kind";

/** High to low; by kind: fours first, then threes, pairs, singles (the two jokers count as a pair of fours). */
export function sortCards(cards: readonly Card[], mode: SortMode = "rank"): Card[] {
  const hand = handOf(cards);
  const both = countOf(hand, 13) > 0 && countOf(hand, 14) > 0;
  const weight = (c: Card): number => {
    const r = rankOf(c);
    return r >= 13 ? (both ? 4 : 1) : countOf(hand, r);
  };
  const suit = (c: Card): number => (c < 52 ? SUIT_ORDER[suitOf(c)!] : 0);
  return [...cards].sort((a, b) => (mode === "kind" ? weight(b) - weight(a) : 0) || rankOf(b) - rankOf(a) || suit(a) - suit(b));
}

/** Cards of `from` that make up `want`, those in `prefer` first; null if they are not there. */
export function pick(from: readonly Card[], want: Hand, prefer: ReadonlySet<Card> = new Set()): Card[] | null {
  const need = Array.from({ length: N_RANKS }, (_, r) => countOf(want, r));
  const out: Card[] = [];
  for (const pass of [true, false])
    for (const c of from)
      if (prefer.has(c) === pass && need[rankOf(c)]! > 0) {
        need[rankOf(c)]!--;
        out.push(c);
      }
  return need.every((n) => n === 0) ? out : null;
}
