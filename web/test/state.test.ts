import { describe, expect, it } from "vitest";
import type { Message } from "../src/protocol";
import { initial, known, myTurn, reduce, unseen, type Local, type State } from "../src/state";
import { cards } from "./engine";

const HAND = cards("R 2s 2h Kh Kc Qs Qd Jh Th Ts Tc 9d 9s 8d 7c 5s 3h");
const KITTY = cards("As 9h 4d") as [number, number, number];
const run = (s: State, ...ms: (Message | Local)[]): State => ms.reduce((x, m) => reduce(x, m, 1000), s);

const deal: Message = { t: "deal", seq: 1, game: "g1", first: 1, me: 0, hand: HAND, rules: "classic", bidding: true };
const turn = (seq: number, seat: 0 | 1 | 2, ply: number, beat: null | { seat: 0 | 1 | 2; cards: number[]; kind: "pair" | "single" } = null): Message => ({ t: "turn", seq, seat, ply, left_ms: 20000, total_ms: 20000, beat, min: 0 });
const won: Message[] = [
  deal, turn(2, 1, 0), { t: "bid", seq: 3, seat: 1, ply: 0, points: 1, why: "bot" }, turn(4, 2, 1), { t: "bid", seq: 5, seat: 2, ply: 1, points: 0, why: "bot" },
  turn(6, 0, 2), { t: "bid", seq: 7, seat: 0, ply: 2, points: 3, why: "player", id: 1 }, { t: "landlord", seq: 8, seat: 0, base: 3, kitty: KITTY, how: "bid", counts: [20, 17, 17] }, turn(9, 0, 3),
];

describe("bidding", () => {
  it("lays bids before the seats and keeps their order", () => {
    const g = run(initial, ...won.slice(0, 5)).game!;
    expect(g.lying).toEqual([null, { bid: 1 }, { bid: 0 }]);
    expect(g.bids).toEqual([{ seat: 1, points: 1 }, { seat: 2, points: 0 }]);
    expect(myTurn(g)).toBe(false);
  });
  it("gives the landlord the kitty, marked as new", () => {
    const g = run(initial, ...won).game!;
    expect(g.hand).toHaveLength(20);
    expect(g.fresh).toEqual(KITTY);
    expect(g.counts).toEqual([20, 17, 17]);
    expect(g.lying).toEqual([null, null, null]);
    expect(myTurn(g)).toBe(true);
    expect(g.deadline).toBe(21000);
  });
  it("counts unseen cards as one pool before, and in other hands after", () => {
    expect(unseen(run(initial, deal).game!)).toHaveLength(37);
    expect(unseen(run(initial, ...won).game!)).toHaveLength(34);
  });
  it("knows where the landlord's kitty cards are until they are played", () => {
    const other = run(initial, deal, { t: "landlord", seq: 2, seat: 1, base: 1, kitty: KITTY, how: "bid", counts: [17, 20, 17] }, turn(3, 1, 3));
    expect(known(other.game!)).toEqual(KITTY);
    const after = run(other, { t: "play", seq: 4, seat: 1, ply: 3, cards: [KITTY[0]], kind: "single", count: 19, mult: 1, why: "bot" });
    expect(known(after.game!)).toEqual(KITTY.slice(1));
    expect(other.game!.hand).toHaveLength(17);
  });
});

describe("playing", () => {
  const tens = cards("Th Ts");
  const played: Message = { t: "play", seq: 10, seat: 0, ply: 3, cards: tens, kind: "pair", count: 18, mult: 1, why: "player", id: 2 };
  const s = run(initial, ...won, played);
  it("takes the cards out of the hand and lays them down", () => {
    expect(s.game!.hand).toHaveLength(18);
    expect(s.game!.hand).not.toContain(tens[0]);
    expect(s.game!.lying[0]).toMatchObject({ cards: tens, kind: "pair" });
    expect(s.game!.fresh).toEqual([]);
    expect(s.game!.turn).toBeNull();
  });
  it("clears a seat when its turn comes, and the felt when a trick ends", () => {
    const next = run(s, turn(11, 1, 4, { seat: 0, cards: tens, kind: "pair" }));
    expect(next.game!.lying[0]).not.toBeNull();
    const lead = run(next, turn(12, 1, 5));
    expect(lead.game!.lying).toEqual([null, null, null]);
  });
  it("drops advice when the position changes", () => {
    const advised = run(run(initial, ...won), { t: "advice", id: 9, ply: 3, win: 0.7, exp: 1, moves: [] });
    expect(advised.advice).not.toBeNull();
    expect(run(advised, played).advice).toBeNull();
    expect(run(run(initial, ...won), { t: "advice", id: 9, ply: 2, win: 0.7, exp: 1 }).advice).toBeNull();
  });
  it("ends", () => {
    const over = run(s, { t: "end", seq: 11, game: "g1", winner: "landlord", landlord: 0, points: [6, -3, -3], factors: [{ name: "bid", n: 3 }], hands: [[], [1], [2]], rated: true });
    expect(over.game!.phase).toBe("over");
    expect(over.game!.hand).toEqual([]);
    expect(myTurn(over.game)).toBe(false);
  });
});

