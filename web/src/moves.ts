// Plays in words: names of kinds, ranks of a play as they are read.
import { handOf, rankText, ranksOf, sortCards, type Card, type Hand } from "./cards";
import { parts } from "./choice";
import type { Engine, Move } from "./engine";
import { rankName, t, type Key } from "./i18n";
import type { Kind, Rules } from "./protocol";

export const kindName = (kind: Kind): string => t(`kind.${kind}` as Key);

const texts = (ranks: number[]): string => ranks.map((r) => (r >= 13 ? rankName(r) : rankText(r))).join(" ");

/** "9 9 9 10 10 10 + 3 4"; "王炸" for the rocket. */
export function moveText(m: Move): string {
  if (m.kind === "rocket") return kindName("rocket");
  const { main, kickers } = parts(m);
  return kickers.length ? `${texts(main)} + ${texts(kickers)}` : texts(main);
}

export function cardsText(engine: Engine | null, rules: Rules, cards: readonly Card[]): string {
  if (cards.length === 0) return t("act.pass");
  const hand: Hand = handOf(cards);
  const m = engine?.classify(rules, hand);
  return m ? moveText(m) : texts(ranksOf(hand));
}

/** Ranks of loose cards, high to low: a kitty, a hand. */
export const looseText = (cards: readonly Card[]): string => sortCards(cards).map((c) => (c >= 52 ? rankName(c - 39) : rankText(c >> 2))).join(" ");
