import { describe, expect, it } from "vitest";
import { rankOf, sortCards } from "../src/cards";
import { cardAt, cutOf, fanLayout, handLayout, shapeOf } from "../src/table/layout";
import { cards } from "./engine";

const HAND20 = cards("R 2s 2h As Kh Kc Qs Qd Jh Th Ts Tc 9h 9d 9s 8d 7c 5s 4d 3h");
// width of the hand, window: as the style sheet leaves it
const WINDOWS: [number, number, number][] = [[920, 1280, 800], [1468, 1920, 1080], [374, 390, 844], [344, 360, 640], [304, 320, 568], [820, 844, 390], [643, 667, 375], [728, 768, 1024]];

describe("the hand", () => {
  it("gives each of 20 cards a stripe of at least 24 px, and that stripe chooses that card, at every size", () => {
    for (const [w, vw, vh] of WINDOWS) {
      const l = handLayout(HAND20, w, vh, shapeOf(vw, vh));
      for (const row of l.rows) expect(row.step, `${vw}x${vh}`).toBeGreaterThanOrEqual(24);
      l.spots.forEach((s, i) => {
        const row = l.rows.find((r) => i >= r.from && i < r.from + r.n)!;
        expect(cardAt(l, s.x + row.step / 2, s.y + 6), `${vw}x${vh} card ${i}`).toBe(i);
        expect(cardAt(l, s.x + 1, s.y + 6)).toBe(i);
        expect(s.x).toBeGreaterThanOrEqual(-0.01);
        expect(s.x + l.cw).toBeLessThanOrEqual(w + 0.01);
      });
    }
  });
  it("has two rows only upright and only above 11 cards", () => {
    expect(handLayout(HAND20, 374, 844, "upright").rows).toHaveLength(2);
    expect(handLayout(HAND20.slice(0, 11), 374, 844, "upright").rows).toHaveLength(1);
    expect(handLayout(HAND20, 820, 390, "sideways").rows).toHaveLength(1);
  });
  it("never cuts between equal ranks, and no row has more than 12", () => {
    for (let seed = 1; seed < 400; seed++) {
      let x = seed;
      const deck = Array.from({ length: 54 }, (_, i) => i);
      for (let i = 53; i > 0; i--) {
        x = (x * 16807) % 2147483647;
        const j = x % (i + 1);
        [deck[i], deck[j]] = [deck[j]!, deck[i]!];
      }
      const hand = sortCards(deck.slice(0, 12 + (seed % 9))), cut = cutOf(hand);
      expect(rankOf(hand[cut]!)).not.toBe(rankOf(hand[cut - 1]!));
      expect(Math.max(cut, hand.length - cut)).toBeLessThanOrEqual(12);
    }
  });
  it("finds no card in an empty hand", () => expect(cardAt(handLayout([], 374, 844, "upright"), 10, 10)).toBe(-1));
});

describe("plays on the felt", () => {
  it("stay in their box", () => {
    for (const align of ["left", "right", "middle"] as const)
      for (let n = 1; n <= 20; n++) {
        const box = { x: 30, y: 0, w: 202, h: 200 };
        for (const s of fanLayout(n, 66, box, align).spots) {
          expect(s.x).toBeGreaterThanOrEqual(29.9);
          expect(s.x + 66).toBeLessThanOrEqual(232.1);
        }
      }
  });
  it("fit a straight of 12 in one line on a phone", () => expect(new Set(fanLayout(12, 56, { x: 0, y: 0, w: 366, h: 100 }, "left").spots.map((s) => s.y)).size).toBe(1));
});

describe("shapes", () => {
  it("are the breakpoints of the style sheets", () => {
    expect([[1920, 1080], [1280, 800], [768, 1024], [390, 844], [844, 390], [667, 375], [320, 568]].map(([w, h]) => shapeOf(w!, h!))).toEqual(["big", "wide", "tablet", "upright", "sideways", "sideways", "upright"]);
  });
});
