import { describe, expect, it } from "vitest";
import { handOf, ranksOf, rankText, sortCards } from "../src/cards";
import { complete, findMove, hints, lay, parts, snap, verdict } from "../src/choice";
import type { Move } from "../src/engine";
import { cards, engine } from "./engine";

const H = (text: string): bigint => handOf(cards(text));
const legal = (hand: string, beat = ""): Move[] => engine.moves("classic", H(hand), H(beat));
const is = (text: string): Move | null => engine.classify("classic", H(text));
const show = (m: Move | null): string => (m ? ranksOf(m.cards).map(rankText).join(" ") : "-");

describe("the engine", () => {
  it("types plays", () => {
    expect(is("9 9 9 T T T 3 4")).toMatchObject({ kind: "plane1", rank: 6, length: 2, size: 8 });
    expect(is("B R")?.kind).toBe("rocket");
    expect(is("3 4")).toBeNull();
    expect(is("")).toBeNull();
  });
  it("lists answers, a bomb among them", () => {
    expect(legal("K K 9 8 8 8 8", "Q Q").map(show).sort()).toEqual(["8 8 8 8", "K K"]);
    expect(legal("3 4 5", "2")).toEqual([]);
  });
});

describe("hints", () => {
  const hand = "2 A A K K K 9 9 5 5 5 5 4";
  it("go from cheap to dear when answering: nothing torn first, a bomb last", () => {
    const order = hints(legal(hand, "3"), H(hand), false).map(show);
    expect(order[0]).toBe("4");
    expect(order[1]).toBe("2");
    expect(order.at(-1)).toBe("5 5 5 5");
    expect(order.indexOf("9")).toBeLessThan(order.indexOf("K"));
    expect(order.indexOf("K")).toBeLessThan(order.indexOf("5"));
  });
  it("put the bot's choice first", () => {
    const order = hints(legal(hand, "3"), H(hand), false, [H("K"), H("A")]).map(show);
    expect(order.slice(0, 2)).toEqual(["K", "A"]);
  });
  it("offer every legal play once", () => {
    const all = legal(hand);
    expect(new Set(hints(all, H(hand), true))).toEqual(new Set(all));
  });
});

describe("snapping a drag", () => {
  const hand = "J T 9 8 7 6 6 6 3";
  it("keeps a choice that is legal", () => expect(snap(legal(hand), H("6 6 6 3"), H(hand))).toBeNull());
  it("takes the longest play inside", () => expect(show(snap(legal(hand), H("J T 9 8 7 6 6 6"), H(hand)))).toBe("6 7 8 9 10 J"));
  it("leaves a choice without a play alone", () => expect(snap(legal("K 9 4", "2"), H("K 9"), H("K 9 4"))).toBeNull());
  it("answers only with what beats the table", () => expect(show(snap(legal("A A Q Q 4 4", "K K"), H("A A Q Q"), H("A A Q Q 4 4")))).toBe("A A"));
});

describe("completing a tap", () => {
  const hand = "A A K K K 7 7 4 3";
  it("when one kind of answer begins there", () => expect(show(complete(legal(hand, "6 6"), cards("7")[0]!, H(hand)))).toBe("7 7"));
  it("with the cheapest kicker", () => expect(show(complete(legal(hand, "Q Q Q 5"), cards("K")[0]!, H(hand)))).toBe("3 K K K"));
  it("not for a card that begins none", () => expect(complete(legal(hand, "6 6"), cards("4")[0]!, H(hand))).toBeNull());
});

describe("what is missing", () => {
  const hand = "2 A A Q J J J 9 7 6 6 4 3", beat = is("8 8 8 5 5")!;
  const v = (text: string, over = beat) => verdict(engine.moves("classic", H(hand), over.cards), H(text), is(text), over);
  it("nothing", () => expect(v("J J J 6 6")).toMatchObject({ t: "legal", move: { kind: "t2" } }));
  it("one card", () => expect(v("J J J 6")).toEqual({ t: "add", ranks: [3], kind: "t1", over: "t2" }));
  it("a higher one", () => expect(verdict(legal(hand, "K K"), H("J J"), is("J J"), is("K K"))).toEqual({ t: "low" }));
  it("another kind", () => expect(v("2 A 9")).toEqual({ t: "kind", need: "t2", kind: null }));
  it("a combination, when leading", () => expect(verdict(legal(hand), H("2 9 4 3"), null, null)).toEqual({ t: "nokind" }));
  it("nothing chosen", () => expect(v("")).toEqual({ t: "none" }));
});

describe("cards in order", () => {
  it("splits a play into what is led and what rides", () => {
    expect(parts(is("9 9 9 T T T 3 4")!)).toEqual({ main: [6, 6, 6, 7, 7, 7], kickers: [0, 1] });
    expect(parts(is("6 6 6 6 J 3")!)).toEqual({ main: [3, 3, 3, 3], kickers: [0, 8] });
  });
  it("lays the main part first, high to low", () => expect(lay(cards("5d 8h 5c 8s 8c"), is("8 8 8 5 5")).map((c) => c >> 2)).toEqual([5, 5, 5, 2, 2]));
  it("sorts a hand by rank or by kind", () => {
    const hand = cards("3h 9d 9h 9s 9c R 4h 4s");
    expect(sortCards(hand).map((c) => (c < 52 ? c >> 2 : c))).toEqual([53, 6, 6, 6, 6, 1, 1, 0]);
    expect(sortCards(hand, "kind").map((c) => (c < 52 ? c >> 2 : c))).toEqual([6, 6, 6, 6, 1, 1, 53, 0]);
  });
  it("finds a play by its cards", () => expect(findMove(legal("3 3"), H("3 3"))?.kind).toBe("pair"));
});