describe("the line", () => {
  const s = run(initial, ...won);
  it("ignores what it has seen and notices what it missed", () => {
    expect(run(s, won[4]!)).toBe(s);
    const gap = run(s, turn(12, 1, 5));
    expect(gap.gap).toBe(true);
    expect(gap.game).toBe(s.game);
    expect(gap.seq).toBe(9);
  });
  it("takes a snapshot whatever its number is", () => {
    const snap: Message = {
      t: "snapshot", seq: 40, why: "resync", game: "g1", rules: "classic", phase: "play", me: 0, first: 1, ply: 6, turn: 2, left_ms: 5000, total_ms: 20000, beat: { seat: 0, cards: [28, 30], kind: "pair" }, min: 0,
      landlord: 0, base: 3, mult: 2, counts: [18, 17, 17], hand: HAND, kitty: KITTY, bids: [[1, 1]], history: [[2, [8], "single"], [0, [28, 30], "pair"], [1, [], "pass"]], hosted: [false, false, true], away: [false, true, false], hands: null, rated: true,
    };
    const now = run({ ...s, gap: true }, snap);
    expect(now.seq).toBe(40);
    expect(now.gap).toBe(false);
    expect(now.game!.lying[2]).toBeNull();
    expect(now.game!.lying[0]).toMatchObject({ cards: [28, 30] });
    expect(now.game!.lying[1]).toMatchObject({ cards: [] });
    expect(now.game!.deadline).toBe(6000);
    expect(now.game!.away).toEqual([null, 1000, null]);
  });
  it("keeps the game of the same room over a reconnect, and drops it otherwise", () => {
    const room = { t: "room", room: "AAAABBBB", name: "x", rules: "classic", time: 20, help: true, allpass: "redeal", private: true, host: 0, me: 0, watchers: 0, rated: true, state: "play",
      seats: [0, 1, 2].map(() => ({ name: "n", kind: "human", ready: true, away: false, host: false })) } as unknown as Message;
    const welcome = (code: string | null): Message => ({ t: "welcome", ver: "1.0", token: "t", name: "n", now: 0, resumed: true, room: code });
    const inRoom = run({ ...s, room: room as State["room"] }, { t: "line", link: "lost" });
    expect(inRoom.lostAt).toBe(1000);
    expect(run(inRoom, welcome("AAAABBBB")).game).toBe(s.game);
    expect(run(inRoom, welcome("AAAABBBB")).lostAt).toBeNull();
    expect(run(inRoom, welcome(null)).game).toBeNull();
  });
  it("says when the session moved or the version is another", () => {
    expect(run(s, { t: "bye", reason: "moved" }).link).toBe("moved");
    expect(run(s, { t: "bye", reason: "version" }).link).toBe("version");
  });
});

describe("review", () => {
  const item = (ply: number, win: number) => ({ ply, seat: 0 as const, legal: 3, win, exp: null, best: [], best_win: 1, best_exp: null, loss: 1 - win });
  it("grows from parts in any order, the later ones replacing", () => {
    const s = run(initial, { t: "review", game: "g", items: [item(4, 0.5), item(2, 0.6)], done: false }, { t: "review", game: "g", items: [item(3, 0.7), item(4, 0.4)], done: true, agree: [1, null, 0.5], worst: { ply: 4, loss: 0.6 } });
    expect(s.review!.items.map((i) => [i.ply, i.win])).toEqual([[2, 0.6], [3, 0.7], [4, 0.4]]);
    expect(s.review!.done).toBe(true);
    expect(run(s, { t: "review", game: "h", items: [], done: false }).review!.items).toEqual([]);
  });
});
